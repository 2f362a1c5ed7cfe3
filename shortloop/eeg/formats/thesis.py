"""Classification data in .mat files: features that were computed elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from shortloop.eeg.formats.base import FeaturesInput, all_named
from shortloop.eeg.formats.mat_header import declared

if TYPE_CHECKING:
    from shortloop.eeg.data import Features
    from shortloop.types import FloatArray

__all__ = ["ThesisInput"]


class ThesisInput(FeaturesInput):
    """Classification data in .mat files: features that were computed elsewhere."""

    places = frozenset({"folder", "amplitude", "power"})
    format: Literal["thesis"] = Field(description=".mat classification data")
    amplitude: dict[str, str] = Field(
        default_factory=dict, description="file of the amplitude features of each phase; default: none"
    )
    power: dict[str, str] = Field(
        default_factory=dict, description="file of the power features of each phase; default: none"
    )

    def check_phases(self, phases: tuple[str, ...], classes: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        for kind in kinds:
            # The decoded phase may be missing: those features are then cross-validated only.
            all_named(f"input.{kind}", phases[:1], self.files_of(kind))

    def files_of(self, kind: str) -> Mapping[str, str]:
        return {"amplitude": self.amplitude, "power": self.power}[kind]

    def warm_up(self) -> None:
        import h5py  # noqa: F401

        import shortloop.eeg.formats.mat_features  # noqa: F401

    def declared(self, file: Path, participant: str) -> int:
        return declared(file, participant)

    def read(
        self,
        file: Path,
        *,
        kind: str,
        participant: str,
        phase: str,
        classes: Sequence[str],
        allocate: Callable[[tuple[int, ...]], FloatArray],
    ) -> Features:
        from shortloop.eeg.formats.mat_features import read

        return read(file, kind=kind, participant=participant, phase=phase, classes=classes, allocate=allocate)
