"""An array as it lies in a file, mapped and not copied."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["Span"]


@dataclass(frozen=True)
class Span:
    """An array as it lies in a file.

    Parameters
    ----------
    offset : int
        Byte at which its first value starts.
    shape : tuple of int
        Its shape.
    strides : tuple of int
        Bytes from one value to the next along each axis.
    dtype : str
        Type of its values, as NumPy writes it, e.g. ``"<f8"``.
    """

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str

    def map(self, file: Path) -> np.ndarray:
        """The array, as a read-only memory map.

        Parameters
        ----------
        file : Path
            The file.

        Returns
        -------
        array of `shape` and `dtype`

        Raises
        ------
        OSError
            If the file cannot be opened.
        TypeError, ValueError
            If it is too short.
        """
        content = np.memmap(file, dtype=np.uint8, mode="r")
        return np.ndarray(self.shape, self.dtype, content, self.offset, self.strides)
