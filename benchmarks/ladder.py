"""How regressions in every group become fast, step by step, from what one writes first."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarks.measure import interleaved, ratio, seconds_of, spread
from benchmarks.options import Options, cores
from benchmarks.panel import ASKED, FORMULA, REGRESSORS, ours, panel_frame, statistics_of
from benchmarks.write import figures, number

if TYPE_CHECKING:
    import pandas as pd

GROUPS, ROWS = 2000, 500
QUICK = 20, 50
SHARE = 20  # of the groups, one in so many is fitted in the slow steps; the others take as long
NEEDED = ("params", "bse", "pvalues", "rsquared")
DAY = 86_400
STEPS = (
    "formula in a groupby, with its summary",
    "without the summary",
    "arrays in place of formulas",
    "only what is needed",
    "on all cores, by joblib",
    "all groups at once, one core",
)
"""Each is the one before it, changed in one respect."""


def run(options: Options) -> dict[str, Any]:
    """Climb it: least squares, one BLAS thread."""
    groups, rows = QUICK if options.quick else (GROUPS, ROWS)
    frame = panel_frame(groups, rows)
    few = max(groups // SHARE, 1)
    some = frame[frame["g"] < few]
    workers = cores()
    works: dict[str, tuple[Callable[[], Any], float]] = dict(
        zip(
            STEPS,
            (
                (lambda: _by_formula(some, summary=True), groups / few),
                (lambda: _by_formula(some, summary=False), groups / few),
                (lambda: _by_arrays(some, rows, ASKED), groups / few),
                (lambda: _by_arrays(some, rows, NEEDED), groups / few),
                (lambda: _in_parallel(frame, rows, workers), 1.0),
                (lambda: ours(frame), 1.0),
            ),
            strict=True,
        )
    )
    for work, _ in works.values():  # libraries are loaded, workers started, code compiled before it counts
        work()
    seconds = interleaved(
        {
            name: lambda run, work=work, times=times: seconds_of(work) * times  # type: ignore[misc]
            for name, (work, times) in works.items()
        },
        options.runs,
    )
    steps = {}
    for before, name in zip((STEPS[0], *STEPS), STEPS):
        steps[name] = {
            "seconds": spread(seconds[name]),
            "factor": ratio(seconds[before], seconds[name]),
            "first": ratio(seconds[STEPS[0]], seconds[name]),
            "day": spread([DAY / each for each in seconds[name]]),
        }
    found = {"groups": groups, "rows": rows, "workers": workers, "steps": steps}
    return {**found, "tables": [_table(found)]}


def _by_formula(frame: pd.DataFrame, summary: bool) -> list[Any]:
    import statsmodels.formula.api as smf

    found: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _, part in frame.groupby("g"):
            fitted = smf.ols(FORMULA, part).fit()
            found.append(fitted.summary() if summary else [getattr(fitted, name) for name in ASKED])
    return found


def _by_arrays(frame: pd.DataFrame, rows: int, asked: tuple[str, ...]) -> list[Any]:
    x, y = _arrays(frame)
    return [
        statistics_of(y[first : first + rows], x[first : first + rows], asked)
        for first in range(0, len(y), rows)
    ]


def _in_parallel(frame: pd.DataFrame, rows: int, workers: int) -> list[Any]:
    from joblib import Parallel, delayed

    x, y = _arrays(frame)
    each = Parallel(workers, batch_size=64)(
        delayed(statistics_of)(y[first : first + rows], x[first : first + rows], NEEDED)
        for first in range(0, len(y), rows)
    )
    return list(each)


def _arrays(frame: pd.DataFrame) -> tuple[Any, Any]:
    import numpy as np

    columns = [np.ones(len(frame)), *(frame[name].to_numpy() for name in REGRESSORS)]
    return np.column_stack(columns), frame["y"].to_numpy()


def _table(found: dict[str, Any]) -> dict[str, Any]:
    rows = [
        [
            name,
            figures(step["seconds"], "s"),
            f"{number(step['factor']['median'])}×",
            f"{number(step['first']['median'])}×",
            number(step["day"]["median"]),
        ]
        for name, step in found["steps"].items()
    ]
    return {
        "title": f"{found['groups']:,} groups of {found['rows']} rows, six coefficients",
        "columns": ["", "seconds", "over the step before", "over the first", "runs a day"],
        "rows": rows,
        "note": f"{found['workers']} cores by joblib, one in all other steps. The first four: one group in "
        f"{SHARE} is timed. The last gives all statistics, the two before it only {', '.join(NEEDED)}.",
    }
