"""Marginal effects: derivatives of the mean of an outcome by its regressors."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from shortloop.base.types import FloatArray
from shortloop.panel.formulas.design import Design
from shortloop.panel.statistics import CONSTANT, Statistics


def margins_of(
    model: Any, design: Design, params: FloatArray, covariance: FloatArray, level: float
) -> Statistics:
    """Compute the effects of one fit, arrays of shape (coefficients,); NaN of the constant."""
    # Standard errors are by the delta method: Greene 2018, Econometric Analysis, section 17.2.4.
    columns, offset = design.columns, model.offset_of(design.roles)
    shares = np.array(design.roles.get("freq_weights", np.ones(columns.shape[1])), np.float64)
    shares /= shares.sum()
    if model.margins == "mean":
        columns = (columns @ shares)[:, np.newaxis]
        offset = None if offset is None else np.array([offset @ shares])
        shares = np.ones(1)
    predictor = params @ columns
    if offset is not None:
        predictor = predictor + offset
    link = model.link_of_statsmodels()
    slope, bend = link.inverse_deriv(predictor) * shares, link.inverse_deriv2(predictor) * shares
    effects = slope.sum() * params
    jacobian = slope.sum() * np.eye(len(params)) + np.outer(params, columns @ bend)
    with np.errstate(all="ignore"):
        errors = np.sqrt(np.einsum("ij,jk,ik->i", jacobian, covariance, jacobian))
        tvalues = effects / errors
    half = special.ndtri((1.0 + level) / 2.0) * errors
    found = {"params": effects, "bse": errors, "tvalues": tvalues}
    found |= {
        "pvalues": 2.0 * special.ndtr(-np.abs(tvalues)),
        "lower": effects - half,
        "upper": effects + half,
    }
    varies = [np.nan if name == CONSTANT else 1.0 for name in design.names]
    return {f"margin_{name}": values * varies for name, values in found.items()}
