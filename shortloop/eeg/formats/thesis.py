"""Classification data in .mat files: features that were computed elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from shortloop.eeg.formats.base_features import FeaturesInput
from shortloop.eeg.headers.mat_header import declared

if TYPE_CHECKING:
    from shortloop.eeg.formats.feature_trials import Found

__all__ = ["ThesisInput"]


class ThesisInput(FeaturesInput):
    """Classification data in .mat files: features that were computed elsewhere."""

    classes_in = "category_name"
    format: Literal["thesis"] = Field(description=".mat classification data")

    def warm_up(self) -> None:
        import h5py  # noqa: F401

        import shortloop.eeg.formats.mat_features  # noqa: F401

    def unit_of(self, kind: str) -> str:
        return {"amplitude": "V", "power": "V²"}[kind]

    def declared(self, file: Path, participant: str) -> int:
        return declared(file, participant)

    def find_in(self, file: Path, labels: Path | None, participant: str, phase: str) -> Found:
        from shortloop.eeg.formats.mat_features import find_in

        return find_in(file, participant)
