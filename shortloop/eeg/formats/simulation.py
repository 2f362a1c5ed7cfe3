"""A simulated study-test experiment: recordings whose truth is known, of any size."""

from __future__ import annotations

import numpy as np

from shortloop.base.seeds import seed_for
from shortloop.base.types import FloatArray, IntArray

__all__ = ["channel_names", "simulate"]

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
    times: FloatArray,
    window: FloatArray,
    *,
    strength: float,
    sfreq: float,
    channels: int,
    n_classes: int,
    trials: int,
    participant: str,
    phase: str,
    seed: int,
) -> tuple[FloatArray, IntArray]:
    """Simulate one participant's trials in one phase.

    Noise: one source a channel, with power falling as 1/f, mixed at random, plus white noise of each
    sensor. Effect: *evoked*, a pattern over the channels, phase-locked, rising and falling as a squared
    sine; *induced*, a burst of 20 Hz whose phase is random in each trial and whose amplitude over the
    channels tells the class, so that it is in the power and not in the average (Tallon-Baudry & Bertrand
    1999, Trends Cogn. Sci. 3(4):151).

    times: float, (samples,). Time of each sample, s.
    window: float, (samples,). Time course of the class patterns, 0 where they are not.
    data: float, (trials of all classes, channels, samples). In V.
    labels: int. Class of each trial, in random order.
    """
    patterns = np.random.default_rng(seed_for(seed, "simulated", participant, "patterns"))
    mixing = _mixing(channels, patterns)
    evoked = _evoked_patterns(n_classes, mixing, patterns)
    induced = _induced_patterns(n_classes, channels, patterns)

    drawn = np.random.default_rng(seed_for(seed, "simulated", participant, "trials", phase))
    labels = drawn.permutation(np.repeat(np.arange(n_classes), trials))
    phases = drawn.uniform(0, 2 * np.pi, len(labels))
    noise = np.random.default_rng(seed_for(seed, "simulated", participant, "noise", phase))
    data = _noise(len(labels), len(times), sfreq, mixing, noise)

    active = np.flatnonzero(window)
    burst = np.cos(2 * np.pi * BURST_HZ * times[active] + phases[:, None])
    effect = EVOKED_SIZE * evoked[labels][:, :, None] * np.ones(len(active))
    effect += BURST_SIZE * induced[labels][:, :, None] * burst[:, None, :]
    data[:, :, active] += strength * NOISE_RMS * window[active] * effect
    return data, labels.astype(np.int64)


def channel_names(count: int) -> tuple[str, ...]:
    """Names of channels, those of the 10-20 system first."""
    return NAMES[:count] + tuple(f"E{number}" for number in range(len(NAMES) + 1, count + 1))


def _mixing(channels: int, rng: np.random.Generator) -> FloatArray:
    """Sources to channels; each channel has the same power."""
    mixing = rng.standard_normal((channels, channels))
    mixing /= np.linalg.norm(mixing, axis=1, keepdims=True)
    noise: FloatArray = np.sqrt(NOISE_RMS**2 - SENSOR_RMS**2) * mixing
    return noise


def _evoked_patterns(classes: int, mixing: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Classes × channels: of the brain's sources, as the noise is; root mean square 1."""
    patterns = rng.standard_normal((classes, len(mixing))) @ mixing.T
    patterns -= patterns.mean(axis=0)
    scaled: FloatArray = patterns / np.sqrt(np.mean(patterns**2, axis=1, keepdims=True))
    return scaled


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
