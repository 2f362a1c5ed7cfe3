"""Power features: Morlet wavelet power at a grid of points, cut into bins of points."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.data import Epochs, Features
from shortloop.eeg.features.bins import epoch_bins, features_per_trial
from shortloop.eeg.features.names import squared
from shortloop.eeg.features.settings import PowerSettings

# One matrix product serves this many neighbouring points ...
BLOCK = 8
# ... and all frequencies whose wavelets are at least this much as long as the longest of them.
SHORTEST = 0.8


def power_features(
    epochs: Epochs,
    settings: PowerSettings,
    *,
    trials: slice | None = None,
    out: FloatArray | None = None,
    participant: str | None = None,
) -> Features:
    """Power features of the trials: Morlet wavelet power, cut into bins.

    Power is taken at every `settings.every`-th sample, counted from the first sample of the epoch; the
    first bin begins at the one of these points nearest to `settings.start`. Only the points that the bins
    need are computed.

    Parameters
    ----------
    epochs, trials, out, participant
        As of `amplitude_features`; any split of the trials gives the same bits with one BLAS thread.
    settings : PowerSettings
        Frequencies (Hz), cycles, points, bins.

    Returns
    -------
    Features
        Of the selected trials: data of shape (bins, selected trials, channels × frequencies × points per
        bin), channel by channel, frequency by frequency, point by point; names such as
        ``"Cz 10 Hz point 3"``, the points of a bin counted from 1; times are the centres of the bins; the
        unit is that of the epochs, squared. Computed in float64.

    Raises
    ------
    InputError
        When the epochs cannot serve the settings (see `shortloop.eeg.features.bins.check_bins_fit`).

    Notes
    -----
    Power is the squared modulus of signal ∗ wavelet, the wavelet that of `mne.time_frequency.morlet`: ± 5
    standard deviations of its Gaussian, mean zero, norm √2. The signal is taken as zero outside the epoch, as
    `mne.time_frequency.tfr_array_morlet` takes it; results agree with it to rounding. Wavelets for power of
    EEG are from Tallon-Baudry et al. [1]_.

    References
    ----------
    .. [1] Tallon-Baudry, Bertrand, Delpuech & Pernier (1997). Oscillatory γ-band (30-70 Hz) activity
       induced by a visual search task in humans. Journal of Neuroscience 17(2), 722-734.
    """
    indices = epoch_bins("power", settings, epochs, participant)
    bank = _Bank(epochs.sfreq, settings, indices.ravel())

    def one_trial(signal: FloatArray) -> FloatArray:
        power = bank.power(signal)
        binned = power.reshape(*power.shape[:2], *indices.shape)  # channels × frequencies × bins × points
        return binned.transpose(2, 0, 1, 3).reshape(len(indices), -1)

    names = tuple(
        f"{channel} {frequency:g} Hz point {point}"
        for channel in epochs.channels
        for frequency in frequencies(settings)
        for point in range(1, settings.bin_points + 1)
    )
    return features_per_trial(
        epochs, indices, names, one_trial, kind="power", unit=squared(epochs.unit), trials=trials, out=out
    )


def frequencies(settings: PowerSettings) -> FloatArray:
    """Frequencies of the wavelets in Hz: `fmin` to `fmax`, which is included if a step falls on it."""
    steps = (settings.fmax - settings.fmin) / settings.fstep
    return settings.fmin + settings.fstep * np.arange(int(steps + 1e-9) + 1)


class _Bank:
    """Wavelets for the points of all bins, independent of the signal.

    The bins need few points, and those of a short part of the epoch, whereas a convolution by FFT gives
    all samples of it. So each product here is a sum over the wavelet at the points alone, written as a
    matrix product: the windows around blocks of points, times a matrix with the shifted wavelets of
    neighbouring frequencies in its columns. Every trial is multiplied by itself with matrices of the
    same shapes, so its bits do not depend on which other trials are computed along with it.
    """

    def __init__(self, sfreq: float, settings: PowerSettings, points: IntArray) -> None:
        from mne.time_frequency import morlet

        self.every, self.frequencies = settings.every, frequencies(settings)
        self.first, self.count = int(points[0]), len(points)
        wavelets = morlet(sfreq, self.frequencies, n_cycles=settings.cycles, zero_mean=True)
        self.half = len(wavelets[0]) // 2  # samples of the longest wavelet on each side of its centre
        # Rows of neighbouring frequencies, their half length, and their wavelets shifted to the points of a
        # block: window × (real and imaginary part, frequency, point).
        self.groups: list[tuple[slice, int, FloatArray]] = []
        begin = 0
        while begin < len(wavelets):
            end = begin + 1
            while end < len(wavelets) and len(wavelets[end]) >= SHORTEST * len(wavelets[begin]):
                end += 1
            half = len(wavelets[begin]) // 2
            self.groups.append((slice(begin, end), half, _shifted(wavelets[begin:end], half, self.every)))
            begin = end

    def power(self, signal: FloatArray) -> FloatArray:
        """Power of one trial, (channels, samples) → (channels, frequencies, points)."""
        channels, samples = signal.shape
        blocks = -(-self.count // BLOCK)
        stride = BLOCK * self.every
        # The part of the epoch that the wavelets reach, zeros where they reach beyond it.
        begin, length = self.first - self.half, blocks * stride + 2 * self.half
        padded = np.zeros((channels, length))
        inside = slice(max(begin, 0), min(begin + length, samples))
        padded[:, inside.start - begin : inside.stop - begin] = signal[:, inside]
        power = np.empty((channels, len(self.frequencies), blocks * BLOCK))
        for rows, half, matrix in self.groups:
            window = len(matrix)
            around = sliding_window_view(padded[:, self.half - half :], window, axis=1)
            windows = np.ascontiguousarray(around[:, ::stride][:, :blocks]).reshape(-1, window)
            parts = np.square(windows @ matrix).reshape(channels, blocks, 2, -1, BLOCK)
            both = parts[:, :, 0] + parts[:, :, 1]  # channels × blocks × frequencies × points of the block
            power[:, rows] = both.transpose(0, 2, 1, 3).reshape(channels, -1, blocks * BLOCK)
        return power[:, :, : self.count]


def _shifted(wavelets: list[np.ndarray], half: int, every: int) -> FloatArray:
    # A Morlet wavelet reversed is its conjugate, which has the same power: no need to turn it round.
    matrix = np.zeros((2 * half + 1 + (BLOCK - 1) * every, 2, len(wavelets), BLOCK))
    for column, wavelet in enumerate(wavelets):
        for point in range(BLOCK):
            start = point * every + half - len(wavelet) // 2
            matrix[start : start + len(wavelet), 0, column, point] = wavelet.real
            matrix[start : start + len(wavelet), 1, column, point] = wavelet.imag
    return matrix.reshape(len(matrix), -1)
