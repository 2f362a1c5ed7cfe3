"""Measured rows of data frames, for the tests of their report."""

from __future__ import annotations

import dataclasses

from shortloop.frames.report.content import FAILED, LEFT_OUT, RIGHT, WRONG, Content, Row
from shortloop.frames.runners.registry import LIBRARIES, TRAP, TRAP_NAME
from shortloop.frames.work import APPLY, COLUMN, GROUPS

EVERY = (APPLY, COLUMN, GROUPS)
MACHINE = {"processor": "a processor", "cores": 4, "memory": 8}


def row(library: str, transformation: str, *seconds: float, status: str = RIGHT, **more: object) -> Row:
    known = TRAP if library == TRAP_NAME else LIBRARIES[library]
    made = Row(
        library, known.title, "1.0", transformation, known.how[transformation], known.cores, 4, status, ""
    )
    given: dict[str, object] = {"start": 0.1, "seconds": seconds, "peak": 10**8, "others": 0.0, "busy": 1.0}
    return dataclasses.replace(made, **(given | more))  # type: ignore[arg-type]


def content(*rows: Row, trap: Row | None = None, transformations: tuple[str, ...] = (COLUMN,)) -> Content:
    frames = {
        "name": "a",
        "transformations": transformations,
        "table": {"columns": 50, "rows": 10, "groups": 3},
    }
    return Content(frames, MACHINE, 10, rows, trap, {}, ())


def mixture() -> Content:
    """Rows of every sort: right, wrong, failed and left out."""
    rows = []
    for what in EVERY:
        rows += [
            row("pandas", what, 4.0, 4.4, 4.2, when="2026-01-02 03:04"),
            row("dask-processes", what, 0.02, 0.03, peak=None, busy=None, others=None, ks_p=0.5),
            row("polars", what, 9.0, status=WRONG, why="3 of 7 sums are wrong"),
            row("duckdb", what, status=FAILED, why="took longer than 3 s <&>", start=None),
            row("modin", what, status=LEFT_OUT, why="it needs pandas < 2.4", workers=0, start=None),
        ]
    trap = row(TRAP_NAME, COLUMN, 1.0, status=WRONG, ks_p=0.2, repeated=0.5, why="drew the same numbers")
    return content(*rows, trap=trap, transformations=EVERY)
