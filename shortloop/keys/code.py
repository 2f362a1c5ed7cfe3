"""Hash a method's code: every own module it can import, without comments and formatting.

Declared files count too. Libraries are examined when a job has loaded them.

exax keys a job by its method file and the files in ``depend_extra``. A method here says
``depend_extra = code_of(__file__)``, which names one text file that holds all of the above; exax puts a
copy of it into ``method.tar.gz`` of each job, so that what went into a key can be read there. Only the
process that loads methods for exax writes that file, so that it says what exax has loaded.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from shortloop.base.errors import InputError
from shortloop.keys.closure import closure, look_anew
from shortloop.keys.depend_extra import declared_files
from shortloop.keys.file_state import (
    State,
    at_one_moment,
    moment,
    state_at_moment,
    states_at_moment,
    states_of_files,
)
from shortloop.keys.installed import environment, version_of
from shortloop.keys.interpreter import python_here
from shortloop.keys.methods import module_of
from shortloop.keys.own_code import PACKAGE, is_own
from shortloop.keys.source import NOTHING, hash_of, keep_sources, read_source
from shortloop.project.project import cache_directory, runs_jobs, write_atomically

__all__ = [
    "CODE_BESIDE",
    "MADE_OF_STAGE",
    "Code",
    "at_one_moment",
    "code_beside",
    "code_file",
    "code_of",
    "code_state",
    "code_text",
    "modules_as_loaded",
    "says_code",
]

CODE_BESIDE = ".modules.txt"
"""File of a job with the code of modules that exax keeps no copy of: of those that it imports by a name which
its method's code does not say, and of a method that does not say its code, with `code_of`."""
MADE_OF_STAGE = {
    f"{PACKAGE}.exax.method.exax_method",
    f"{PACKAGE}.exax.declare.stage",
    f"{PACKAGE}.stage",
}
"""What a method imports that is made of a stage."""
WORKER, DATASET = f"{PACKAGE}.stages.", f"{PACKAGE}.stages.dataset"
CODE_OF = f"{PACKAGE}.keys.code.code_of"


class Code(NamedTuple):
    """The code of a method.

    code: hash of each module, normalised; the method's own name is as in ``"methods.a_train"``. Of a file
        that the method declares in ``depend_extra``, by its path below the project, a hash of its bytes.
    versions: of Python, and of exax if it reads datasets for the method.
    libraries: versions of the libraries that its code names, whether a job loads them or not.
    modules: where each module is.
    declared: the files that it declares.
    watched: the files that it declares, each with its state, which must stay the same while a job runs.
    """

    code: dict[str, str]
    versions: dict[str, str]
    libraries: dict[str, str]
    modules: dict[str, Path]
    declared: list[Path]
    watched: list[tuple[str, State]]


class _Known(NamedTuple):
    folders: int  # of `look_anew`
    states: list[State]
    settled: bool
    files: list[str]
    code: Code
    texts: dict[str, str]
    text: list[str]  # all of it, once it was asked for


# Asked for job by job, so what came of it is kept with the states of the files that it came from.
_known: dict[tuple[Path, tuple[str, ...]], _Known] = {}


def code_of(method_file: str) -> list[str]:
    """Files for ``depend_extra`` of a method; written where exax loads methods, and nowhere else."""
    method = Path(method_file).resolve()
    file = code_file(method)
    if not runs_jobs():  # the file says what exax has loaded
        return [str(file)]
    text = code_text(method)
    if not (file.is_file() and file.read_text(encoding="utf-8") == text):
        write_atomically(file, text)
    return [str(file)]


def says_code(method: Path) -> bool:
    """Whether a method says its code, with `code_of` or as it is made of a stage; those of others don't."""
    return not {CODE_OF, *MADE_OF_STAGE}.isdisjoint(read_source(method, module_of(method)).names)


def code_file(method: Path) -> Path:
    """Where `code_of` writes."""
    return cache_directory("code") / f"{module_of(method)}.txt"


def code_text(method: Path) -> str:
    """The code of a method, with its closure, and the versions of its libraries."""
    return _text_of(_look(method, ()))


def _text_of(known: _Known) -> str:
    if not known.text:
        lines = [f"# {library} {version}" for library, version in known.code.versions.items()]
        known.text.append("\n".join(lines) + "\n" + _texts(known.texts))
    return known.text[0]


