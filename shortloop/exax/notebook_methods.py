"""Notebook stages as exax methods, in a temporary package.

Nobody else loads them. Made for exax 2025.11.11. Upstream: `Methods` could take packages beside those of
accelerator.conf.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import shutil
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from shortloop.base.errors import InputError
from shortloop.exax.listener import ask
from shortloop.exax.patches import patch
from shortloop.keys.methods import forget_methods
from shortloop.project.project import CELLS, cache_directory, configuration, write_atomically
from shortloop.stages.results import Setup
from shortloop.units.messages import living_note

LOADED = "loaded.txt"
KEPT = 7 * 24 * 3600  # s, for those who go on with them


def write_cells(modules: Mapping[str, str]) -> Path:
    """Write stages of a notebook as methods, each version into a folder of its own."""
    content = json.dumps(sorted(modules.items())).encode(errors="surrogatepass")
    folder = _cells() / hashlib.sha256(content).hexdigest()[:20]
    (folder / CELLS).mkdir(parents=True, exist_ok=True)
    for name, text in {"__init__": "", **{f"a_{name}": text for name, text in modules.items()}}.items():
        file = folder / CELLS / f"{name}.py"
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            write_atomically(file, text)
    os.utime(folder)
    for other in _cells().iterdir():
        with suppress(OSError):
            if other.is_dir() and other.stat().st_mtime < time.time() - KEPT:
                shutil.rmtree(other)
    return folder


def find_cells(folder: Path) -> None:
    """Let this process find the package in a folder, as one of the configuration."""
    above = str(_cells())
    sys.path[:] = [each for each in sys.path if os.path.dirname(each) != above]
    sys.path.append(str(folder))
    for name in [name for name in sys.modules if f"{name}.".startswith(f"{CELLS}.")]:
        del sys.modules[name]
    importlib.invalidate_caches()
    configuration().method_directories[CELLS] = True
    forget_methods()


def find_method_of(setup: Setup, job: Path) -> None:
    """Let this process find the method of a job: of a notebook, as the job had it, else as written last."""
    if setup["package"] != CELLS:
        return
    name = f"{CELLS}/a_{setup['method']}.py"
    if not (folders := [each for each in _cells().iterdir() if (each / name).is_file()]):
        hint = "run its cell again"
        raise InputError("the cell of a stage was written too long ago", stage=setup["method"], hint=hint)
    with tarfile.open(job / "method.tar.gz") as archive:  # exax keeps the method's path in it
        kept = {part for path in archive.getnames() for part in Path(path).parts}
    find_cells(max(folders, key=lambda each: (each.name in kept, each.stat().st_mtime)))


@contextmanager
def announced(folder: Path) -> Iterator[None]:
    """Let the server load the methods in a folder with others; nobody else may be building."""
    write_atomically(_note(), json.dumps({"pid": os.getpid(), "folder": folder.name}))
    try:
        yield
    finally:
        _note().unlink(missing_ok=True)


def find_announced() -> Path | None:
    """Find announced methods, in the server and in the process that runs jobs."""
    if (note := living_note(_note())) is None:
        return None
    find_cells(folder := _cells() / str(note["folder"]))
    return folder


def load_announced() -> None:
    """Have the server load announced methods whenever it loads methods."""
    from accelerator.methods import Methods

    @patch(Methods, "__init__")
    def load(original: Any, self: Any, server_config: Any) -> None:
        packages = {name: each for name, each in server_config["method_directories"].items() if name != CELLS}
        folder = find_announced()
        if folder is not None:
            packages[CELLS] = True
        original(self, type(server_config)({**server_config, "method_directories": packages}))
        write_atomically(_cells() / LOADED, "" if folder is None else folder.name)


def are_loaded(folder: Path) -> bool:
    with suppress(OSError):
        if (_cells() / LOADED).read_text(encoding="utf-8") == folder.name:
            known = json.loads(ask("methods") or b"{}")  # it may be another server by now
            return any(each["package"] == CELLS for each in known.values())
    return False


def _cells() -> Path:
    return cache_directory("cells")


def _note() -> Path:
    return _cells() / "announced.json"
