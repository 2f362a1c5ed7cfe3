"""What of the code is part of a method's key: every module of the project that it can import,
without comments, docstrings and formatting, and the versions of the libraries that these use.

exax keys a job by its method file and the files in ``depend_extra``. A method here says
``depend_extra = code_of(__file__)``, which names one text file that holds all of the above; exax puts a
copy of it into ``method.tar.gz`` of each job, so that what went into a key can be read there.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from shortloop import _PUBLIC
from shortloop.errors import InputError
from shortloop.jobs.filestate import file_state
from shortloop.jobs.project import cache_directory, write_atomically
from shortloop.jobs.source import keep_sources, read_source

__all__ = ["closure", "code_file", "code_files", "code_of", "code_state", "code_text", "origin_of"]

PACKAGE = "shortloop"
ROOT = Path(__file__).resolve().parents[2]
# Everything rests on these, imported directly or not.
ALWAYS = ("numpy", "scipy")
ITSELF = f"{PACKAGE}.jobs.code"  # every method imports it to say what it imports, and nothing else
DISTRIBUTIONS = {"sklearn": "scikit-learn", "PIL": "pillow", "cv2": "opencv-python", "yaml": "PyYAML"}


class _Known(NamedTuple):
    states: list[tuple[int, ...]]
    settled: bool
    files: list[str]
    code: dict[str, str]
    versions: dict[str, str]
    text: str


# Asked for job by job, so what came of it is kept with the states of the files that it came from.
_known: dict[Path, _Known] = {}


def code_of(method_file: str) -> list[str]:
    """Files for ``depend_extra`` of a method.

    Parameters
    ----------
    method_file : str
        ``__file__`` of the method.

    Returns
    -------
    list of str
        One file: the code of the method's closure and the versions of its libraries.
    """
    method = Path(method_file).resolve()
    file = code_file(method)
    text = code_text(method)
    if not file.is_file() or file.read_text(encoding="utf-8") != text:
        write_atomically(file, text)
    return [str(file)]


def code_file(method: Path) -> Path:
    """Where `code_of` writes.

    Parameters
    ----------
    method : Path
        File of the method.

    Returns
    -------
    Path
    """
    return cache_directory("code") / f"{method.parent.name}.{method.stem}.txt"


def code_text(method: Path) -> str:
    """The code of a method, with its closure, and the versions of its libraries.

    Parameters
    ----------
    method : Path
        File of the method.

    Returns
    -------
    str
        What `code_of` writes.
    """
    return _look(method).text


def code_state(method: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The same as hashes, with the method itself.

    Parameters
    ----------
    method : Path
        File of the method.

    Returns
    -------
    code : dict of str to str
        Hash of each module, normalised; the method's own name is as in ``"methods.a_train"``.
    versions : dict of str to str
        Of Python and of the libraries.

    Raises
    ------
    InputError
        If a file is not Python.
    """
    try:
        known = _look(method)
    except SyntaxError as error:
        raise InputError(
            f"a file is not Python: {error.msg}",
            file=f"{error.filename}, line {error.lineno}",
            found=(error.text or "").strip(),
            hint="mend it and run again",
        ) from None
    return known.code, known.versions


def code_files(method: Path) -> list[Path]:
    """Every file that a method's code is in.

    Parameters
    ----------
    method : Path
        File of the method.

    Returns
    -------
    list of Path
    """
    return list(map(Path, _look(method).files))