def code_beside(method: Path, more: Sequence[str], code: Mapping[str, str]) -> str:
    """The code of modules that a job has beside those that exax keeps with it."""
    modules = _look(method, tuple(more)).code.modules
    said = _look(method, ()).code.modules if says_code(method) else {}
    texts = {name: read_source(modules[name], name).text for name in sorted(modules.keys() - said.keys())}
    return _texts({name: text for name, text in texts.items() if hash_of(text) == code.get(name)})


def modules_as_loaded(method: Path) -> set[str]:
    """Modules that a method can import, as of when `code_of` last looked; the files may be others by now."""
    known = _known.get((method, ()))
    return set(closure(method)[0] if known is None else known.code.modules)


def code_state(method: Path, more: Sequence[str] = ()) -> Code:
    """The same as hashes, with the method itself and what it declares."""
    seen, asked = moment(), (method, tuple(more))
    if seen is None:
        return _code_now(*asked)
    if asked not in seen:
        seen[asked] = _code_now(*asked)
    found: Code = seen[asked]
    return found


def _code_now(method: Path, more: tuple[str, ...]) -> Code:
    try:
        known = _look(method, more)
    except SyntaxError as error:
        raise InputError(
            f"a file is not Python: {error.msg}",
            file=f"{error.filename}, line {error.lineno}",
            found=(error.text or "").strip(),
            hint="correct it and run again",
        ) from None
    listed = declared_files(method, code_file)
    if not listed:
        return known.code
    modules = {*map(os.path.normpath, known.code.modules.values())}  # which count by what they say
    declared = {name: found for name, found in listed.items() if os.path.normpath(found[0]) not in modules}
    if not declared:
        return known.code
    files = [file for file, _ in declared.values()]
    states = zip(map(str, files), states_of_files(list(map(str, files))))
    hashes = {f"file {name}": content for name, (_, content) in declared.items()}
    code = known.code
    return code._replace(code={**code.code, **hashes}, declared=files, watched=[*code.watched, *states])


def _look(method: Path, more: tuple[str, ...]) -> _Known:
    # What loads methods for jobs is a new process as soon as one of its folders changes.
    known, folders = _known.get((method, more)), 0 if runs_jobs() else look_anew()
    is_as_then = known is not None and known.settled and known.folders == folders
    if known is not None and is_as_then and known.states == states_at_moment(known.files):
        return known
    modules, names = closure(method, more)
    if is_own(str(method)):
        modules[module_of(method)] = method
    libraries = {name: found.text for name in sorted(names) if (found := version_of(name)) is not None}
    versions = {"python": python_here()}
    stage = not MADE_OF_STAGE.isdisjoint(read_source(method, module_of(method)).names)
    if (not stage or _takes_datasets(modules)) and (exax := version_of("accelerator")) is not None:
        versions["accelerator"] = exax.text  # it is given what exax reads
    files = [*map(str, modules.values()), *(folder for folder, _ in environment())]
    states = states_at_moment(files)  # before they are read, so that an edit meanwhile shows
    settled = all(state_at_moment(file)[1] for file in files)
    said = {name: read_source(modules[name], name) for name in sorted(modules)}
    said = {name: source for name, source in said.items() if source.text != NOTHING}
    hashes = {name: source.hash for name, source in said.items()}
    code = Code(hashes, versions, libraries, modules, [], [])
    texts = {name: source.text for name, source in said.items()}
    _known[method, more] = _Known(folders, states, settled, files, code, texts, [])
    keep_sources()
    if runs_jobs() and not more:
        _text_of(_known[method, more])  # once for all jobs that this process forks
    return _known[method, more]


def _takes_datasets(modules: Mapping[str, Path]) -> bool:
    """Whether code of an analysis names exax's datasets; what runs stages always does."""
    own = {name: file for name, file in modules.items() if not f"{name}.".startswith(WORKER)}
    return any(
        f"{name}.".startswith(f"{DATASET}.") for each in own for name in read_source(own[each], each).names
    )


def _texts(texts: Mapping[str, str]) -> str:
    return "".join(f"\n# module {name}\n{text}\n" for name, text in texts.items())
