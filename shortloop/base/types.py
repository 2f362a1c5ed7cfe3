"""Array types, and arrays inside files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating]
IntArray = NDArray[np.integer]


@dataclass(frozen=True)
class Span:
    """Layout of an array in a file."""

    offset: int  # byte at which its first value starts
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes from one value to the next along each axis
    dtype: str  # type of its values, as NumPy writes it, e.g. ``"<f8"``

    def map(self, file: Path) -> np.ndarray:
        """Map the array, read-only."""
        content = np.memmap(file, dtype=np.uint8, mode="r")
        return np.ndarray(self.shape, self.dtype, content, self.offset, self.strides)
