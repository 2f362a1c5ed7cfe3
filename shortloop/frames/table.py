"""The table that libraries work on: simulated, part by part, so that it need not fit into memory.

All values are multiples of 2⁻¹⁰ below 2⁹, so that float64 holds the sum of up to 2³⁴ of them exactly, in
whatever order they are added. So sums of different libraries must agree to the last bit.
"""

from __future__ import annotations

import io

import numpy as np

from shortloop.frames.size import STEP
from shortloop.frames.work import KEY, X
from shortloop.seeds import seed_for

__all__ = ["column_names", "part_bytes", "rows_of_parts"]

HALF = 2**19
"""Values lie within this many steps of zero."""


def column_names(columns: int) -> tuple[str, ...]:
    """Columns of the table but the key.

    Parameters
    ----------
    columns : int
        How many there are with it.

    Returns
    -------
    tuple of str
    """
    return (X, *(f"v{number:03d}" for number in range(1, columns - 1)))


def rows_of_parts(rows: int, chunk: int) -> tuple[int, ...]:
    """How many rows each file has.

    Parameters
    ----------
    rows : int
        Of the table.
    chunk : int
        Of a file, at most.

    Returns
    -------
    tuple of int
        Alike, to one row.
    """
    parts = -(-rows // chunk)
    return tuple(rows // parts + (part < rows % parts) for part in range(parts))


def part_bytes(seed: int, part: int, rows: int, columns: int, groups: int) -> bytes:
    """One file of the table.

    Parameters
    ----------
    seed : int
        Of the simulation.
    part : int
        Its number.
    rows, columns : int
        Its size.
    groups : int
        Keys are drawn from 0 to this.

    Returns
    -------
    bytes
        A Parquet file, not compressed: to unpack it is nothing that is to be timed.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed_for(seed, "frames", "table", part))
    values: dict[str, np.ndarray] = {KEY: rng.integers(0, groups, rows)}
    values |= {name: rng.integers(-HALF, HALF, rows) * STEP for name in column_names(columns)}
    out = io.BytesIO()
    pq.write_table(pa.table(values), out, compression="none", use_dictionary=False)
    return out.getvalue()
