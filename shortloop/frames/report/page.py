"""The page of the report."""

from __future__ import annotations

from shortloop.frames.report.advice import advise, span
from shortloop.frames.report.content import LEFT_OUT, RIGHT, Content, Row
from shortloop.frames.report.figures import memory_figure, times_figure
from shortloop.frames.report.numbers import memory_csv, times_csv
from shortloop.frames.size import BYTES, COPIES, GUIDE
from shortloop.frames.work import TRANSFORMATIONS
from shortloop.report.drawing import Drawing
from shortloop.report.page import Page, PageSection, PageTable, TableRow
from shortloop.report.provenance import provenance_rows

__all__ = ["drawings", "limits", "overview", "page_of"]


NO_BREAK = "\u00a0"


def drawings(content: Content) -> list[Drawing[Content]]:
    """The figures of the page.

    Parameters
    ----------
    content : Content
        What it shows.

    Returns
    -------
    list of Drawing
        None if nothing was measured.
    """
    if not any(row.is_right for row in content.shown):
        return []
    return [
        Drawing(
            "times",
            content,
            times_figure,
            "Time",
            "From the Parquet files to the result in memory. Note the logarithmic scale.",
            "Seconds that each library takes for each transformation.",
            times_csv,
        ),
        Drawing(
            "memory",
            content,
            memory_figure,
            "Memory",
            "Most memory that all processes of a library hold at a time; what they share is counted once, "
            "pages of files are not. Note the logarithmic scale.",
            "Megabytes that each library needs for each transformation.",
            memory_csv,
        ),
    ]


def overview(content: Content) -> str:
    """What was measured, where and when.

    Parameters
    ----------
    content : Content
        What the page shows.

    Returns
    -------
    str
    """
    machine, asked = content.machine, content.frames["table"]
    when = sorted(row.when for row in content.shown if row.when)
    cores = sorted({row.workers for row in content.shown if row.workers > 1})
    said = (
        f"{content.rows:,} rows × {asked['columns']} columns ({_size(content)}), {asked['groups']:,} groups, "
        f"on {machine['cores']} cores of {machine['processor']} with {machine['memory']} GiB of memory"
    )
    if cores:
        said += f"; libraries may use {' or '.join(map(str, cores))} of them, pandas one"
    if when:
        said += (
            f". Measured {when[0]} to {when[-1]} UTC" if when[0] != when[-1] else f". Measured {when[0]} UTC"
        )
    return f"{said}."


def limits(content: Content) -> tuple[str, ...]:
    """What was not measured, and what cannot be said.

    Parameters
    ----------
    content : Content
        What the page shows.

    Returns
    -------
    tuple of str
    """
    asked = content.frames["table"]
    said = [
        "The table is simulated, and its files were in the system's cache. Other tables, and other machines, "
        "give other times.",
        f"The guide whose transformations these are had {GUIDE[0]:,} rows × {GUIDE[1]} columns, "
        f"{GUIDE[0] * GUIDE[1] * BYTES / 1e9:.0f} GB.",
    ]
    most = GUIDE[0] if asked["rows"] == "fit" else asked["rows"]
    if content.rows < most:
        said.append(
            f"{most:,} rows were asked for; {content.rows:,} fit {COPIES} times into the memory "
            f"that the run may take."
        )
    for row in content.shown:
        if row.status == LEFT_OUT:
            said.append(f"{row.title} was left out: {row.why}.")
        elif row.status != RIGHT:
            said.append(f"{row.title}, {row.transformation}: {row.status}: {row.why}.")
    return tuple(dict.fromkeys(said))


def page_of(content: Content) -> Page:
    """What is on the page.

    Parameters
    ----------
    content : Content
        What it shows.

    Returns
    -------
    Page
    """
    provenance = provenance_rows(content.sources)
    figures = tuple(each.figure(number, provenance) for number, each in enumerate(drawings(content), 1))
    tables = [*(_table(content, name) for name in content.transformations), _ways(content)]
    sections = [PageSection("times", "Times and memory", advise(content), figures, tuple(tables))]
    if content.trap is not None:
        sections.append(PageSection("trap", "Random numbers", (), (), (_random(content, content.trap),)))
    return Page(
        kind="Data frames",
        title=str(content.frames["name"]),
        overview=overview(content),
        sections=tuple(sections),
        limits=limits(content),
        settings=content.frames,
        versions=content.versions,
        thread_note="Each library ran in processes of its own; the tables say on how many cores.",
    )


def _table(content: Content, transformation: str) -> PageTable:
    rows = content.of(transformation)
    base = next((row for row in rows if row.library == "pandas" and row.is_right), None)
    rows = sorted(rows, key=lambda row: (not row.is_right, row.median if row.seconds else 0.0))
    return PageTable(
        f"{transformation}: {TRANSFORMATIONS[transformation]}",
        "Median of the repeats, and their range; how many times as fast as pandas; processor: time of all "
        "cores, to which it matters less what others do; start: to import the library, start its workers, "
        "compile, and do a little of the work; others: cores that they kept busy meanwhile.",
        "library",
        ("cores", "median", "range", "× pandas", "processor", "start", "memory", "others"),
        tuple(TableRow(row.title, _cells(row, base)) for row in rows),
    )


def _cells(row: Row, base: Row | None) -> tuple[str, ...]:
    cores = row.cores if row.workers <= 1 else f"{row.workers} {row.cores}"
    if not row.is_right:
        return (cores, row.status, *["–"] * 6)
    cells = (
        cores,
        span(row.median),
        f"{span(min(row.seconds))} – {span(max(row.seconds))}",
        "–" if base is None else _times(base.median / row.median),
        "–" if row.processor is None else span(row.processor),
        "–" if row.start is None else span(row.start),
        "–" if row.peak is None else f"{row.peak / 1e6:,.0f} MB",
        "–" if row.others is None else f"{row.others:.1f}",
    )
    return tuple(cell.replace(" ", NO_BREAK) for cell in cells)


def _ways(content: Content) -> PageTable:
    ways: dict[str, dict[str, str]] = {}
    for row in content.shown:
        ways.setdefault(row.title, {"version": row.version or "–"})[row.transformation] = row.how
    names = ["version", *content.transformations]
    return PageTable(
        "How each library does it",
        "What is timed.",
        "library",
        tuple(names),
        tuple(TableRow(title, tuple(how.get(name, "–") for name in names)) for title, how in ways.items()),
        words=True,
    )


def _random(content: Content, trap: Row) -> PageTable:
    rows = [row for row in (*content.shown, trap) if row.ks_p is not None]
    return PageTable(
        "Random numbers of each library",
        "Whether they are uniform (p of the test of Kolmogorov and Smirnov), and how many of them repeat one "
        f"of another row. The last row is a mistake on purpose: {trap.how}.",
        "library",
        ("transformation", "p", "repeated", "found"),
        tuple(
            TableRow(
                row.title,
                (
                    row.transformation,
                    "< 0.001" if (row.ks_p or 0.0) < 0.001 else f"{row.ks_p:.3f}",
                    f"{100 * (row.repeated or 0.0):.3g} %",
                    row.why or row.status,
                ),
            )
            for row in rows
        ),
    )


def _size(content: Content) -> str:
    size = content.rows * int(content.frames["table"]["columns"]) * BYTES
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 9.95 else f"{ratio:.2g}"
