"""Hash a method's code: every own module it can import, without comments and formatting.

Declared files count too. Libraries are examined when a job has loaded them. exax keys a job by its method
file and the files in ``depend_extra``. A method here says ``depend_extra = code_of(__file__)``, which names
one text file that holds all of the above; exax puts a copy of it into ``method.tar.gz`` of each job, so that
what went into a key can be read there. Only the process that loads methods for exax writes that file, so it
says what exax loaded.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from shortloop.base.errors import InputError
from shortloop.keys.closure import closure, closure_of, refresh_closures
from shortloop.keys.file_state import (
    State,
    is_settled,
    once_per_moment,
    states_at_moment,
    states_of_files,
    unless_changed,
)
from shortloop.keys.hashing import digest, hash_file
from shortloop.keys.installed import environment, startup_lines, version_of
from shortloop.keys.methods import module_of
from shortloop.keys.own_code import PACKAGE, ROOT, is_own
from shortloop.keys.source import NOTHING, hash_of, keep_sources, read_source
from shortloop.project.project import cache_directory, runs_jobs, write_atomically

# File of a job with code that exax keeps no copy of: of modules that it imports by names not in its method's
# code, and of a method that does not declare its code.
EXTRA_CODE = ".modules.txt"
# One of these is imported by a method that is made of a stage.
MADE_OF_STAGE = {f"{PACKAGE}.exax.method.exax_method", f"{PACKAGE}.exax.declare.stage", f"{PACKAGE}.stage"}
WORKER, DATASET = f"{PACKAGE}.stages.", f"{PACKAGE}.stages.dataset"
CODE_OF = f"{PACKAGE}.keys.code.code_of"


class Code(NamedTuple):
    # Hash of each normalised module, e.g. ``"methods.a_train"``; of the bytes of a file in ``depend_extra``,
    # by its path below the project.
    code: dict[str, str]
    versions: dict[str, str]  # of Python, and of exax if it reads datasets for the method
    libraries: dict[str, str]  # versions of the libraries that its code names, whether loaded or not
    modules: dict[str, Path]
    declared: list[Path]
    watched: list[tuple[str, State]]  # declared files, whose states must not change while a job runs


@dataclass
class _Known:
    folders: int  # of `refresh_closures`
    states: list[State]
    settled: bool
    files: list[str]
    code: Code
    texts: dict[str, str]

    @cached_property
    def text(self) -> str:
        versions = (f"# {library} {version}\n" for library, version in self.code.versions.items())
        return "".join(versions) + _texts(self.texts)


# Asked for job by job, so what came of it is kept with the states of the files that it came from.
_known: dict[tuple[Path, tuple[str, ...]], _Known] = {}


def code_of(method_file: str) -> list[str]:
    """Files for ``depend_extra`` of a method; written only where exax loads methods."""
    method = Path(method_file).resolve()
    file = code_file(method)
    if not runs_jobs():  # the file says what exax has loaded
        return [str(file)]
    text = code_text(method)
    if not (file.is_file() and file.read_text(encoding="utf-8") == text):
        write_atomically(file, text)
    return [str(file)]


def declares_code(method: Path) -> bool:
    """True if a method declares its code, with `code_of` or by a stage; foreign methods do not."""
    return not {CODE_OF, *MADE_OF_STAGE}.isdisjoint(read_source(method, module_of(method)).names)


def code_file(method: Path) -> Path:
    return cache_directory("code") / f"{module_of(method)}.txt"


def code_text(method: Path) -> str:
    return _look(method, ()).text


def extra_code(method: Path, more: Sequence[str], code: Mapping[str, str]) -> str:
    """Code of modules of a job that exax keeps no copy of."""
    said = code_texts(method) if declares_code(method) else {}
    texts = {name: text for name, text in code_texts(method, more).items() if name not in said}
    return _texts({name: text for name, text in texts.items() if hash_of(text) == code.get(name)})


def code_texts(method: Path, more: Sequence[str] = ()) -> dict[str, str]:
    """Return the normalised code of a method as it is now, by module."""
    return _look(method, tuple(more)).texts


def modules_when_loaded(method: Path) -> set[str]:
    """Modules that a method could import when `code_of` last ran; files may have changed since."""
    known = _known.get((method, ()))
    return set(closure(method)[0] if known is None else known.code.modules)


def code_state(method: Path, more: Sequence[str] = ()) -> Code:
    """Hash the code of a method, including declared files."""
    asked = method, tuple(more)
    return once_per_moment(asked, lambda: _code_now(*asked))


def _code_now(method: Path, more: tuple[str, ...]) -> Code:
    try:
        known = _look(method, more)
    except SyntaxError as error:
        problem = f"a file is not Python: {error.msg}"
        place = f"{error.filename}, line {error.lineno}"
        what = (error.text or "").strip()
        raise InputError(problem, file=place, found=what, hint="correct it and run again") from None
    code, listed = known.code, declared_files(method)
    modules = {*map(os.path.normpath, code.modules.values())} if listed else set()  # they count by their text
    declared = {name: found for name, found in listed.items() if os.path.normpath(found[0]) not in modules}
    if not declared:
        return code
    files = [file for file, _ in declared.values()]
    watched = [*zip(map(str, files), states_of_files([*map(str, files)]))]
    hashes = {f"file {name}": content for name, (_, content) in declared.items()}
    return code._replace(code={**code.code, **hashes}, declared=files, watched=watched)


def _look(method: Path, more: tuple[str, ...]) -> _Known:
    # What loads methods for jobs is a new process as soon as one of its folders changes.
    known, folders = _known.get((method, more)), 0 if runs_jobs() else refresh_closures()
    if known and known.settled and known.folders == folders and known.states == states_at_moment(known.files):
        return known
    modules, names = closure(method, more)
    if is_own(str(method)):
        modules[module_of(method)] = method
    libraries = {name: found for name in sorted(names) if (found := version_of(name)) is not None}
    versions = {"python": python_here()}
    stage = not MADE_OF_STAGE.isdisjoint(read_source(method, module_of(method)).names)
    if (not stage or _takes_datasets(modules)) and (exax := version_of("accelerator")) is not None:
        versions["accelerator"] = exax  # it is given what exax reads
    files = [*map(str, modules.values()), *(folder for folder, _ in environment())]
    states = states_at_moment(files)  # before they are read, so that an edit meanwhile shows
    settled = bool(states) and all(map(is_settled, states))
    sources = {name: read_source(modules[name], name) for name in sorted(modules)}
    sources = {name: source for name, source in sources.items() if source.text != NOTHING}
    code = Code({name: each.hash for name, each in sources.items()}, versions, libraries, modules, [], [])
    texts = {name: each.text for name, each in sources.items()}
    known = _known[method, more] = _Known(folders, states, settled, files, code, texts)
    keep_sources()
    if runs_jobs() and not more:
        _ = known.text  # once for all jobs that this process forks
    return known


def _takes_datasets(modules: Mapping[str, Path]) -> bool:
    """True if code of an analysis names exax's datasets; the code that runs stages always does."""
    own = {name: file for name, file in modules.items() if not f"{name}.".startswith(WORKER)}
    imported = (name for each in own for name in read_source(own[each], each).names)
    return any(f"{name}.".startswith(f"{DATASET}.") for name in imported)


