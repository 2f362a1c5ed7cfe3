"""Report page: one table of the measurements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from shortloop.frames.transformations import BYTES, COPIES, EVERY, GUIDE, TRANSFORMATIONS, TRAP
from shortloop.report.page import Page, PageSection, PageTable, TableRow
from shortloop.stages.results import Result, upstream

if TYPE_CHECKING:
    import pandas as pd

RIGHT, WRONG, FAILED, LEFT_OUT = "right", "wrong", "failed", "left out"
DISTURBED = 0.25  # cores used by other processes, above which times are reported as disturbed
NO_BREAK = "\u00a0"
Facts = Mapping[str, Any]
COLUMNS = ("work", "settings", "seconds", "range", "× pandas", "start", "memory", "result", "version")


@dataclass(frozen=True)
class Content:
    frames: Facts  # settings, plain data
    machine: Facts
    rows: int  # of the table that the libraries worked on
    measured: pd.DataFrame  # a row for each library and transformation, from `table_of`
    versions: Mapping[str, str]


def collect(
    measured: Sequence[Result], table: Result, frames: Facts, out: Mapping[str, str], machine: Facts
) -> Content:
    lines = [*map(_line_of_job, measured)]
    lines += [line_of(name, what, LEFT_OUT, out[name]) for name in out for what in frames["transformations"]]
    every = {each.job: each for result in measured for each in upstream(result)}.values()
    versions = {name: text for each in every for name, text in each.record["versions"].items()}
    rows = sum(table.facts["rows"])
    return Content(frames, machine, rows, table_of(lines, rows), versions)


def line_of(
    name: str, transformation: str, status: str, why: str = "", version: str = "", **facts: Any
) -> dict[str, Any]:
    """A row of the table, from the facts of a job."""
    library, seconds, busy = EVERY[name], facts.get("seconds"), facts.get("busy")
    return {
        "transformation": transformation,
        "library": name,
        "version": version,
        "how": library.how,
        "cores": library.cores,
        "workers": facts.get("workers", 0),
        "status": status,
        "why": why,
        "start_s": facts.get("start") if seconds else None,
        "median_s": median(seconds) if seconds else None,
        "least_s": min(seconds) if seconds else None,
        "most_s": max(seconds) if seconds else None,
        "repeats": len(seconds or ()),
        "processor_s": busy * sum(seconds) / len(seconds) if seconds and busy is not None else None,
        "peak_bytes": facts.get("peak"),
        "cores_busy": busy,
        "cores_busy_by_others": facts.get("others"),
        "ks_p": facts.get("ks_p"),
        "random_numbers_repeated": facts.get("repeated"),
        "measured_utc": facts.get("when", ""),
        "job": facts.get("job", ""),
    }


def table_of(lines: Iterable[Mapping[str, Any]], rows: int) -> pd.DataFrame:
    """Table by transformation: right results, the fastest first, then all others."""
    import pandas as pd

    table = pd.DataFrame([*lines])
    numbers = table.filter(regex="_(s|p|bytes|busy|others|repeated)$").columns
    table = table.astype(dict.fromkeys(numbers, "float64"))
    is_right = table["status"] == RIGHT
    base = table[is_right & (table["library"] == "pandas")].set_index("transformation")["median_s"]
    table["rows"], table["rows_per_s"] = rows, rows / table["median_s"]
    ratio = table["transformation"].map(base) / table["median_s"]
    table["times_as_fast_as_pandas"] = ratio.where(is_right)  # a wrong result is not faster
    order = table["transformation"].map(TRANSFORMATIONS.index)
    keys = pd.DataFrame({"of": order, "wrong": ~is_right, "s": table["median_s"]})
    return table.loc[keys.sort_values(["of", "wrong", "s"], kind="stable").index].reset_index(drop=True)


def overview(content: Content) -> str:
    machine, settings, table = content.machine, content.frames["table"], content.measured
    when = sorted({*table["measured_utc"]} - {""})
    cores = sorted({int(each) for each in table["workers"] if each > 1})
    size = content.rows * settings["columns"] * BYTES
    amount = f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
    most = f"; libraries may use {' or '.join(map(str, cores))} of them, pandas one" if cores else ""
    measured = f". Measured {' to '.join(dict.fromkeys((when[0], when[-1])))} UTC" if when else ""
    return (
        f"{content.rows:,} rows × {settings['columns']} columns ({amount}), {settings['groups']:,} groups, "
        f"on {machine['cores']} cores of {machine['processor']} with {machine['memory']} GiB of memory"
        f"{most}{measured}."
    )


def fastest(content: Content) -> list[str]:
    """The fastest library of each transformation, and those that are not clearly slower."""
    found = []
    for what, table in content.measured.groupby("transformation", sort=False):
        right = table[(table["status"] == RIGHT) & (table["library"] != TRAP)]
        if right.empty:
            found.append(f"{what}: no library was right.")
            continue
        best, *others = _rows(right)
        alike = [EVERY[each.library].title for each in others if each.least_s <= best.most_s]
        also = f"; not clearly slower: {'; '.join(alike)}" if alike else ""
        found.append(f"{what}: {EVERY[best.library].title} is the fastest, {_span(best.median_s)}{also}.")
    return found


def limits(content: Content) -> Iterator[str]:
    table, asked = content.measured, content.frames["table"]["rows"]
    rows, columns = GUIDE
    yield (
        "The table is simulated, and its files were in the system's cache. Other tables, and other machines, "
        "give other times."
    )
    size = rows * columns * BYTES / 1e9
    yield f"The guide whose transformations these are had {rows:,} rows × {columns} columns, {size:.0f} GB."
    most = rows if asked == "fit" else asked
    if content.rows < most:
        yield f"{most:,} rows were asked for; {content.rows:,} fit {COPIES} times into the memory of the run."
    others = table["cores_busy_by_others"][table["cores_busy_by_others"] > DISTURBED]
    if len(others):
        yield (
            f"Others kept up to {others.max():.1f} cores busy during {len(others)} of "
            f"{table['repeats'].gt(0).sum()} measurements: their times are too long. Run it again when the "
            f"machine is idle: `shortloop run frames --force frames_run`."
        )
    if TRAP in {*table.loc[table["status"] == RIGHT, "library"]}:
        yield "The known mistake was not found: that takes two files."


def page_of(content: Content) -> Page:
    rows = tuple(TableRow(EVERY[row.library].title, _cells(row)) for row in _rows(content.measured))
    caption = (
        "Seconds: median of the repeats, and their range. × pandas: how many times as fast as pandas. Start: "
        "to import the library, start its workers, compile, and do a little of the work. Memory: the most of "
        "all processes at a time; what they share is counted once. Result: compared with the truth."
    )
    table = PageTable("Libraries", caption, "library", COLUMNS, rows, words=True)
    return Page(
        kind="Data frames",
        title=str(content.frames["name"]),
        overview=overview(content),
        sections=(PageSection("times", "Times and results", tuple(fastest(content)), (), (table,)),),
        limits=tuple(limits(content)),
        settings=content.frames,
        versions=content.versions,
        thread_note="Each library ran in processes of its own; the table says on how many cores.",
    )


def _cells(row: Any) -> tuple[str, ...]:
    cores = row.cores if row.workers <= 1 else f"{row.workers} {row.cores}"
    ratio, memory = row.times_as_fast_as_pandas, row.peak_bytes / 1e6
    numbers = (
        _span(row.median_s),
        f"{_span(row.least_s)} – {_span(row.most_s)}" if row.repeats else "–",
        _or_dash(ratio, f"{ratio:,.0f}" if ratio >= 9.95 else f"{ratio:.2g}"),
        _span(row.start_s),
        _or_dash(memory, f"{memory:,.0f} MB"),
    )
    result = f"{row.status}: {row.why.removeprefix('failed: ')}" if row.why else row.status
    whole = (each.replace(" ", NO_BREAK).replace(f"–{NO_BREAK}", "– ") for each in numbers)
    return (row.transformation, f"{cores}: {row.how}", *whole, result, row.version or "–")


def _or_dash(number: float, text: str) -> str:
    return text if number == number else "–"


def _span(seconds: float) -> str:
    """A time with three digits and its unit; a dash if missing."""
    if seconds >= 0.995:
        return f"{seconds:.{2 - (seconds >= 9.95) - (seconds >= 99.5)}f} s"
    return _or_dash(seconds, f"{1000 * seconds:.{0 if seconds >= 0.0995 else 1}f} ms")


def _rows(table: pd.DataFrame) -> list[Any]:
    return [*table.itertuples()]


def _line_of_job(result: Result) -> dict[str, Any]:
    options, facts = result.options, result.facts
    name, what = str(options["library"]), str(options["transformation"])
    there: Any = options.get("versions") or result.record["versions"]
    shown = EVERY[name].needs[0]
    version = f"{shown} {there[shown]}" if shown in there else ""
    status = FAILED if facts["failed"] else WRONG if facts["wrong"] else RIGHT
    made = {"when": f"{result.made:%Y-%m-%d %H:%M}", "job": result.job}
    return line_of(name, what, status, facts["failed"] or facts["wrong"], version, **facts, **made)
