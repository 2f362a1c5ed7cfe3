"""Models that are iterated, in every group of a panel: frame in, all statistics out, against statsmodels."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import interleaved, ratio, seconds_of, spread
from benchmarks.options import Options
from benchmarks.write import figures, number

if TYPE_CHECKING:
    import pandas as pd

REGRESSORS = ("x1", "x2", "x3", "x4", "x5")
GROUPS, ROWS, SHARE = 1000, 500, 50
"""Groups; rows of each; and how many of the groups statsmodels fits: the others take as long."""
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "logit": ("chance", {"model": "logit"}),
    "logit, HC1": ("chance", {"model": "logit", "covariance": "HC1"}),
    "Poisson": ("count", {"model": "glm", "family": "poisson"}),
    "Poisson, HC1": ("count", {"model": "glm", "family": "poisson", "covariance": "HC1"}),
    "gamma, log": ("positive", {"model": "glm", "family": "gamma", "link": "log"}),
    "Huber": ("value", {"model": "rlm"}),
    "median": ("value", {"model": "quantreg"}),
}
"""Outcome and settings of each."""
TESTS = ("params", "bse", "tvalues", "pvalues")
ASKED = {
    "ols": (
        *TESTS,
        "rsquared",
        "rsquared_adj",
        "fvalue",
        "f_pvalue",
        "llf",
        "aic",
        "bic",
        "condition_number",
    ),
    "logit": (*TESTS, "llf", "aic", "bic", "prsquared"),
    "glm": (*TESTS, "llf", "aic", "bic_llf", "deviance", "scale"),
    "rlm": (*TESTS, "scale"),
    "quantreg": (*TESTS, "prsquared", "condition_number"),
}
"""What is asked of statsmodels, beside intervals: what ours gives."""


def iterated(options: Options) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fit each model in every group, one core, one BLAS thread."""
    groups, share = (20, 5) if options.quick else (GROUPS, SHARE)
    frame = _frame(groups)
    found = {name: _measured(frame, groups, share, options.runs, *MODELS[name]) for name in MODELS}
    rows = [
        [
            name,
            figures(each["ours"], "s"),
            figures(each["statsmodels"], "s"),
            figures(each["ratio"]),
            f"{number(100.0 * each['left'])} %",
        ]
        for name, each in found.items()
    ]
    table = {
        "title": f"Models that are iterated, {groups} × {ROWS} rows, {len(REGRESSORS) + 1} coefficients",
        "columns": ["", "shortloop", "statsmodels on arrays", "times ours", "left to statsmodels"],
        "rows": rows,
        "note": f"statsmodels was timed on {share} of the groups, one in {groups // share}; the "
        "seconds of ours are with what it left to statsmodels.",
    }
    return found, table


def _frame(groups: int) -> pd.DataFrame:
    import pandas as pd

    rng = np.random.default_rng(0)
    n = groups * ROWS
    x = rng.standard_normal((len(REGRESSORS), n))
    sum_of = 0.3 * x.sum(axis=0)
    return pd.DataFrame(
        {
            "g": np.repeat(np.arange(groups), ROWS),
            **dict(zip(REGRESSORS, x, strict=True)),
            "chance": (rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-sum_of))).astype(float),
            "count": rng.poisson(np.exp(0.5 + sum_of)).astype(float),
            "positive": rng.gamma(2.0, np.exp(sum_of) / 2.0),
            "value": 1.0 + sum_of + rng.standard_t(4, n),
        }
    )


def _measured(
    frame: pd.DataFrame, groups: int, share: int, runs: int, outcome: str, settings: dict[str, Any]
) -> dict[str, Any]:
    from shortloop.panel.frame import fit_frame
    from shortloop.panel.models.model import ModelSettings

    formula = f"{outcome} ~ {' + '.join(REGRESSORS)}"
    model = ModelSettings.model_validate({**settings, "formula": formula})
    rows = np.column_stack([np.ones(len(frame)), *(frame[name] for name in REGRESSORS)])
    values = frame[outcome].to_numpy()
    some = range(0, groups, groups // share)

    def theirs() -> list[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [
                _asked(model, values[g * ROWS : (g + 1) * ROWS], rows[g * ROWS : (g + 1) * ROWS])
                for g in some
            ]

    def ours() -> Any:
        return fit_frame(frame, ["g"], formula=formula, **settings)

    fitted = ours()  # compiled, and checked
    # The iterations of statsmodels stop before the optimum of a quantile.
    near = 0.05 if settings["model"] == "quantreg" else 1e-7
    for g, found in zip(some, theirs(), strict=True):
        if fitted.arrays["converged"][g]:
            np.testing.assert_allclose(fitted.arrays["params"][g], found[0], rtol=near, atol=near / 100)
            np.testing.assert_allclose(fitted.arrays["bse"][g], found[1], rtol=near)
    seconds = interleaved(
        {
            "ours": lambda run: seconds_of(ours),
            "statsmodels": lambda run: seconds_of(theirs) * groups / len(some),
        },
        runs,
    )
    return {
        **{name: spread(each) for name, each in seconds.items()},
        "ratio": ratio(seconds["statsmodels"], seconds["ours"]),
        "left": float(np.mean(fitted.arrays["path"])),
    }


def _asked(model: Any, outcome: Any, rows: Any) -> list[Any]:
    results = model.fit_one(outcome, rows, {})
    return [*(getattr(results, name) for name in ASKED[model.model]), results.conf_int()]
