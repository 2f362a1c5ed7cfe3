"""Fits of one group by statsmodels: any model, and groups that compiled code does not vouch for.

For a quick fit, `scipy.stats` checks its arguments for as long as the fit takes. Where results have p values
and intervals as all models of statsmodels have them, the functions that `scipy.stats` calls in the end are
called directly: no bit differs.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, cast

import numpy as np
from scipy import special

from shortloop.base.types import FloatArray
from shortloop.panel.fitting.basis import SINGULAR, Basis, basis_of, dependent, is_lost, names_of
from shortloop.panel.fitting.separation import are_separated, is_at_bound, is_separated
from shortloop.panel.formulas.design import Design, in_time
from shortloop.panel.models.model import ModelSettings
from shortloop.panel.statistics import COEFFICIENTS, FITS, Status

POWERS = {"HC2": 1, "HC3": 2}
"""Powers of one minus the leverage that divide squared residuals: MacKinnon and White 1985, section 2."""
ALONE = 1e-12  # one minus the leverage, up to which it is what rounding leaves of 0
PART = 1e-12  # share of a coefficient in a row, over the condition, that is no rounding
CANCELS = 1e-10  # share of a variance of equal errors that rounding may leave of 0
NAMES = sorted({*COEFFICIENTS, *FITS} - {"lower", "upper", "iterations", "converged"})
SEPARATED = "regressors separate the outcomes"
TINY = 1e-140  # differences of outcomes whose squares lose digits


def drop_undefined_variances(results: Any) -> np.ndarray | None:
    """Make variances NaN that HC2 or HC3 leave undefined, and all others as without the rows."""
    # Returns the coefficients without a variance, bool, (coefficients,); None if all have one.
    linear = sys.modules.get("statsmodels.regression.linear_model")
    if linear is None or not isinstance(results, linear.RegressionResults):
        return None
    if (power := POWERS.get(str(results.cov_type).upper())) is None:
        return None
    rows = np.asarray(results.model.wexog, np.float64)
    lengths = np.sqrt(np.square(rows).sum(axis=0))
    if len(rows) <= len(lengths) or not lengths.all():
        return None
    basis, triangle = np.linalg.qr(rows / lengths)
    condition = np.linalg.cond(triangle)
    free = 1.0 - np.square(basis).sum(axis=1)
    alone = free <= ALONE
    if not alone.any() or condition > SINGULAR:
        return None
    shares = np.linalg.solve(triangle, basis.T)  # of rows in coefficients of regressors of unit length
    least = PART * condition * np.abs(shares[:, alone]).max(axis=0)
    undefined = (np.abs(shares[:, alone]) > least).any(axis=1)
    squares = np.square(np.asarray(results.wresid)[~alone]) / free[~alone] ** power
    covariance = (shares[:, ~alone] * squares) @ shares[:, ~alone].T / np.outer(lengths, lengths)
    covariance[undefined], covariance[:, undefined] = np.nan, np.nan
    results.cov_params_default = covariance
    return np.asarray(undefined)


def in_order(design: Design) -> tuple[Design, Sequence[int]]:
    """Sort rows by time, if they have one, and leave out those that stand for none; find equal times."""
    twice: Any = ()
    if "time" in design.roles:
        design, _, twice = in_time(design, np.array([0, len(design.outcome)]))
    for name in ("freq_weights", "weights"):
        if not (weights := np.asarray(design.roles.get(name, 1.0))).all():
            design = design.taken(np.flatnonzero(weights))
    return design, twice


def fit_group(
    model: ModelSettings, design: Design, level: float, with_covariance: bool = False
) -> tuple[dict[str, FloatArray | float], int, list[str]]:
    """Fit one group; return its statistics as far as there are any, its status, and messages."""
    design, twice = in_order(design)
    rows = np.ascontiguousarray(design.columns.T)
    outcome = design.outcome
    known: dict[str, FloatArray | float] = {"nobs": float(len(outcome))}
    if len(outcome) < 2:
        return known, Status.TOO_FEW_ROWS, []
    if not (np.isfinite(rows).all() and np.isfinite(outcome).all()):
        return known, Status.VALUES_NOT_FINITE, []
    if len(twice):
        return known, Status.FAILED, ["two rows have the same time"]
    from statsmodels.base.wrapper import ResultsWrapper

    own = rows
    if (basis := _basis(model, design, own)) is not None:
        rows = np.ascontiguousarray(basis.rows(own))
    said: list[str] = []
    undefined = None
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)  # of what is collected meanwhile
        try:
            results = model.fit_one(outcome, rows, dict(design.roles))
            if isinstance(results, ResultsWrapper):  # which restores the labels of a frame, and takes long
                results = results._results  # noqa: SLF001
            undefined = drop_undefined_variances(results)
            found = _found(results, level)
            if basis is not None:
                found |= _tested(_covariance(results, basis), level)
                found |= (
                    {"condition_number": float(np.linalg.cond(own))} if "condition_number" in found else {}
                )
            elif with_covariance:
                found |= _covariance(results)
            converged = _asked(model.has_converged, results)
            if converged is not None and np.isfinite(converged):
                found["converged"] = converged
        except Exception as error:
            results, found = None, {}
            said.append(f"{type(error).__name__}: {_line(error)}")
    said += dict.fromkeys(f"{each.category.__name__}: {_line(each.message)}" for each in caught)
    became, why = _status(design, rows, results, found, undefined, basis)
    if became == Status.FAILED and model.is_binary() and are_separated(outcome, rows):
        became, why = Status.SEPARATED, [SEPARATED]
    return {**known, **found}, became, [*why, *said]


def _found(results: Any, level: float) -> dict[str, FloatArray | float]:
    found = tests_of(results, level)
    attributes = [(name, name) for name in NAMES if name not in found]
    for name, attribute in (*attributes, ("bic", "bic_llf")):  # of GLM: `bic` is based on the deviance
        if (value := _asked(attrgetter(attribute), results)) is not None:
            found[name] = value
    if "lower" not in found:
        interval = _asked(lambda results: results.conf_int(alpha=1.0 - level), results)
        if interval is not None:
            found["lower"], found["upper"] = interval[:, 0], interval[:, 1]
    first = int(getattr(getattr(results, "model", None), "k_inflate", 0))
    if first:  # zero-inflated models have the coefficients of their zeros before those of the regressors
        found |= {name: np.asarray(found[name])[first:] for name in COEFFICIENTS if name in found}
    known = dict(zip(("iterations", "converged"), _iterations(results), strict=True))
    return found | {name: float(value) for name, value in known.items() if value is not None}


def _basis(model: ModelSettings, design: Design, rows: FloatArray) -> Basis | None:
    """Return the basis in which statsmodels fits a group; None for the regressors as they are."""
    basis = basis_of(rows, design.roles.get("weights")) if model.has_basis() else None
    of_rows = getattr(model, "covariance", "") in POWERS  # whose variances a row of leverage 1 leaves open
    return None if basis is not None and of_rows and (1.0 - basis.leverage <= ALONE).any() else basis


def _covariance(results: Any, basis: Basis | None = None) -> dict[str, Any]:
    """Return the covariance of coefficients, and degrees of freedom of their tests."""
    covariance = _asked(lambda results: results.cov_params(), results)
    if np.ndim(covariance) != 2:
        return {}
    freedom = np.inf  # the normal distribution
    if getattr(results, "use_t", False):
        freedom = float(getattr(results, "df_resid_inference", results.df_resid))
    if basis is not None:
        params, covariance = basis.own @ np.asarray(results.params), basis.covariance(covariance)
        return {"params": params, "covariance": covariance, "freedom": freedom}
    first = int(getattr(getattr(results, "model", None), "k_inflate", 0))
    return {"covariance": covariance[first:, first:], "freedom": freedom}


def _tested(found: dict[str, Any], level: float) -> dict[str, Any]:
    """Test coefficients by their covariance."""
    params, errors, freedom = found["params"], np.sqrt(np.diagonal(found["covariance"])), found["freedom"]
    is_normal = np.isinf(freedom)
    below = -np.abs(params / errors)
    half = _quantile(1 - (1.0 - level) / 2, None if is_normal else freedom) * errors
    pvalues = (special.ndtr(below) if is_normal else special.stdtr(freedom, below)) * 2
    tests = {"bse": errors, "tvalues": params / errors, "pvalues": pvalues}
    return {**found, **tests, "lower": params - half, "upper": params + half}


def _asked(of: Callable[[Any], Any], results: Any) -> Any:
    """Evaluate a function of results as numbers; None if it fails."""
    try:
        value = np.asarray(of(results), np.float64)
    except Exception:
        return None
    return float(value) if value.ndim == 0 else value if value.ndim <= 2 else None


def _iterations(results: Any) -> tuple[float | None, bool | None]:
    known = getattr(results, "mle_retvals", None)
    if isinstance(known, dict) and "iterations" in known:
        return known["iterations"], known.get("converged")
    history = getattr(results, "fit_history", None)
    if isinstance(history, dict) and "iteration" in history:
        return history["iteration"], getattr(results, "converged", None)
    return getattr(results, "iterations", None), getattr(results, "converged", None)


def _status(
    design: Design,
    rows: FloatArray,
    results: Any,
    found: dict[str, Any],
    undefined: np.ndarray | None,
    basis: Basis | None,
) -> tuple[int, list[str]]:
    """Return the status of a fit, and an explanation beside the messages of statsmodels."""
    if (unfit := _unfit(design, rows)) is not None:
        return unfit
    if results is None or "params" not in found:
        return Status.FAILED, []
    if np.ndim(found["params"]) != 1 or len(found["params"]) < rows.shape[1]:
        return Status.FAILED, [f"not one coefficient for each regressor: {np.shape(found['params'])}"]
    if not np.isfinite(found["params"]).all():
        return Status.FAILED, ["coefficients of statsmodels are not finite"]
    not_converged = found.get("converged") == 0.0
    if is_separated(design.outcome, rows, results, not_converged):
        return Status.SEPARATED, [SEPARATED]
    if not_converged or is_at_bound(results):
        return Status.NOT_CONVERGED, []
    errors = np.isfinite(found.get("bse", np.nan))
    if undefined is not None and np.array_equal(errors, ~undefined):
        alone = names_of(design, undefined)
        why = f"one row alone decides {alone}: there is no standard error of HC2 or HC3"
        return Status.LEVERAGE_OF_1, [why]
    if _cancels(results, basis):
        return Status.FAILED, ["a variance is 0 or below: use another covariance"]
    if not errors.all():
        return Status.FAILED, ["standard errors of statsmodels are not finite"]
    return Status.FITTED, []


def _unfit(design: Design, rows: FloatArray) -> tuple[int, list[str]] | None:
    """Return the status of a group of which no model has coefficients."""
    absorbed = design.roles["absorbed"][0] if "absorbed" in design.roles and len(rows) else 0.0
    if len(design.outcome) <= rows.shape[1] + absorbed:
        return Status.TOO_FEW_ROWS, []
    if np.ptp(design.outcome) <= TINY:
        return Status.CONSTANT_OUTCOME, []
    if said := dependent(design, rows):
        return Status.SINGULAR, [said]
    if is_lost(rows):
        return Status.SINGULAR, [
            "regressors are too far apart in size, or nearly sums of others: center and scale them"
        ]
    return None


def _cancels(results: Any, basis: Basis | None) -> bool:
    """True if a variance, a difference of others, is below 0 or what rounding leaves of 0."""
    known = getattr(results, "cov_kwds", None) or {}
    if "maxlags" not in known and np.ndim(known.get("groups", 0)) < 2:
        return False
    both = [_asked(lambda each: each.normalized_cov_params * each.scale, results), results.cov_params()]
    if both[0] is None:
        return False
    alike, variances = (np.diagonal(each if basis is None else basis.covariance(each)) for each in both)
    return bool((variances <= CANCELS * alike).any())


def _line(value: object) -> str:
    return " ".join(str(value).split())


def tests_of(results: Any, level: float) -> dict[str, FloatArray | float]:
    """Compute p values and intervals where a model has the common ones; no others."""
    has_pvalues, has_interval, has_f_test = _common_tests(cast("Hashable", type(results)))
    if not (has_pvalues or has_interval):
        return {}
    try:
        params, errors, tvalues = (np.asarray(getattr(results, x)) for x in ("params", "bse", "tvalues"))
        freedom = float(getattr(results, "df_resid_inference", results.df_resid)) if results.use_t else None
    except Exception:  # whoever asks for it sees why
        return {}
    if not (params.shape == errors.shape == tvalues.shape == (len(params),) and np.isfinite(tvalues).all()):
        return {}
    if freedom is not None and not 0.0 < freedom < np.inf:
        return {}
    found: dict[str, FloatArray | float] = {}
    if has_pvalues:
        below = -np.abs(tvalues)
        found["pvalues"] = (special.ndtr(below) if freedom is None else special.stdtr(freedom, below)) * 2
    if has_interval:
        half = _quantile(1 - (1.0 - level) / 2, freedom) * errors
        found |= {"lower": params - half, "upper": params + half}
    if has_f_test:
        with suppress(Exception):  # the same
            value, above, below = results.fvalue, results.df_model, results.df_resid
            is_known = "f_pvalue" in results._cache  # noqa: SLF001  a robust covariance has computed it
            if not is_known and 0.0 < value < np.inf and 0.0 < above < np.inf and 0.0 < below < np.inf:
                found["f_pvalue"] = float(special.fdtrc(above, below, value))
    return found


@cache
def _common_tests(kind: type) -> tuple[bool, bool, bool]:
    """True for p values, intervals and the F test, if a class of results has those that all others have."""
    from statsmodels.base.model import LikelihoodModelResults as Common
    from statsmodels.regression.linear_model import RegressionResults as Linear

    def has(name: str, *others: type) -> bool:
        own = inspect.getattr_static(kind, name, None)
        return own is not None and any(own is vars(other).get(name) for other in others)

    return has("pvalues", Common), has("conf_int", Common, Linear), has("f_pvalue", Linear)


@lru_cache(4096)  # groups of a size share one
def _quantile(share: float, freedom: float | None) -> float:
    return float(special.ndtri(share) if freedom is None else special.stdtrit(freedom, share))
