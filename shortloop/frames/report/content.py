"""What the report shows, gathered from the jobs that measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from shortloop.frames.runners.registry import LIBRARIES, TRAP, TRAP_NAME
from shortloop.plain import Plain
from shortloop.report.provenance import Source, source_of, upstream
from shortloop.worker.results import Result

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FAILED", "LEFT_OUT", "RIGHT", "WRONG", "Content", "Row", "collect", "frame_of"]

RIGHT, WRONG, FAILED, LEFT_OUT = "right", "wrong", "failed", "left out"


@dataclass(frozen=True)
class Row:
    """One library and transformation.

    Parameters
    ----------
    library : str
        Its name in settings.
    title : str
        What the page calls it.
    version : str
        Of the library, or of the one that it runs, with its name; may be empty.
    transformation : str
        Which.
    how : str
        How the library did it.
    cores : str
        ``"one core"``, ``"threads"`` or ``"processes"``.
    workers : int
        Cores that it was asked to use; 0: it was left out.
    status : {"right", "wrong", "failed", "left out"}
    why : str
        If it is not right.
    start : float or None
        Seconds before the work began.
    seconds : tuple of float
        Of each repeat.
    busy, others : float or None
        Cores that it kept busy, and that others kept busy meanwhile.
    peak : int or None
        Most memory, bytes.
    ks_p, repeated : float or None
        Of its random numbers.
    when : str
        When it was measured: date and time, UTC.
    job : str
        Id of the job.
    """

    library: str
    title: str
    version: str
    transformation: str
    how: str
    cores: str
    workers: int
    status: str
    why: str
    start: float | None = None
    seconds: tuple[float, ...] = ()
    busy: float | None = None
    others: float | None = None
    peak: int | None = None
    ks_p: float | None = None
    repeated: float | None = None
    when: str = ""
    job: str = ""

    @property
    def spoken(self) -> str:
        """The title in a sentence, which has commas of its own."""
        return self.title.replace(", ", " with ")

    @property
    def is_right(self) -> bool:
        """Whether its times count."""
        return self.status == RIGHT

    @property
    def median(self) -> float:
        """Seconds of a repeat."""
        return median(self.seconds)

    @property
    def processor(self) -> float | None:
        """Seconds of processor time of a repeat; what others do meanwhile matters less to it."""
        if self.busy is None or not self.seconds:
            return None
        return self.busy * sum(self.seconds) / len(self.seconds)


@dataclass(frozen=True)
class Content:
    """All of it.

    Parameters
    ----------
    frames : mapping
        Settings, plain data.
    machine : mapping
        As of `shortloop.frames.machine.describe`.
    rows : int
        Of the table.
    shown : tuple of Row
        What was measured, and what was left out, but for the trap.
    trap : Row or None
        The mistake that was made on purpose.
    versions : mapping of str to str
        Of libraries.
    sources : tuple of Source
        Jobs.
    """

    frames: Mapping[str, Any]
    machine: Mapping[str, Any]
    rows: int
    shown: tuple[Row, ...]
    trap: Row | None
    versions: Mapping[str, str]
    sources: tuple[Source, ...]

    @property
    def transformations(self) -> list[str]:
        """Those that were asked for."""
        return list(self.frames["transformations"])

    def of(self, transformation: str) -> list[Row]:
        """Rows of one transformation.

        Parameters
        ----------
        transformation : str
            Which.

        Returns
        -------
        list of Row
        """
        return [row for row in self.shown if row.transformation == transformation]


def collect(
    measured: Sequence[Result],
    table: Result,
    frames: Mapping[str, Any],
    out: Mapping[str, str],
    machine: Mapping[str, Plain],
) -> Content:
    """Gather it.

    Parameters
    ----------
    measured : sequence of Result
        Jobs that measured.
    table : Result
        The job of the table.
    frames : mapping
        Settings, plain data.
    out : mapping of str to str
        Libraries that were left out, and why.
    machine : mapping
        As of `shortloop.frames.machine.describe`.

    Returns
    -------
    Content
    """
    rows = {(row.library, row.transformation): row for row in map(_row, measured)}
    shown = []
    for name in frames["libraries"]:
        for transformation in frames["transformations"]:
            found = rows.get((name, transformation))
            shown.append(found or _left_out(name, transformation, out[name]))
    chains = {each.job: each for result in measured for each in upstream(result)}
    versions = {name: text for each in chains.values() for name, text in each.record["versions"].items()}
    traps = [row for row in rows.values() if row.library == TRAP_NAME]
    return Content(
        frames,
        machine,
        sum(table.facts["rows"]),
        tuple(shown),
        traps[0] if traps else None,
        versions,
        tuple(source_of(each, _sibling(each)) for each in chains.values()),
    )


def frame_of(content: Content) -> pd.DataFrame:
    """The table of results.

    Parameters
    ----------
    content : Content
        What it shows.

    Returns
    -------
    DataFrame
        A row for each library and transformation, and for the trap.
    """
    import pandas as pd

    rows = [*content.shown, *([] if content.trap is None else [content.trap])]
    pandas = {row.transformation: row for row in content.shown if row.library == "pandas" and row.is_right}

    def line(row: Row) -> dict[str, object]:
        timed = bool(row.seconds)
        base = pandas.get(row.transformation)
        return {
            "transformation": row.transformation,
            "library": row.library,
            "version": row.version,
            "how": row.how,
            "cores": row.cores,
            "workers": row.workers,
            "status": row.status,
            "why": row.why,
            "rows": content.rows,
            "start_s": row.start,
            "median_s": row.median if timed else None,
            "least_s": min(row.seconds) if timed else None,
            "most_s": max(row.seconds) if timed else None,
            "repeats": len(row.seconds),
            "rows_per_s": content.rows / row.median if timed else None,
            "times_as_fast_as_pandas": base.median / row.median if timed and base else None,
            "processor_s": row.processor,
            "peak_bytes": row.peak,
            "cores_busy": row.busy,
            "cores_busy_by_others": row.others,
            "ks_p": row.ks_p,
            "random_numbers_repeated": row.repeated,
            "measured_utc": row.when,
            "job": row.job,
        }

    frame = pd.DataFrame([line(row) for row in rows])
    numbers = [
        name
        for name in frame.columns
        if name.endswith(("_s", "_p", "_bytes", "_pandas", "_repeated", "_busy", "_others"))
    ]
    return frame.astype(dict.fromkeys(numbers, "float64"))


def _row(result: Result) -> Row:
    options, facts = result.options, result.facts
    name, transformation = str(options["library"]), str(options["transformation"])
    library = TRAP if name == TRAP_NAME else LIBRARIES[name]
    status = FAILED if facts["failed"] else WRONG if facts["wrong"] else RIGHT
    there: Any = options.get("versions") or result.record["versions"]
    return Row(
        name,
        library.title,
        f"{library.needs[0]} {there[library.needs[0]]}" if library.needs[0] in there else "",
        transformation,
        library.how[transformation],
        library.cores,
        facts["workers"],
        status,
        facts["failed"] or facts["wrong"],
        facts["start"] if facts["seconds"] else None,
        tuple(facts["seconds"]),
        facts["busy"],
        facts["others"],
        facts["peak"],
        facts["ks_p"],
        facts["repeated"],
        f"{result.made:%Y-%m-%d %H:%M}",
        result.job,
    )


def _left_out(name: str, transformation: str, why: str) -> Row:
    library = LIBRARIES[name]
    return Row(
        name, library.title, "", transformation, library.how[transformation], library.cores, 0, LEFT_OUT, why
    )


def _sibling(result: Result) -> str:
    options = result.options
    return " ".join(str(options[name]) for name in ("library", "transformation") if name in options)
