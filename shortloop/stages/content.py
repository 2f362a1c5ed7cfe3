"""Hash of data in memory, equal if and only if units read equal data.

Equal data of rare types may have hashes that differ; then a unit is computed again, which harms nothing.
Data that only refer to other data, such as the path of an input file, count with the content of that file.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import hashlib
import os
import pickle
import struct
import sys
from collections.abc import Callable, Sequence
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

SIZE = references.SIZE  # bytes of a hash
PICKLED = ("datetime", "decimal", "fractions", "uuid", "zoneinfo")  # modules of data that refers to nothing
BULK = 8192  # bytes from which on BLAKE3 is the faster hash
FEW = 1000  # texts that cost less to look at than to make distinct
STATEFUL = (dict, list, tuple, set, frozenset, str, bytes, int, float, BaseException)  # beside attributes
CONTAINERS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)


def content_of(value: object, name: Callable[[], object] | None = None) -> bytes:
    """A hash of data; with a name, also of objects, which may depend on any input of the job."""
    found = Hasher(name is not None)
    found.add(value)
    if found.is_open and name is not None:
        found.add(name())
    if found.is_open or found.given.changed:
        found.put("inputs", found.given.all_inputs())
    return found.digest()


class Hasher:
    """A hash of values, each added with its type and size, so that no two values add the same bytes."""

    def __init__(self, takes_objects: bool) -> None:
        self.takes_objects = takes_objects
        self.is_open = False  # True if a value may depend on any input
        self.has_words = True  # False within names, e.g. of columns: a word of them is no part of a path
        self.given = references.here()
        self._begin()

    def _begin(self) -> None:
        hash_ = hashlib.blake2b(digest_size=SIZE)
        self.update, self.digest = hash_.update, hash_.digest

    def put(self, kind: str, data: bytes) -> None:
        self.update(f"{kind} {len(data)} ".encode())
        self.update(data if len(data) < BULK else blake3(data).digest())

    def add(self, given: object) -> None:
        value: Any = given
        if (kind := type(value)) is str:
            self.add_text(value)
        elif kind is bytes:
            self.put("bytes", value)
        elif kind is float:
            self.put("float", struct.pack("<d", value))
        elif kind in (bool, int) or value is None:
            self.put("plain", repr(value).encode())
        elif kind in (list, tuple):
            self.add_parts(kind.__name__, value)
        elif kind in CONTAINERS:
            self.put(kind.__name__, str(2 * len(value)).encode())
            for key, each in value.items():
                self._add_name(key)
                self.add(each)
            if kind is collections.defaultdict:
                self.add(value.default_factory)
        else:
            self._add_data(value, kind)

    def add_parts(self, kind: str, parts: Sequence[object]) -> None:
        self.put(kind, str(len(parts)).encode())
        for each in parts:
            self.add(each)

    def add_text(self, text: str) -> None:
        """Add a text, and the content of files that it names."""
        named = self.given.named_by(text, self.has_words) if self.given.files else []
        if named and text.startswith("/"):  # elsewhere, files lie in other folders
            self.put("path", os.fsencode(os.path.relpath(named[0].path, text)))
        else:
            self.put("str", text.encode(errors="surrogatepass"))
        self._add_files(named)

    def add_path(self, path: PurePath) -> None:
        """Add a path, and the content of files that it names."""
        text = os.fspath(path)
        if any(self.given.named_by(each, True) for each in (text, os.path.realpath(text))):
            self.add_text(text)
        else:
            self.put("path", path.name.encode() if self.takes_objects else os.fsencode(path))
            self.is_open = True

    def add_array(self, array: np.ndarray) -> None:
        dtype = array.dtype
        # Equal types may differ in `isbuiltin`; `repr` takes longer.
        self.add_parts("array", [dtype.str if dtype.kind in "biufcmMUS" else repr(dtype), array.shape])
        if dtype.hasobject:
            self.add(array.ravel().tolist())
            return
        self.put("bytes", array.tobytes())
        if dtype.kind == "U" and self.given.files:
            self._check_texts(array.ravel().tolist())

    def add_frame(self, frame: pd.DataFrame) -> None:
        freq = getattr(frame.index, "freqstr", None)
        self.add_parts("frame", [*frame.shape, dict(frame.attrs), str(frame.columns.dtype), freq])
        self._add_name([list(frame.index.names), list(frame.columns.names)])
        for level in range(frame.index.nlevels):
            self._add_column(frame.index.get_level_values(level))
        for name, column in frame.items():
            self._add_name(name)
            self._add_column(column)

    def add_object(self, value: object, kind: type) -> None:
        """Add an object of an unknown type."""
        name = f"{kind.__module__}.{kind.__qualname__}"
        if not self.takes_objects:
            problem = "what a unit reads cannot be compared with what one read before"
            expected = "numbers, texts, arrays, frames, input files, and lists, tuples and dicts of these"
            raise InputError(problem, found=name, expected=expected)
        self.put(name, b"")
        self.is_open = True

    def _add_data(self, value: Any, kind: type) -> None:
        numpy, pandas, polars = map(sys.modules.get, ("numpy", "pandas", "polars"))
        if numpy is not None and isinstance(value, numpy.generic):
            self.add_parts("generic", [numpy.asarray(value)])
        elif numpy is not None and kind in (numpy.ndarray, numpy.memmap):
            self.add_array(value)
        elif pandas is not None and kind is pandas.DataFrame:
            self.add_frame(value)
        elif pandas is not None and kind is pandas.Series:
            self.put("series", b"")
            self._add_name(value.name)
            self.add_frame(value.to_frame())
        elif polars is not None and kind is polars.DataFrame:
            self.put("polars", value.rechunk().write_ipc(None).getvalue())
            if self.given.files:
                self._check_texts([_texts_of_polars(each) for each in value.iter_columns()])
        elif isinstance(value, File):
            self._add_files([value])
        elif isinstance(value, PurePath):
            self.add_path(value)
        elif kind in (set, frozenset):
            self.add_parts(f"builtins.{kind.__name__}", sorted(map(self._alone, value)))
        elif (parts := _parts_of(value, kind)) is not None:
            self.add_parts(f"{kind.__module__}.{kind.__qualname__}", parts)
        else:
            self.add_object(value, kind)

    def _alone(self, value: Any) -> bytes:
        """A hash of a part, for parts without an order."""
        part = copy.copy(self)
        part._begin()  # noqa: SLF001  of this class
        part.add(value)
        self.is_open |= part.is_open
        return part.digest()

    def _add_name(self, name: Any) -> None:
        had, self.has_words = self.has_words, False
        self.add(name)
        self.has_words = had

    def _add_column(self, column: Any) -> None:
        import numpy as np

        self.put("dtype", str(column.dtype).encode())
        if isinstance(column.dtype, np.dtype) and not column.dtype.hasobject:
            self.add_array(column.to_numpy())
        elif hasattr(column.array, "codes"):
            codes = column.array.codes
            self.add_array(codes)
            self.add(bool(column.array.ordered))
            given, self.given = self.given, references.References()  # also of categories that no row has
            self._add_column(column.array.categories)
            self.given = given
            if given.files:
                self._check_texts(column.array.categories[np.unique(codes[codes >= 0])].tolist())
        else:
            self.add(list(column.array))

    def _add_files(self, files: list[File] | None) -> None:
        """Add the content of files; None: it may be that of any."""
        self.is_open |= files is None
        for each in files or ():
            self.put("file", each.option.encode(errors="surrogatepass"))
            self.given.in_keys.add(each.path)

    def _check_texts(self, values: Any) -> None:
        """Add the content of files that texts name, within a value that was added already."""
        if isinstance(values, str):
            self._add_files(self.given.named_by(values, self.has_words))
        elif isinstance(values, dict | list | tuple):
            for each in values.values() if isinstance(values, dict) else values:
                self._check_texts(each)


def _parts_of(value: Any, kind: type) -> list[Any] | None:
    """Parts that a value is made of; None if it is not data, or not in memory."""
    if isinstance(value, Result):
        return [value.job, value.setup.get("starttime")]
    if isinstance(value, enum.Enum):
        return [value.name, value.value]
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        state = getattr(value, "__dict__", None)  # of a subclass
        return [*value, state] if state else [*value]
    if kind is SimpleNamespace:
        return [vars(value)]
    if kind is type and value.__module__ == "builtins":
        return [value.__name__]
    if dataclasses.is_dataclass(kind):
        return None if isinstance(value, STATEFUL) else [_attributes(value, kind)]
    if kind in (complex, range, slice, bytearray) or kind.__module__ in PICKLED:
        return [pickle.dumps(value, protocol=5)]
    library = kind.__module__.partition(".")[0]
    parts, module = _PARTS_OF.get(library), sys.modules.get(library)
    return None if parts is None or module is None else parts(value, module)


def _attributes(value: Any, kind: Any) -> dict[str, object]:
    """Attributes of a dataclass, also those in slots of classes below it."""
    slots = [getattr(each, "__slots__", ()) for each in kind.__mro__]
    names = [name for each in slots for name in ([each] if isinstance(each, str) else each)]
    names += [each.name for each in dataclasses.fields(kind)]
    own = {name: getattr(value, name, None) for name in names if not name.startswith("__")}
    return own | getattr(value, "__dict__", {})


def _parts_of_pandas(value: Any, pandas: Any) -> list[Any] | None:
    if isinstance(value, pandas.Index):
        return [[*value.names], value.to_frame(index=False, name=[*range(value.nlevels)])]
    if isinstance(value, pandas.api.extensions.ExtensionArray):
        return [pandas.Series(value)]
    return [pickle.dumps(value, protocol=5)] if pandas.api.types.is_scalar(value) else None


def _parts_of_numpy(value: Any, numpy: Any) -> list[Any] | None:
    if isinstance(value, numpy.ma.MaskedArray):
        return [value.data, numpy.ma.getmaskarray(value), value.fill_value]
    if isinstance(value, numpy.dtype):
        return [repr(value)]
    if type(value).__module__.startswith("numpy.random."):
        return [pickle.dumps(value, protocol=5)]
    return [numpy.asarray(value)] if isinstance(value, numpy.ndarray) else None


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


def _parts_of_scipy(value: Any, _scipy: Any) -> list[Any] | None:
    if not hasattr(value, "tocoo"):
        return None
    triples = value.tocoo()
    return [value.shape, *triples.coords, triples.data]


def _parts_of_xarray(value: Any, _xarray: Any) -> list[Any] | None:
    if not hasattr(value, "to_dict"):
        return None
    columns = [*getattr(value, "variables", {}).values()]
    columns = columns or [value.variable, *value.coords.variables.values()]
    return [value.to_dict(data="array")] if all(each._in_memory for each in columns) else None  # noqa: SLF001  public nowhere


_PARTS_OF: dict[str, Callable[[Any, Any], list[Any] | None]] = {
    "numpy": _parts_of_numpy,
    "pandas": _parts_of_pandas,
    "polars": lambda value, polars: [value.to_frame()] if type(value) is polars.Series else None,
    "pyarrow": _parts_of_arrow,
    "scipy": _parts_of_scipy,
    "xarray": _parts_of_xarray,
}


def _texts_of_polars(column: Any) -> list[Any]:
    kind = str(column.dtype)
    if not any(each in kind for each in ("String", "Categorical", "Enum")):
        return []
    if len(column) > FEW and not kind.startswith(("List", "Struct", "Array")):
        column = column.unique(maintain_order=True)
    texts: list[Any] = column.to_list()
    return texts
