"""Smoothing of score maps over bins, so that effects which shift a little between people still overlap."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter

from shortloop.types import FloatArray

__all__ = ["smooth_maps"]


def smooth_maps(
    maps: FloatArray, *, sigma: float, truncate: float, axes: tuple[int, ...] = (-2, -1)
) -> FloatArray:
    """Smooth maps with a truncated Gaussian, edges repeated.

    Parameters
    ----------
    maps : array of float, shape (..., test bins, train bins) or (..., bins)
        Scores, in any unit. May be a read-only memory map; it is not changed.
    sigma : float
        Standard deviation of the Gaussian, bins. 0: the maps stay as they are.
    truncate : float
        Radius of the Gaussian in sigmas; in bins it is rounded to the nearest whole number.
    axes : tuple of int, default (-2, -1)
        Axes to smooth over: ``(-1,)`` for curves.

    Returns
    -------
    array of float64, same shape
        The smoothed maps. A constant map keeps its value.

    Raises
    ------
    ValueError
        If `sigma` is negative or `truncate` is not positive.

    Notes
    -----
    The kernel is sampled at whole bins, cut at ``round(truncate * sigma)`` and normalised to sum to 1; beyond
    an edge the outermost bin repeats (:func:`scipy.ndimage.gaussian_filter` with ``mode="nearest"``).
    """
    if sigma < 0 or truncate <= 0:
        raise ValueError(f"sigma must be 0 or more and truncate above 0, not {sigma} and {truncate}")
    # gaussian_filter keeps the type it is given, and would round whole-number scores.
    values = np.asarray(maps, dtype=np.float64)
    if sigma == 0:
        return values.copy()
    smoothed: FloatArray = gaussian_filter(values, sigma, mode="nearest", truncate=truncate, axes=axes)
    return smoothed
