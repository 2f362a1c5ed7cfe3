"""Record modules loaded and project files opened in a job's processes.

Made for exax 2025.11.11. Upstream: a job could report `SystemExit` as its error; the rest is Shortloop's
evidence.
"""

from __future__ import annotations

import codecs
import contextlib
import fnmatch
import functools
import glob
import importlib.abc
import importlib.machinery
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from traceback import walk_stack
from types import FrameType, ModuleType
from typing import Any
from urllib.parse import unquote

from shortloop.exax.libraries import note_libraries_of, watch_imports
from shortloop.exax.listener import enable_tracebacks
from shortloop.exax.patches import patch
from shortloop.exax.patches.environment import watch_variables
from shortloop.exax.patches.loading import forget_modules, load_from_source, loaded_modules
from shortloop.exax.patches.parallel_jobs import Spares
from shortloop.exax.patches.preload import modules_beside
from shortloop.keys.code import modules_when_loaded, python_here
from shortloop.keys.file_state import file_state
from shortloop.keys.own_code import PACKAGE, ROOT, is_own
from shortloop.project.project import CONFIGURATION, configuration, project_directory
from shortloop.stages.references import matching
from shortloop.store.process_notes import NOTED, buffer_notes, keep_logs, note, set_log_folder, take_notes

STARTUP = Path(__file__).parents[1] / "startup"
# Modules of Python that list folders for its own sake.
FINDERS = {"_frozen_importlib_external", "importlib", "pkgutil", "tempfile", "zipimport"}
MANY = 1000  # files of a folder that are noted, and paths in one call
# Functions that read, and classes whose `__init__` reads, by module. A star stands for any end of a name.
READERS = {
    "cv2": ("VideoCapture", "imread*"),
    "duckdb": ("connect", "from_*", "parquet_metadata", "read_*"),
    "fastparquet": ("ParquetFile",),
    "geopandas": ("read_*",),
    "h5py": ("File",),
    "lxml.etree": ("iterparse", "parse"),
    "polars": ("read_*", "scan_*"),
    "pyarrow": ("input_stream", "memory_map"),
    "pyarrow.csv": ("open_csv", "read_csv"),
    "pyarrow.dataset": ("dataset", "parquet_dataset"),
    "pyarrow.feather": ("read_feather", "read_table"),
    "pyarrow.json": ("read_json",),
    "pyarrow.orc": ("read_table", "ORCFile"),
    "pyarrow.parquet": ("ParquetDataset", "ParquetFile", "read_*"),
    "pyogrio": ("open_arrow", "read_*"),
    "pyreadr": ("read_r",),
    "pyreadstat": ("read_*",),
    "rasterio": ("open",),
    "soundfile": ("SoundFile", "info", "read"),
    "tables": ("open_file",),
    "xarray": ("load_*", "open_*"),
    "zarr": ("open*",),
}
QUERIES = ("execute", "query", "sql")  # of DuckDB: their text names files
# DuckDB finds frames of pandas by the variables of its caller, which would else be those of the wrapper.
SAME_FRAME = "SET python_scan_all_frames=true"
QUOTED = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"")
Hear = Callable[[str], None]
_hear: Hear | None = None
_is_prepared = False  # for the job that this process will run


def watch_jobs(spares: Spares) -> None:
    """Watch each job that this process forks from its begin, and its spares."""
    from accelerator import launch

    is_watched = _watched_files()
    python_here()  # as it was started, whatever is edited later
    codecs.lookup("ascii")  # which each job would import, to write its costs
    fnmatch.filter((), "*")  # and this compile, as exax lists files by it
    for stream in (sys.__stdout__, sys.__stderr__):  # exax prints errors, and kills a job if it cannot
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")

    spares.prepare = lambda lane: prepare_job(*lane, is_watched)

    @patch(launch, "execute_process")
    def watched(original: Any, workdir: str, jobid: str, *arguments: Any, **more: Any) -> Any:
        begin_job(Path(workdir) / jobid, is_watched)
        try:
            return original(workdir, jobid, *arguments, **more)
        except Exception:
            raise
        except BaseException as end:  # exax says nothing of these, and takes the job for killed
            raise RuntimeError("the job was to end its process, with the exception above") from end


def begin_job(folder: Path, is_watched: Callable[[str], bool]) -> None:
    """Watch this process, which runs the job in a folder from now on, and import its method."""
    take_notes(folder)
    if _is_prepared:  # it was a spare
        set_log_folder(folder)
        return
    setup = json.loads((folder / "setup.json").read_text(encoding="utf-8"))
    method = f"{setup['package']}.a_{setup['method']}"
    prepare_job(method, tuple(setup["options"].get("modules") or ()), is_watched, folder)


