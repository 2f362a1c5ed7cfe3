"""Masked arrays of NumPy, which hide values."""

from __future__ import annotations

import sys

__all__ = ["is_masked"]


def is_masked(values: object) -> bool:
    """Whether some values are masked.

    Parameters
    ----------
    values : object
        Anything.

    Returns
    -------
    bool
    """
    masked_arrays = sys.modules.get("numpy.ma")  # without it there are none, and to load it takes 15 ms
    return masked_arrays is not None and bool(masked_arrays.is_masked(values))
