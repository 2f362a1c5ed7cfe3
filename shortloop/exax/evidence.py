"""Check that a finished job ran the code and inputs of its key."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from shortloop.base.errors import InputError
from shortloop.exax.libraries import HERE
from shortloop.keys.closure import SETTING_UP, closure_of
from shortloop.keys.code import Code
from shortloop.keys.file_state import State, file_state, states_of_files
from shortloop.keys.hashing import hash_file
from shortloop.keys.installed import installed_now, number_of
from shortloop.keys.key import Parts
from shortloop.keys.own_code import PACKAGE, ROOT, is_own
from shortloop.keys.source import NOTHING, hash_of, keep_sources, normalised_hash, read_source
from shortloop.project.project import CELLS, project_directory
from shortloop.store.inputs import is_unchanged, known_content
from shortloop.store.notes import Note, read_notes

__all__ = ["Evidence", "Located", "evidence_of", "given_files", "watchers"]

SHOWN = 5  # names in a message


class Located(NamedTuple):
    """An input file of a job.

    path, content: where it is, and what it holds.
    state: its state before the job began.
    settled: whether any change shows in that.
    """

    path: str
    content: str
    state: Sequence[int]
    settled: bool


@dataclass
class Evidence:
    """What a job's processes did, as far as it matters.

    changed: what was not as the key says, as it changed on the way: the job has to be built again. Empty:
        nothing.
    unseen: modules of one's own, each with its file, that were loaded and that the key does not know.
    opened: files of the project or its input that were read, and that the key does not know.
    imported: those of them that modules of one's own read while they were imported.
    libraries: libraries that were loaded, as they are installed; empty of one that was looked for and is not
        there.
    """

    changed: str = ""
    unseen: list[tuple[str, str]] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    imported: list[str] = field(default_factory=list)
    libraries: dict[str, str] = field(default_factory=dict)

    @property
    def is_as_keyed(self) -> bool:
        """True if it ran what its key says, and read nothing else."""
        return not (self.changed or self.unseen or self.opened)

    def check(self, method: str) -> None:
        """Refuse a job that has loaded code, or data as it was imported, which its key does not know."""
        if self.imported:
            raise InputError(
                "a file was read while the method was imported, so its content is not in the job's key",
                field=f"method {method}",
                found=_listed(self.imported),
                expected="files that are read when the stage is called",
                hint="give the stage a parameter of type `File`, and `run.file(path)` in the build script",
            )
        if self.unseen:
            found = [f"{name} ({file})" for name, file in self.unseen[:SHOWN]]
            raise InputError(
                "a method loaded code that is not in its key, so edits of it would go unnoticed",
                field=f"method {method}",
                found=", ".join(found) + (", …" if len(self.unseen) > SHOWN else ""),
                expected="modules that its code imports by name",
                hint="write `import NAME` into the method, be it below `if TYPE_CHECKING:`, or give "
                "`modules=[NAME]` where it is built",
            )

    def warning(self, job: str, method: str) -> str:
        """What to say of files that its key does not know."""
        return (
            f"warning: {job} ({method}) has read {_listed(self.opened)}, which its key does not see: an "
            "edit there makes nothing run again. Register the file and give its content as an option"
        )


def _listed(files: Sequence[str]) -> str:
    """Paths from the folder of the project; a folder has a slash at its end."""
    shown = [os.path.relpath(file, project_directory()) + "/" * file.endswith("/") for file in files[:SHOWN]]
    return ", ".join(shown) + (f" and {len(files) - SHOWN} more" if len(files) > SHOWN else "")


def given_files(paths: Mapping[str, str]) -> list[Located]:
    """Files that a job is to be given as paths, as they are before it begins."""
    found = []
    for path, content in paths.items():
        file = Path(path)
        try:
            state, settled = file_state(file)
            same = known_content([file]) == [content] or hash_file(file) == content
        except OSError:
            same = False
        if not same:
            raise InputError(
                "an input file was changed or moved since this run has read it", file=file, hint="run again"
            )
        found.append(Located(path, content, state, settled))
    return found


def evidence_of(
    folder: Path,
    parts: Parts,
    before: Code,
    given: Sequence[Located] = (),
    libraries: Mapping[str, str] | None = None,
) -> Evidence:
    """What the processes of a job noted, against its key."""
    notes = read_notes(folder)
    if not notes:
        return Evidence("what it loaded is not known: it changed")
    evidence = Evidence(libraries={**(libraries or {})})
    own = {name.partition(".")[0] for name in before.modules}
    names = {str(file): name for name, file in before.modules.items()}
    noted = [line for line in notes if "located" in line]
    located = [Located(line["located"], line["content"], line["state"], line["settled"]) for line in noted]
    known = {*names, *map(str, before.declared), *(each.path for each in (*given, *located))}
    for each in (*given, *located):
        if not is_unchanged(*each):
            evidence.changed = f"the file {each.path} changed"
    new = {name for line in notes for name in line.get("versions", ())} - own
    if new := new - parts.versions.keys() - evidence.libraries.keys():
        evidence.libraries |= installed_now(sorted(new))
    seen: set[str] = set()  # files of modules that were loaded
    by_path: dict[str, str] = {}
    for line in notes:
        for name, (file, content) in line.get("loaded", {}).items():
            if file not in seen and file not in names:  # it may be one of them, by another path
                by_path = by_path or {os.path.realpath(each): known for each, known in names.items()}
                if (known_as := by_path.get(os.path.realpath(file))) is not None:
                    names[file] = known_as
            seen.add(file)
            _check_module(evidence, names.get(file, name), file, normalised_hash(content), parts.code)
        there_by_name = {name: each for name, each in line.get("versions", {}).items() if name not in own}
        for name, there in there_by_name.items():
            _check_library(evidence, name, there, line.get("where", ""), parts.versions)
    method = before.modules.get(_module_of(parts.method))
    if method is not None and is_own(str(method)) and not _is_among(str(method), seen):
        evidence.changed = evidence.changed or "what it loaded is not known: it changed"
    _note_opened(evidence, notes, known | seen)
    if (before.code, before.versions) != (parts.code, parts.versions) or _changed(before.watched):
        evidence.changed = evidence.changed or "Python, or a file that the method declares, changed"
    return evidence


def _note_opened(evidence: Evidence, notes: Sequence[Note], known: set[str]) -> None:
    """Note files that were opened and that the key does not know."""
    opened = dict.fromkeys(line["opened"] for line in notes if "opened" in line)
    evidence.opened = [file for file in opened if file not in known and not _is_source(file)]
    if evidence.opened:  # it may be known by another path
        real = set(map(os.path.realpath, known))
        evidence.opened = [file for file in evidence.opened if not _is_known(file, real)]
        imported = {line["opened"] for line in notes if line.get("imported")}
        evidence.imported = [file for file in evidence.opened if file in imported]


@cache
def watchers() -> set[str]:
    """Modules that are loaded to watch a job, whatever that does."""
    names = [*SETTING_UP, f"{PACKAGE}.exax.patches.watch", f"{PACKAGE}.exax.patches.machine_code"]
    names += [f"{PACKAGE}.engines.forkserver"]
    files = {name: _file_of(ROOT.joinpath(*name.split("."))) for name in names}
    imported = {each for name, file in files.items() for each in read_source(file, name).names}
    found = {*names, *closure_of(names[0], files[names[0]], imported)[0]}  # at once, as they share most
    keep_sources()
    return found


def _file_of(module: Path) -> Path:
    return module / "__init__.py" if module.is_dir() else module.with_suffix(".py")


def _is_known(file: str, known: Collection[str]) -> bool:
    """True for a file among others, and for a folder with no other files in it."""
    if not file.endswith("/"):
        return os.path.realpath(file) in known
    folder = os.path.realpath(file)
    with contextlib.suppress(OSError):
        inside = [each for each in os.listdir(folder) if not each.startswith((".", "__pycache__"))]
        return all(os.path.isdir(f"{folder}/{each}") or f"{folder}/{each}" in known for each in inside)
    return False


def _is_among(file: str, others: Collection[str]) -> bool:
    """Whether a file is one of others, also by another path to it."""
    return file in others or os.path.realpath(file) in map(os.path.realpath, others)


def _module_of(method: str) -> str:
    """Name of the module of ``"methods.train"``, as of `Code`."""
    package, _, name = method.rpartition(".")
    return f"{package}.a_{name}"


def _is_source(file: str) -> bool:
    """Whether a file is code of this package: what prints where a job was interrupted reads it."""
    return file.startswith(f"{ROOT}/{PACKAGE}/") and file.endswith(".py")


def _changed(watched: Sequence[tuple[str, State]]) -> bool:
    return states_of_files([file for file, _ in watched]) != [state for _, state in watched]


def _check_library(
    evidence: Evidence, name: str, there: str, where: str, versions: Mapping[str, str]
) -> None:
    here = versions.get(name) or evidence.libraries[name]
    if where != HERE:  # the files of a version may be others on another machine
        there, here = number_of(there), number_of(here)
    if there != here:
        there, here = (number_of(each) or "missing" for each in (there, here))
        was = f"was {there}, where jobs run, and not {here}" if there != here else "was installed again"
        evidence.changed = f"{name} {was}"


def _check_module(
    evidence: Evidence, name: str, file: str, said: str | None, code: Mapping[str, str]
) -> None:
    if name == CELLS:  # the empty package that stages of notebooks are written into
        return
    if name not in code and (said == hash_of(NOTHING) or name in watchers()):  # to find these takes a second
        return
    if name not in code:
        evidence.unseen.append((name, file))
    elif said != code[name]:
        evidence.changed = f"the code of {name} changed"
