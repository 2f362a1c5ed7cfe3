"""Residuals, leverage and fitted values of the rows of a group, and a ranking of groups by these."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.formulas.design import Design
from shortloop.panel.models.model import ModelSettings

RESIDUAL = "residual"
PEARSON = "Pearson residual"
FITTED = "fitted value"
SMALLEST = 1e-300  # chance; what is less likely is as far out as that
OUTLYING = 3.0  # standardised residuals beyond this are outlying: one of 370, if errors are normal
SUMMARY = {  # summaries of the residuals of a group
    "outlying": f"share of rows whose standardised residual is beyond {OUTLYING:g}",
    "largest": "largest standardised residual, whatever its sign",
    "jarque_bera": "Jarque and Bera's statistic of the residuals: 0 if they are normal",
    "leverage": "largest leverage, over the mean",
    "cook": "largest Cook's distance",
    "agreement": "squared correlation of observed and fitted values",
}
CRITERIA: Mapping[str, tuple[tuple[str, ...], int]] = {
    "outliers": (("outlying", "largest"), 1),
    "normality": (("jarque_bera",), 1),
    "leverage": (("leverage",), 1),
    "influence": (("cook", "leverage"), 1),
    "fit": (("agreement",), -1),
}
"""What each goes by, of `SUMMARY`, the next where the ones before are alike
or not known; and 1 if the largest is worst, -1 if the smallest is."""


@dataclass(frozen=True)
class Rows:
    """Diagnostics of each row of a group, arrays of shape (rows,)."""

    observed: FloatArray
    fitted: FloatArray
    predictor: FloatArray  # what residuals are drawn against
    residuals: FloatArray  # of mean 0 and equal variance, if the model holds
    standardized: FloatArray  # of variance 1, if it holds; not finite where a row decides its fit alone
    normal: FloatArray  # normally distributed, if it holds
    leverage: FloatArray  # diagonal of the hat matrix
    coefficients: int
    names: tuple[str, str, str, str, str]  # of predictor, residuals, standardized, normal and fitted
    has_cook: bool = True  # Cook's distance tells what coefficients would be without a row
    numbers: IntArray | None = None  # of the rows in the file, from 1; None: they have none there

    @property
    def cook(self) -> FloatArray:
        """Cook's distance of each row, shape (rows,); of generalized linear models after one step."""
        # Cook 1977, Detection of influential observation in linear regression, equation 8.
        with np.errstate(divide="ignore", invalid="ignore"):
            part = self.leverage / (1.0 - self.leverage)
            return np.asarray(np.square(self.standardized) * part / self.coefficients)


def rows_of(
    model: ModelSettings, design: Design, params: FloatArray, scale: float, seed: np.random.SeedSequence
) -> Rows | None:
    """Compute diagnostics of a fit with coefficients `params`; None if the model does not predict rows."""
    kind = str(getattr(model, "model", ""))
    with np.errstate(all="ignore"):
        return _KINDS.get(kind, _any)(model, design, params, scale, seed)


def _least_squares(model: Any, design: Design, params: FloatArray, scale: float, seed: Any) -> Rows:
    root = np.sqrt(design.roles["weights"]) if "weights" in design.roles else None
    fitted = params @ design.columns
    residuals, columns = design.outcome - fitted, design.columns
    if root is not None:
        residuals, columns = root * residuals, root * columns
    leverage, y = _leverage(columns), design.roles.get("observed", design.outcome)
    size = len(params)
    if "absorbed" in design.roles:
        from shortloop.panel.kernels.absorb import effect_leverage

        fitted, leverage = y - residuals, leverage + effect_leverage(design)
        size += int(design.roles["absorbed"][0])
    standardized = residuals / np.sqrt(scale) / _rest(leverage)
    name = RESIDUAL if root is None else "weighted residual"
    names = FITTED, name, "standardised residual", "standardised residual", FITTED
    return Rows(y, fitted, fitted, residuals, standardized, standardized, leverage, size, names)


def _robust(model: Any, design: Design, params: FloatArray, scale: float, seed: Any) -> Rows:
    return _scaled(design, params @ design.columns, scale, "residual / robust scale")


def _quantile(model: Any, design: Design, params: FloatArray, scale: float, seed: Any) -> Rows:
    fitted = params @ design.columns
    residuals = design.outcome - fitted
    spread = float(np.median(np.abs(residuals - np.median(residuals)))) / 0.6744897501960817  # of the normal
    return _scaled(design, fitted, spread, "residual / scaled MAD")


def _any(model: Any, design: Design, params: FloatArray, scale: float, seed: Any) -> Rows | None:
    """Fit a model that only statsmodels knows again, and ask it for predictions."""
    rows = np.ascontiguousarray(design.columns.T)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit has said it
        try:
            fitted = np.asarray(model.fit_one(design.outcome, rows, dict(design.roles)).predict(), np.float64)
        except Exception:  # whatever a model does not know of itself
            return None
    if fitted.shape != design.outcome.shape:
        return None
    deviation = np.sqrt(np.square(design.outcome - fitted).sum() / max(len(fitted) - len(design.columns), 1))
    return _scaled(design, fitted, deviation, "residual / standard deviation")


