"""Arrays and tables of a finished job, opened on access."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.base.errors import InputError, TransientError
from shortloop.base.text import one_line
from shortloop.stages.axes import Described, DescribedOutside
from shortloop.stages.tables import read_table

if TYPE_CHECKING:  # build scripts look jobs up; most need no array
    import numpy as np

    from shortloop.stages.kept_frames import KeptFrames
    from shortloop.stages.tables import DescribedTable, Table

__all__ = ["Arrays", "Tables"]


class Arrays(Mapping[str, "np.ndarray"]):
    """The arrays of a job by name, as read-only memory maps, opened when asked for."""

    def __init__(self, folder: Path, described: Mapping[str, Described], files: Mapping[str, Path]) -> None:
        self._folder = folder
        self._described = described
        self._files = files

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._described:
            raise KeyError(f"{name}; there are {', '.join(self._described) or 'none'}")
        outside = self._described[name].get("outside")
        if outside is not None:
            return _map_outside(outside, f"{self._folder.name}, {name}", self._files)
        file = f"{self._folder}/{name}.npy"
        state = os.stat(file)
        # A view: its shape and type may be set without a change to what others are given.
        return _mapped(file, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns).view()

    def __contains__(self, name: object) -> bool:
        return name in self._described  # and nothing is opened for it

    def __iter__(self) -> Iterator[str]:
        return iter(self._described)

    def __len__(self) -> int:
        return len(self._described)

    def __repr__(self) -> str:
        return one_line(f"Arrays({', '.join(self._described)})")


class Tables(Mapping[str, "Table"]):
    """The tables of a job by name, each read when it is asked for."""

    def __init__(self, folder: Path, described: Mapping[str, DescribedTable]) -> None:
        self._folder = folder
        self._described = described
        self._kept: KeptFrames | None = None

    def keep(self, kept: KeptFrames) -> None:
        """Read each table once from now on: many units ask for the same."""
        self._kept = kept

    def __getitem__(self, name: str) -> Table:
        if name not in self._described:
            raise KeyError(f"{name}; there are {', '.join(self._described) or 'none'}")
        file, described = f"{self._folder}/{name}.parquet", self._described[name]
        if self._kept is None:
            return read_table(Path(file), described)
        state = os.stat(file)
        key = file, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
        return self._kept.get(key, described["library"], lambda: read_table(Path(file), described))

    def __contains__(self, name: object) -> bool:
        return name in self._described  # and nothing is opened for it

    def __iter__(self) -> Iterator[str]:
        return iter(self._described)

    def __len__(self) -> int:
        return len(self._described)

    def __repr__(self) -> str:
        return one_line(f"Tables({', '.join(self._described)})")


@lru_cache(maxsize=64)  # each holds a file descriptor
def _mapped(file: str, *state: int) -> np.ndarray:  # noqa: ARG001  of which the cache has one each
    """The memory map of a file in some state, opened once per process."""
    import numpy as np

    array: np.ndarray = np.load(file, mmap_mode="r", allow_pickle=False)
    return array


def _map_outside(outside: DescribedOutside, what: str, files: Mapping[str, Path]) -> np.ndarray:
    from shortloop.base.mapped_array import Span

    try:
        file = files[outside["content"]]
    except (InputError, KeyError) as error:
        raise TransientError(
            "a file that holds data of a job is gone, or not what it was",
            file=getattr(error, "file", None) or outside["name"],
            field=what,
            found=getattr(error, "problem", "nobody says where it is"),
            expected=f"{outside['name']}, content {outside['content']}",
            hint="put the file back as it was and run again; the job keeps no copy of what it has checked",
        ) from None
    span = outside["span"]
    return Span(span["offset"], tuple(span["shape"]), tuple(span["strides"]), span["dtype"]).map(file)
