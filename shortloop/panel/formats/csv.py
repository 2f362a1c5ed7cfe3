"""Panels in text files."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.panel.formats.panel_format import FileInput, with_digits

if TYPE_CHECKING:
    import pandas as pd


class CsvInput(FileInput):
    """A text file with a line for each row, and names of the columns in the first."""

    format: Literal["csv"] = Field(description="text with separators; packed as .gz, .bz2, .xz or .zst, too")
    separator: str = Field(",", min_length=1, max_length=1, description="between values; default ','")
    decimal: str = Field(".", min_length=1, max_length=1, description="in numbers; default '.'")
    thousands: str = Field(
        "", max_length=1, description="between thousands in numbers, e.g. ',' in 1,234,567; default: none"
    )
    encoding: str = Field(
        "utf-8",
        min_length=1,
        description="encoding: utf-8, utf-16, or e.g. cp1252 of older Western tables; default 'utf-8'",
    )
    missing: tuple[str, ...] = Field(
        ("", "NA", "NaN", "nan", "NULL", "."), description="what stands for no value; default: '', NA, NaN, …"
    )

    def read(self, file: Path) -> pd.DataFrame:
        import pandas as pd

        how: dict[str, Any] = {"sep": self.separator, "encoding": self.encoding}
        at: dict[str, Any] = {"file": file, "field": "input"}
        try:
            names = pd.read_csv(file, **how, header=None, nrows=1, dtype=str, keep_default_na=False)
            self._check_names(file, [str(name) for name in names.iloc[0]])
            with warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)  # values that have no name
                pd.read_csv(file, **how, nrows=1, index_col=False)
                how |= {"decimal": self.decimal, "thousands": self.thousands or None, "index_col": False}
                how |= {"na_values": list(self.missing), "keep_default_na": False, "low_memory": False}
                frame = pd.read_csv(file, **how, float_precision="round_trip")
            frame = frame[self._wanted(file, frame)]  # all were read: else rows with too many values pass
            return with_digits(frame, lambda name: self._whole(file, name, how))
        except InputError:
            raise
        except UnicodeError as error:
            problem, found = "the file does not have this encoding", " ".join(str(error).split())
            hint = 'say how it is written, e.g. encoding = "cp1252", or save it as UTF-8'
            raise InputError(problem, file=file, field="input.encoding", found=found, hint=hint) from None
        except pd.errors.ParserWarning:
            found = ", ".join(map(str, names.iloc[0]))
            problem = "rows have more values than the header has names"
            expected = f"a name for each value, separated by {self.separator!r}"
            raise InputError(problem, **at, found=f"names: {found}", expected=expected) from None
        except (ValueError, LookupError, OSError, EOFError, zlib.error) as error:
            problem, found = "the file cannot be read as delimited text", " ".join(str(error).split())
            expected = f"a line of names, then a line for each row, values separated by {self.separator!r}"
            raise InputError(problem, **at, found=found, expected=expected) from None

    def _whole(self, file: Path, name: str, how: dict[str, Any]) -> pd.Series:
        import pandas as pd

        column: pd.Series = pd.read_csv(file, **how, usecols=[name], dtype={name: "Int64"})[name]
        return column

    def check_groups(self, file: Path, frame: pd.DataFrame, by: Sequence[str]) -> None:
        import pandas as pd

        for name in by:
            if name not in frame or frame[name].dtype.kind not in "iuf":
                continue
            how: dict[str, Any] = {"sep": self.separator, "encoding": self.encoding, "index_col": False}
            texts = pd.read_csv(file, **how, dtype=str, usecols=[name], keep_default_na=False)[name]
            padded = texts[texts.str.match(r"\s*0\d")].unique()
            numbers = {*texts.unique()} & {text.strip().lstrip("0") for text in padded}
            if len(padded) and (numbers or len({text.strip().lstrip("0") for text in padded}) < len(padded)):
                problem = "group numbers that differ only in leading zeros"
                field = "groups.by"
                found = f"{name}: {', '.join(sorted({*padded[:3], *sorted(numbers)[:3]}))}"
                expected = "each number written in one way"
                hint = "if they are names, put a letter in front of each"
                raise InputError(problem, file=file, field=field, found=found, expected=expected, hint=hint)

    def _wanted(self, file: Path, frame: pd.DataFrame) -> list[str]:
        if missing := ", ".join(name for name in self.columns if name not in frame.columns):
            expected = f"some of {', '.join(map(str, frame.columns))}"
            field = "input.columns"
            raise InputError("no such column", file=file, field=field, found=missing, expected=expected)
        return [name for name in frame.columns if not self.columns or name in self.columns]

    def _check_names(self, file: Path, names: list[str]) -> None:
        twice = sorted({name for name in names if name and names.count(name) > 1})
        if twice and (not self.columns or {*twice} & {*self.columns}):
            problem = "several columns have the same name"
            field = "input.columns"
            found = ", ".join(twice)
            expected = "a name of its own for each"
            hint = "rename them in the first line, or name the `columns` to read, without these"
            raise InputError(problem, file=file, field=field, found=found, expected=expected, hint=hint)