def _sklearn(model: Any, design: Design, params: FloatArray, scale: float, seed: Any) -> Rows:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit has said it
        fitted = model.predicted(design, model.fitted(design))
    deviation = np.sqrt(np.square(design.outcome - fitted).mean())
    return _scaled(design, fitted, float(deviation), "residual / standard deviation")


def _scaled(design: Design, fitted: FloatArray, scale: float, name: str) -> Rows:
    residuals, leverage = design.outcome - fitted, _leverage(design.columns)
    scaled, names = residuals / scale, (FITTED, RESIDUAL, name, name, FITTED)
    size = len(design.columns)
    return Rows(design.outcome, fitted, fitted, residuals, scaled, scaled, leverage, size, names, False)


def _logit(model: Any, design: Design, params: FloatArray, scale: float, seed: Any) -> Rows:
    predictor = params @ design.columns
    mean = special.expit(predictor)
    weights = special.expit(-predictor) * mean
    return _generalized(design, predictor, mean, weights, weights, 1.0, "binomial", seed)


def _glm(model: Any, design: Design, params: FloatArray, scale: float, seed: Any) -> Rows:
    family = model.family_of_statsmodels()
    predictor = params @ design.columns
    if (offset := model.offset_of(design.roles)) is not None:
        predictor = predictor + offset
    mean = family.fitted(predictor)
    return _generalized(
        design, predictor, mean, family.variance(mean), family.weights(mean), scale, model.family, seed
    )


def _generalized(
    design: Design,
    predictor: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    weights: FloatArray,
    scale: float,
    family: str,
    seed: Any,
) -> Rows:
    trials = design.trials()
    if trials is not None:
        variance, weights = variance / trials, weights * trials
    shares = design.roles.get("var_weights")
    if shares is not None:
        variance, weights = variance / shares, weights * shares
        family = "" if family in ("poisson", "binomial") else family  # no distribution has such outcomes
    weights = weights * design.roles.get("freq_weights", 1.0)
    leverage = _leverage(np.sqrt(weights) * design.columns)
    residuals = (design.outcome - mean) / np.sqrt(variance)
    standardized = residuals / np.sqrt(scale) / _rest(leverage)
    rng = np.random.default_rng(seed)
    if trials is None or not family:
        scales = scale if shares is None else scale / shares
        normal = _quantile_residuals(design.outcome, mean, scales, family, rng)
    else:
        normal = _of_counts(design.roles["successes"], trials, mean, rng)
    name = "quantile residual"
    if normal is None:
        normal, name = standardized, f"standardised {PEARSON}"
    names = "linear predictor", PEARSON, f"standardised {PEARSON}", name, "fitted mean"
    size, y = len(design.columns), design.outcome
    return Rows(y, mean, predictor, residuals, standardized, normal, leverage, size, names)


_KINDS: dict[str, Callable[[Any, Design, FloatArray, float, Any], Rows | None]] = {
    "ols": _least_squares,
    "wls": _least_squares,
    "logit": _logit,
    "glm": _glm,
    "rlm": _robust,
    "quantreg": _quantile,
    **dict.fromkeys(("sklearn", "ridge", "lasso", "elasticnet"), _sklearn),
}


def _leverage(columns: FloatArray) -> FloatArray:
    """Compute the diagonal of the hat matrix of regressors, each a row."""
    if not np.isfinite(columns).all():
        return np.full(columns.shape[1], np.nan)
    across, _ = np.linalg.qr(columns.T)
    return np.asarray(np.minimum(np.square(across).sum(axis=1), 1.0))


def _rest(leverage: FloatArray) -> FloatArray:
    """Compute √(1 - leverage); NaN where that is only rounding."""
    rest = 1.0 - leverage
    return np.sqrt(np.where(rest > 1e-10, rest, np.nan))


def _quantile_residuals(
    outcome: FloatArray, mean: FloatArray, scale: float | FloatArray, family: str, rng: np.random.Generator
) -> FloatArray | None:
    """Compute residuals that are normal if the model holds; None if outcomes are not of the family's kind."""
    # Dunn and Smyth 1996, Randomized quantile residuals, section 2.
    if family == "gaussian":
        return np.asarray((outcome - mean) / np.sqrt(scale))
    if family == "gamma":
        shape = 1.0 / scale
        at = outcome / (mean * scale)
        return _scores(special.gammainc(shape, at), special.gammaincc(shape, at))
    u = rng.uniform(size=len(outcome))
    if family == "poisson" and bool((outcome == np.floor(outcome)).all()):
        before = outcome - 1.0
        below = np.where(outcome > 0, special.pdtr(np.maximum(before, 0), mean), 0.0)
        above = np.where(outcome > 0, special.pdtrc(np.maximum(before, 0), mean), 1.0)
        lower = (1 - u) * below + u * special.pdtr(outcome, mean)
        return _scores(lower, (1 - u) * above + u * special.pdtrc(outcome, mean))
    if family == "binomial" and np.isin(outcome, (0.0, 1.0)).all():
        return _scores(
            np.where(outcome == 1, 1 - mean + u * mean, u * (1 - mean)),
            np.where(outcome == 1, (1 - u) * mean, mean + (1 - u) * (1 - mean)),
        )
    return None


