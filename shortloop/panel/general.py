"""One group after the other by statsmodels: any model, and what compiled code does not vouch for."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.panel import status
from shortloop.panel.inference import tests_of
from shortloop.panel.kernels.reasons import EDGE
from shortloop.panel.statistics import COEFFICIENTS, FITS

if TYPE_CHECKING:
    from shortloop.panel.design import Design
    from shortloop.panel.models.base import ModelSettings
    from shortloop.types import FloatArray

__all__ = ["fit_group"]

SINGULAR = 1e10
"""Condition number of regressors of unit length from which coefficients have hardly a digit left."""
CLEAR = 1e-6
"""Smallest eigenvalue of their products, far above its rounding, from which they are not singular."""
EXACT = 1e-10
"""How far beyond a bound linear programs may end; the solver takes no less."""
NAMES = sorted({*COEFFICIENTS, *FITS} - {"lower", "upper", "iterations", "converged"})


def fit_group(
    model: ModelSettings, design: Design, level: float
) -> tuple[dict[str, FloatArray | float], int, list[str]]:
    """Fit one group as statsmodels does.

    Parameters
    ----------
    model : ModelSettings
        The model.
    design : Design
        The group's rows.
    level : float
        Of confidence intervals.

    Returns
    -------
    found : dict of str to (array or float)
        By the names of `shortloop.panel.statistics.Statistics`; what there is.
    status : int
        Of `shortloop.panel.status`.
    said : list of str
        Warnings and errors of statsmodels.
    """
    rows = np.ascontiguousarray(design.columns.T)
    outcome = design.outcome
    known: dict[str, FloatArray | float] = {"nobs": float(len(outcome))}
    if len(outcome) < 2:
        return known, status.TOO_FEW_ROWS, []
    if not (np.isfinite(rows).all() and np.isfinite(outcome).all()):
        return known, status.NOT_FINITE, []
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            results = _bare(model.fit_one(outcome, rows, dict(design.roles)))
            found = _found(results, level)
            converged = _asked(lambda: model.has_converged(results))
            if converged is not None and np.isfinite(converged):
                found["converged"] = converged
        except Exception as error:
            results, found = None, {}
            said.append(f"{type(error).__name__}: {_line(error)}")
    texts = [f"{each.category.__name__}: {_line(each.message)}" for each in caught]
    said += list(dict.fromkeys(texts))
    return {**known, **found}, _status(design, rows, results, found), said


def _bare(results: Any) -> Any:
    """Results without what gives them back the labels of a frame: they are of arrays, and it takes long."""
    from statsmodels.base.wrapper import ResultsWrapper

    return results._results if isinstance(results, ResultsWrapper) else results


def _found(results: Any, level: float) -> dict[str, FloatArray | float]:
    found = tests_of(results, level)
    for name in NAMES:
        if name in found:
            continue
        value = _asked(lambda name=name: getattr(results, name))  # type: ignore[misc]
        if value is not None:
            found[name] = value
    bic = _asked(lambda: results.bic_llf)  # of GLM: the other one goes by the deviance
    if bic is not None:
        found["bic"] = bic
    if "lower" not in found:
        interval = _asked(lambda: np.asarray(results.conf_int(alpha=1.0 - level), np.float64))
        if interval is not None:
            found["lower"], found["upper"] = interval[:, 0], interval[:, 1]
    iterations, converged = _iterations(results)
    if iterations is not None:
        found["iterations"] = float(iterations)
    if converged is not None:
        found["converged"] = float(converged)
    return found


def _asked(of: Callable[[], Any]) -> Any:
    """What results say, as numbers; None if they do not know it."""
    try:
        value = np.asarray(of(), np.float64)
    except Exception:
        return None
    return float(value) if value.ndim == 0 else value if value.ndim <= 2 else None


def _iterations(results: Any) -> tuple[float | None, bool | None]:
    """How many there were, and whether that was enough."""
    known = getattr(results, "mle_retvals", None)
    if isinstance(known, dict) and "iterations" in known:
        return known["iterations"], known.get("converged")
    history = getattr(results, "fit_history", None)
    if isinstance(history, dict) and "iteration" in history:
        return history["iteration"], getattr(results, "converged", None)
    return getattr(results, "iterations", None), getattr(results, "converged", None)


def _status(design: Design, rows: FloatArray, results: Any, found: dict[str, Any]) -> int:
    if len(design.outcome) <= rows.shape[1]:
        return status.TOO_FEW_ROWS
    if np.ptp(design.outcome) == 0.0:
        return status.CONSTANT_OUTCOME
    if _is_singular(rows):
        return status.SINGULAR
    if results is None or "params" not in found or not np.isfinite(found["params"]).all():
        return status.FAILED
    not_converged = found.get("converged") == 0.0
    if _is_separated(design.outcome, rows, results, not_converged):
        return status.SEPARATED
    if not_converged:
        return status.NOT_CONVERGED
    return status.FITTED if np.isfinite(found.get("bse", np.nan)).all() else status.FAILED


def _is_singular(rows: FloatArray) -> bool:
    """Whether regressors hang together so closely that no units of measure would help."""
    lengths = np.sqrt(np.square(rows).sum(axis=0))
    if not lengths.all():
        return True
    unit = rows / lengths
    squares = np.linalg.eigvalsh(unit.T @ unit)  # exact enough to see that there is no question
    if squares[0] > CLEAR:
        return False
    values = np.linalg.svd(unit, compute_uv=False)
    return not values[0] <= SINGULAR * values[-1]


def _is_separated(outcome: FloatArray, rows: FloatArray, results: Any, not_converged: bool) -> bool:
    """Whether some sum of regressors tells outcomes 0 and 1 apart, wholly or but for ties.

    Then a model of their probability has no finite coefficients.

    Konis 2007 (Linear programming algorithms for detecting separated data in binary logistic regression
    models, section 4.3). Asked only where fitted probabilities are next to 0 or 1, or iterations did not get
    there, of an outcome that is 0 or 1, or a share of trials: then there was something of both.
    """
    is_share = bool(((outcome >= 0.0) & (outcome <= 1.0)).all())
    if not (_is_of_probability(getattr(results, "model", None)) and is_share):
        return False
    with np.errstate(all="ignore"):
        chances = _asked(lambda: results.predict())
    if chances is None or np.ndim(chances) != 1:
        return False
    is_near = not (np.minimum(chances, 1.0 - chances) >= EDGE).all()
    return (is_near or not_converged) and _has_direction(outcome, rows)


def _is_of_probability(model: Any) -> bool:
    """Whether it models a probability. Classes whose module nobody has loaded are none of its own."""
    discrete = sys.modules.get("statsmodels.discrete.discrete_model")
    if discrete is not None and isinstance(model, discrete.BinaryModel):
        return True
    linear = sys.modules.get("statsmodels.genmod.generalized_linear_model")
    return linear is not None and isinstance(model, linear.GLM) and _is_binomial(model.family)


def _is_binomial(family: Any) -> bool:
    from statsmodels.genmod.families import Binomial

    return isinstance(family, Binomial)


def _has_direction(outcome: FloatArray, rows: FloatArray) -> bool:
    from scipy.optimize import linprog

    lengths = np.sqrt(np.square(rows).sum(axis=0))
    # Any basis of their sums has the direction. Of this one, no direction is shorter than 1, and its products
    # with the rows add up to no less; the solver's own tolerance, 1e-7, would let through far too much.
    basis = np.linalg.qr(rows / np.where(lengths > 0, lengths, 1.0))[0]
    signed = np.concatenate([basis[outcome > 0.0], -basis[outcome < 1.0]])  # a share is of both
    found = linprog(
        -signed.sum(axis=0),
        A_ub=-signed,
        b_ub=np.zeros(len(signed)),
        bounds=(-1.0, 1.0),
        options={"primal_feasibility_tolerance": EXACT, "dual_feasibility_tolerance": EXACT},
    )
    return bool(found.status == 0 and -found.fun > 0.5)


def _line(value: object) -> str:
    return " ".join(str(value).split())