def prepare_job(
    method: str, named: Sequence[str], is_watched: Callable[[str], bool], folder: Path | None = None
) -> None:
    """Watch this process, and those that it starts, and import the module of a method for a job."""
    global _is_prepared
    if folder is None:  # the job is not known yet
        buffer_notes()
        _is_prepared = True
    package, _, stem = method.rpartition(".")
    before = set(loaded_modules())
    _watch(is_watched)
    keep_logs(folder or Path(os.devnull))
    with contextlib.suppress(Exception):  # exax imports it again, and says why it cannot be
        importlib.import_module(method)
    file = getattr(sys.modules.get(method), "__file__", None)
    imports = {method, *(modules_when_loaded(Path(file).resolve()) if file else ())}
    imports |= modules_beside(stem.removeprefix("a_"), named)
    _keep_modules(before, imports, package)
    note(versions={"python": python_here()})


def watch_units(package: str, modules: Sequence[str]) -> None:
    """Watch a process that computes units of a job elsewhere, and those that it starts."""
    _keep_modules(set(loaded_modules()), {*modules}, package)
    _watch(_watched_files())
    keep_logs()


def _keep_modules(loaded: set[str], modules: set[str], package: str) -> None:
    """Forget loaded modules that are not a job's; note those that are, and libraries from now on."""
    above = {package.rsplit(".", depth)[0] for depth in range(package.count(".") + 1)}
    forget_modules(loaded - modules - above)  # it gets others only by an import, which is noted
    note(loaded={name: each for name, each in loaded_modules().items() if name in loaded and name in modules})
    note_libraries_of(modules)


def watch_program() -> None:
    load_from_source(anew=True)
    watch_imports()
    note_libraries_of(None)
    with contextlib.suppress(OSError, ValueError):
        _hear_reads(_watched_files())


def _hear_reads(is_watched: Callable[[str], bool]) -> None:
    heard = _Heard(is_watched)
    sys.addaudithook(heard.hook)
    watch_readers(heard.path)
    watch_variables(_is_of_user)


def _watch(is_watched: Callable[[str], bool]) -> None:
    enable_tracebacks()
    _hear_reads(is_watched)
    path = [str(STARTUP), str(ROOT), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, path))


def _watched_files() -> Callable[[str], bool]:
    """Return a test for files of the project or its input, which a method must not open unseen."""
    project, settings = project_directory(), configuration()
    inside = {project, Path(settings.get("input_directory") or project)}
    workdirs = [Path(folder) for folder in settings.workdirs.values()]
    # Results of jobs have keys of their own; of the rest, nothing is data.
    outside = {*workdirs, project / "workdirs", Path(sys.prefix), STARTUP}
    begin = tuple(f"{os.path.abspath(folder)}/" for folder in inside)
    not_begin = tuple(f"{os.path.abspath(folder)}/" for folder in outside)

    def is_watched(path: str) -> bool:
        above = next((folder for folder in begin if path.startswith(folder)), None)
        if above is None or path.startswith(not_begin):
            return False
        name = f"/{path.removeprefix(above)}"
        return "/." not in name and "/__pycache__/" not in name and not name.endswith(f"/{CONFIGURATION}")

    return is_watched


class _Heard:
    """Notes files that are read and folders that are listed, each once."""

    def __init__(self, is_watched: Callable[[str], bool]) -> None:
        self._is_watched = is_watched
        self._seen: set[str] = set()
        self._hear: dict[str, Callable[..., None]] = {
            "open": self._open,
            "ctypes.dlopen": lambda name: self.path(name),
            "os.exec": lambda path, arguments, environment: self._command(arguments),
            "os.listdir": self._folder,
            "os.posix_spawn": lambda path, arguments, environment: self._command(arguments),
            "os.scandir": self._folder,
            "os.system": lambda command: self._command(command),
            "sqlite3.connect": self._database,
            "subprocess.Popen": lambda program, arguments, folder, more: self._command(arguments, folder),
        }

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if (hear := self._hear.get(event)) is not None:
            hear(*arguments)

    def path(self, path: object) -> None:
        """Note a path that is read: a file, a folder with its files, or a pattern."""
        if not isinstance(path, str | bytes | os.PathLike):
            return
        name = os.path.abspath(os.fsdecode(path))
        # Of this job, which may have loaded the module anew.
        if references := sys.modules.get("shortloop.stages.references"):
            references.here().read(name)
        if name in self._seen or not self._is_watched(f"{name}/"):
            return
        if not os.path.isfile(name) and (os.path.isdir(name) or glob.has_magic(name)):
            folder = name if os.path.isdir(name) else os.path.dirname(name)
            self._note(folder, f"{folder}/")
        for each in islice(matching(name), MANY):
            self._note_file(each)

    def _database(self, name: object) -> None:
        if isinstance(name, str) and name.startswith("file:"):  # a URI
            name = unquote(name.removeprefix("file:").removeprefix("//").partition("?")[0])
        self.path(name)

    def _open(self, path: object, mode: object, flags: int | None) -> None:
        if not isinstance(path, int) and not (flags or 0) & (os.O_WRONLY | os.O_DIRECTORY):
            self._note_file(os.path.abspath(os.fsdecode(path)))  # type: ignore[arg-type]

    def _folder(self, path: object) -> None:
        """Note a folder that the user's code lists, not libraries, nor Python to find modules."""
        if isinstance(path, str | bytes | os.PathLike):
            name = os.path.abspath(os.fsdecode(path))
            if name not in self._seen and self._is_watched(f"{name}/") and _is_asked_by_user():
                self._note(name, f"{name}/")

    def _command(self, command: object, folder: object = None) -> None:
        """Note files in the arguments of a program that is started; what it reads is not seen."""
        if isinstance(command, str | bytes):
            with contextlib.suppress(ValueError):
                command = shlex.split(os.fsdecode(command), comments=True)
        for each in command if isinstance(command, list | tuple) else ():
            with contextlib.suppress(TypeError, ValueError):
                argument = os.fsdecode(each)
                for text in (argument, *argument.split(), argument.rpartition("=")[2]):
                    name = os.path.abspath(os.path.join(os.fsdecode(folder or ""), text))  # type: ignore[arg-type]
                    if os.path.isfile(name):
                        self._note_file(name)

    def _note_file(self, name: str) -> None:
        if name in self._seen or not self._is_watched(name):
            return
        self._seen.add(name)
        if not name.endswith(f"/{NOTED}") and os.path.isfile(name):
            self._note(name, name)

    def _note(self, name: str, opened: str) -> None:
        self._seen.add(name)
        state, settled = file_state(Path(name))
        note(opened=opened, state=state, settled=settled, imported=_is_importing())


