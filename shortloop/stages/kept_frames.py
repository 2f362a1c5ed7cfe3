"""Cache of frames that units of this process read, with a fresh frame for each.

Copies of pandas and of Polars share their data until somebody writes. What could be written past that, as by
``frame["x"].array[0] = 1``, is read-only here, or is seen before the frame is given again.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, Any

from shortloop.stages.same_tables import POLARS, load

if TYPE_CHECKING:
    from shortloop.stages.same_tables import Table

__all__ = ["KEPT", "KeptFrames"]

KEPT = 1 << 28
"""Bytes of frames that are kept beside the one that was read last."""
MASKED = ("Int", "UInt", "Float", "boolean")

Seen = list[tuple[Callable[[], object], object]]


class KeptFrames:
    """Frames by what tells the files apart that they are read from."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[Any, int, Seen]] = OrderedDict()

    def get(self, key: Hashable, library: str, read: Callable[[], Table]) -> Table:
        """A frame that nobody else can change, read if it is not kept."""
        frame, size, seen = self._kept.pop(key, (None, 0, []))
        if frame is None or any(now() is not held for now, held in seen):
            given: Any = read()
            made = given if library == POLARS else _fixed(given)
            if made is None:
                return given  # type: ignore[no-any-return]
            frame, seen = made, [] if library == POLARS else _seen(made)
            size = frame.estimated_size() if library == POLARS else int(frame.memory_usage().sum())
        self._kept[key] = frame, size, seen
        while len(self._kept) > 1 and sum(each[1] for each in self._kept.values()) - size > KEPT:
            self._kept.popitem(last=False)
        return frame.clone() if library == POLARS else frame.copy(deep=False)  # type: ignore[no-any-return]


def _fixed(frame: Any) -> Any:
    """The frame with read-only memory; None if it has what could be changed all the same."""
    pandas = load("pandas")
    if int(pandas.__version__.partition(".")[0]) < 3:  # copies share nothing before
        return None
    kinds = [
        *frame.dtypes,
        *(frame.index.get_level_values(each).dtype for each in range(frame.index.nlevels)),
    ]
    if not all(map(_can_be_fixed, kinds)):
        return None
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(frame, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[memoryview(each).toreadonly() for each in buffers])


def _can_be_fixed(kind: Any) -> bool:
    if hasattr(kind, "categories"):
        return _can_be_fixed(kind.categories.dtype)
    if hasattr(kind, "hasobject"):  # of NumPy
        return not kind.hasobject
    name = str(kind)
    return (
        getattr(kind, "storage", None) == "pyarrow"
        or name.startswith((*MASKED, "datetime64["))
        or name.endswith("[pyarrow]")
    )


def _seen(frame: Any) -> Seen:
    """Parts that copies share and that can be replaced, and what they are now; times become read-only."""
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
