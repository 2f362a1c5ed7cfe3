"""One transformation of a dataset of exax, measured: each slice reads its rows."""

from typing import Any

from shortloop.jobs.keys.code import code_of

depend_extra = code_of(__file__)
options: Any = {
    "library": "",
    "transformation": "",
    "workers": 1,
    "repeats": 1,
    "limit": 1.0,
    "seed": 0,
    "machine": {},
}
jobs: Any = ("table", "truth")
datasets: Any = ("rows",)


def prepare(slices: int) -> Any:
    import multiprocessing
    import time

    from shortloop.frames.runners.exax_slices import Together

    forks = multiprocessing.get_context("fork")
    return Together(forks.Barrier(slices), forks.Value("i", 1), time.monotonic())


def analysis(sliceno: int, prepare_res: Any) -> Any:
    from shortloop.frames.runners.exax_slices import measure_slice

    work = _work()
    return measure_slice(
        datasets.rows,
        sliceno,
        options.transformation,
        work.columns,
        lambda: work.generator(sliceno),
        options.repeats,
        options.limit,
        prepare_res,
    )


def synthesis(analysis_res: Any) -> None:
    from pathlib import Path

    from shortloop.frames.measure import Measured
    from shortloop.frames.runners.exax_slices import timed_together, whole
    from shortloop.frames.stages.measured_facts import measured_facts
    from shortloop.jobs.keys.code import code_state
    from shortloop.worker.records import write_record
    from shortloop.worker.results import open_result

    work, slices = _work(), list(analysis_res)
    measured = Measured(timed_together(slices))
    measured.values, measured.aggregates = whole(
        slices, options.transformation, sum(work.rows), work.groups, len(work.columns)
    )
    versions = code_state(Path(__file__).resolve()).versions
    facts = measured_facts(measured, open_result(jobs.truth.path), len(slices))
    write_record("frames_slices", None, {}, facts=facts, versions=versions)


def _work() -> Any:
    from shortloop.frames.stages.table_files import work_of
    from shortloop.worker.results import open_result

    return work_of(open_result(jobs.table.path), options.library, options.workers, options.seed)
