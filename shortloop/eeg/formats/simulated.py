"""A simulated study-test experiment: recordings of known truth and any size, without files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.eeg.formats.recording_format import GeneratedInput

if TYPE_CHECKING:
    import numpy as np

    from shortloop.base.types import FloatArray, IntArray
    from shortloop.eeg.data import Epochs

NOISE_RMS = 10e-6  # V, of each channel
SENSOR_RMS = 1e-6  # V, of white noise, not shared by channels
BURST_HZ = 20.0
# In SD of the noise: together, patterns of strength 1 reach about 1 SD at their strongest channel, and are
# decoded well but not perfectly.
EVOKED_SIZE = 0.35
BURST_SIZE = 0.55
NAMES = (
    *("Fp1", "Fp2", "F3", "F4", "C3", "C4", "P3", "P4", "O1", "O2", "F7", "F8", "T7", "T8", "P7", "P8"),
    *("Fz", "Cz", "Pz", "Oz", "FC1", "FC2", "CP1", "CP2", "FC5", "FC6", "CP5", "CP6", "TP9", "TP10"),
    *("POz", "AFz"),
)


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
    strength: float = Field(1.0, ge=0, description="size of the patterns; default 1, about 1 SD of the noise")
    weakening: float = Field(0.6, ge=0, description="their size in the decoded phase, relative; default 0.6")

    def generate(
        self, *, participant: str, phase: str, classes: Sequence[str], seed: int, training: bool
    ) -> Epochs:
        """Simulate one participant's epochs in one phase, in V."""
        # Noise: one source per channel with 1/f power, mixed at random, plus white noise of each sensor.
        # Effect: *evoked*, a pattern over the channels, phase-locked, as a squared sine; *induced*, a burst
        # of random phase in each trial, whose amplitude over the channels tells the class, so that it is in
        # the power and not in the average (Tallon-Baudry & Bertrand 1999, Trends Cogn. Sci. 3(4):151).
        from shortloop.eeg.data import Epochs

        times = self._times()
        data, labels = self._simulate(times, participant, phase, len(classes), seed, training)
        names = NAMES[: self.channels]
        names += tuple(f"E{number}" for number in range(len(NAMES) + 1, self.channels + 1))
        return Epochs(
            data=data, labels=labels, classes=tuple(classes), times=times, sfreq=self.sfreq, channels=names
        )

    def _simulate(
        self, times: FloatArray, participant: str, phase: str, n_classes: int, seed: int, training: bool
    ) -> tuple[FloatArray, IntArray]:
        """Return trials of all classes × channels × samples, and the class of each trial, in random order."""
        import numpy as np

        from shortloop.base.seeds import seed_for

        def rng(*name: str) -> np.random.Generator:
            return np.random.default_rng(seed_for(seed, "simulated", participant, *name))

        window = self._window(times, training)
        patterns = rng("patterns")
        # Sources are mixed to channels of the same power.
        mixing = patterns.standard_normal((self.channels, self.channels))
        mixing /= np.linalg.norm(mixing, axis=1, keepdims=True)
        mixing = np.sqrt(NOISE_RMS**2 - SENSOR_RMS**2) * mixing
        # Patterns of classes are mixed as the noise is, to a root mean square of 1.
        evoked = patterns.standard_normal((n_classes, self.channels)) @ mixing.T
        evoked -= evoked.mean(axis=0)
        evoked /= np.sqrt(np.mean(evoked**2, axis=1, keepdims=True))
        induced = patterns.uniform(0, 1, (n_classes, self.channels))

        drawn = rng("trials", phase)
        labels = drawn.permutation(np.repeat(np.arange(n_classes), self.trials))
        phases = drawn.uniform(0, 2 * np.pi, len(labels))
        data = _noise(len(labels), len(times), self.sfreq, mixing, rng("noise", phase))

        active = np.flatnonzero(window)
        burst = np.cos(2 * np.pi * BURST_HZ * times[active] + phases[:, None])
        effect = EVOKED_SIZE * evoked[labels][:, :, None] * np.ones(len(active))
        effect += BURST_SIZE * induced[labels][:, :, None] * burst[:, None, :]
        strength = self.strength * (1.0 if training else self.weakening)
        data[:, :, active] += strength * NOISE_RMS * window[active] * effect
        return data, labels.astype(np.int64)

    def _times(self) -> FloatArray:
        import numpy as np

        first, last = (round(edge * self.sfreq) for edge in (self.tmin, self.tmax))
        if last <= first:
            problem = "the simulated epochs end before they begin"
            expected = f"later than input.tmin, {self.tmin} s"
            raise InputError(problem, field="input.tmax", found=f"{self.tmax} s", expected=expected)
        return np.arange(first, last + 1) / self.sfreq

    def _window(self, times: FloatArray, training: bool) -> FloatArray:
        """Return the time course of the effect, 0 outside the window and at most 1 inside."""
        import numpy as np

        late = 0.0 if training else self.delay
        onset, offset = self.onset + late, self.offset + late
        inside = (times > onset) & (times < offset)
        if not inside.any():
            problem = "the class patterns would be in no sample of the epochs"
            found = f"patterns from {onset:g} to {offset:g} s"
            expected = f"onset before offset, within {times[0]:g} to {times[-1]:g} s"
            raise InputError(problem, field="input.onset", found=found, expected=expected)
        return np.where(inside, np.sin(np.pi * (times - onset) / (offset - onset)) ** 2, 0.0)


def _noise(
    trials: int, samples: int, sfreq: float, mixing: FloatArray, rng: np.random.Generator
) -> FloatArray:
    import numpy as np

    # Twice as long as needed, then cut: noise from an FFT is periodic, a recording is not.
    length = 2 * samples
    freqs = np.fft.rfftfreq(length, 1 / sfreq)
    amplitude = 1 / np.sqrt(np.maximum(freqs, freqs[1]))
    amplitude[0] = 0
    amplitude *= length / 2 / np.sqrt(np.sum(amplitude[:-1] ** 2) + amplitude[-1] ** 2 / 4)
    spectrum = rng.standard_normal((trials, len(mixing), len(freqs), 2)).view(complex)[..., 0]
    data = mixing @ np.fft.irfft(spectrum * amplitude, n=length, axis=-1)[:, :, :samples]
    data += SENSOR_RMS * rng.standard_normal(data.shape)
    return data
