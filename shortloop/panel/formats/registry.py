"""The sources of panels there are: the one place that lists them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from shortloop.panel.formats.csv import CsvInput
from shortloop.panel.formats.csvimport import CsvimportInput
from shortloop.panel.formats.parquet import ParquetInput
from shortloop.panel.formats.simulated import SimulatedInput

__all__ = ["AnyInput"]

AnyInput = Annotated[CsvInput | CsvimportInput | ParquetInput | SimulatedInput, Field(discriminator="format")]
