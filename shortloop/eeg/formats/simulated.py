"""Simulated recordings, without files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from shortloop.eeg.formats.base import GeneratedInput

if TYPE_CHECKING:
    from shortloop.eeg.data import Epochs

__all__ = ["SimulatedInput"]


class SimulatedInput(GeneratedInput):
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

    def generate(
        self, *, participant: str, phase: str, classes: Sequence[str], seed: int, training: bool
    ) -> Epochs:
        from shortloop.eeg.formats.simulation import simulate

        return simulate(
            self, participant=participant, phase=phase, classes=classes, seed=seed, training=training
        )
