"""Where the recordings are and how they are read: one record per format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from shortloop.settings.base import Settings

__all__ = [
    "EdfInput",
    "FifInput",
    "InputSettings",
    "NpzInput",
    "SimulatedInput",
    "ThesisInput",
]

Patterns = tuple[str, ...]
FILES = (
    "files of each phase, as paths below `folder`; '{participant}' stands for the participant's name, "
    "and * and ? match; no default"
)


class _Input(Settings):
    def check_phases(self, phases: tuple[str, ...], classes: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        """Raise ValueError unless this input can give all phases, classes and kinds of features."""


class _Files(_Input):
    folder: str = Field(
        ".",
        description="folder of the recordings, relative to the study file; ${NAME=default} is expanded; "
        "default: beside the study file",
    )
    files: dict[str, Patterns] = Field(description=FILES)

    def check_phases(self, phases: tuple[str, ...], classes: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        _all_named("input.files", phases, self.files)


class _Events(_Files):
    events: dict[str, Patterns] = Field(
        default_factory=dict,
        description="names of the events of each class; default: the class's own name",
    )

    def check_phases(self, phases: tuple[str, ...], classes: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        super().check_phases(phases, classes, kinds)
        if self.events:
            _all_named("input.events", classes, self.events)

    def events_of(self, name: str) -> Patterns:
        """Names of the events of one class."""
        return self.events.get(name, (name,))


class SimulatedInput(_Input):
    """A simulated study-test experiment with known truth; no files."""

    format: Literal["simulated"] = Field(description="simulated recordings")
    trials: int = Field(40, ge=2, description="trials per class and phase; default 40")
    channels: int = Field(16, ge=1, description="number of channels; default 16")
    sfreq: float = Field(256.0, gt=0, description="sampling rate, Hz; default 256")
    tmin: float = Field(-0.5, description="start of the epochs, s; default -0.5")
    tmax: float = Field(1.5, description="end of the epochs, s; default 1.5")
    onset: float = Field(0.1, description="start of the class patterns in the training phase, s; default 0.1")
    offset: float = Field(0.4, description="end of the class patterns in the training phase, s; default 0.4")
    delay: float = Field(0.25, description="how much later they come in the decoded phase, s; default 0.25")
    strength: float = Field(
        1.0,
        ge=0,
        description="size of the patterns; default 1, where they reach about 1 SD of the noise; 0: none",
    )
    weakening: float = Field(0.6, ge=0, description="their size in the decoded phase, relative; default 0.6")


class ThesisInput(_Input):
    """Classification data in .mat files: features that were computed elsewhere."""

    format: Literal["thesis"] = Field(description=".mat classification data")
    folder: str = Field(
        ".",
        description="folder of the files, relative to the study file; ${NAME=default} is expanded; "
        "default: beside the study file",
    )
    amplitude: dict[str, str] = Field(
        default_factory=dict, description="file of the amplitude features of each phase; default: none"
    )
    power: dict[str, str] = Field(
        default_factory=dict, description="file of the power features of each phase; default: none"
    )

    def check_phases(self, phases: tuple[str, ...], classes: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        for kind in kinds:
            # The decoded phase may be missing: those features are then cross-validated only.
            _all_named(f"input.{kind}", phases[:1], getattr(self, kind))


class EdfInput(_Events):
    """EDF+ recordings with annotations, cut into epochs around them."""

    format: Literal["edf"] = Field(description="EDF+ with annotations")
    tmin: float = Field(-0.5, description="start of the epochs, s relative to the annotation; default -0.5")
    tmax: float = Field(1.5, description="end of the epochs, s relative to the annotation; default 1.5")
    drop: Patterns = Field((), description="channels to leave out, e.g. those of the eyes; default: none")


class FifInput(_Events):
    """Epochs that MNE saved."""

    format: Literal["fif"] = Field(description="MNE epochs (-epo.fif)")
    drop: Patterns = Field((), description="channels to leave out; default: none; only data channels count")


class NpzInput(_Events):
    """Arrays: X (trials × channels × samples), y (trials), t (samples, s), ch (channel names)."""

    format: Literal["npz"] = Field(description="arrays in .npz")
    unit: str = Field("V", description="unit of X; default V")
    drop: Patterns = Field((), description="channels to leave out; default: none")


InputSettings = Annotated[
    SimulatedInput | ThesisInput | EdfInput | FifInput | NpzInput, Field(discriminator="format")
]


def _all_named(field: str, wanted: tuple[str, ...], table: Mapping[str, object]) -> None:
    missing = [name for name in wanted if name not in table]
    if missing:
        have = ", ".join(table) or "none"
        raise ValueError(f"{field}: nothing given for {', '.join(missing)} (given: {have})")