def _is_of_user(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return not file.startswith(("<", f"{ROOT}/{PACKAGE}/")) and is_own(file)


def _is_importing() -> bool:
    frames = (frame for frame, _ in walk_stack(sys._getframe()) if frame.f_code.co_name == "<module>")
    return any(frame.f_globals["__name__"] != "__main__" for frame in frames if _is_of_user(frame))


def _is_asked_by_user() -> bool:
    """True if the user's code is the caller, directly or through the standard library."""
    for frame, _ in walk_stack(sys._getframe()):
        top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if frame.f_code.co_filename == __file__:
            continue
        if top in FINDERS or top not in sys.stdlib_module_names:
            return top not in FINDERS and _is_of_user(frame)
    return False


def watch_readers(hear: Hear) -> None:
    """Pass paths that functions of libraries are given to read to `hear`, in forks as well."""
    global _hear
    first, _hear = _hear is None, hear
    if first:
        sys.meta_path.insert(0, _Finder())
        for name in READERS.keys() & sys.modules.keys():
            _wrap_all(sys.modules[name])


def paths_in(value: object) -> Iterator[str]:
    """Give possible paths in an argument: a path, several, or a text that quotes them."""
    if isinstance(value, str | bytes | os.PathLike):
        with contextlib.suppress(TypeError, ValueError):
            text = os.fsdecode(value)
            yield text.removeprefix("file://")
            for single, double in QUOTED.findall(text):
                yield single or double
    elif isinstance(value, list | tuple | set | frozenset):
        for each in list(value)[:MANY]:
            yield from paths_in(each)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing itself, but wraps found modules once they are loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in READERS:
            return None
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(name, path, target)) is not None:
                if spec.loader is not None:
                    patch(spec.loader, "exec_module")(_load_and_wrap)
                return spec
        return None


def _load_and_wrap(exec_module: Any, module: ModuleType) -> None:
    exec_module(module)
    _wrap_all(module)


def _wrap_all(module: ModuleType) -> None:
    names = READERS[module.__name__]
    starts = tuple(each[:-1] for each in names if each.endswith("*"))
    for name in [each for each in vars(module) if each in names or (starts and each.startswith(starts))]:
        found = getattr(module, name)
        if isinstance(found, type):
            with contextlib.suppress(TypeError):  # of a compiled class
                patch(found, "__init__")(_tell_and_call)
        elif callable(found):
            patch(module, name)(_tell_and_call)
    if module.__name__ == "duckdb":
        duckdb: Any = module
        for place, is_method in ((duckdb, False), (duckdb.DuckDBPyConnection, True)):
            plain = place.sql
            for name in QUERIES:
                setattr(place, name, _asking(getattr(place, name), plain, is_method))


def _asking(_original: Callable[..., Any], _sql: Callable[..., Any], _is_method: bool) -> Callable[..., Any]:
    @functools.wraps(_original)
    def asking(*_arguments: Any, **_more: Any) -> Any:  # DuckDB looks for frames in its variables first
        _tell(_arguments, _more)
        with contextlib.suppress(Exception):  # the query itself says what is wrong
            _sql(*_arguments[:_is_method], SAME_FRAME)
        return _original(*_arguments, **_more)

    return asking


def _tell_and_call(original: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
    _tell(arguments, more)
    return original(*arguments, **more)


def _tell(arguments: tuple[Any, ...], more: dict[str, Any]) -> None:
    if _hear is not None:
        for each in (*arguments, *more.values()):
            for path in paths_in(each):
                _hear(path)