def _of_counts(
    successes: FloatArray, trials: FloatArray, mean: FloatArray, rng: np.random.Generator
) -> FloatArray | None:
    """Compute quantile residuals of successes among trials; None where they are not integers."""
    if not all((values == np.floor(values)).all() for values in (successes, trials)):
        return None
    u, failures, others = rng.uniform(size=len(successes)), trials - successes, 1.0 - mean
    least, most = successes == 0.0, failures == 0.0
    first, second = np.maximum(successes, 1.0), np.maximum(failures, 1.0)
    # of fewer successes, and of no more: the binomial distribution by that of beta
    below = np.where(least, 0.0, special.betainc(failures + 1.0, first, others))
    above = np.where(least, 1.0, special.betaincc(failures + 1.0, first, others))
    below_or_at = np.where(most, 1.0, special.betainc(second, successes + 1.0, others))
    above_it = np.where(most, 0.0, special.betaincc(second, successes + 1.0, others))
    return _scores((1 - u) * below + u * below_or_at, (1 - u) * above + u * above_it)


def _scores(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Compute normal quantiles from the smaller of both tails, which has all digits."""
    tail = special.ndtri(np.maximum(np.minimum(lower, upper), SMALLEST))
    return np.asarray(np.where(lower < upper, tail, -tail))


def summary_of(rows: Rows) -> dict[str, float]:
    sizes = np.abs(rows.standardized[np.isfinite(rows.standardized)])
    cook = rows.cook[np.isfinite(rows.cook)]
    leverage = rows.leverage[np.isfinite(rows.leverage)]
    with np.errstate(all="ignore"):
        return {
            "outlying": float((sizes > OUTLYING).mean()) if len(sizes) else np.nan,
            "largest": float(sizes.max(initial=0.0)) if len(sizes) else np.nan,
            "jarque_bera": _jarque_bera(rows.normal[np.isfinite(rows.normal)]),
            "leverage": float(leverage.max() / leverage.mean()) if leverage.any() else np.nan,
            "cook": float(cook.max()) if rows.has_cook and len(cook) else np.nan,
            "agreement": _agreement(rows.observed, rows.fitted),
        }


def worst(summary: Mapping[str, FloatArray], by: str, count: int) -> list[int]:
    """Rank groups by their summaries, each of shape (groups,); NaN of groups that are left out."""
    names, sign = CRITERIA[by]
    keys = [-sign * np.asarray(summary[name], np.float64) for name in names]
    while len(keys) > 1 and np.isnan(keys[0]).all():  # not every model has it
        keys.pop(0)
    order = np.lexsort(keys[::-1])  # NaN last
    return [int(g) for g in order if not np.isnan(keys[0][g])][:count]


def reason(values: Mapping[str, float], by: str) -> str:
    if by == "influence" and np.isnan(values["cook"]):
        by = "leverage"
    return described(values)[by] + (f", the furthest at {values['largest']:.3g}" if by == "outliers" else "")


def described(values: Mapping[str, float]) -> dict[str, str]:
    return {
        "outliers": f"{100 * values['outlying']:.3g} % of standardised residuals beyond {OUTLYING:g}",
        "leverage": f"largest leverage {values['leverage']:.3g} times the mean",
        "influence": f"largest Cook's distance {values['cook']:.3g}",
        "normality": f"Jarque-Bera {values['jarque_bera']:.4g}",
        "fit": f"squared correlation of observed and fitted values {values['agreement']:.3g}",
    }


def _jarque_bera(values: FloatArray) -> float:
    """Compute the statistic of Jarque and Bera."""
    # 1980, Efficient tests for normality, homoscedasticity and serial independence of residuals, equation 4.
    if len(values) < 2 or not np.ptp(values):
        return np.nan
    apart = values - values.mean()
    squares = np.square(apart)
    variance = squares.mean()
    skewness = (squares * apart).mean() / variance**1.5
    excess = np.square(squares).mean() / variance**2 - 3.0
    return float(len(values) / 6.0 * (skewness**2 + excess**2 / 4.0))


def _agreement(observed: FloatArray, fitted: FloatArray) -> float:
    a, b = observed - observed.mean(), fitted - fitted.mean()
    both = np.sqrt(np.square(a).sum() * np.square(b).sum())
    return float(((a * b).sum() / both) ** 2) if both else 0.0
