"""Objects from one process to another through a pipe: arrays as the bytes that they are, and those that are
maps of a file as the place where they lie in it."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pickle
import struct
from typing import Any

import numpy as np

__all__ = ["receive", "send"]

SMALL = 2**12  # bytes; an array that is smaller is pickled with the rest
PIPE_BYTES = 2**20
LENGTH = struct.Struct("=Q")


def send(value: object, pipe: int) -> None:
    """Write an object."""
    with contextlib.suppress(OSError):  # it is only quicker
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    stream = io.BytesIO()
    packer = _Packer(stream)
    packer.dump(value)
    _write(pipe, LENGTH.pack(len(stream.getbuffer())))
    _write(pipe, stream.getbuffer())
    for array in packer.arrays:
        _write(pipe, array.reshape(-1).view(np.uint8).data)


def receive(pipe: int) -> Any:
    """Read an object."""
    (length,) = LENGTH.unpack(_read(pipe, LENGTH.size))
    return _Unpacker(io.BytesIO(_read(pipe, length)), pipe).load()


class _Packer(pickle.Pickler):
    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=5)
        self.arrays: list[np.ndarray] = []  # in the order in which they are unpickled

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
        self.arrays.append(packed)
        return None, order, packed.shape, obj.dtype


class _Unpacker(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, pipe: int) -> None:
        super().__init__(stream)
        self._pipe = pipe

    def persistent_load(self, pid: Any) -> np.ndarray:
        name, *rest = pid
        if name is None:
            order, shape, dtype = rest
            packed = np.empty(shape, dtype)
            _fill(self._pipe, packed.reshape(-1).view(np.uint8).data)
            return packed.transpose(np.argsort(order))
        mode, shape, dtype, offset, strides = rest
        content = np.memmap(name, np.uint8, "r" if mode == "r" else "r+")
        return np.ndarray(shape, dtype, content, offset, strides)


def _write(pipe: int, values: bytes | memoryview) -> None:
    left = memoryview(values)
    while len(left):
        left = left[os.write(pipe, left) :]


def _read(pipe: int, length: int) -> bytearray:
    values = bytearray(length)
    _fill(pipe, memoryview(values))
    return values


def _fill(pipe: int, values: memoryview) -> None:
    while len(values):
        done = os.readv(pipe, [values])
        if not done:
            raise EOFError
        values = values[done:]


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
