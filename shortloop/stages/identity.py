"""Unit identities that are the same in every process.

The number of a unit is valid only in the process that opened the stage, and in its forks: `units_of` and
`open` may find their units in another order elsewhere, as sets, directory listings and Polars' `group_by` do.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from shortloop.stages.content import Hasher, content_of
from shortloop.stages.references import References, files_in
from shortloop.stages.results import Result
from shortloop.stages.stage import CollectingStage, Stage
from shortloop.stages.task import fields_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

ID_SIZE = 16  # bytes
LARGE = 1 << 16  # bytes of an array of which only parts are hashed
PARTS = 64
MANY = 100  # texts that are quicker to add together


def ids_of_units(stage: Stage, costs: Sequence[float]) -> list[bytes]:
    """An identity of each unit, the same in every process: its name, else its number in an equal stage."""
    if (names := stage.unit_names()) is not None:
        return [_hash(repr(name).encode(errors="surrogatepass")) for name in names]
    found = digest_of_units(stage, costs)
    return [_hash(found + unit.to_bytes(8, "little")) for unit in range(len(costs))]


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=ID_SIZE).digest()


def digest_of_units(stage: Stage, costs: Sequence[float]) -> bytes:
    """A hash of the units of a stage that are known by their number, and of its state after `open`."""
    taken = fields_of(type(stage))
    fields = {*taken.options, *taken.jobs, *taken.datasets}
    options = [getattr(stage, name) for name in taken.options]
    files = {str(each.path): each.content for each in files_in(options)}
    own = type(stage).__module__.partition(".")[0]
    found = _StateHasher(files, "" if own == __name__.partition(".")[0] else own)
    found.add([*costs])
    if type(stage).unit_name is not Stage.unit_name:
        found.add([stage.unit_name(unit) for unit in range(len(costs))])
    if isinstance(stage, CollectingStage):
        found.add([stage.unit_key(unit) for unit in range(len(costs))])
    found.add({name: value for name, value in vars(stage).items() if name not in fields})
    return found.digest()


class _StateHasher(Hasher):
    """A hash of the state of a stage, without what differs between processes; large arrays count in part."""

    def __init__(self, files: Mapping[str, str], own: str) -> None:
        super().__init__(takes_objects=True)
        self.given = References()
        self._files = files  # content of declared files, by the path that they have in this process
        self._own = own  # package of the stage, whose objects are looked into
        self._inside: set[int] = set()

    def add(self, given: object) -> None:
        if isinstance(given, str | PurePath):
            self.add_text(str(given))
        elif isinstance(given, Result):
            self.put("job", given.job.encode())
        elif type(given).__module__.startswith("numpy.random."):  # its state may differ
            self.add_object(given, type(given))
        elif id(given) not in self._inside:  # else it is part of itself
            self._inside.add(id(given))
            super().add(given)
            self._inside.remove(id(given))

    def add_parts(self, kind: str, parts: Sequence[object]) -> None:
        if len(parts) > MANY and {*map(type, parts)} == {str}:
            self.put(kind, repr([self._anywhere(str(part)) for part in parts]).encode(errors="surrogatepass"))
        else:
            super().add_parts(kind, parts)

    def add_text(self, text: str) -> None:
        self.put("str", self._anywhere(text).encode(errors="surrogatepass"))

    def _anywhere(self, text: str) -> str:
        """A text, without the folder if it is a path: folders differ between machines."""
        return self._files.get(text) or (os.path.basename(text) if os.path.isabs(text) else text)

    def add_frame(self, frame: pd.DataFrame) -> None:
        self.put("frame", content_of(frame, str))

    def add_array(self, array: np.ndarray) -> None:
        self.add_parts("array", [repr(array.dtype), array.shape])
        if array.dtype.hasobject:
            self.add(array.ravel().tolist())
        elif (start := _place_in_file(array)) is not None:
            self.put("place", f"{start} {array.strides}".encode())
        else:
            flat = array.flat  # no copy, however the array lies in memory
            step = 1 if array.nbytes <= LARGE else max(1, array.size // PARTS)
            for start in range(0, array.size, step) if step > 1 else (0,):
                self.update(flat[start : start + 64 if step > 1 else None].tobytes())

    def add_object(self, value: object, kind: type) -> None:
        super().add_object(value, kind)
        if kind.__module__.partition(".")[0] == self._own:
            self.add(getattr(value, "__dict__", None))


def _place_in_file(array: np.ndarray) -> int | None:
    """The byte of a file at which a mapped array, or a part of one, starts; None if it is not mapped."""
    import numpy as np

    whole = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    if not isinstance(whole, np.memmap) or whole.filename is None:
        return None
    return int(whole.offset + array.ctypes.data - whole.ctypes.data)