def closure(file: Path) -> tuple[dict[str, Path], set[str]]:
    """Modules of the project that a method imports, anywhere in it, directly or through others.

    Parameters
    ----------
    file : Path
        The method, in one of the project's packages.

    Returns
    -------
    modules : dict of str to Path
        Modules by name, of this package and of those beside the method's; the packages that hold them
        are among them, as importing runs them too.
    libraries : set of str
        Top-level names of the other packages that these modules and the file import, but for the
        standard library.
    """
    project = file.parent.parent
    modules: dict[str, Path] = {}
    libraries: set[str] = set()
    done: set[str] = set()
    waiting = list(read_source(file, f"{file.parent.name}.{file.stem}")[1])
    while waiting:
        name = waiting.pop()
        if name in done:
            continue
        done.add(name)
        if name == ITSELF or name.startswith(f"{ITSELF}."):
            continue
        waiting += _public(name)
        top = name.partition(".")[0]
        found = _files_of(ROOT if top == PACKAGE else project, name)
        if not found and top not in sys.stdlib_module_names and top != "accelerator":
            libraries.add(top)
        for module in found.keys() - modules.keys():
            modules[module] = found[module]
            waiting += read_source(found[module], module)[1]
    return modules, libraries


def origin_of(path: str) -> str:
    """What a class named by its import path rests on, where no method's key knows of it.

    Parameters
    ----------
    path : str
        Import path, e.g. ``"xgboost.XGBClassifier"`` or ``"mine.Nearest"``.

    Returns
    -------
    str
        Version of its library, else a hash of its module; empty for scikit-learn, which every key holds,
        and for what cannot be found.
    """
    library = path.partition(".")[0]
    if library == "sklearn":
        return ""
    version = _version(library)
    if version is not None:
        return f"{library} {version}"
    module = path.rpartition(".")[0]
    try:
        spec = importlib.util.find_spec(module)
    except ImportError:
        spec = None
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        return ""
    text, _ = read_source(Path(spec.origin), module)
    return _hash(text)


def _look(method: Path) -> _Known:
    known = _known.get(method)
    if known is not None and known.settled and known.states == _states(known.files):
        return known
    modules, libraries = closure(method)
    modules[f"{method.parent.name}.{method.stem}"] = method
    files = list(map(str, modules.values()))
    states = _states(files)  # before they are read, so that an edit meanwhile shows
    settled = all(file_state(file)[1] for file in modules.values())
    texts = {name: read_source(modules[name], name)[0] for name in sorted(modules)}
    versions = _versions(libraries)
    lines = [f"# {library} {version}" for library, version in versions.items()]
    for name, text in texts.items():
        lines += ["", f"# module {name}", text]
    code = {name: _hash(text) for name, text in texts.items()}
    _known[method] = _Known(states, settled, files, code, versions, "\n".join(lines) + "\n")
    keep_sources()
    return _known[method]


def _states(files: list[str]) -> list[tuple[int, ...]]:
    try:
        return [
            (each.st_ino, each.st_size, each.st_mtime_ns, each.st_ctime_ns) for each in map(os.stat, files)
        ]
    except FileNotFoundError:
        return []


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()


def _versions(libraries: set[str]) -> dict[str, str]:
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for library in sorted({*libraries, *ALWAYS}):
        version = _version(library)
        if version is not None:
            found[library] = version
    return found


def _files_of(root: Path, name: str) -> dict[str, Path]:
    """Modules along a dotted name below a folder; its last part may be a function or class of one."""
    parts = name.split(".")
    if not ((root / parts[0]).is_dir() or (root / f"{parts[0]}.py").is_file()):
        return {}
    found = {}
    for depth in range(1, len(parts) + 1):
        path = root.joinpath(*parts[:depth])
        for candidate in (path / "__init__.py", path.with_suffix(".py")):
            if candidate.is_file():
                found[".".join(parts[:depth])] = candidate
                break
    return found


def _public(name: str) -> list[str]:
    """Modules behind the names that this package looks up on first use."""
    if name in (PACKAGE, f"{PACKAGE}.*"):  # then any of them may be used
        return list(_PUBLIC.values())
    public = name.removeprefix(f"{PACKAGE}.")
    return [_PUBLIC[public]] if public in _PUBLIC and public != name else []


@cache
def _version(library: str) -> str | None:
    try:
        return metadata.version(DISTRIBUTIONS.get(library, library))
    except metadata.PackageNotFoundError:
        if importlib.util.find_spec(library) is None:
            return None
    found = metadata.packages_distributions().get(library, [])  # slow: it reads what each has installed
    return metadata.version(found[0]) if found else None
