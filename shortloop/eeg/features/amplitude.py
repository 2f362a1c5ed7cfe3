"""Amplitude features: the baseline-corrected, low-passed signal itself, cut into bins of samples."""

from __future__ import annotations

import math

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.data import Epochs, Features
from shortloop.eeg.features.bins import OneTrial, baseline_samples, epoch_bins, features_per_trial
from shortloop.eeg.features.settings import AmplitudeSettings


def amplitude_features(
    epochs: Epochs,
    settings: AmplitudeSettings,
    *,
    trials: slice | None = None,
    out: FloatArray | None = None,
    participant: str | None = None,
) -> Features:
    """Amplitude features of the trials: demean on the baseline, low-pass, cut into bins.

    Parameters
    ----------
    epochs : Epochs
        The signal; `epochs.data` may be a memory map, of which only the selected trials are read.
    settings : AmplitudeSettings
        Baseline interval (s), low-pass (Hz), order, bins.
    trials : slice, optional
        The trials to compute; default all. An empty slice computes nothing and gives times, names and
        shape alone, which is what one needs to allocate `out`.
    out : array of float, shape (bins, selected trials, features), optional
        Where to write; default a new C-contiguous float32 array. For work that is split over the trials
        give each part its view: ``amplitude_features(..., trials=part, out=whole[:, part])``. Each trial
        is computed by itself, so any split gives the same bits.
    participant : str, optional
        For the errors.

    Returns
    -------
    Features
        Of the selected trials: data of shape (bins, selected trials, channels × samples per bin), channel
        by channel and sample by sample within; names such as ``"Cz 12 ms"`` give channel and time since
        the first sample of the bin; times are the centres of the bins. Computed in float64.

    Raises
    ------
    InputError
        When the epochs cannot serve the settings (see `shortloop.eeg.features.bins.check_bins_fit`).

    Notes
    -----
    The filter is a Butterworth low-pass run forwards and backwards over the whole epoch (zero phase, so
    6 dB down at the cut-off), `order` counting each pass: FieldTrip's default for ``lpfilter`` [1]_. The
    ends are extended oddly by 3 (order + 1) samples, the default of `scipy.signal.sosfiltfilt` [2]_.

    References
    ----------
    .. [1] Oostenveld, Fries, Maris & Schoffelen (2011). FieldTrip: open source software for advanced
       analysis of MEG, EEG, and invasive electrophysiological data. Computational Intelligence and
       Neuroscience, 156869. ``ft_preprocessing``, ``ft_preproc_lowpassfilter``.
    .. [2] Gustafsson (1996). Determining the initial states in forward-backward filtering. IEEE
       Transactions on Signal Processing 44(4), 988-992.
    """
    indices = epoch_bins("amplitude", settings, epochs, participant)
    names = _names(epochs.channels, settings, epochs.sfreq)
    one_trial = _one_trial(settings, epochs.times, epochs.sfreq, indices)
    return features_per_trial(
        epochs, indices, names, one_trial, kind="amplitude", unit=epochs.unit, trials=trials, out=out
    )


def _one_trial(settings: AmplitudeSettings, times: FloatArray, sfreq: float, indices: IntArray) -> OneTrial:
    from scipy.signal import butter, sosfiltfilt

    baseline = None if settings.baseline is None else baseline_samples(times, settings.baseline)
    sections = None
    if settings.lowpass is not None:
        sections = butter(settings.order, settings.lowpass, btype="lowpass", output="sos", fs=sfreq)

    def one_trial(signal: FloatArray) -> FloatArray:
        if baseline is not None:
            signal = signal - signal[:, baseline].mean(axis=1, keepdims=True)
        if sections is not None:
            signal = sosfiltfilt(sections, signal, axis=1)
        binned = signal[:, indices]  # channels × bins × samples of a bin
        return binned.transpose(1, 0, 2).reshape(len(indices), -1)

    return one_trial


def _names(channels: tuple[str, ...], settings: AmplitudeSettings, sfreq: float) -> tuple[str, ...]:
    spacing = 1000 * settings.step / sfreq
    decimals = max(0, math.ceil(-math.log10(spacing)))  # as many as tell neighbours apart
    offsets = [f"{spacing * sample:.{decimals}f} ms" for sample in range(settings.bin_samples)]
    return tuple(f"{channel} {offset}" for channel in channels for offset in offsets)
