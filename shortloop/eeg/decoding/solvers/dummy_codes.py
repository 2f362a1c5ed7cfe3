"""Label vectors as numbers."""

from __future__ import annotations

import numpy as np

from shortloop.types import FloatArray, IntArray

__all__ = ["dummy_codes"]


def dummy_codes(labels: IntArray, n_classes: int) -> FloatArray:
    """Members of each class but the first as ones.

    Parameters
    ----------
    labels : array of int, shape (labellings, trials)
        Class of each trial under each labelling.
    n_classes : int
        Number of classes.

    Returns
    -------
    array of float64, shape (trials, classes − 1, labellings)
    """
    classes = np.arange(1, n_classes, dtype=labels.dtype)
    return (labels.T[:, np.newaxis, :] == classes[:, np.newaxis]).astype(np.float64)
