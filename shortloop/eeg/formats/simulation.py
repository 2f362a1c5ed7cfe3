"""A simulated study-test experiment: recordings whose truth is known, of any size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shortloop.eeg.data import Epochs
from shortloop.eeg.formats.simulated import SimulatedInput
from shortloop.errors import InputError
from shortloop.seeds import seed_for
from shortloop.types import FloatArray

__all__ = ["simulate"]

NOISE_RMS = 10e-6  # V, of each channel
SENSOR_RMS = 1e-6  # V, the part of it that no two channels share
BURST_HZ = 20.0
# In standard deviations of the noise: together, the two patterns of strength 1 reach about one of them
# at their strongest channel, and are decoded well but not perfectly.
EVOKED_SIZE = 0.35
BURST_SIZE = 0.55
NAMES = (
    *("Fp1", "Fp2", "F3", "F4", "C3", "C4", "P3", "P4", "O1", "O2", "F7", "F8", "T7", "T8", "P7", "P8"),
    *("Fz", "Cz", "Pz", "Oz", "FC1", "FC2", "CP1", "CP2", "FC5", "FC6", "CP5", "CP6", "TP9", "TP10"),
    *("POz", "AFz"),
)


def simulate(
    settings: SimulatedInput,
    *,
    participant: str,
    phase: str,
    classes: Sequence[str],
    seed: int,
    training: bool,
) -> Epochs:
    """Simulate one participant's epochs in one phase.

    Parameters
    ----------
    settings : SimulatedInput
        Size of the experiment and of the effect.
    participant, phase : str
        Whose and of which phase: each has its own noise.
    classes : sequence of str
        Classes of the study. Each has an evoked and an induced pattern over the channels, the same in
        all phases of a participant.
    seed : int
        The study's seed.
    training : bool
        Whether the patterns come at ``onset`` … ``offset``, or later by ``delay`` and scaled by
        ``weakening``.

    Returns
    -------
    Epochs
        In V, ``settings.trials`` of each class in random order. Outside the window of the patterns, and
        everywhere if ``strength`` is 0, the signal is the same noise whatever the classes are.

    Raises
    ------
    InputError
        If the window of the patterns is empty or outside the epochs.

    Notes
    -----
    Noise: one source a channel, with power falling as 1/f, mixed at random, plus white noise of each
    sensor. Effect: *evoked*, a pattern over the channels, phase-locked, rising and falling as a squared
    sine; *induced*, a burst of 20 Hz whose phase is random in each trial and whose amplitude over the
    channels tells the class, so that it is in the power and not in the average (Tallon-Baudry & Bertrand
    1999, Trends Cogn. Sci. 3(4):151).
    """
    times = _times(settings)
    shape = _window(settings, times, training)
    patterns = np.random.default_rng(seed_for(seed, "simulated", participant, "patterns"))
    mixing = _mixing(settings.channels, patterns)
    evoked = _evoked_patterns(len(classes), mixing, patterns)
    induced = _induced_patterns(len(classes), settings.channels, patterns)

    trials = np.random.default_rng(seed_for(seed, "simulated", participant, "trials", phase))
    labels = trials.permutation(np.repeat(np.arange(len(classes)), settings.trials))
    phases = trials.uniform(0, 2 * np.pi, len(labels))
    noise = np.random.default_rng(seed_for(seed, "simulated", participant, "noise", phase))
    data = _noise(len(labels), len(times), settings.sfreq, mixing, noise)

    size = settings.strength * (1.0 if training else settings.weakening) * NOISE_RMS
    active = np.flatnonzero(shape)
    burst = np.cos(2 * np.pi * BURST_HZ * times[active] + phases[:, None])
    effect = EVOKED_SIZE * evoked[labels][:, :, None] * np.ones(len(active))
    effect += BURST_SIZE * induced[labels][:, :, None] * burst[:, None, :]
    data[:, :, active] += size * shape[active] * effect
    return Epochs(
        data=data,
        labels=labels.astype(np.int64),
        classes=tuple(classes),
        times=times,
        sfreq=settings.sfreq,
        channels=_channel_names(settings.channels),
    )


def _times(settings: SimulatedInput) -> FloatArray:
    first, last = (round(edge * settings.sfreq) for edge in (settings.tmin, settings.tmax))
    if last <= first:
        raise InputError(
            "the simulated epochs end before they begin",
            field="input.tmax",
            found=f"{settings.tmax} s",
            expected=f"later than input.tmin, {settings.tmin} s",
            hint="correct input.tmin or input.tmax in the study file",
        )
    return np.arange(first, last + 1) / settings.sfreq


def _window(settings: SimulatedInput, times: FloatArray, training: bool) -> FloatArray:
    """Time course of the effect, 0 outside the window and at most 1 inside."""
    late = 0.0 if training else settings.delay
    onset, offset = settings.onset + late, settings.offset + late
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


def _mixing(channels: int, rng: np.random.Generator) -> FloatArray:
    """Sources to channels; each channel has the same power."""
    mixing = rng.standard_normal((channels, channels))
    mixing /= np.linalg.norm(mixing, axis=1, keepdims=True)
    return np.sqrt(NOISE_RMS**2 - SENSOR_RMS**2) * mixing


def _evoked_patterns(classes: int, mixing: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Classes × channels: of the brain's sources, as the noise is; root mean square 1."""
    patterns = rng.standard_normal((classes, len(mixing))) @ mixing.T
    patterns -= patterns.mean(axis=0)
    return patterns / np.sqrt(np.mean(patterns**2, axis=1, keepdims=True))


def _induced_patterns(classes: int, channels: int, rng: np.random.Generator) -> FloatArray:
    """Classes × channels: amplitudes of the burst, 0 to 1."""
    return rng.uniform(0, 1, (classes, channels))


def _noise(
    trials: int, samples: int, sfreq: float, mixing: FloatArray, rng: np.random.Generator
) -> FloatArray:
    # Twice as long as needed, then cut: the noise of an FFT is periodic, a recording is not.
    length = 2 * samples
    freqs = np.fft.rfftfreq(length, 1 / sfreq)
    amplitude = 1 / np.sqrt(np.maximum(freqs, freqs[1]))
    amplitude[0] = 0
    amplitude *= length / 2 / np.sqrt(np.sum(amplitude[:-1] ** 2) + amplitude[-1] ** 2 / 4)
    spectrum = rng.standard_normal((trials, len(mixing), len(freqs), 2)).view(complex)[..., 0]
    sources = np.fft.irfft(spectrum * amplitude, n=length, axis=-1)[:, :, :samples]
    data = mixing @ sources
    data += SENSOR_RMS * rng.standard_normal(data.shape)
    return data


def _channel_names(count: int) -> tuple[str, ...]:
    return NAMES[:count] + tuple(f"E{number}" for number in range(len(NAMES) + 1, count + 1))
