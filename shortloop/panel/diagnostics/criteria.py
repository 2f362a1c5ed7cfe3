"""By what groups may be worst."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

__all__ = ["CRITERIA", "Criterion"]

Criterion = Literal["outliers", "normality", "leverage", "influence", "fit"]
CRITERIA: Mapping[Criterion, tuple[tuple[str, ...], int]] = {
    "outliers": (("outlying", "largest"), 1),
    "normality": (("jarque_bera",), 1),
    "leverage": (("leverage",), 1),
    "influence": (("cook", "leverage"), 1),
    "fit": (("agreement",), -1),
}
"""What each goes by, of `shortloop.panel.diagnostics.worst.SUMMARY`, the next where the ones before are alike
or not known; and 1 if the largest is worst, -1 if the smallest is."""
