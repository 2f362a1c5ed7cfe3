"""Panels in text files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from shortloop.errors import InputError
from shortloop.panel.formats.base import FileInput

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CsvInput"]


class CsvInput(FileInput):
    """A text file with a line for each row, and names of the columns in the first."""

    format: Literal["csv"] = Field(description="text with separators; packed as .gz, .bz2, .xz or .zst, too")
    separator: str = Field(",", min_length=1, max_length=1, description="between values; default ','")
    decimal: str = Field(".", min_length=1, max_length=1, description="in numbers; default '.'")
    missing: tuple[str, ...] = Field(
        ("", "NA", "NaN", "nan", "NULL", "."), description="what stands for no value; default: '', NA, NaN, …"
    )

    def read(self, file: Path) -> pd.DataFrame:
        import pandas as pd

        try:
            return pd.read_csv(
                file,
                sep=self.separator,
                decimal=self.decimal,
                na_values=list(self.missing),
                keep_default_na=False,
                usecols=list(self.columns) or None,
                float_precision="round_trip",
                low_memory=False,
            )
        except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeError, ValueError, OSError) as error:
            raise InputError(
                "the file cannot be read as text with separators",
                file=file,
                field="input",
                found=" ".join(str(error).split()),
                expected=f"a line of names, then a line for each row, values separated by {self.separator!r}",
            ) from None
