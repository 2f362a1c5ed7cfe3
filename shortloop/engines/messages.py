"""What the run, its engine, its jobs and the workers say to each other: plain data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NotRequired, TypedDict

from shortloop.engines.node_messages import Mirrored, Missing
from shortloop.plain import Plain

if TYPE_CHECKING:
    from shortloop.engines.facts import Facts
    from shortloop.worker.threads import Pool

__all__ = [
    "BEGIN",
    "HERE",
    "SLICES",
    "STALE",
    "Asked",
    "Coming",
    "EngineNote",
    "Failure",
    "JobWork",
    "Later",
    "Order",
    "Reply",
    "UnitsDone",
    "Work",
]

STALE = b"stale"
"""What a forkserver answers if another one is needed, as code that it has loaded is another by now."""
BEGIN = [b""]
"""In place of units: the stage is opened, says what its units cost, and computes the one that costs most."""
SLICES = "slices"
"""Name of the engine that is exax itself."""
HERE = "this machine"
"""Where an engine is that a run has started."""


class Order(TypedDict):
    """What the run says to its engine, in one line of JSON on standard input.

    Parameters
    ----------
    settings : dict
        As of `EngineSettings`.
    workers : int
        How many to start, if the settings say nothing.
    address : str
        Unix socket to listen at.
    secret : str
        What jobs must know, hexadecimal.
    early : str
        Folder where results wait for their jobs.
    say : int
        File descriptor for lines that are for the one who has started the run.
    """

    settings: dict[str, object]
    workers: int
    address: str
    secret: str
    early: str
    say: int


class EngineNote(TypedDict):
    """Where jobs find the engine of their run.

    Parameters
    ----------
    run, process : int
        Process of the run, and of its engine.
    address, secret : str
        As of `Order`.
    name : str
        Of the engine.
    other_kernels : bool
        As of `EngineSettings`.
    asked : dict
        What the pipeline asks of the engine for the next job.
    log : str
        File with what its process says.
    here : list of str
        A file of the project and what is in it: who finds it there has the project.
    seconds : float or None
        How long this machine would take for the next job, as far as is known.
    """

    run: int
    process: int
    address: str
    secret: str
    name: str
    other_kernels: bool
    asked: dict[str, Plain]
    log: str
    here: list[str]
    seconds: float | None


class Work(NamedTuple):
    """The work of one job, for workers.

    Parameters
    ----------
    key : str
        Tells it from that of other jobs, of other runs too.
    data : bytes
        What `shortloop.engines.job_process` reads.
    what : str, default ""
        A hash of what is computed, and by which code.
    here : tuple of str
        As of `EngineNote`; no names: the project is there.
    listed : str
        Hash of the list of what it needs where the project is not; empty if nobody has asked for it yet.
    """

    key: str
    data: bytes
    what: str = ""
    here: tuple[str, str] = ("", "")
    listed: str = ""


class Later(NamedTuple):
    """A job that comes later.

    Parameters
    ----------
    work : Work
        What workers must know of it.
    name : str
        What messages call it.
    method : Path
        File of its method.
    modules : list of str
        Modules that it imports by a name that is an option.
    seconds : float or None
        How long this machine would take to compute it, as far as is known.
    """

    work: Work
    name: str
    method: Path
    modules: list[str]
    seconds: float | None


class Coming(TypedDict):
    """What a run says before a job begins.

    Parameters
    ----------
    is_next : bool or None
        Whether the job that begins now is likely to ask for its units; None: as before.
    coming : list of Later
        Jobs after it, whose units can be computed early.
    over : list of str
        What jobs compute that were told of, and whose turn is over.
    asked : dict
        As of `Asked`.
    """

    is_next: bool | None
    coming: list[Later]
    over: list[str]
    asked: Mapping[str, Plain]


class Asked(TypedDict):
    """What a job asks for.

    Parameters
    ----------
    work : Work
        What workers must know of it.
    costs : dict of bytes to float
        Units to be computed, by their identity as of `shortloop.worker.identity`, and what each costs.
    asked : dict
        What the pipeline asks of the engine for this job.
    """

    work: Work
    costs: Mapping[bytes, float]
    asked: Mapping[str, Plain]


class JobWork(TypedDict):
    """What a process must know of a job to compute its units; plain data.

    Parameters
    ----------
    project : str
        The project's folder.
    path : list of str
        Folders of one's own that modules are looked for in, before those of libraries.
    slices : int
        As exax has them.
    surroundings : dict of str to str
        As of `shortloop.engines.surroundings.surroundings_here`, of the job.
    imports : list of str
        Modules that the job imports; loaded before it is forked, for all jobs that need them.
    closure : list of str
        Modules of one's own that the job's key knows.
    code : str
        A hash of its code, and of the libraries as they are installed.
    above : list
        States of the jobs that it is made from.
    package : str
        The method's package.
    task : mapping
        Fields of a `Task`, without those that hang on the process.
    mirrored : Mirrored
        Where the project is not there, what takes its place.
    """

    project: str
    path: list[str]
    slices: int
    surroundings: dict[str, str]
    imports: list[str]
    closure: list[str]
    code: str
    above: list[Plain]
    package: str
    task: Mapping[str, object]
    mirrored: NotRequired[Mirrored]


class Failure(TypedDict):
    """A unit that raised.

    Parameters
    ----------
    unit : bytes or None
        It; None: the stage could not be opened.
    traceback : str
        Where and why; empty: the stage as it was opened there has no such unit.
    """

    unit: bytes | None
    traceback: str


class UnitsDone(TypedDict):
    """What came of a batch.

    Parameters
    ----------
    process : str
        The process that computed it, told from all others.
    number : int
        How many batches it computed before; what it said with these holds for this one, too.
    units : list of bytes
        Those that were computed, in their order.
    values : list
        What each gave: outputs and files by name, or a row.
    cpu_seconds : float
        Processor time.
    facts : Facts or None
        Of this process, the first time.
    threads : list of Pool
        Its thread pools, each brought down to one thread.
    notes : bytes
        What it noted since it said so last.
    printed : str
        What it printed since then.
    failure : Failure or None
        Why it did not compute the others.
    """

    process: str
    number: int
    units: list[bytes]
    values: list[Mapping[str, object] | bytes]
    cpu_seconds: float
    facts: Facts | None
    threads: list[Pool]
    notes: bytes
    printed: str
    failure: Failure | None


class Reply(NamedTuple):
    """What came of a batch.

    Parameters
    ----------
    seconds : float
        How long its units took in their worker, when the stage was open.
    data : bytes
        What `shortloop.engines.client` reads; empty if the process that computed it has ended.
    lost : str, default ""
        How that process ended, then.
    failed : bool, default False
        Whether a unit raised.
    costs : dict of bytes to float, default {}
        Of all units, in reply to `BEGIN`; none, if it is not worth to share them out.
    missing : Missing, optional
        What its node must have first; then nothing was computed.
    worker : str, default ""
        Where that is, as its engine knows it.
    """

    seconds: float
    data: bytes
    lost: str = ""
    failed: bool = False
    costs: Mapping[bytes, float] = {}
    missing: Missing | None = None
    worker: str = ""
