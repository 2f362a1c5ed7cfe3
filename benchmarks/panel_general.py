"""Models that statsmodels fits itself, group by group: on each engine, against plain loops by joblib."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.engines_plain import not_installed
from benchmarks.engines_project import ENGINES
from benchmarks.measure import interleaved, ratio, seconds_of, spread
from benchmarks.options import Options, cores
from benchmarks.panel import ASKED, REGRESSORS, statistics_of
from benchmarks.project import AX, ProjectCopy
from benchmarks.write import figures
from shortloop.settings.engine import ENGINE_VARIABLE
from shortloop.settings.paths import STUDY_VARIABLE

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray

SIZES = ((2000, 500), (10_000, 50))
QUICK = ((12, 40),)
MODEL = "statsmodels.regression.linear_model.OLS"
"""The quickest of all, so what is beside the fits weighs most."""
SYSTEMS = ("slices", "joblib", "dask", "ray")
LOOP, CHUNKS = "joblib, a group each", "joblib, a chunk for each worker"
SCRIPT = '''\
"""One specification after the other."""

from shortloop.panel.pipeline import import_panel, run_panel


def main(urd):
    return run_panel(urd, pipeline)


def pipeline(run):
    imported = import_panel(run)
    for name, model in run.study.models.items():
        rows = {"number": 0, "blocks": 1, "formula": model.formula, "outcome": None, "beside": None}
        block = run.build("panel_block", partition="000", **rows, panel=imported)
        last = run.build(
            "panel_fit",
            partition="000",
            specification=name,
            outcome=None,
            model=model,
            level=0.95,
            block=block,
            modules=model.modules(),
        )
        last.result()  # the next one is not known before, so none of its units is computed early
    return last
'''
PANEL = """\
name = "general"
[input]
format = "simulated"
groups = {groups}
rows = {rows}
[groups]
by = ["group"]
blocks = 1
"""
SPECIFICATION = """\
[models.{name}]
model = "statsmodels"
path = "{path}"
formula = "y ~ {regressors}"
"""


def run(options: Options) -> dict[str, Any]:
    """Fit panels by statsmodels on all cores, one BLAS thread each; workers are there, and warm."""
    left_out = not_installed({name: ENGINES[name] for name in SYSTEMS})
    sizes = {}
    with _Project(options.folder / "general") as project, project.server(cores()):
        for groups, rows in QUICK if options.quick else SIZES:
            sizes[f"{groups} × {rows}"] = _measured(project, groups, rows, options.runs, left_out)
    return {
        "sizes": sizes,
        "left_out": left_out,
        "tables": [_table(name, found) for name, found in sizes.items()],
    }


class _Project(ProjectCopy):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "build_scripts" / "build_general.py").write_text(SCRIPT, encoding="utf-8")
        self._number = 0

    def fit(self, engine: str, groups: int, rows: int) -> tuple[float, FloatArray]:
        """Seconds of the job of one specification, after one that has had the workers load what they need."""
        self._number += 1
        names = [f"first-{self._number}", f"timed-{self._number}"]
        given = {"path": MODEL, "regressors": " + ".join(REGRESSORS)}
        models = [SPECIFICATION.format(name=name, **given) for name in names]
        text = PANEL.format(groups=groups, rows=rows) + "".join(models)
        self.study.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [AX, "run", "general"],
            cwd=self.folder,
            env={**self._environment(None), ENGINE_VARIABLE: engine, STUDY_VARIABLE: str(self.study)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{engine}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        job = re.findall(r"built panel_fit .*?(main-\d+)", done.stdout)[-1]
        params = np.load(self.folder / "workdirs/main" / job / "params.npy")
        return self._phases(job)["total"], params


def _measured(
    project: _Project, groups: int, rows: int, runs: int, left_out: dict[str, str]
) -> dict[str, Any]:
    y, x = _panel(groups, rows)
    expected = np.array(
        [statistics_of(each, part, ("params",))[0] for each, part in zip(y[:5], x[:5], strict=True)]
    )

    def ours(engine: str, run: int) -> float:
        seconds, params = project.fit(engine, groups, rows)
        np.testing.assert_allclose(params[:5], expected, rtol=1e-9)
        return seconds

    works: dict[str, Callable[[int], float]] = {
        name: partial(ours, name) for name in SYSTEMS if name not in left_out
    }
    with _joblib() as parallel:
        works[LOOP] = lambda run: seconds_of(lambda: parallel(_one, list(zip(y, x, strict=True))))
        chunks = [*zip(np.array_split(y, cores()), np.array_split(x, cores()), strict=True)]
        works[CHUNKS] = lambda run: seconds_of(lambda: parallel(_some, chunks))
        works[CHUNKS](0)  # workers are there
        seconds = interleaved(works, runs)
    best = [min(pair) for pair in zip(seconds[LOOP], seconds[CHUNKS], strict=True)]
    return {
        "seconds": {name: spread(each) for name, each in seconds.items()},
        "best_over": {name: ratio(best, each) for name, each in seconds.items()},
    }


def _panel(groups: int, rows: int) -> tuple[FloatArray, FloatArray]:
    """Outcome and regressors of each group, of the panel that is simulated for the jobs."""
    from shortloop.panel.formats.simulated import SimulatedInput

    frame = SimulatedInput(format="simulated", groups=groups, rows=rows).load(None, (), 0)
    frame = frame.sort_values("group", kind="stable")
    x = np.column_stack([np.ones(len(frame)), *(frame[name] for name in REGRESSORS)])
    return frame["y"].to_numpy().reshape(groups, rows), x.reshape(groups, rows, -1)


@contextmanager
def _joblib() -> Iterator[Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], Any]]:
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    parallel = Parallel(cores())
    try:
        yield lambda work, given: parallel(delayed(work)(*each) for each in given)
    finally:
        get_reusable_executor().shutdown(wait=True)


def _one(y: FloatArray, x: FloatArray) -> list[Any]:
    return statistics_of(y, x, ASKED)


def _some(y: FloatArray, x: FloatArray) -> list[list[Any]]:
    return [statistics_of(each, part, ASKED) for each, part in zip(y, x, strict=True)]


def _table(name: str, found: dict[str, Any]) -> dict[str, Any]:
    rows = [
        [way, figures(each, "s"), figures(found["best_over"][way])] for way, each in found["seconds"].items()
    ]
    note = (
        f"{cores()} workers, which are there. Ours: a job from begin to end, with all statistics, why "
        "fits failed, and files. joblib: from arrays in memory to statistics in memory."
    )
    return {
        "title": f"{name} rows by statsmodels itself",
        "columns": ["", "seconds", "the best plain loop ÷ it"],
        "rows": rows,
        "note": note,
    }
