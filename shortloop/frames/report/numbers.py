"""Numbers of the figures as text for other programs."""

from __future__ import annotations

from collections.abc import Callable

from shortloop.frames.report.content import Content, Row
from shortloop.report.tables import csv_text

__all__ = ["memory_csv", "times_csv"]


def times_csv(content: Content) -> str:
    """Seconds of each library.

    Parameters
    ----------
    content : Content
        What is drawn.

    Returns
    -------
    str
        A row for each transformation and library that was not left out; its times, if it was right.
    """

    def times(row: Row) -> list[float | None]:
        whole = None if row.start is None else row.start + row.median
        return [row.median, min(row.seconds), max(row.seconds), whole]

    return _csv(content, ["median (s)", "least (s)", "most (s)", "median with start (s)"], times)


def memory_csv(content: Content) -> str:
    """Most memory of each library.

    Parameters
    ----------
    content : Content
        What is drawn.

    Returns
    -------
    str
        Rows as of `times_csv`.
    """
    return _csv(content, ["memory (MB)"], lambda row: [None if row.peak is None else row.peak / 1e6])


def _csv(content: Content, columns: list[str], numbers: Callable[[Row], list[float | None]]) -> str:
    nothing: list[float | None] = [None] * len(columns)
    return csv_text(
        ["transformation", "library", "cores", "found", *columns],
        (
            [name, row.title, row.cores, row.status, *(numbers(row) if row.is_right else nothing)]
            for name in content.transformations
            for row in content.of(name)
            if row.workers
        ),
    )
