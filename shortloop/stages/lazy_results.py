"""Arrays and tables of a finished job, opened on access, and a cache of frames for units of one process."""

from __future__ import annotations

import os
import pickle
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from shortloop.base.errors import InputError, TransientError
from shortloop.base.text import one_line
from shortloop.stages.records import Described
from shortloop.stages.tables import PANDAS, POLARS, Table, load, read_table

if TYPE_CHECKING:  # build scripts look jobs up; most need no array
    import numpy as np

KEPT = 1 << 28  # bytes of frames that are kept beside the one that was read last
MASKED = ("Int", "UInt", "Float", "boolean")
Seen = list[tuple[Callable[[], object], object]]

Value = TypeVar("Value")


class ResultsByName(Mapping[str, Value]):
    """Results of a job by name, each read when it is asked for."""

    def __init__(self, folder: Path, described: Mapping[str, Mapping[str, object]]) -> None:
        self._folder = folder
        self._described: Mapping[str, Any] = described

    def __getitem__(self, name: str) -> Value:
        if name not in self._described:
            raise KeyError(f"{name}; there are {', '.join(self._described) or 'none'}")
        return self._read(name)

    def _read(self, name: str) -> Value:
        raise NotImplementedError

    def __contains__(self, name: object) -> bool:
        return name in self._described  # without reading it

    def __iter__(self) -> Iterator[str]:
        return iter(self._described)

    def __len__(self) -> int:
        return len(self._described)

    def __repr__(self) -> str:
        return one_line(f"{type(self).__name__}({', '.join(self._described)})")


class Arrays(ResultsByName["np.ndarray"]):
    """The arrays of a job by name, as read-only memory maps."""

    def __init__(self, folder: Path, described: Mapping[str, Described], files: Mapping[str, Path]) -> None:
        super().__init__(folder, described)
        self._files = files

    def _read(self, name: str) -> np.ndarray:
        if outside := self._described[name].get("outside"):
            return _map_outside(outside, f"{self._folder.name}, {name}", self._files)
        # A view: its shape and type may be set without a change to what others are given.
        return _mapped(*_file_version(f"{self._folder}/{name}.npy")).view()


class Tables(ResultsByName["Table"]):
    """The tables of a job by name, as frames of the library that wrote them."""

    _kept: KeptFrames | None = None

    def keep(self, kept: KeptFrames) -> None:
        """Read each table once from now on: many units ask for the same."""
        self._kept = kept

    def _read(self, name: str) -> Table:
        file, described = self._folder / f"{name}.parquet", self._described[name]
        if self._kept is None:
            return read_table(file, described)
        return self._kept.get(
            _file_version(str(file)), described["library"], lambda: read_table(file, described)
        )


def _file_version(file: str) -> tuple[str, int, int, int, int]:
    state = os.stat(file)
    return file, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


@lru_cache(maxsize=64)  # each holds a file descriptor
def _mapped(file: str, *version: int) -> np.ndarray:  # noqa: ARG001  the cache has one for each
    """The memory map of a version of a file, opened once per process."""
    import numpy as np

    array: np.ndarray = np.load(file, mmap_mode="r", allow_pickle=False)
    return array


def _map_outside(outside: Mapping[str, Any], what: str, files: Mapping[str, Path]) -> np.ndarray:
    from shortloop.base.types import Span

    try:
        file = files[outside["content"]]
    except (InputError, KeyError) as error:
        raise TransientError(
            "a file that holds data of a job is gone, or not what it was",
            file=getattr(error, "file", None) or outside["name"],
            field=what,
            found=getattr(error, "problem", "its place is not known"),
            expected=f"{outside['name']}, content {outside['content']}",
            hint="put the file back as it was and run again; the job keeps no copy of what it has checked",
        ) from None
    return Span(**outside["span"]).map(file)


class KeptFrames:
    """Frames by the version of their file; each unit is given a frame that no other unit can change.

    Copies of pandas and of Polars share their data until somebody writes. What could be written past that, as
    by ``frame["x"].array[0] = 1``, is read-only here, or is noticed before the frame is given again.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, _KeptFrame] = OrderedDict()

    def get(self, key: Hashable, library: str, read: Callable[[], Table]) -> Table:
        """Copy a frame, which is read if it is not kept."""
        kept = self._kept.pop(key, None)
        if kept is None or any(now() is not held for now, held in kept.seen):
            kept = _kept_frame(read(), library)
        self._kept[key] = kept
        while len(self._kept) > 1 and sum(each.size for each in self._kept.values()) - kept.size > KEPT:
            self._kept.popitem(last=False)
        return kept.copy()


class _KeptFrame(NamedTuple):
    copy: Callable[[], Table]
    size: int  # bytes
    seen: Seen  # what copies share and somebody could replace, and what it was


def _kept_frame(frame: Any, library: str) -> _KeptFrame:
    if library == POLARS:
        return _KeptFrame(frame.clone, frame.estimated_size(), [])
    copies_on_write = int(load(PANDAS).__version__.partition(".")[0]) >= 3
    levels = [frame.index.get_level_values(level).dtype for level in range(frame.index.nlevels)]
    if not copies_on_write or not all(map(_can_be_read_only, [*frame.dtypes, *levels])):
        data = pickle.dumps(frame, protocol=5)
        return _KeptFrame(partial(pickle.loads, data), len(data), [])  # takes longer: each unit has its own
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(frame, protocol=5, buffer_callback=buffers.append)
    shared = [memoryview(each).toreadonly() for each in buffers]
    made = pickle.loads(data, buffers=shared)
    size = len(data) + sum(each.nbytes for each in shared)
    return _KeptFrame(partial(made.copy, deep=False), size, _replaceable_parts(made))


def _can_be_read_only(kind: Any) -> bool:
    if hasattr(kind, "categories"):
        return _can_be_read_only(kind.categories.dtype)
    if hasattr(kind, "hasobject"):  # of NumPy
        return not kind.hasobject
    name = str(kind)
    return (
        getattr(kind, "storage", None) == "pyarrow"
        or name.startswith((*MASKED, "datetime64["))
        or name.endswith("[pyarrow]")
    )


def _replaceable_parts(frame: Any) -> Seen:
    """Parts that copies share and that can be replaced, with their values now; times become read-only."""
    seen: Seen = []
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place].array
        if hasattr(column, "categories"):
            seen.append((partial(getattr, column.categories, "name"), column.categories.name))
        elif hasattr(column, "__arrow_array__") and "Arrow" in type(column).__name__:
            seen.append((column.__arrow_array__, column.__arrow_array__()))
        held: Any = getattr(column, "asi8", None)  # of times; they have been copied on the way
        while hasattr(held, "flags"):
            held.flags.writeable = False
            held = held.base
    return seen
