"""Means over participants, where not all have all numbers."""

from __future__ import annotations

import numpy as np

from shortloop.base.types import FloatArray

__all__ = ["mean_of_known"]


def mean_of_known(values: FloatArray) -> FloatArray:
    """Mean over participants, of those that have a number.

    values: float, (participants, ...)
    returns: float, (...). NaN only where nobody has one.
    """
    known = np.isfinite(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    mean: FloatArray = np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)
    return mean
