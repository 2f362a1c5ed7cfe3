"""Bins lie where they should, and epochs that cannot hold them are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusal import refusal

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray
from shortloop.eeg.features.bins import baseline_samples, bin_samples, check_bins_fit
from shortloop.eeg.features.settings import AmplitudeSettings, PowerSettings


@settings(max_examples=60, deadline=None)
@given(
    samples=st.integers(2, 300),  # one says nothing of the distance between samples
    sfreq=st.sampled_from([1.0, 100.0, 128.0, 512.0, 1000 / 3]),
    first=st.integers(0, 299),
    nudge=st.floats(-0.45, 0.45),
    bins=st.integers(1, 12),
    size=st.integers(1, 12),
    step=st.integers(1, 4),
)
def test_bins_follow_each_other_or_are_refused(
    samples: int, sfreq: float, first: int, nudge: float, bins: int, size: int, step: int
) -> None:
    times = -0.7 + np.arange(samples) / sfreq
    start = -0.7 + (first + nudge) / sfreq
    long_way = [[first + (one * size + sample) * step for sample in range(size)] for one in range(bins)]
    if first < samples and long_way[-1][-1] < samples:
        indices = bin_samples(times, start=start, bins=bins, size=size, step=step)
        assert indices.tolist() == long_way
    else:
        with pytest.raises(InputError, match=r"epochs"):
            bin_samples(times, start=start, bins=bins, size=size, step=step)


def test_bins_at_the_ends_of_epochs_of_some_samples_one_or_none() -> None:
    times = np.arange(100) / 100
    assert bin_samples(times, start=0.2, bins=8, size=10)[-1, -1] == 99
    with pytest.raises(InputError) as caught:
        bin_samples(times, start=0.21, bins=8, size=10, field="features.amplitude")
    error = caught.value
    assert error.field == "features.amplitude.bins"
    assert "0 to 0.99 s (100 samples)" in str(error.found)
    assert "up to 1 s" in str(error.expected)
    assert "at most 7 bins" in str(error.hint)
    assert bin_samples(np.array([0.3]), start=0.3, bins=1, size=1).tolist() == [[0]]
    with pytest.raises(InputError, match="without samples"):
        bin_samples(np.empty(0), start=0.0, bins=1, size=1)


@pytest.mark.parametrize("start", [-0.006, 0.996, 5.0, -1e9])
def test_a_start_outside_the_epochs_is_not_moved_into_them(start: float) -> None:
    with refusal("", field="features.power.start"):
        bin_samples(np.arange(100) / 100, start=start, bins=1, size=1, field="features.power")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_baseline_ends_are_included_however_they_were_rounded(dtype: type[np.floating]) -> None:
    times: FloatArray = (-0.5 + np.arange(1000) / 500).astype(dtype)
    chosen = baseline_samples(times, (-0.2, 0.0))
    assert (chosen.start, chosen.stop) == (150, 251)
    between = baseline_samples(times, (-0.0015, -0.0005))
    assert between.start == between.stop


AMPLITUDE = AmplitudeSettings(start=-0.02, bins=10, bin_samples=10)
POWER = PowerSettings(start=-0.05, bins=10, bin_points=2)


@pytest.mark.parametrize(
    ("kind", "change", "field", "words"),
    [
        ("amplitude", {"bins": 200}, "bins", "epochs too short for the bins"),
        ("amplitude", {"step": 50}, "bins", "epochs too short for the bins"),
        ("amplitude", {"start": 3.0}, "start", "outside the epochs"),
        ("amplitude", {"lowpass": 128.0}, "lowpass", "128 Hz at a sampling rate of 256 Hz"),
        ("amplitude", {"lowpass": 500.0}, "lowpass", "below 128 Hz"),
        ("amplitude", {"baseline": (-0.8, 0.0)}, "baseline", "outside the epochs"),
        ("amplitude", {"baseline": (0.0, 9.0)}, "baseline", "outside the epochs"),
        ("amplitude", {"baseline": (0.0, -0.2)}, "baseline", "without samples"),
        ("amplitude", {"baseline": (0.001, 0.002)}, "baseline", "without samples"),
        ("power", {"bins": 200}, "bins", "epochs too short for the bins"),
        ("power", {"start": -0.6}, "start", "outside the epochs"),
        ("power", {"fmax": 128.0}, "fmax", "below 128 Hz"),
        ("power", {"fmin": 1.0}, "fmin", "wavelets longer than the epochs"),
        ("power", {"cycles": 40.0}, "fmin", "40 cycles at 4 Hz"),
    ],
)
def test_settings_that_do_not_fit_are_refused_by_name(
    kind: str, change: dict[str, object], field: str, words: str
) -> None:
    base: AmplitudeSettings | PowerSettings = AMPLITUDE if kind == "amplitude" else POWER
    epochs: dict[str, Any] = {"tmin": -0.5, "sfreq": 256.0, "samples": 512}
    check_bins_fit(kind, base, **epochs)
    with pytest.raises(InputError) as caught:
        check_bins_fit(kind, base.model_copy(update=change), **epochs, participant="p03", file="p03.edf")
    error = caught.value
    assert (error.where["participant"], error.file) == ("p03", "p03.edf")
    assert error.field == f"features.{kind}.{field}"
    assert None not in (error.found, error.expected, error.hint)
    assert words in str(error)


def test_checks_without_filter_or_baseline_or_with_one_at_the_start() -> None:
    none = AmplitudeSettings(baseline=None, lowpass=None, start=0.0, bins=1, bin_samples=4)
    check_bins_fit("amplitude", none, tmin=0.0, sfreq=20.0, samples=4)
    # MNE cuts epochs "from -0.2 s" at 512 Hz at the sample nearest to it, -0.19921875 s.
    check_bins_fit("amplitude", AMPLITUDE, tmin=-102 / 512, sfreq=512.0, samples=600)


def passes(refused: type[ValueError], call: Callable[..., object], *given: Any, **more: Any) -> bool:
    try:
        call(*given, **more)
    except refused:
        return False
    return True


@pytest.mark.parametrize("order", [1, 2, 3, 6, 7, 12])
def test_the_shortest_epochs_that_pass_are_the_shortest_that_can_be_filtered(order: int) -> None:
    from scipy.signal import butter, sosfiltfilt

    sections = butter(order, 10.0, fs=100.0, output="sos")
    asked = AmplitudeSettings(baseline=None, lowpass=10.0, order=order, start=0.0, bins=1, bin_samples=1)
    for samples in range(1, 60):
        possible = passes(ValueError, sosfiltfilt, sections, np.ones(samples))
        checked = passes(
            InputError, check_bins_fit, "amplitude", asked, tmin=0.0, sfreq=100.0, samples=samples
        )
        assert checked == possible, samples


@pytest.mark.parametrize(("fmin", "cycles"), [(4.0, 5.0), (10.0, 7.0), (6.5, 3.0)])
def test_the_shortest_epochs_that_pass_are_the_shortest_that_mne_takes(fmin: float, cycles: float) -> None:
    from mne.time_frequency import tfr_array_morlet

    asked = PowerSettings(fmin=fmin, fmax=fmin + 1, cycles=cycles, every=1, start=0.0, bins=1, bin_points=1)
    around = int(2 * 5 * cycles / (2 * np.pi * fmin) * 128)
    outcomes = set()
    for samples in range(around - 4, around + 5):
        of = np.ones((1, 1, samples)), 128.0, [fmin, fmin + 1]
        possible = passes(ValueError, tfr_array_morlet, *of, n_cycles=cycles, verbose=False)
        checked = passes(InputError, check_bins_fit, "power", asked, tmin=0.0, sfreq=128.0, samples=samples)
        assert checked == possible, samples
        outcomes.add(possible)
    assert outcomes == {True, False}
