"""Objects from one process to another through a file in memory: arrays are written there once and mapped, and
those that are maps of a file already stay where they are."""

from __future__ import annotations

import io
import mmap
import os
import pickle
from typing import Any

import numpy as np

__all__ = ["receive", "send"]

SMALL = 2**16  # bytes; what is smaller is pickled with the rest
ALIGNED = 64


def send(value: object, file: int, start: int) -> int:
    """Write an object into a file.

    Parameters
    ----------
    value : object
        The object. Arrays keep their layout in memory.
    file : int
        Descriptor of the file.
    start : int
        First byte that may be written.

    Returns
    -------
    int
        What `receive` has to know.
    """
    stream = io.BytesIO()
    packer = _Packer(stream, file, start)
    packer.dump(value)
    return packer.append(stream.getbuffer())


def receive(file: int, start: int) -> Any:
    """The object that was written.

    Parameters
    ----------
    file : int
        Descriptor of the file; it may be closed afterwards.
    start : int
        What `send` returned.

    Returns
    -------
    object
        Large arrays are maps of the file, or of the files that they were maps of.
    """
    content = mmap.mmap(file, 0)
    return _Unpacker(io.BytesIO(content[start:]), content).load()


class _Packer(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, file: int, start: int) -> None:
        super().__init__(stream, protocol=5)
        self._file, self._end = file, start

    def persistent_id(self, obj: object) -> tuple[Any, ...] | None:
        if not isinstance(obj, np.ndarray):
            return None
        whole = _map_of(obj)
        if whole is not None:
            offset = whole.offset + _address(obj) - _address(whole)
            return str(whole.filename), whole.mode, obj.shape, obj.dtype, offset, obj.strides
        if obj.nbytes < SMALL or obj.dtype.hasobject:
            return None
        # Contiguous when its axes are in the order of their strides, unless it is a part of something.
        order = sorted(range(obj.ndim), key=lambda axis: -abs(obj.strides[axis]))
        packed = np.ascontiguousarray(obj.transpose(order))
        start = self.append(packed.reshape(-1).view(np.uint8).data)
        strides = tuple(packed.strides[order.index(axis)] for axis in range(obj.ndim))
        return None, "", obj.shape, obj.dtype, start, strides

    def append(self, values: memoryview) -> int:
        start = self._end = -(-self._end // ALIGNED) * ALIGNED
        while len(values):
            done = os.pwrite(self._file, values, self._end)
            values, self._end = values[done:], self._end + done
        return start


class _Unpacker(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, content: mmap.mmap) -> None:
        super().__init__(stream)
        self._content = content

    def persistent_load(self, pid: Any) -> np.ndarray:
        name, mode, shape, dtype, offset, strides = pid
        content: Any = self._content
        if name is not None:
            content = np.memmap(name, np.uint8, "r" if mode == "r" else "r+")
        return np.ndarray(shape, dtype, content, offset, strides)


def _map_of(array: np.ndarray) -> np.memmap | None:
    """The whole map of a file that an array is a part of, if it is and what is written goes to the file."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    if not isinstance(array, np.memmap):
        return None
    return array if array.filename is not None and array.mode != "c" else None


def _address(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
