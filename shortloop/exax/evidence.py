"""Check that a finished job ran the code and inputs of its key."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from shortloop.base.errors import InputError
from shortloop.base.text import short_list
from shortloop.exax.libraries import HERE
from shortloop.keys.closure import SETTING_UP, closure_of
from shortloop.keys.code import Code
from shortloop.keys.file_state import file_state, states_of_files
from shortloop.keys.hashing import hash_file
from shortloop.keys.installed import installed_now, number_of
from shortloop.keys.key import Parts
from shortloop.keys.own_code import PACKAGE, ROOT, is_own
from shortloop.keys.source import NOTHING, hash_of, keep_sources, normalised_hash, read_source
from shortloop.project.project import CELLS, project_directory
from shortloop.store.inputs import is_unchanged, known_content
from shortloop.store.process_notes import Note, read_notes

SHOWN = 5  # names in a message


class Located(NamedTuple):
    path: str
    content: str
    state: Sequence[int]  # before the job began
    settled: bool  # True if any change would show in the state


@dataclass
class Evidence:
    """What the processes of a job loaded and read, compared with its key."""

    changed: str = ""  # what changed while it ran, so that it must be built again
    unseen: list[tuple[str, str]] = field(default_factory=list)  # own modules, with files, not in the key
    opened: list[str] = field(default_factory=list)  # files of the project or input, likewise
    variables: list[str] = field(default_factory=list)  # of the environment, that it read
    imported: list[str] = field(default_factory=list)  # those read while own modules were imported
    libraries: dict[str, str] = field(default_factory=dict)  # as installed; empty if missing

    def check(self, method: str) -> None:
        """Refuse a job that loaded code, or data when it was imported, which is not in its key."""
        if self.imported:
            problem = "a file was read while the method was imported, so its content is not in the job's key"
            found = _listed(self.imported)
            expected = "files that are read when the stage is called"
            hint = "give the stage a parameter of type `File`, and `run.file(path)` in the build script"
            raise InputError(problem, field=f"method {method}", found=found, expected=expected, hint=hint)
        if self.unseen:
            raise InputError(
                "a method loaded code that is not in its key, so edits of it would go unnoticed",
                field=f"method {method}",
                found=short_list([f"{name} ({file})" for name, file in self.unseen], SHOWN),
                expected="modules that its code imports by name",
                hint="write `import NAME` into the method, be it below `if TYPE_CHECKING:`, or give "
                "`modules=[NAME]` where it is built",
            )

    def note_module(self, name: str, file: str, loaded: str | None, code: Mapping[str, str]) -> None:
        if name == CELLS:  # the empty package that stages of notebooks are written into
            return
        if name not in code:
            if loaded != hash_of(NOTHING) and name not in watchers():  # finding these takes a second
                self.unseen.append((name, file))
        elif loaded != code[name]:
            self.changed = f"the code of {name} changed"

    def note_library(self, name: str, there: str, where: str, versions: Mapping[str, str]) -> None:
        here = versions.get(name) or self.libraries[name]
        if where != HERE:  # the files of a version may be others on another machine
            there, here = number_of(there), number_of(here)
        if there != here:
            there, here = (number_of(each) or "missing" for each in (there, here))
            was = f"was {there} where jobs run, not {here}" if there != here else "was installed again"
            self.changed = f"{name} {was}"

    def note_opened(self, notes: Sequence[Note], known: set[str]) -> None:
        opened = dict.fromkeys(line["opened"] for line in notes if "opened" in line)
        # What prints where a job was interrupted reads code of this package.
        sources = {each for each in opened if each.startswith(f"{ROOT}/{PACKAGE}/") and each.endswith(".py")}
        self.opened = [file for file in opened if file not in known and file not in sources]
        if self.opened:  # it may be known by another path
            real = set(map(os.path.realpath, known))
            self.opened = [file for file in self.opened if os.path.realpath(file) not in real]
            imported = {line["opened"] for line in notes if line.get("imported")}
            self.imported = [file for file in self.opened if file in imported]

    def warnings(self, job: str, method: str) -> Iterator[str]:
        unseen = "which its key does not see"
        if self.opened:
            yield (
                f"warning: {job} ({method}) has read {_listed(self.opened)}, {unseen}: an edit there makes "
                "nothing run again. Give the stage a parameter of type `File`, or `list[File]` for a folder, "
                "and `run.file(path)` of each file in the build script"
            )
        if self.variables:
            variables = short_list(self.variables, SHOWN)
            yield (
                f"warning: {job} ({method}) has read {variables} of the environment, {unseen}: another value "
                "makes nothing run again. Read it in the build script, and give it to the stage as an option"
            )


def _listed(files: Sequence[str]) -> str:
    """List paths relative to the project; a folder has a slash at its end."""
    project = project_directory()
    return short_list([os.path.relpath(file, project) + "/" * file.endswith("/") for file in files], SHOWN)


def given_files(paths: Mapping[str, str]) -> list[Located]:
    """Return the state of files that a job is given as paths before it begins."""
    found = []
    for path, content in paths.items():
        file = Path(path)
        try:
            state, settled = file_state(file)
            same = known_content([file]) == [content] or hash_file(file) == content
        except OSError:
            same = False
        if not same:
            problem = "an input file was changed or moved since this run has read it"
            raise InputError(problem, file=file, hint="run again")
        found.append(Located(path, content, state, settled))
    return found


def evidence_of(
    folder: Path,
    parts: Parts,
    before: Code,
    given: Sequence[Located] = (),
    libraries: Mapping[str, str] | None = None,
) -> Evidence:
    """Compare what the processes of a job noted with its key."""
    if not (notes := read_notes(folder)):
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
            evidence.note_module(names.get(file, name), file, normalised_hash(content), parts.code)
        versions = line.get("versions", {})
        for name in sorted(versions.keys() - own):
            evidence.note_library(name, versions[name], line.get("where", ""), parts.versions)
    package, _, name = parts.method.rpartition(".")
    method = str(before.modules.get(f"{package}.a_{name}", ""))
    is_missing = method and method not in seen and is_own(method)
    if is_missing and os.path.realpath(method) not in map(os.path.realpath, seen):
        evidence.changed = evidence.changed or "what it loaded is not known: it changed"
    evidence.note_opened(notes, known | seen)
    evidence.variables = sorted({line["variable"] for line in notes if "variable" in line})
    is_same = states_of_files([file for file, _ in before.watched]) == [state for _, state in before.watched]
    if not is_same or (before.code, before.versions) != (parts.code, parts.versions):
        evidence.changed = evidence.changed or "Python, or a file that the method declares, changed"
    return evidence


@cache
def watchers() -> set[str]:
    """List modules that are loaded to watch any job."""
    others = ("exax.patches.watch", "exax.patches.machine_code", "engines.forkserver")
    names = [*SETTING_UP, *(f"{PACKAGE}.{name}" for name in others)]
    places = [ROOT.joinpath(*name.split(".")) for name in names]
    paths = [each / "__init__.py" if each.is_dir() else each.with_suffix(".py") for each in places]
    files = dict(zip(names, paths))
    imported = {each for name, file in files.items() for each in read_source(file, name).names}
    found = {*names, *closure_of(names[0], files[names[0]], imported)[0]}  # at once, as they share most
    keep_sources()
    return found
