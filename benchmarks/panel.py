"""Least squares in every group of a panel: frame in, all statistics out, against what else there is."""

from __future__ import annotations

import importlib
import importlib.util
import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import interleaved, ratio, seconds_of, spread
from benchmarks.options import Options
from benchmarks.panel_corpus import corpus
from benchmarks.panel_models import ASKED as ASKED_OF
from benchmarks.panel_models import iterated
from benchmarks.write import figures

if TYPE_CHECKING:
    import pandas as pd

REGRESSORS = ("x1", "x2", "x3", "x4", "x5")
FORMULA = f"y ~ {' + '.join(REGRESSORS)}"
SIZES = ((2000, 500), (20_000, 50), (200, 20_000))
QUICK = ((20, 50), (50, 20))
LONG = 5000  # rows of a group, beyond which a formula takes hardly longer than the fit, and is left out
FORMULAS = 100
"""Groups that are fitted by a formula in a groupby; the others take as long."""
OURS, SHUFFLED = "shortloop", "shortloop, shuffled rows"
ARRAYS, GROUPBY, PLUGIN = "statsmodels on arrays", "statsmodels, formula in a groupby", "polars-ds"
ASKED = ASKED_OF["ols"]
"""What is asked of statsmodels, beside intervals: what ours gives."""


def run(options: Options) -> dict[str, Any]:
    """Fit panels of a million rows and of other shapes, one core, one BLAS thread."""
    os.environ["POLARS_MAX_THREADS"] = "1"  # as of all others; read when polars is imported
    shapes = QUICK if options.quick else SIZES
    sizes = {f"{groups} × {rows}": _measured(groups, rows, options.runs) for groups, rows in shapes}
    models, table = iterated(options)
    real, of_real = corpus(options)
    tables = [*(_table(name, found) for name, found in sizes.items()), table, of_real]
    return {"sizes": sizes, "models": models, "corpus": real, "tables": tables}


def _measured(groups: int, rows: int, runs: int) -> dict[str, Any]:
    frame = panel_frame(groups, rows)
    shuffled = frame.sample(frac=1.0, random_state=1).reset_index(drop=True)
    works: dict[str, Callable[[int], float]] = {
        OURS: lambda run: seconds_of(lambda: ours(frame)),
        SHUFFLED: lambda run: seconds_of(lambda: ours(shuffled)),
        ARRAYS: lambda run: seconds_of(lambda: _arrays(frame, rows)),
    }
    if rows <= LONG:
        share = min(FORMULAS, groups)
        some = frame[frame["g"] < share]
        works[GROUPBY] = lambda run: seconds_of(lambda: _groupby(some)) * groups / share
    if importlib.util.find_spec("polars_ds") is not None:
        works[PLUGIN] = _plugin(frame)
    _check(frame, rows)
    seconds = interleaved(works, runs)
    return {
        "seconds": {name: spread(each) for name, each in seconds.items()},
        "over_ours": {name: ratio(each, seconds[OURS]) for name, each in seconds.items()},
        "arrays_over_shuffled": ratio(seconds[ARRAYS], seconds[SHUFFLED]),
        "microseconds_a_fit": spread([1e6 * each / groups for each in seconds[OURS]]),
    }


def panel_frame(groups: int, rows: int) -> pd.DataFrame:
    """A panel whose groups come one after the other."""
    import pandas as pd

    rng = np.random.default_rng(0)
    x = rng.standard_normal((len(REGRESSORS), groups * rows))
    frame = {"g": np.repeat(np.arange(groups), rows), **dict(zip(REGRESSORS, x, strict=True))}
    frame["y"] = 1.0 + x.sum(axis=0) + rng.standard_normal(groups * rows)
    return pd.DataFrame(frame)


def ours(frame: pd.DataFrame) -> Any:
    """Fit all groups by compiled code."""
    from shortloop.panel.frame import fit_frame

    return fit_frame(frame, ["g"], model="ols", formula=FORMULA)


def _arrays(frame: pd.DataFrame, rows: int) -> list[Any]:
    x = np.column_stack([np.ones(len(frame)), *(frame[name] for name in REGRESSORS)])
    y = frame["y"].to_numpy()
    return [
        statistics_of(y[first : first + rows], x[first : first + rows], ASKED)
        for first in range(0, len(frame), rows)
    ]


def statistics_of(y: Any, x: Any, asked: tuple[str, ...]) -> list[Any]:
    """Fit one group by statsmodels.

    y: (rows,)
    x: (rows, coefficients)
    """
    from statsmodels.regression.linear_model import OLS

    fitted = OLS(y, x).fit()
    found = [getattr(fitted, name) for name in asked]
    return [*found, fitted.conf_int()] if asked is ASKED else found


def _groupby(frame: pd.DataFrame) -> list[Any]:
    import statsmodels.formula.api as smf

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [smf.ols(FORMULA, part).fit().summary() for _, part in frame.groupby("g")]


def _plugin(frame: pd.DataFrame) -> Callable[[int], float]:
    import polars as pl

    pds = importlib.import_module("polars_ds")

    of_polars = pl.from_pandas(frame)
    report = pds.lin_reg_report(*REGRESSORS, target="y", add_bias=True)

    def work() -> Any:
        return of_polars.group_by("g").agg(report.alias("found"))

    return lambda run: seconds_of(work)


def _check(frame: pd.DataFrame, rows: int) -> None:
    """What is timed is the same."""
    part = frame[frame["g"] < 5]
    mine, theirs = ours(part), _arrays(part, rows)
    for g, found in enumerate(theirs):
        np.testing.assert_allclose(mine.arrays["params"][g], found[0], rtol=1e-9)
        np.testing.assert_allclose(mine.arrays["pvalues"][g], found[3], rtol=1e-6, atol=1e-12)


def _table(name: str, found: dict[str, Any]) -> dict[str, Any]:
    rows = [
        [way, figures(each, "s"), figures(found["over_ours"][way])] for way, each in found["seconds"].items()
    ]
    note = f"{SHUFFLED} against arrays: {figures(found['arrays_over_shuffled'])} times."
    if GROUPBY in found["seconds"]:
        note += f" The formula was timed on at most {FORMULAS} groups, with a summary."
    if PLUGIN not in found["seconds"]:
        note += " polars-ds is not installed."
    return {"title": f"{name} rows", "columns": ["", "seconds", "times ours"], "rows": rows, "note": note}
