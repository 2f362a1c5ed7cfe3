"""Tests and intervals of statsmodels' results, without what is around the functions that compute them.

For a quick fit, `scipy.stats` checks its arguments for as long as the fit takes. Where results have p values
and intervals as all models of statsmodels have them, the functions that `scipy.stats` calls in the end are
called at once: no bit differs. All else is asked of the results.
"""

from __future__ import annotations

import inspect
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable

    from shortloop.base.types import FloatArray

__all__ = ["tests_of"]

REMEMBERED = 4096  # quantiles; groups of a size share one


class _Common(NamedTuple):
    """What a class of results has as all others have it."""

    pvalues: bool
    interval: bool
    f_pvalue: bool


def tests_of(results: Any, level: float) -> dict[str, FloatArray | float]:
    """P values and intervals, as far as they are what all models have.

    returns: dict of str to (array or float). Of ``pvalues``, ``lower``, ``upper`` and ``f_pvalue`` those that
        are there; no others.
    """
    common = _common(cast("Hashable", type(results)))
    if not (common.pvalues or common.interval):
        return {}
    try:
        params, errors, tvalues = (
            np.asarray(getattr(results, each)) for each in ("params", "bse", "tvalues")
        )
        freedom = float(getattr(results, "df_resid_inference", results.df_resid)) if results.use_t else None
    except Exception:  # whoever asks for it sees why
        return {}
    if not (params.shape == errors.shape == tvalues.shape == (len(params),) and np.isfinite(tvalues).all()):
        return {}
    if freedom is not None and not 0.0 < freedom < np.inf:
        return {}
    return {
        **(_p_values(tvalues, freedom) if common.pvalues else {}),
        **(_interval(params, errors, freedom, level) if common.interval else {}),
        **(_f_test(results) if common.f_pvalue else {}),
    }


@cache
def _common(kind: type) -> _Common:
    from statsmodels.base.model import LikelihoodModelResults as Common
    from statsmodels.regression.linear_model import RegressionResults as Linear

    def has(name: str, *others: type) -> bool:
        own = inspect.getattr_static(kind, name, None)
        return own is not None and any(own is vars(other).get(name) for other in others)

    return _Common(has("pvalues", Common), has("conf_int", Common, Linear), has("f_pvalue", Linear))


def _p_values(tvalues: FloatArray, freedom: float | None) -> dict[str, FloatArray]:
    from scipy import special

    below = -np.abs(tvalues)
    return {"pvalues": (special.ndtr(below) if freedom is None else special.stdtr(freedom, below)) * 2}


def _interval(
    params: FloatArray, errors: FloatArray, freedom: float | None, level: float
) -> dict[str, FloatArray]:
    half = _quantile(1 - (1.0 - level) / 2, freedom) * errors
    return {"lower": params - half, "upper": params + half}


@lru_cache(REMEMBERED)
def _quantile(share: float, freedom: float | None) -> float:
    from scipy import special

    return float(special.ndtri(share) if freedom is None else special.stdtrit(freedom, share))


def _f_test(results: Any) -> dict[str, float]:
    from scipy import special

    try:
        value, above, below = results.fvalue, results.df_model, results.df_resid
    except Exception:  # the same
        return {}
    known = "f_pvalue" in results._cache  # noqa: SLF001  else it would be computed; a robust covariance has it
    if known or not (0.0 < value < np.inf and 0.0 < above < np.inf and 0.0 < below < np.inf):
        return {}
    return {"f_pvalue": float(special.fdtrc(above, below, value))}
