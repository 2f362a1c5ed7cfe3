"""Measured rows of data frames, for the tests of their report."""

from __future__ import annotations

from typing import Any

from shortloop.frames.report import Content, line_of, table_of
from shortloop.frames.transformations import APPLY, COLUMN, GROUPS, TRAP

FACTS = {"workers": 4, "start": 0.1, "peak": 10**8, "others": 0.0, "busy": 1.0}


def row(
    library: str, transformation: str, *seconds: float, status: str = "right", **more: Any
) -> dict[str, Any]:
    why = more.pop("why", "")
    return line_of(library, transformation, status, why, "1.0", **{**FACTS, "seconds": seconds, **more})


def content(*rows: dict[str, Any], asked: int | str = 10) -> Content:
    """What a report shows, of a table of ten rows."""
    frames = {"name": "a", "table": {"columns": 50, "rows": asked, "groups": 3}}
    return Content(frames, {"processor": "a processor", "cores": 4, "memory": 8}, 10, table_of(rows, 10), {})


def mixture() -> Content:
    """Rows of every sort: right, wrong, failed and left out."""
    rows = []
    for what in (APPLY, COLUMN, GROUPS):
        rows += [
            row("pandas", what, 4.0, 4.4, 4.2, when="2026-01-02 03:04"),
            row("dask-processes", what, 0.02, 0.03, peak=None, busy=None, others=None, ks_p=0.5),
            row("polars", what, 9.0, status="wrong", why="3 of 7 sums are wrong"),
            row("duckdb", what, status="failed", why="took longer than 3 s <&>"),
            line_of("modin", what, "left out", "it needs pandas < 2.4"),
        ]
    trap = row(TRAP, COLUMN, 1.0, status="wrong", ks_p=0.2, repeated=0.5, why="drew the same numbers")
    return content(*rows, trap)
