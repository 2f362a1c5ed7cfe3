"""Libraries of data frames, timed on one table: one job for each library and transformation."""

from __future__ import annotations

from typing import Any

from shortloop.frames.deliver import deliver
from shortloop.frames.machine import GIB, describe, half_of_memory
from shortloop.frames.pipeline import FramesRun, left_out, modin_environment, run_frames
from shortloop.frames.runners.registry import EXAX, LIBRARIES, MODIN, ONE_CORE, TRAP, TRAP_NAME
from shortloop.frames.size import rows_that_fit
from shortloop.frames.work import COLUMN
from shortloop.jobs.exax.client import Urd
from shortloop.jobs.pipeline import Built
from shortloop.jobs.store.slices import slices_configured

description = "data frames: pandas, Dask, Modin, Polars, DuckDB and others timed on this machine"


def main(urd: Urd) -> int:
    return run_frames(urd, pipeline, deliver)


def pipeline(run: FramesRun) -> Built:
    frames = run.study
    table = make_table(run)
    truth = run.build("frames_truth", table=table)
    out = left_out(frames)
    asked: dict[str, Any] = {
        "workers": frames.timing.workers or slices_configured(),
        "repeats": frames.timing.repeats,
        "limit": frames.timing.limit,
        "seed": frames.seed,
        "machine": describe(),
        "table": table,
        "truth": truth,
    }
    measured = [
        measure(run, name, transformation, asked)
        for name in frames.libraries
        if name not in out
        for transformation in frames.transformations
    ]
    if COLUMN in frames.transformations:
        measured.append(run_apart(run, TRAP_NAME, COLUMN, asked))
    return run.build(
        "frames_report",
        frames=frames.model_dump(mode="json"),
        left_out=out,
        machine=describe(),
        table=table,
        measured=measured,
        formats=frames.report.formats,
    )


def make_table(run: FramesRun) -> Built:
    """As many of the rows as fit."""
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
    """One library and transformation: exax by the slices of a job, all others in a process of their own."""
    if name == EXAX:
        rows = run.build("frames_rows", table=asked["table"])
        return run.build(
            "frames_slices",
            partition=f"{name}-{transformation}",
            library=name,
            transformation=transformation,
            rows=rows,
            **asked,
        )
    return run_apart(run, name, transformation, asked)


def run_apart(run: FramesRun, name: str, transformation: str, asked: dict[str, Any]) -> Built:
    library = LIBRARIES.get(name, TRAP)
    environment, versions = modin_environment(run) if name == MODIN else (None, {})
    workers = 1 if library.cores == ONE_CORE else asked["workers"]
    return run.build(
        "frames_run",
        partition=f"{name}-{transformation}",
        library=name,
        transformation=transformation,
        module=library.module,
        environment=environment,
        versions=versions,
        **{**asked, "workers": workers},
    )
