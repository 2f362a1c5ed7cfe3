"""How large the table is, and its values."""

from __future__ import annotations

__all__ = ["BYTES", "COPIES", "GUIDE", "STEP", "rows_that_fit"]

BYTES = 8
"""Of a value."""
STEP = 2.0**-10
"""What values are multiples of."""
GUIDE = (25_000_000, 50)
"""Rows and columns of the table in the guide whose transformations these are."""
COPIES = 4
"""How often the table must fit into the memory: libraries hold it as they read it, and as they compute."""


def rows_that_fit(rows: int, columns: int, memory: float) -> int:
    """As many rows as fit into memory.

    Parameters
    ----------
    rows : int
        How many are asked for.
    columns : int
        Columns of each.
    memory : float
        Bytes.

    Returns
    -------
    int
        At least 1.
    """
    return max(1, min(rows, int(memory / (COPIES * BYTES * columns))))
