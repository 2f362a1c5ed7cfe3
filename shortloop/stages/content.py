"""Hash of data in memory, equal if and only if units read equal data.

Equal data of rare types may have hashes that differ; then a unit is computed again, which harms nothing.
What only refers to data, such as the path of an input file, counts with the content of that file.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import hashlib
import os
import pickle
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import PurePath
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from blake3 import blake3

from shortloop.base.errors import InputError
from shortloop.stages import references
from shortloop.stages.inputs import File
from shortloop.stages.results import Result

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

__all__ = ["SIZE", "content_of"]

SIZE = references.SIZE
"""Bytes of a hash."""
PICKLED = ("datetime", "decimal", "fractions", "uuid", "zoneinfo")
"""Modules whose objects are data, and refer to nothing."""
BULK = 8192  # bytes from which on BLAKE3 is the faster hash
FEW = 1000  # texts that cost less to look at than to make distinct
CONTAINERS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)


def content_of(value: object, name: Callable[[], object] | None = None) -> bytes:
    """A hash of data."""
    found = _Hash(name is not None)
    _feed(found, value)
    given = references.here()
    if found.is_open and name is not None:
        _feed(found, name())
    if found.is_open or given.changed:
        _add(found, "inputs", given.all_inputs())
    return found.digest()


class _Hash:
    """A hash, and what is known of the value."""

    def __init__(self, takes_objects: bool) -> None:
        self.takes_objects = takes_objects
        self.is_open = False
        """Whether it may hang on any input."""
        self.has_words = True
        """Whether a word may be part of a path, as those of names of columns are not."""
        self.given = references.here()
        hash_ = hashlib.blake2b(digest_size=SIZE)
        self.update, self.digest = hash_.update, hash_.digest


def _feed(found: _Hash, value: Any) -> None:
    """Add a value, with its type and its size, so that no two values add the same bytes."""
    kind = type(value)
    if kind is str:
        _feed_text(found, value)
    elif kind is bytes:
        _add(found, "bytes", value)
    elif kind is float:
        _add(found, "float", struct.pack("<d", value))
    elif kind in (bool, int) or value is None:
        _add(found, "plain", repr(value).encode())
    elif kind in (list, tuple):
        _feed_all(found, kind.__name__, value)
    elif kind in CONTAINERS:
        _add(found, kind.__name__, str(2 * len(value)).encode())
        for key, each in value.items():
            _feed_name(found, key)
            _feed(found, each)
    else:
        _feed_data(found, value, kind)


def _feed_data(found: _Hash, value: Any, kind: type) -> None:
    """Add an array, a frame or something rarer."""
    loaded = sys.modules.get
    numpy, pandas, polars = loaded("numpy"), loaded("pandas"), loaded("polars")
    if numpy is not None and isinstance(value, numpy.generic):
        _feed_all(found, "generic", [numpy.asarray(value)])
    elif numpy is not None and kind in (numpy.ndarray, numpy.memmap):
        _feed_array(found, value)
    elif pandas is not None and kind is pandas.DataFrame:
        _feed_frame(found, value)
    elif pandas is not None and kind is pandas.Series:
        _add(found, "series", b"")
        _feed_name(found, value.name)
        _feed_frame(found, value.to_frame())
    elif polars is not None and kind is polars.DataFrame:
        _add(found, "polars", value.rechunk().write_ipc(None).getvalue())
        if found.given.files:
            _check_texts(found, [_texts_of_polars(each) for each in value.iter_columns()])
    else:
        _feed_other(found, value, kind)


def _feed_other(found: _Hash, value: Any, kind: type) -> None:
    """Add a value that is rarely data of a unit."""
    what = f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(value, File):
        _feed_files(found, [value])
    elif isinstance(value, PurePath):
        _feed_path(found, value)
    elif isinstance(value, Result):
        _feed_all(found, "job", [value.job, value.setup.get("starttime")])
    elif kind in (set, frozenset):
        _feed_all(found, what, sorted(_alone(found, each) for each in value))
    elif isinstance(value, enum.Enum):
        _feed_all(found, what, [value.name, value.value])
    elif isinstance(value, tuple) and hasattr(kind, "_fields"):
        _feed_all(found, what, [*value])
    elif kind is SimpleNamespace:
        _feed_all(found, what, [vars(value)])
    elif dataclasses.is_dataclass(kind):
        slots = {each.name: getattr(value, each.name, None) for each in dataclasses.fields(kind)}
        _feed_all(found, what, [slots | getattr(value, "__dict__", {})])
    elif kind in (complex, range, slice, bytearray) or kind.__module__ in PICKLED:
        _add(found, what, pickle.dumps(value, protocol=5))
    elif (parts := _parts_of(value, kind)) is not None:
        _feed_all(found, what, parts)
    elif found.takes_objects:
        _add(found, what, b"")
        found.is_open = True
    else:
        raise InputError(
            "what a unit reads cannot be compared with what one read before",
            found=what,
            expected="numbers, texts, arrays, frames, input files, and lists, tuples and dicts of these",
        )


def _parts_of(value: Any, kind: type) -> list[Any] | None:
    """What data of a library are made of; None if they are none, or not in memory."""
    library = kind.__module__.partition(".")[0]
    module = sys.modules.get(library)
    if library == "pandas" and module is not None:
        if isinstance(value, module.Index):
            return [[*value.names], value.to_frame(index=False, name=[*range(value.nlevels)])]
        if isinstance(value, module.api.extensions.ExtensionArray):
            return [module.Series(value)]
        return [pickle.dumps(value, protocol=5)] if module.api.types.is_scalar(value) else None
    if library == "numpy" and module is not None:
        if isinstance(value, module.ma.MaskedArray):
            return [value.data, module.ma.getmaskarray(value), value.fill_value]
        if isinstance(value, module.dtype):
            return [repr(value)]
        if kind.__module__.startswith("numpy.random."):
            return [pickle.dumps(value, protocol=5)]
        return [module.asarray(value)] if isinstance(value, module.ndarray) else None
    if library == "polars" and module is not None and kind is module.Series:
        return [value.to_frame()]
    if library == "pyarrow" and module is not None:
        return _parts_of_arrow(value, module)
    if library == "scipy" and hasattr(value, "tocoo"):
        triples = value.tocoo()
        return [value.shape, *triples.coords, triples.data]
    if library == "xarray" and hasattr(value, "to_dict"):
        columns = [*getattr(value, "variables", {}).values()] or [
            value.variable,
            *value.coords.variables.values(),
        ]
        return [value.to_dict(data="array")] if all(each._in_memory for each in columns) else None  # noqa: SLF001  public nowhere
    return None


def _parts_of_arrow(value: Any, arrow: Any) -> list[Any] | None:
    if isinstance(value, arrow.Array | arrow.ChunkedArray):
        return [arrow.table({"": value})]
    if isinstance(value, arrow.RecordBatch):
        return [arrow.Table.from_batches([value])]
    if not isinstance(value, arrow.Table):
        return [str(value.type), value.as_py()] if isinstance(value, arrow.Scalar) else None
    sink = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(sink, value.schema) as stream:
        stream.write_table(value.combine_chunks())
    texts = [
        set(each.unique().to_pylist()) if str(each.type) == "string" else each.to_pylist()
        for each in value.columns
    ]
    return [sink.getvalue().to_pybytes(), texts]


def _feed_all(found: _Hash, kind: str, parts: Sequence[Any]) -> None:
    _add(found, kind, str(len(parts)).encode())
    for each in parts:
        _feed(found, each)


def _feed_name(found: _Hash, name: Any) -> None:
    """Add what a part of the data is called."""
    had, found.has_words = found.has_words, False
    _feed(found, name)
    found.has_words = had


def _add(found: _Hash, kind: str, data: bytes) -> None:
    found.update(f"{kind} {len(data)} ".encode())
    found.update(data if len(data) < BULK else blake3(data).digest())


def _alone(found: _Hash, value: Any) -> bytes:
    """A hash of a part, where parts have no order."""
    part = _Hash(found.takes_objects)
    part.has_words = found.has_words
    _feed(part, value)
    found.is_open |= part.is_open
    return part.digest()


def _feed_text(found: _Hash, text: str) -> None:
    named = found.given.of_text(text, found.has_words) if found.given.files else []
    if named and text.startswith("/"):  # elsewhere, files lie in other folders
        _add(found, "path", os.fsencode(os.path.relpath(named[0].path, text)))
    else:
        _add(found, "str", text.encode(errors="surrogatepass"))
    if named is None:
        found.is_open = True
    elif named:
        _feed_files(found, named)


def _feed_path(found: _Hash, path: PurePath) -> None:
    named = found.given.of_path(os.fspath(path))
    if named:
        _feed_text(found, str(path))
    else:
        _add(found, "path", path.name.encode() if found.takes_objects else os.fsencode(path))
        found.is_open = True


def _feed_files(found: _Hash, files: Iterable[File]) -> None:
    for each in files:
        _add(found, "file", each.option.encode(errors="surrogatepass"))
        found.given.joined.add(each.path)


def _check_texts(found: _Hash, values: Any) -> None:
    """Add the content of files that texts name, inside of what was added already."""
    if isinstance(values, str):
        named = found.given.of_text(values, found.has_words)
        if named is None:
            found.is_open = True
        elif named:
            _feed_files(found, named)
    elif isinstance(values, dict):
        _check_texts(found, [*values.values()])
    elif isinstance(values, list | tuple):
        for each in values:
            _check_texts(found, each)


def _texts_of_polars(column: Any) -> list[Any]:
    kind = str(column.dtype)
    if not any(each in kind for each in ("String", "Categorical", "Enum")):
        return []
    if len(column) > FEW and not kind.startswith(("List", "Struct", "Array")):
        column = column.unique(maintain_order=True)
    texts: list[Any] = column.to_list()
    return texts


@lru_cache(maxsize=256)
def _name_of_type(dtype: np.dtype) -> str:
    return repr(dtype)  # those that are equal have the same, if they are not structured


def _feed_array(found: _Hash, array: np.ndarray) -> None:
    dtype = array.dtype
    name = _name_of_type(dtype) if dtype.isbuiltin == 1 else repr(dtype)
    _feed_all(found, "array", [name, array.shape])
    if dtype.hasobject:
        _feed(found, array.ravel().tolist())
        return
    _add(found, "bytes", array.tobytes())
    if dtype.kind == "U" and found.given.files:
        _check_texts(found, array.ravel().tolist())


def _feed_frame(found: _Hash, frame: pd.DataFrame) -> None:
    _feed_all(found, "frame", [*frame.shape, dict(frame.attrs)])
    _feed_name(found, [list(frame.index.names), list(frame.columns.names)])
    for level in range(frame.index.nlevels):
        _feed_column(found, frame.index.get_level_values(level))
    for name, column in frame.items():
        _feed_name(found, name)
        _feed_column(found, column)


def _feed_column(found: _Hash, column: Any) -> None:
    import numpy as np

    _add(found, "dtype", str(column.dtype).encode())
    if isinstance(column.dtype, np.dtype) and not column.dtype.hasobject:
        _feed_array(found, column.to_numpy())
    elif hasattr(column.array, "codes"):
        codes = column.array.codes
        _feed_array(found, codes)
        _feed(found, bool(column.array.ordered))
        given, found.given = found.given, references.References()  # also of categories that no row has
        _feed_column(found, column.array.categories)
        found.given = given
        if given.files:
            _check_texts(found, column.array.categories[np.unique(codes[codes >= 0])].tolist())
    else:
        _feed(found, list(column.array))
