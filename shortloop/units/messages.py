"""Messages between a run, its engine, its jobs, workers and nodes: plain data."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NotRequired, TypedDict, cast

from shortloop.base.plain import Plain
from shortloop.project.project import cache_directory

if TYPE_CHECKING:
    from shortloop.stages.threads import Pool
    from shortloop.units.machine_facts import Facts
    from shortloop.units.node_cache import Piece

STALE = b"stale"  # answer of a forkserver whose loaded code has changed: a new one is needed
SLICES = "slices"  # name of the engine that is exax itself
ENGINE_FOLDER = "SHORTLOOP_ENGINE_FOLDER"  # of the environment: of a job that is repeated
HERE = "this machine"  # place of an engine that a run has started
Printed = list[tuple[bytes | None, str]]


class AskedOfEngine(TypedDict):
    asked: dict[str, Plain]  # by the pipeline, for this job
    seconds: float | None  # that this machine would take for it, if known


class EngineNote(TypedDict):
    """Address of a run's engine, for its jobs."""

    pid: int  # process of the run
    process: int  # process of its engine
    address: str
    secret: str
    name: str
    other_kernels: bool
    when_silent: str  # see `EngineSettings`
    jobs: dict[str, AskedOfEngine]  # by stage and partition
    log: str  # file with what its process says
    here: list[str]  # a file of the project and its text: who finds it there has the project


class Work(NamedTuple):
    """The work of one job, for workers."""

    key: str  # tells it from that of other jobs, of other runs too
    data: bytes  # a pickled `JobWork`
    here: tuple[str, str] = ("", "")
    listed: str = ""  # hash of the listing of its needs; empty until a node has asked for it


class JobWork(TypedDict):
    """Description of a job for processes that compute its units; plain data."""

    project: str
    path: list[str]  # the user's entries of sys.path, which come before those of libraries
    slices: int
    surroundings: dict[str, str]
    imports: list[str]  # modules that are loaded before it is forked, for all jobs that need them
    closure: list[str]  # the user's modules in the job's key
    code: str  # hash of its code, and of the libraries as they are installed
    above: list[Plain]  # states of the jobs that it is made from
    package: str  # of the method
    task: Mapping[str, object]  # fields of a `Task`, without those that depend on the process
    mirrored: NotRequired[Mirrored]  # on a node without the project
    recorder: NotRequired[list[str]]  # of a job that is repeated: see `units.recording`


class Failure(TypedDict):
    unit: bytes | None  # None: the stage could not be opened
    traceback: str  # empty: the stage as it was opened there has no such unit


class UnitsDone(TypedDict):
    process: str  # tells the process that computed it from all others
    units: list[bytes]  # those that were computed, in their order
    values: list[bytes]  # of each, pickled: outputs and files by name, or a row
    cpu_seconds: NotRequired[float]
    facts: NotRequired[Facts]  # of this process
    threads: NotRequired[list[Pool]]  # its thread pools, each brought down to one thread
    notes: NotRequired[bytes]  # that it took; what it said before holds for these units, too
    at: NotRequired[int]  # bytes of notes before these
    printed: NotRequired[Printed]  # by each unit since then, in their order; None: beside the units
    failure: NotRequired[Failure | None]  # why it did not compute the others
    recorded: NotRequired[dict[str, bytes]]  # files of its recorder


class Reply(NamedTuple):
    """Answer of a worker to a batch."""

    seconds: float  # that its units took, when the stage was open
    data: bytes  # pickled `UnitsDone`; empty if the process that computed it has ended
    lost: str = ""  # how that process ended, then
    missing: Missing | None = None  # what its node must have first; then nothing was computed
    worker: str = ""  # then: where that is, as its engine knows it


class Missing(NamedTuple):
    """Contents that a node without the project lacks to compute a batch."""

    cache: str  # name of the node's cache, which all its workers share
    contents: list[str]  # hashes; none if the node does not know the job's listing


class Needs(TypedDict):
    """Needs of a job on nodes without the project."""

    what: str  # what messages call the job
    listing: bytes
    sources: dict[str, tuple[Path | bytes, int]]  # where each content is, and its bytes
    seconds: float | None  # that this machine would take to compute it, if known


class Parcel(NamedTuple):
    sender: str  # hexadecimal
    pieces: list[Piece]


class Mirrored(TypedDict):
    """Places of the mirrors of a job, on a node without the project."""

    project: str  # its folder on the machine of the run
    code: str  # mirror of what the job imports
    data: str  # mirror of what it reads; beside it, with `.lock`, a file that is locked while it is used
    inputs: dict[str, str]  # where input files are, by their content
    whole: list[str]  # folders in mirrors with all that a job left
    absent: list[str]  # folders that count as missing here, whatever there is of their names


def engine_folder() -> Path:
    return cache_directory(os.environ.get(ENGINE_FOLDER, "engine"))


def note_file() -> Path:
    """File of the `EngineNote`, during a run that has an engine."""
    return engine_folder() / "run.json"


def engine_of_run() -> EngineNote | None:
    """The engine of the run that this job belongs to."""
    return cast("EngineNote | None", living_note(note_file()))


def living_note(file: Path) -> Mapping[str, object] | None:
    """Read the note of a process; None if there is none, or if it was left behind by one that was killed."""
    try:
        note: dict[str, object] = json.loads(file.read_text(encoding="utf-8"))
        os.kill(cast("int", note["pid"]), 0)
    except (OSError, ValueError, KeyError):
        return None
    return note
