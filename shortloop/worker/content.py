"""A hash of data in memory: two units that read the same have the same, and others do not.

Of data that no rule is for, it is that of its pickle. Equal data may have pickles that differ; then a unit is
computed again, and nothing worse happens.
"""

from __future__ import annotations

import hashlib
import pickle
import struct
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shortloop.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

__all__ = ["SIZE", "content_of"]

SIZE = 20
"""Bytes of a hash."""


def content_of(value: object) -> bytes:
    """A hash of data.

    Parameters
    ----------
    value : object
        Numbers, texts, arrays, frames, and lists, tuples and dicts of these; anything else that can be
        pickled.

    Returns
    -------
    bytes

    Raises
    ------
    InputError
        If it cannot be pickled.
    """
    found = hashlib.blake2b(digest_size=SIZE)
    _feed(found, value)
    return found.digest()


def _feed(found: Any, value: Any) -> None:
    """Add a value, with its type and its size, so that no two values add the same bytes."""
    kind = type(value)
    numpy, pandas, polars = (sys.modules.get(name) for name in ("numpy", "pandas", "polars"))
    if kind in (str, bytes):
        _add(found, kind.__name__, value.encode(errors="surrogatepass") if kind is str else value)
    elif kind is float:
        _add(found, "float", struct.pack("<d", value))
    elif kind in (bool, int) or value is None:
        _add(found, "plain", repr(value).encode())
    elif kind in (list, tuple):
        _feed_all(found, kind.__name__, value)
    elif kind is dict:
        _feed_all(found, "dict", [part for pair in value.items() for part in pair])
    elif numpy is not None and isinstance(value, numpy.generic):
        _feed_all(found, "generic", [numpy.asarray(value)])
    elif numpy is not None and kind in (numpy.ndarray, numpy.memmap):
        _feed_array(found, value)
    elif pandas is not None and kind is pandas.DataFrame:
        _feed_frame(found, value)
    elif pandas is not None and kind is pandas.Series:
        _feed_all(found, "series", [value.name, value.to_frame()])
    elif polars is not None and kind is polars.DataFrame:
        _add(found, "polars", value.rechunk().write_ipc(None).getvalue())
    else:
        _add(found, f"{kind.__module__}.{kind.__qualname__}", _pickled(value))


def _feed_all(found: Any, kind: str, parts: Sequence[Any]) -> None:
    _add(found, kind, str(len(parts)).encode())
    for each in parts:
        _feed(found, each)


def _add(found: Any, kind: str, data: bytes) -> None:
    found.update(f"{kind} {len(data)} ".encode())
    found.update(data)


def _feed_array(found: Any, array: np.ndarray) -> None:
    _feed_all(found, "array", [repr(array.dtype), array.shape])
    if array.dtype.hasobject:
        _feed(found, array.ravel().tolist())
    else:
        _add(found, "bytes", array.tobytes())


def _feed_frame(found: Any, frame: pd.DataFrame) -> None:
    names = [list(frame.index.names), list(frame.columns.names)]
    _feed_all(found, "frame", [*frame.shape, dict(frame.attrs), *names])
    for level in range(frame.index.nlevels):
        _feed_column(found, frame.index.get_level_values(level))
    for name, column in frame.items():
        _feed(found, name)
        _feed_column(found, column)


def _feed_column(found: Any, column: Any) -> None:
    import numpy as np

    _feed(found, str(column.dtype))
    if isinstance(column.dtype, np.dtype) and not column.dtype.hasobject:
        _feed_array(found, column.to_numpy())
    elif hasattr(column.array, "codes"):
        _feed_array(found, column.array.codes)
        _feed(found, bool(column.array.ordered))
        _feed_column(found, column.array.categories)
    else:
        _feed(found, list(column.array))


def _pickled(value: object) -> bytes:
    try:
        return pickle.dumps(value, protocol=5)
    except Exception as error:  # whatever the type says
        raise InputError(
            "what a unit reads cannot be compared with what one read before",
            found=f"{type(value).__module__}.{type(value).__qualname__}: {error}",
            expected="numbers, texts, arrays, frames, and lists, tuples and dicts of these",
        ) from None
