"""What a format of ready-made features is: features that were computed elsewhere, in files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from shortloop.eeg.formats.base import FOLDER, InputSettings, all_named

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray
    from shortloop.eeg.data import Features
    from shortloop.eeg.formats.feature_trials import Found

__all__ = ["FeaturesInput"]


class FeaturesInput(InputSettings):
    """Features that were computed elsewhere: a file for each participant, phase and kind of features."""

    places = frozenset({"folder", "amplitude", "power"})
    classes_in: ClassVar[str]
    """What a file calls the classes of its trials, for messages."""
    folder: str = Field(".", description=f"folder of the files, {FOLDER}")
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
        """Files of one kind of features."""
        return {"amplitude": self.amplitude, "power": self.power}[kind]

    def files_of_labels(self) -> Mapping[str, str]:
        """Files of the classes of trials, by phase, where these are in files of their own."""
        return {}

    def is_of_all(self) -> bool:
        """Whether one file holds several participants."""
        return False

    @abstractmethod
    def unit_of(self, kind: str) -> str:
        """Unit of the features of a kind."""

    @abstractmethod
    def declared(self, file: Path, participant: str) -> int:
        """As of `RecordedInput`."""

    @abstractmethod
    def find_in(self, file: Path, labels: Path | None, participant: str, phase: str) -> Found:
        """All trials of a participant in a phase."""

    def read(
        self,
        file: Path,
        labels: Path | None = None,
        *,
        kind: str,
        participant: str,
        phase: str,
        classes: Sequence[str],
        allocate: Callable[[tuple[int, ...]], FloatArray],
    ) -> Features:
        """Features of one participant in one phase."""
        from shortloop.eeg.formats.feature_trials import features_of
        from shortloop.eeg.formats.read_in_process import reading

        with reading(file, participant):
            return features_of(
                self.find_in(file, labels, participant, phase),
                kind=kind,
                unit=self.unit_of(kind),
                field=self.classes_in,
                classes=classes,
                phase=phase,
                participant=participant,
                file=file,
                allocate=allocate,
            )
