"""Panels in text files that exax imports, as datasets, on all cores."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from shortloop.panel.formats.panel_format import PlacedInput

LINE = "line of the file"  # column with the line of each row, as slices of a dataset forget their order


class CsvimportInput(PlacedInput):
    """A text file as of ``csv``, imported by methods of exax."""

    format: Literal["csvimport"] = Field(
        description="text with separators, imported by exax's csvimport and dataset_type on all cores"
    )
    numbers: tuple[str, ...] = Field(
        min_length=1, description="columns of numbers; an empty field is no value; no default"
    )
    texts: tuple[str, ...] = Field((), description="columns of texts; default: none")
    separator: str = Field(",", min_length=1, max_length=1, description="between values; default ','")
    quotes: str = Field('"', max_length=1, description="around values with separators; default '\"'")

    def types(self) -> dict[str, str]:
        texts = dict.fromkeys(self.texts, "unicode+None:utf-8")
        return {**dict.fromkeys(self.numbers, "float64+None"), **texts}
