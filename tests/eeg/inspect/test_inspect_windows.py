"""Bins and folds fit whatever epochs and trials there are."""

from __future__ import annotations

import itertools

import mne
import numpy as np
import pytest

from shortloop.base.errors import InputError
from shortloop.eeg.data import Epochs
from shortloop.eeg.features.amplitude import amplitude_features
from shortloop.eeg.inspect.choose import epochs_of, folds_for, window_of

RATES = (50.0, 128.0, 160.0, 250.0, 512.0, 1000.0, 1024.0)
SPANS = ((-0.2, 0.8), (-1.0, 4.0), (0.0, 1.0), (-0.1, 0.25), (0.5, 2.0), (-2.0, -0.5), (-0.2, 0.1))


@pytest.mark.parametrize(("rate", "span"), itertools.product(RATES, SPANS))
def test_features_can_be_made(rate: float, span: tuple[float, float]) -> None:
    start, stop = (round(each * rate) / rate for each in span)
    window = window_of(start, stop, rate)
    times = start + np.arange(round((stop - start) * rate) + 1) / rate
    data = np.random.default_rng(0).standard_normal((3, 2, len(times)))
    epochs = Epochs(data, np.array([0, 1, 0]), ("x", "y"), times, rate, ("Cz", "Pz"))
    features = amplitude_features(epochs, window)
    assert features.data.shape[0] == window.bins
    last = window.start + window.bins * window.bin_samples * window.step / rate
    assert last <= stop + window.step / rate
    if stop > 0:
        assert last > stop - 0.25 * (stop - max(start, -0.2))  # most of what is there is used


@pytest.mark.parametrize("rates", [(128.0, 256.0), (500.0, 512.0), (128.0, 500.0, 1000.0), (160.0, 2048.0)])
def test_epochs_of_several_rates_are_alike_when_they_are_resampled(rates: tuple[float, ...]) -> None:
    start, stop = epochs_of(rates)
    assert -0.3 <= start <= -0.2
    assert 0.7 <= stop <= 0.8
    shapes = set()
    for rate in rates:
        info = mne.create_info(1, rate, "eeg", verbose="ERROR")
        raw = mne.io.RawArray(np.zeros((1, int(3 * rate))), info, verbose="ERROR")
        event = [[round(1.5 * rate), 0, 1]]
        epochs = mne.Epochs(raw, event, 1, start, stop, baseline=None, preload=True, verbose="ERROR")
        resampled = epochs.resample(min(rates), verbose="ERROR")
        shapes.add(len(resampled.times))
        assert abs(resampled.times[0] - start) * min(rates) <= 0.5 + 1e-9
    assert len(shapes) == 1


def test_epochs_without_time_are_refused() -> None:
    with pytest.raises((InputError, ValueError)):
        window_of(0.0, -0.1, 100.0)


def test_folds_are_as_many_as_all_have_trials_for() -> None:
    assert folds_for({"A": {"x": 40, "y": 40}, "B": {"x": 20, "y": 21}}, 5) == (10, {})
    assert folds_for({"A": {"x": 40, "y": 40}, "B": {"x": 7, "y": 21}}, 5)[0] == 5


def test_who_has_too_few_is_left_out_and_takes_no_folds_from_others() -> None:
    folds, lacking = folds_for({"A": {"x": 40, "y": 40}, "B": {"x": 1, "y": 40}}, 5)
    assert folds == 10
    assert list(lacking) == ["B"]
    assert "1 trials of x" in lacking["B"]
