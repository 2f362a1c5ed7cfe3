"""The manifest of a job: the parts of its key, and the size and hash of its files.

exax finishes a job and forgets it; a manifest is written after that, when all of the job is on disk. A job
without one was cut off in between.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from shortloop.keys.hashing import digest
from shortloop.keys.key import Parts
from shortloop.keys.own_code import is_own_module
from shortloop.stages.records import FAILED_UNITS, FORMAT, OBJECT, RECORD, Work, json_lines
from shortloop.stages.tables import is_table_file
from shortloop.store.process_notes import NOTED
from shortloop.store.setup import json_object

MANIFEST = "manifest.json"
OTHER_FORMAT = "is kept in another format"
Cost = dict[str, float]  # what a job took: a number by what it is of; under `work`, a `Work`
States = list[list[str | int]]  # name of each file, and what changes with it; see `integrity.states_of`


class NotOnDisk(OSError):
    """Results could not be flushed to disk; the system reports that once, and may then drop the data."""


@dataclass(frozen=True)
class Manifest:
    """Everything known about a finished job."""

    job: str
    key: str
    parts: Parts  # what the key was made of
    content: str  # hash of the results; jobs with equal results are interchangeable
    files: dict[str, tuple[int, str]]  # size in bytes and BLAKE3 of each file
    base: str = ""  # key without the option in which it can grow, or key of all its units; empty: neither
    units: list[str] = field(default_factory=list)  # fields that all units read, if others can take them over
    partition: str | None = None  # None: all of the data
    rejected: bool = False  # True if it rejected its input
    pipeline: str = ""  # build script and name of the settings
    settings: str = ""  # name of the settings; empty if they have none
    reason: str = ""  # why it was built
    previous: str = ""  # previous job in its place; empty: none
    cost: Cost = field(default_factory=dict)  # ``seconds``, ``bytes``, and what `exax.cost` measured
    opened: list[str] = field(default_factory=list)  # files and $variables that it read, but not its key
    project: str = ""  # project that it was built for, as its workdir calls it; empty: unknown
    harmless: list[Harmless] = field(default_factory=list)  # later changes that need no rebuild
    # With datasets: content of the jobs whose datasets it needs; itself is among them, without content.
    rests_on: dict[str, str] = field(default_factory=dict)

    @property
    def grows(self) -> str:
        """Option in which the job can grow; empty: none."""
        names = self.parts.options if self.base else ()
        return next((name for name in names if self.parts.key(without=name) == self.base), "")

    @property
    def seconds(self) -> float:
        return float(self.cost.get("seconds", 0))

    def declared(self) -> list[tuple[Parts, str, Harmless]]:
        """Parts of the key, and base, that the job has by each declaration."""
        states = [(each.applied(self.parts), each) for each in self.harmless]
        return [(parts, self._base_of(parts), each) for parts, each in states]

    def _base_of(self, parts: Parts) -> str:
        if self.units:
            return parts.key_of_units(self.units)
        grows = self.grows
        return parts.key(without=grows) if grows else ""


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Flush all of a job to disk, then write its manifest."""
    try:
        for name in {*manifest.files, *(str(Path(name).parent) for name in manifest.files)}:
            _sync(folder / name)
    except OSError as error:
        raise NotOnDisk(error.errno, error.strerror, str(folder)) from error
    part = folder / f".{MANIFEST}.{os.getpid()}"
    with part.open("w", encoding="utf-8") as stream:
        stream.write(manifest_text(manifest))
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(folder / MANIFEST)
    (folder / NOTED).unlink(missing_ok=True)
    _sync(folder)
    _sync(folder.parent)


def manifest_text(manifest: Manifest) -> str:
    """Serialise a manifest, with a hash of all of it."""
    plain = {"format": FORMAT, **vars(manifest), "parts": vars(manifest.parts)}
    plain["harmless"] = [vars(each) for each in manifest.harmless]
    return json_lines(plain | {"hash": digest(plain)})


def read_manifest(folder: Path) -> Manifest | None:
    """Read the manifest of a job; None if it cannot be used."""
    found = _read(folder)
    return found if isinstance(found, Manifest) else None


def manifest_problem(folder: Path) -> str | None:
    """Say why a job has no usable manifest."""
    found = _read(folder)
    return None if isinstance(found, Manifest) else found


def _read(folder: Path) -> Manifest | str:
    try:
        manifest = parse_manifest((folder / MANIFEST).read_bytes())
    except FileNotFoundError:
        return f"{MANIFEST} is missing"
    except OSError:
        return f"{MANIFEST} is damaged"
    if isinstance(manifest, Manifest) and manifest.job != folder.name:
        return f"{MANIFEST} is that of {manifest.job}"
    return manifest


def parse_manifest(text: bytes) -> Manifest | str:
    """Read a manifest, or say why it cannot be used."""
    try:
        plain = json.loads(text)
        whole = plain.pop("hash", None) == digest(plain)
        number = plain.pop("format")
        if type(number) is int and number != FORMAT:
            return OTHER_FORMAT
        plain["parts"] = Parts(**plain["parts"])
        plain["files"] = {name: (size, found) for name, (size, found) in plain["files"].items()}
        plain["harmless"] = [_harmless(**each) for each in plain["harmless"]]
        manifest = Manifest(**plain)
        manifest.declared()  # which fails of another job's
        key = manifest.parts.key()
        if not (whole and _is_well_formed(manifest)):
            return f"{MANIFEST} is damaged"
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"{MANIFEST} is damaged"
    return manifest if manifest.key == key else f"{MANIFEST} has another key than its parts"