def _texts(texts: Mapping[str, str]) -> str:
    return "".join(f"\n# module {name}\n{text}\n" for name, text in texts.items())


NAME = "depend_extra"
OURS = f"{NAME} = code_of(__file__)"

_lists: dict[Path, tuple[list[int], list[Path]]] = {}  # files that methods declare
_hashes: dict[Path, tuple[list[int], str]] = {}


def declared_files(method: Path) -> dict[str, tuple[Path, str]]:
    """Files that a method declares in ``depend_extra``, except the one that `code_of` writes."""
    found: dict[str, tuple[Path, str]] = {}
    for file in unless_changed(_lists, method, _listed):
        if file != code_file(method):
            name = str(file.relative_to(method.parent)) if file.is_relative_to(method.parent) else file.name
            found[name if name not in found else str(file)] = file, _hash(file, method)
    return found


def _listed(method: Path) -> list[Path]:
    if not any(map(_may_declare, ast.parse(method.read_bytes()).body)):
        return []
    listed = getattr(_loaded(method), NAME, ())
    # An entry is a module, or a path relative to the method; exax would take each letter of a text for one.
    entries = [listed] if isinstance(listed, str) else listed
    paths = [getattr(each, "__file__", None) if isinstance(each, ModuleType) else each for each in entries]
    if isinstance(listed, str) or not all(isinstance(each, str | Path) for each in paths):
        problem = "depend_extra of a method contains an entry that is not a file"
        found = ", ".join(map(repr, entries))
        expected = "a list of paths and modules"
        hint = "correct it and run again"
        raise InputError(problem, file=method, field=NAME, found=found, expected=expected, hint=hint)
    return [method.parent / str(path) for path in paths]


