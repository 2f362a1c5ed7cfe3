"""Settings of a report, for the settings files of any analysis."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from shortloop.settings.base import Settings


class ReportSettings(Settings):
    """The report."""

    formats: tuple[Literal["pdf", "svg"], ...] = Field(
        (), description="formats of figures beside PNG, which take longer to draw; default: none"
    )