def _harmless(why: str, when: float, what: str, code: Change, versions: Change) -> Harmless:
    """Validate a declaration as read."""
    pairs = [pair for given in (code, versions) for pair in given.values()]
    hashes = [each for pair in pairs for each in pair if each is not None]
    if not all(isinstance(each, str) for each in (why, what, *hashes)) or not isinstance(when, int | float):
        raise TypeError
    if not all(isinstance(pair, list) for pair in pairs):
        raise TypeError
    return Harmless(why, when, what, code, versions)


def _is_well_formed(manifest: Manifest) -> bool:
    usual = Manifest("", "", Parts("", {}, {}, {}, {}), "", {}, partition="")
    named = zip(vars(manifest).values(), vars(usual).values())
    parts = zip(vars(manifest.parts).values(), vars(usual.parts).values())
    files = [pair for size, found in manifest.files.values() for pair in ((size, 0), (found, ""))]
    pairs = [*named, *parts, *files, (manifest.seconds, 0.0)]
    return all(type(value) is type(kind) or (value, kind) == (None, "") for value, kind in pairs)


def _sync(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


Change = dict[str, list[str | None]]  # by name what it was and what it is; None where it was or is not there


@dataclass(frozen=True)
class Harmless:
    """A change since the job was built, declared to leave its result unchanged."""

    why: str  # the reason, as it was given
    when: float  # seconds since 1970
    what: str  # what changed, in a line
    code: Change  # hashes of modules
    versions: Change  # versions of Python and of libraries

    @classmethod
    def between(cls, made_of: Parts, now: Parts, why: str, what: str) -> Harmless:
        """Compare the parts of a key with the current ones."""
        code, versions = _change(made_of.code, now.code), _change(made_of.versions, now.versions)
        return cls(why, round(time.time(), 3), what, code, versions)

    @property
    def line(self) -> str:
        """Describe it in a line, without hashes and versions."""
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.when))
        return f"declared harmless on {day}: {self.why} ({self.what})"

    def applied(self, made_of: Parts) -> Parts:
        """Parts of the key after the change."""
        code, versions = _applied(made_of.code, self.code), _applied(made_of.versions, self.versions)
        return replace(made_of, code=code, versions=versions)


def _change(old: Mapping[str, str], new: Mapping[str, str]) -> Change:
    names = sorted({*old, *new})
    return {name: [old.get(name), new.get(name)] for name in names if old.get(name) != new.get(name)}


def _applied(old: Mapping[str, str], change: Change) -> dict[str, str]:
    found = dict(old)
    for name, (before, after) in change.items():
        if found.pop(name, None) != before:
            raise ValueError(f"{name} was not {before}")
        if after is not None:
            found[name] = after
    return found


def is_outdated(folder: Path) -> bool:
    """True if a job is stored in the format of another version of Shortloop."""
    problem = manifest_problem(folder)
    if problem == OTHER_FORMAT or not (folder / MANIFEST).exists():
        return problem == OTHER_FORMAT
    record = json_object(folder / RECORD)
    is_record = {"stage", "arrays"} <= record.keys()  # else damaged, or not ours
    return is_record and record.get("format") != FORMAT


@dataclass(frozen=True)
class StoredJob:
    """A finished job, as its manifest and the index have it."""

    job: str
    key: str
    path: Path
    content: str  # hash of the results
    seconds: float  # how long it took
    rejected: bool  # True if it rejected its input
    partition: str | None  # None: all of the data
    libraries: str  # JSON: the libraries that it loaded, as they were installed
    files: tuple[str, ...]
    states: States = field(default_factory=list, compare=False)  # when its files were last known to be right
    harmless: str = ""  # why somebody declared that it may be used though its code or versions changed
    work: Work = field(default_factory=Work, compare=False)  # of a job that was just built

    @classmethod
    def from_manifest(cls, folder: Path, manifest: Manifest) -> StoredJob:
        what = manifest.content, manifest.seconds, manifest.rejected, manifest.partition
        libraries, files = manifest.parts.libraries_text, (*manifest.files,)
        work = cast("Work", manifest.cost.get("work", {}))
        return cls(manifest.job, manifest.key, folder, *what, libraries, files, work=work)

    @property
    def has_tables(self) -> bool:
        return any(map(is_table_file, self.files))

    @property
    def incomplete(self) -> bool:
        """True if units failed, which the next run retries."""
        return FAILED_UNITS in self.files

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules that reading its objects imports: own ones, and top names of libraries."""
        found: set[str] = set()
        if any(name.endswith(OBJECT) for name in self.files):
            with suppress(KeyError, TypeError, AttributeError):
                objects: Any = json_object(self.path / RECORD)["objects"]
                names = [name for each in objects.values() for name in each["modules"]]
                found = {name if is_own_module(name) else name.partition(".")[0] for name in names}
        return tuple(sorted(found))
