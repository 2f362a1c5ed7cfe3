"""Base of the formats of panels: settings, and how rows are read into a frame.

A format is a module beside this one with one record in it. The record is read with every panel file, so its
functions import heavy libraries.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.settings.base import Tagged
from shortloop.settings.paths import expand_path

if TYPE_CHECKING:
    import pandas as pd


class PanelInput(Tagged):
    """Input of a panel."""

    tag = "format"

    def how_to_read(self) -> dict[str, Any]:
        """Return the settings without the place of the file, as plain data."""
        return self.model_dump(mode="json", exclude={"file"})


class PlacedInput(PanelInput):
    """Rows in a file."""

    file: str = Field(
        "",
        description="where it is, relative to the panel file; or an address; ${NAME=default} is expanded",
    )

    def path(self, panel_file: Path) -> Path:
        if not self.file:
            raise InputError("no data file is given", file=panel_file, field="input.file")
        what = "the file of the rows"
        return expand_path(self.file, panel_file, field="input.file", what=what, remote=True)


class FileInput(PlacedInput):
    """Rows in a file that becomes a frame at once."""

    columns: tuple[str, ...] = Field(
        (), description="columns to read, those that make groups among them; default: all"
    )

    def load(self, file: Path | None, by: Sequence[str], seed: int) -> pd.DataFrame:
        """Read the rows, and refuse groups that this has merged."""
        assert file is not None
        frame = self.read(file)
        self.check_groups(file, frame, by)
        return frame

    @abstractmethod
    def read(self, file: Path) -> pd.DataFrame:
        """Read the file."""

    def check_groups(self, file: Path, frame: pd.DataFrame, by: Sequence[str]) -> None:
        """Refuse groups that reading has merged."""


def key_text(value: object) -> str:
    """Convert a value that makes groups to text: whole floats without a fraction, as readers disagree."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def with_digits(frame: pd.DataFrame, read: Callable[[str], pd.Series]) -> pd.DataFrame:
    """Restore integers that lost digits as floats because some are missing, by `read`."""
    from shortloop.panel.formulas.column import EXACT

    for name in frame.columns:
        values = frame[name]
        if values.dtype == "float64" and values.abs().max() >= EXACT:
            with suppress(ValueError, TypeError, OverflowError):  # these are no whole numbers
                frame[name] = read(name).array
    return frame
