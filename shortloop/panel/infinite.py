"""Products of columns in which zero meets infinity: they are no missing values, as statsmodels has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.types import FloatArray

if TYPE_CHECKING:
    from shortloop.panel.column import Column

__all__ = ["product_of", "tell_infinite"]


def product_of(columns: Mapping[str, Column], factors: Sequence[str], rows: int) -> FloatArray:
    """A product of columns; a single one is not copied, nor is the constant written out.

    Parameters
    ----------
    columns : mapping of str to Column
        Of numbers.
    factors : sequence of str
        Which are multiplied; ``["1"]``: none, it is the constant.
    rows : int
        How many there are.

    Returns
    -------
    array, shape (rows,)
    """
    if factors[0] == "1":
        return np.broadcast_to(1.0, rows)
    product: Any = columns[factors[0]].values
    for name in factors[1:]:
        with np.errstate(invalid="ignore"):
            product = product * columns[name].values
    product = np.asarray(product, np.float64)
    if len(factors) > 1:
        tell_infinite([product], lambda: np.logical_or.reduce([columns[name].missing() for name in factors]))
    return product


def tell_infinite(columns: Iterable[FloatArray], lacking: Callable[[], np.ndarray]) -> None:
    """Make infinite what is no number though every factor is: zero times infinity is no missing value.

    `columns`, each of shape (rows,), are written to; `lacking` finds the rows in which a factor has no value.
    """
    known: np.ndarray | None = None
    for column in columns:
        wrong = np.isnan(column)
        if not wrong.any():
            continue
        known = lacking() if known is None else known
        column[wrong & ~known] = np.inf
