"""Advice in plain sentences, each drawn from what was measured, on this machine and this table.

Two libraries are told apart only if every repeat of the one took longer than every repeat of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shortloop.frames.report.content import Content, Row
from shortloop.frames.runners.registry import EXAX
from shortloop.frames.work import APPLY, COLUMN, GROUPS

__all__ = ["CONTENDED", "advise", "slower", "span"]

PANDAS = "pandas"
KEEP_PANDAS = ("dask-threads", "dask-processes", "modin", "pool", "joblib-threads", "joblib-processes")
"""Those that run what was written for pandas, or nearly."""
PAIRS = (("joblib-threads", "joblib-processes", "joblib"), ("dask-threads", "dask-processes", "Dask"))
CONTENDED = 0.25
"""Cores that others kept busy, above which times are said to be disturbed."""
ALIKE = 1.25
"""Less than this many times as fast is called about as fast."""
WHAT = {
    APPLY: "A Python function for each row",
    COLUMN: "A column at once",
    GROUPS: "Sums by group",
}


def advise(content: Content) -> tuple[str, ...]:
    """What the measurements say.

    Parameters
    ----------
    content : Content
        What was measured.

    Returns
    -------
    tuple of str
        Sentences.
    """
    said: list[str | None] = []
    for transformation in content.transformations:
        rows = [row for row in content.of(transformation) if row.is_right]
        said += [_fastest(transformation, rows), _with_pandas(rows), _once(rows)]
        said += [_threads_or_processes(rows, pair) for pair in PAIRS]
    said += [_vectorised(content), _memory(content), _trap(content), _disturbed(content)]
    return tuple(each for each in said if each)


def slower(one: Row, other: Row) -> bool:
    """Whether one took longer than the other, in every repeat.

    Parameters
    ----------
    one, other : Row
        Two that were timed.

    Returns
    -------
    bool
    """
    return min(one.seconds) > max(other.seconds)


def span(seconds: float) -> str:
    """A time with its unit.

    Parameters
    ----------
    seconds : float
        The time.

    Returns
    -------
    str
        Two or three digits.
    """
    for least, unit, scale in ((99.5, "s", 0), (9.95, "s", 1), (0.995, "s", 2)):
        if seconds >= least:
            return f"{seconds:.{scale}f} {unit}"
    return f"{1000 * seconds:.{0 if seconds >= 0.0995 else 1}f} ms"


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.1f}"


def _alike(rows: Sequence[Row], best: Row) -> list[Row]:
    return [row for row in rows if row is not best and not slower(row, best)]


def _best(rows: Sequence[Row], cost: Callable[[Row], float]) -> Row:
    return min(rows, key=cost)


def _of(rows: Sequence[Row], name: str) -> Row | None:
    return next((row for row in rows if row.library == name), None)


def _fastest(transformation: str, rows: Sequence[Row]) -> str | None:
    if not rows:
        return f"{WHAT[transformation]}: nothing was measured."
    best = _best(rows, lambda row: row.median)
    said = f"{WHAT[transformation]}: {best.spoken} is the fastest, {span(best.median)}"
    base = _of(rows, PANDAS)
    if base is not None and base is not best:
        said += f", {_times(base.median / best.median)} times as fast as pandas on one core"
        said += f" ({span(base.median)})"
    alike = _alike(rows, best)
    if alike:
        said += f"; {_listed([row.spoken for row in alike])} cannot be told from it"
    return f"{said}."


def _with_pandas(rows: Sequence[Row]) -> str | None:
    """What of code that is written for pandas."""
    base = _of(rows, PANDAS)
    others = [row for row in rows if row.library in KEEP_PANDAS]
    if base is None or not others:
        return None
    best = _best(others, lambda row: row.median)
    ratio = base.median / best.median
    if slower(base, best) and ratio >= ALIKE:
        said = (
            f"Of what runs pandas code on several cores, {best.spoken} is the fastest: {_times(ratio)} times"
        )
        said += f" as fast as pandas on one core, with {best.workers} workers"
    elif slower(best, base):
        return (
            f"Nothing that runs pandas code on several cores is faster than pandas on one core here; the "
            f"least slow, {best.spoken}, takes {_times(best.median / base.median)} times as long."
        )
    else:
        return (
            f"Nothing that runs pandas code on several cores is clearly faster than pandas on one core here: "
            f"the best, {best.spoken}, takes {span(best.median)}, pandas {span(base.median)}."
        )
    worse = [row.spoken for row in others if slower(row, base)]
    return f"{said}. {_listed(worse)} {_are(worse)} slower than one core." if worse else f"{said}."


def _once(rows: Sequence[Row]) -> str | None:
    """Whether another is the best if the work is done only once, with the start of the library."""

    def whole(row: Row) -> float:
        return row.median + (row.start or 0.0)

    rows = [row for row in rows if row.library != EXAX]  # its processes are forks of one that is there
    if len(rows) < 2:
        return None
    best, once = _best(rows, lambda row: row.median), _best(rows, whole)
    if once is best:
        return None
    return (
        f"If it is done once in a new process, {once.spoken} is first there: {span(whole(once))} with its "
        f"start, {best.spoken} {span(whole(best))}."
    )


def _threads_or_processes(rows: Sequence[Row], pair: tuple[str, str, str]) -> str | None:
    threads, processes = _of(rows, pair[0]), _of(rows, pair[1])
    if threads is None or processes is None:
        return None
    for first, second, words in (
        (threads, processes, ("processes", "threads")),
        (processes, threads, ("threads", "processes")),
    ):
        ratio = first.median / second.median
        if slower(first, second) and ratio >= ALIKE:
            busy = "" if first.busy is None else f"; the {words[1]} kept {first.busy:.1f} cores busy"
            return f"With {pair[2]}, {words[0]} are {_times(ratio)} times as fast as {words[1]} here{busy}."
    return None


def _vectorised(content: Content) -> str | None:
    def of(transformation: str) -> Row | None:
        return _of([row for row in content.of(transformation) if row.is_right], PANDAS)

    rows, column = of(APPLY), of(COLUMN)
    if rows is None or column is None or not slower(rows, column):
        return None
    said = (
        f"Written for a column at once, what pandas does row by row in {span(rows.median)} takes "
        f"{span(column.median)}: {_times(rows.median / column.median)} times as fast, on one core"
    )
    many = [row for row in content.of(APPLY) if row.is_right and row.library in KEEP_PANDAS]
    if many:
        best = _best(many, lambda row: row.median)
        if slower(rows, best) and rows.median >= ALIKE * best.median:
            said += (
                f". More cores make the row by row version {_times(rows.median / best.median)} times as fast"
            )
    return f"{said}."


def _memory(content: Content) -> str | None:
    peaks = {
        row.library: (row.spoken, peak)
        for row in sorted(content.shown, key=lambda each: each.peak or 0)
        if row.is_right and (peak := row.peak) is not None
    }  # the most of each
    if len(peaks) < 2:
        return None
    least, most = min(peaks.values(), key=lambda each: each[1]), max(peaks.values(), key=lambda each: each[1])
    return (
        f"Of memory, {least[0]} needs the least, {_mega(least[1])} at most, and {most[0]} the most, "
        f"{_mega(most[1])}."
    )


def _trap(content: Content) -> str | None:
    trap = content.trap
    if trap is None or trap.repeated is None:
        return None
    drawn = f"{100 * trap.repeated:.0f} % of the numbers were those of another row"
    if trap.is_right:
        return "Nothing was noticed of np.random in forks: it takes two files, and two workers, to see it."
    return (
        f"Do not draw random numbers from np.random in forks: each begins with the same numbers; {drawn}, as "
        f"was tried on purpose and noticed. Give each worker a seed of its own, as "
        f"`shortloop.seeds.seed_for` makes them."
    )


def _disturbed(content: Content) -> str | None:
    known = [row for row in content.shown if row.others is not None]
    busy = [row for row in known if (row.others or 0.0) > CONTENDED]
    if not busy:
        return None
    most = max(busy, key=lambda row: row.others or 0.0)
    return (
        f"Others used the machine while {len(busy)} of {len(known)} measurements ran, up to "
        f"{most.others:.1f} of its {content.machine['cores']} cores: times of these are too long, "
        f"and small differences mean nothing. Run it again when the machine is idle: "
        f"`shortloop run build_frames --force frames_run --force frames_slices`."
    )


def _mega(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
