"""Simulated recordings, without files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.eeg.formats.base import GeneratedInput

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray
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
        """One participant's epochs in one phase, in V: patterns of the classes come at ``onset`` … ``offset``
        in the phase that trains, in others later by ``delay`` and scaled by ``weakening``.
        """
        from shortloop.eeg.data import Epochs
        from shortloop.eeg.formats.simulation import channel_names, simulate

        times = self._times()
        data, labels = simulate(
            times,
            self._window(times, training),
            strength=self.strength * (1.0 if training else self.weakening),
            sfreq=self.sfreq,
            channels=self.channels,
            n_classes=len(classes),
            trials=self.trials,
            participant=participant,
            phase=phase,
            seed=seed,
        )
        return Epochs(
            data=data,
            labels=labels,
            classes=tuple(classes),
            times=times,
            sfreq=self.sfreq,
            channels=channel_names(self.channels),
        )

    def _times(self) -> FloatArray:
        import numpy as np

        first, last = (round(edge * self.sfreq) for edge in (self.tmin, self.tmax))
        if last <= first:
            raise InputError(
                "the simulated epochs end before they begin",
                field="input.tmax",
                found=f"{self.tmax} s",
                expected=f"later than input.tmin, {self.tmin} s",
                hint="correct input.tmin or input.tmax in the study file",
            )
        return np.arange(first, last + 1) / self.sfreq

    def _window(self, times: FloatArray, training: bool) -> FloatArray:
        """Time course of the effect, 0 outside the window and at most 1 inside."""
        import numpy as np

        late = 0.0 if training else self.delay
        onset, offset = self.onset + late, self.offset + late
        inside = (times > onset) & (times < offset)
        if not inside.any():
            raise InputError(
                "the class patterns would be in no sample of the epochs",
                field="input.onset",
                found=f"patterns from {onset:g} to {offset:g} s",
                expected=f"onset before offset, within {times[0]:g} to {times[-1]:g} s",
                hint="correct input.onset, input.offset or input.delay in the study file",
            )
        return np.where(inside, np.sin(np.pi * (times - onset) / (offset - onset)) ** 2, 0.0)