def _may_declare(statement: ast.stmt) -> bool:
    """True if a statement of a method may set ``depend_extra``, in whatever way."""
    if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
        return True
    return NAME in ast.unparse(statement) and ast.unparse(statement) != OURS


def _loaded(method: Path) -> ModuleType:
    """Execute the method as a separate module, because ``depend_extra`` may be computed."""
    spec = importlib.util.spec_from_file_location(module_of(method), method)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module  # decorators look for the module of what they decorate
    try:
        exec(compile(method.read_bytes(), str(method), "exec"), vars(module))
    except Exception as error:
        problem = "a method cannot be imported"
        found = f"{type(error).__name__}: {error}"
        raise InputError(problem, file=method, found=found, hint="correct it and run again") from error
    finally:
        del sys.modules[spec.name]
        if before is not None:
            sys.modules[spec.name] = before
    return module


def _hash(file: Path, method: Path) -> str:
    try:
        return unless_changed(_hashes, file, hash_file)
    except OSError as error:
        problem = "a file that a method declares cannot be read"
        field = f"{NAME} of {method.name}"
        hint = "put it there, or take it out of depend_extra"
        raise InputError(problem, file=file, field=field, found=error.strerror, hint=hint) from None


VERSION = ".".join(map(str, sys.version_info[:3]))
OPTIONS = ("int_max_str_digits",)  # of -X
VARIABLES = ("PYTHONCASEOK", "PYTHONHASHSEED", "PYTHONINTMAXSTRDIGITS")
MODULES = ("sitecustomize", "usercustomize")


@cache
def python_here() -> str:
    """Version of Python, with every start-up setting that changes how it computes."""
    said = [f"-{'O' * sys.flags.optimize}"] * bool(sys.flags.optimize)
    said += ["-X dev"] * sys.flags.dev_mode
    said += [f"-W {each}" for each in sys.warnoptions]
    said += [f"-X {name}={value}" for name, value in sorted(sys._xoptions.items()) if name in OPTIONS]
    variables = {name: os.environ.get(name, "") for name in VARIABLES}
    said += [f"{name}={value}" for name, value in variables.items() if value not in ("", "random")]
    said += [f"{name} {content}" for name in MODULES if (content := _content_of(name))]
    lines = startup_lines()
    said += [f".pth files {digest([*lines])[:10]}"] * bool(lines)
    return f"{VERSION} with {', '.join(said)}" if said else VERSION


def pass_on_options() -> None:
    """Pass the options of this Python to programs that it starts."""
    given = {
        "PYTHONOPTIMIZE": str(sys.flags.optimize or ""),
        "PYTHONWARNINGS": ",".join(sys.warnoptions),
        "PYTHONDEVMODE": "1" * sys.flags.dev_mode,
    }
    os.environ.update({name: value for name, value in given.items() if value})


def _content_of(name: str) -> str:
    """Hash a module that Python ran at start-up, with the own modules that it imports."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if not file or file.startswith(f"{ROOT}/{PACKAGE}/"):
        return ""
    modules = {name: Path(file)}
    with contextlib.suppress(InputError, SyntaxError):
        modules |= closure_of(name, Path(file))[0] if is_own(file) else {}
    with contextlib.suppress(OSError):
        return digest({name: hash_file(each) for name, each in modules.items()})[:10]
    return "gone"
