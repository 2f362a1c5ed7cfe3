"""Panels in Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.panel.formats.panel_format import FileInput, with_digits

if TYPE_CHECKING:
    import pandas as pd


class ParquetInput(FileInput):
    """A Parquet file."""

    format: Literal["parquet"] = Field(description="a Parquet file")

    def read(self, file: Path) -> pd.DataFrame:
        import pandas as pd

        try:
            frame = pd.read_parquet(file, columns=list(self.columns) or None)
            frame = with_digits(frame, lambda name: self._whole(file, name))
        except (ValueError, OSError, KeyError) as error:
            problem, found = "the file cannot be read as Parquet", " ".join(str(error).split())
            raise InputError(problem, file=file, field="input", found=found) from None
        named = [name for name in frame.index.names if name is not None]
        if named:  # pandas wrote a frame with an index: to others these are columns as all are
            frame = frame.reset_index()
        return frame[[name for name in frame.columns if not self.columns or name in self.columns]]

    def _whole(self, file: Path, name: str) -> pd.Series:
        """Read a column of integers, some of which are missing."""
        import pandas as pd

        found = pd.read_parquet(file, columns=[name], dtype_backend="numpy_nullable")[name]
        if not pd.api.types.is_integer_dtype(found.dtype):
            raise TypeError(f"{name} is {found.dtype}")
        return found
