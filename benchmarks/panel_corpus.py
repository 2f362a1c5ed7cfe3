"""Data sets that statsmodels and linearmodels ship: how many groups compiled code fits, and how fast."""

from __future__ import annotations

import importlib
import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import ratio, spread
from benchmarks.options import Options
from benchmarks.panel_models import ASKED
from benchmarks.write import figures, number

if TYPE_CHECKING:
    import pandas as pd

CORPUS = (  # data set, column of groups, formula
    ("linearmodels.datasets.birthweight", "male", "bwght ~ packs + parity + faminc"),
    ("linearmodels.datasets.card", "south", "lwage ~ educ + exper + expersq + age"),
    ("linearmodels.datasets.jobtraining", "year", "hrsemp ~ grant + employ + sales"),
    ("linearmodels.datasets.mroz", "kidslt6", "hours ~ educ + age + exper + expersq"),
    ("linearmodels.datasets.munnell", "STATE", "GSP ~ P_CAP + PC + EMP + UNEMP"),
    ("linearmodels.datasets.munnell", "STATE", "np.log(GSP) ~ np.log(P_CAP) + np.log(PC) + YR"),
    ("linearmodels.datasets.wage", "urban", "np.log(wage) ~ educ + exper + tenure + age"),
    ("linearmodels.datasets.wage_panel", "nr", "lwage ~ year"),
    ("linearmodels.datasets.wage_panel", "year", "lwage ~ educ + exper + hours + union"),
    ("linearmodels.datasets.wage_panel", "year", "lwage ~ bs(exper, df=4) + center(hours) * union"),
    ("linearmodels.datasets.wage_panel", "nr", "lwage ~ poly(exper, 2)"),
    ("linearmodels.datasets.wage_panel", "nr", "lwage ~ hours.clip(lower=1500) + exper"),
    ("statsmodels.datasets.anes96", "vote", "age ~ educ + income + TVnews"),
    ("statsmodels.datasets.ccard", "OWNRENT", "AVGEXP ~ AGE + INCOME + INCOMESQ"),
    ("statsmodels.datasets.fair", "rate_marriage", "affairs ~ age + yrs_married + children + educ"),
    ("statsmodels.datasets.fertility", "Country Name", "births ~ year"),
    ("statsmodels.datasets.grunfeld", "firm", "invest ~ value + capital + year"),
    ("statsmodels.datasets.macrodata", "quarter", "realgdp ~ year + realcons + unemp"),
    ("statsmodels.datasets.randhie", "hlthp", "mdvis ~ lncoins + idp + lpi + disea"),
)
MODELS: dict[str, dict[str, Any]] = {
    "least squares": {"model": "ols"},
    "median": {"model": "quantreg"},
}
TOO_FEW = 5  # status of groups that no model can be fitted to


def corpus(options: Options) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fit each model in every group of each data set, one core, one BLAS thread."""
    found: dict[str, Any] = {}
    for source, by, formula in CORPUS[:2] if options.quick else CORPUS:
        frame = _table(source)
        for name, asked in MODELS.items():
            found[f"{name}: {source.rpartition('.')[2]}, {formula}"] = _measured(
                frame, by, formula, asked, options.runs
            )
    rows = [
        [
            name,
            each["groups"],
            f"{number(100.0 * each['compiled'] / each['groups'])} %",
            figures(each["ours"], "s"),
            figures(each["ratio"]),
        ]
        for name, each in found.items()
    ]
    compiled, groups = (sum(each[of] for each in found.values()) for of in ("compiled", "groups"))
    table = {
        "title": "Real data",
        "columns": ["", "groups", "compiled", "seconds", "statsmodels on arrays, times ours"],
        "rows": rows,
        "note": f"Compiled: {number(100.0 * compiled / groups)} % of {groups:,} fits, but for groups "
        "of too few rows. Seconds are from the frame to all statistics; those of statsmodels lack formulas.",
    }
    return {"fits": found, "compiled": compiled / groups}, table


def _measured(frame: pd.DataFrame, by: str, formula: str, asked: dict[str, Any], runs: int) -> dict[str, Any]:
    from shortloop.panel.frame import fit_frame

    designs = _designs(frame, by, formula)
    ours, theirs = [], []
    for run in range(runs + 1):
        before = time.perf_counter()
        fits = fit_frame(frame, [by], formula=formula, **asked)
        between = time.perf_counter()
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for y, x in designs:
                _fit(y, x, asked["model"])
        if run:  # the first compiles
            ours.append(between - before)
            theirs.append(time.perf_counter() - between)
    counted = np.asarray(fits.arrays["status"]) != TOO_FEW
    compiled = int((np.asarray(fits.arrays["path"])[counted] == 0).sum())
    return {
        "groups": int(counted.sum()),
        "compiled": compiled,
        "ours": spread(ours),
        "ratio": ratio(theirs, ours),
    }


def _designs(frame: pd.DataFrame, by: str, formula: str) -> list[tuple[Any, Any]]:
    from formulaic import model_matrix

    made = [model_matrix(formula, part, na_action="drop") for _, part in frame.groupby(by)]
    return [(np.asarray(y, float)[:, 0], np.asarray(x, float)) for y, x in made if len(y) > len(x.columns)]


def _fit(y: Any, x: Any, model: str) -> list[Any]:
    from statsmodels.regression.linear_model import OLS
    from statsmodels.regression.quantile_regression import QuantReg

    fitted = OLS(y, x).fit() if model == "ols" else QuantReg(y, x).fit(0.5)
    return [*(getattr(fitted, name) for name in ASKED[model]), fitted.conf_int()]


def _table(source: str) -> pd.DataFrame:
    module = importlib.import_module(source)
    found = module.load() if source.startswith("linearmodels") else module.load_pandas().data
    if source.endswith("fertility"):  # a column for each year
        years = [name for name in found if name.isdigit()]
        found = found.melt("Country Name", years, "year", "births").dropna()
        found["year"] = found["year"].astype(int)
    return found.reset_index(drop=True)
