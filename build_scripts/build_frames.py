"""Data frame libraries timed on one table: one job for each library and transformation."""

from __future__ import annotations

from typing import Any

from shortloop.exax.client import Urd
from shortloop.frames.pipeline import (
    GIB,
    FramesRun,
    deliver,
    describe_machine,
    half_of_memory,
    left_out,
    modin_environment,
    run_frames,
)
from shortloop.frames.transformations import COLUMN, EVERY, EXAX, MODIN, ONE_CORE, TRAP, rows_that_fit
from shortloop.plan.pipeline import Built
from shortloop.store.setup import slices_configured

description = "data frames: pandas, Dask, Modin, Polars, DuckDB and others timed on this machine"


def main(urd: Urd) -> int:
    return run_frames(urd, pipeline, deliver)


def pipeline(run: FramesRun) -> Built:
    frames = run.study
    table = make_table(run)
    out = left_out(frames)
    asked: dict[str, Any] = {
        "repeats": frames.timing.repeats,
        "limit": frames.timing.limit,
        "seed": frames.seed,
        "machine": describe_machine(),
        "table": table,
        "truth": run.build("frames_truth", table=table),
    }
    measured = [
        measure(run, name, transformation, asked)
        for name in frames.libraries
        if name not in out
        for transformation in frames.transformations
    ]
    if COLUMN in frames.transformations:
        measured.append(measure(run, TRAP, COLUMN, asked))
    return run.build(
        "frames_report",
        frames=frames.model_dump(mode="json"),
        left_out=out,
        machine=describe_machine(),
        table=table,
        measured=measured,
    )


def make_table(run: FramesRun) -> Built:
    """As many of the rows as fit into memory."""
    frames, asked = run.study, run.study.table
    memory = half_of_memory() if asked.memory is None else asked.memory * GIB
    return run.build(
        "frames_table",
        rows=rows_that_fit(asked.most, asked.columns, memory),
        columns=asked.columns,
        groups=asked.groups,
        chunk=asked.chunk,
        seed=frames.seed,
    )


def measure(run: FramesRun, name: str, transformation: str, asked: dict[str, Any]) -> Built:
    """One library and transformation: exax reads a dataset of the table, all others its files."""
    library = EVERY[name]
    environment, versions = modin_environment(run) if name == MODIN else (None, {})
    workers = run.study.timing.workers or slices_configured()
    if name == EXAX:
        asked = {**asked, "rows": run.build("frames_rows", table=asked["table"])}
    return run.build(
        "frames_run",
        partition=f"{name}-{transformation}",
        library=name,
        transformation=transformation,
        runner=library.runner,
        needs=library.needs,
        workers=1 if library.cores == ONE_CORE else workers,
        environment=environment,
        versions=versions,
        **asked,
    )
