"""Unit identities that are the same in every process.

A number says which unit is meant only in the process that opened the stage, and in its forks: `units_of` and
`open` may find their units in another order elsewhere, as sets, directory listings and Polars' `group_by` do.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from shortloop.stages.content import content_of
from shortloop.stages.fields import fields_of
from shortloop.stages.inputs import File
from shortloop.stages.results import Result
from shortloop.stages.stage import CollectingStage, Stage

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ID_SIZE", "digest_of_units", "ids_of_units"]

ID_SIZE = 16
"""Bytes of an identity."""
LARGE = 1 << 16  # bytes of an array of which only parts are hashed
PARTS = 64
TIMES = (datetime.date, datetime.time, datetime.timedelta)
PLAIN = (bytes, bool, int, float, complex, type(None), slice, range, *TIMES)


def ids_of_units(stage: Stage, costs: Sequence[float]) -> list[bytes]:
    """An identity of each unit, the same in every process that opens the stage.

    Units that have names are known by these; others by their number, in a stage that found the same.
    """
    names = stage.unit_names()
    if names is not None:
        return [_hash(repr(name).encode(errors="surrogatepass")) for name in names]
    found = digest_of_units(stage, costs)
    return [_hash(found + unit.to_bytes(8, "little")) for unit in range(len(costs))]


def digest_of_units(stage: Stage, costs: Sequence[float]) -> bytes:
    """A hash of the units of a stage that are known by their number, and of what its `open` found."""
    taken = fields_of(type(stage))
    fields = {*taken.options, *taken.jobs, *taken.lists, *taken.perhaps}
    fields |= {*taken.datasets, *taken.dataset_lists, *taken.perhaps_datasets}
    files = {str(file.path): file.content for file in _files(getattr(stage, name) for name in taken.options)}
    own = type(stage).__module__.partition(".")[0]
    found = _Digest(files, "" if own == __name__.partition(".")[0] else own)
    found.add(list(costs))
    if type(stage).unit_name is not Stage.unit_name:
        found.add([stage.unit_name(unit) for unit in range(len(costs))])
    if isinstance(stage, CollectingStage):
        found.add([stage.unit_key(unit) for unit in range(len(costs))])
    found.add({name: value for name, value in vars(stage).items() if name not in fields})
    return found.digest()


class _Digest:
    """A hash of values, but for what is another in each process."""

    def __init__(self, files: Mapping[str, str], own: str) -> None:
        self._hash = hashlib.blake2b(digest_size=ID_SIZE)
        self._files = files  # content of declared files, by the path that they have in this process
        self._own = own  # package of the stage, whose objects are looked into
        self._inside: set[int] = set()

    def digest(self) -> bytes:
        return self._hash.digest()

    def add(self, value: Any) -> None:
        kind = type(value)
        self._put(f"{kind.__module__}.{kind.__qualname__} ")
        if isinstance(value, str | PurePath):
            self._put(f"{self._anywhere(str(value))!r} ")
        elif isinstance(value, PLAIN):
            self._put(f"{value!r} ")
        elif isinstance(value, Result):
            self._put(value.job)
        elif id(value) not in self._inside:
            self._inside.add(id(value))
            self._add_parts(value)
            self._inside.remove(id(value))

    def _add_parts(self, value: Any) -> None:
        kind = type(value)
        package = kind.__module__.partition(".")[0]
        numpy, pandas, polars = (sys.modules.get(name) for name in ("numpy", "pandas", "polars"))
        if isinstance(value, dict):
            self._put(f"{len(value)} ")
            for name, each in value.items():
                self.add(name)
                self.add(each)
        elif isinstance(value, list | tuple):
            self._put(f"{len(value)} ")
            if {*map(type, value)} == {str}:  # names of features are thousands
                has_paths = "/" in "".join(value) or not self._files.keys().isdisjoint(value)
                self._put(repr([*map(self._anywhere, value)] if has_paths else [*value]))
                return
            for each in value:
                self.add(each)
        elif isinstance(value, set | frozenset):
            self._put(f"{sorted(map(self._alone, value))!r} ")
        elif numpy is not None and isinstance(value, numpy.ndarray | numpy.generic):
            self._add_array(numpy.asanyarray(value))
        elif (pandas is not None and kind in (pandas.DataFrame, pandas.Series)) or (
            polars is not None and kind is polars.DataFrame
        ):
            self._hash.update(content_of(value, str))
        elif package in ("pandas", "polars") and hasattr(value, "to_list"):
            self.add(value.to_list())
        elif dataclasses.is_dataclass(kind) or package == self._own:
            self.add(getattr(value, "__dict__", None))

    def _add_array(self, array: np.ndarray) -> None:
        self._put(f"{array.dtype!r} {array.shape} ")
        if array.dtype.hasobject:
            self.add(array.ravel().tolist())
        elif (start := _place_in_file(array)) is not None:
            self._put(f"{start} {array.strides} ")
        else:
            flat = array.flat  # no copy, however the array lies in memory
            step = 1 if array.nbytes <= LARGE else max(1, array.size // PARTS)
            for start in range(0, array.size, step) if step > 1 else (0,):
                self._hash.update(flat[start : start + 64 if step > 1 else None].tobytes())

    def _alone(self, value: Any) -> bytes:
        alone = _Digest(self._files, self._own)
        alone.add(value)
        return alone.digest()

    def _anywhere(self, text: str) -> str:
        """A text, without the folder if it is a path: files lie elsewhere on other machines."""
        return self._files.get(text) or (os.path.basename(text) if os.path.isabs(text) else text)

    def _put(self, text: str) -> None:
        self._hash.update(text.encode(errors="surrogatepass"))


def _place_in_file(array: np.ndarray) -> int | None:
    """The byte of a file at which an array starts that is mapped, or a part of a map; None if it is not."""
    import numpy as np

    whole = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    if not isinstance(whole, np.memmap) or whole.filename is None:
        return None
    return int(whole.offset + array.ctypes.data - whole.ctypes.data)


def _files(options: Iterable[object]) -> Iterable[File]:
    for each in options:
        if isinstance(each, File):
            yield each
        elif isinstance(each, list | tuple):
            yield from _files(each)
        elif isinstance(each, dict):
            yield from _files(each.values())


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=ID_SIZE).digest()
