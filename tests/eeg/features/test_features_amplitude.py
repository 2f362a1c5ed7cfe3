"""Amplitude and power features are checked against MNE and the long way round."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from eeg_recordings import CLASSES, direct, make_raw
from hypothesis import given, settings
from hypothesis import strategies as st
from refusal import refusal
from scipy.stats import sem

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray
from shortloop.eeg.data import Epochs
from shortloop.eeg.features.amplitude import amplitude_features
from shortloop.eeg.features.bins import baseline_samples, bin_samples, check_bins_fit
from shortloop.eeg.features.names import channels_of, frequencies_of
from shortloop.eeg.features.power import _Bank, frequencies, power_features
from shortloop.eeg.features.settings import AmplitudeSettings, PowerSettings
from shortloop.eeg.stages.evoked import mean_and_error


def make_epochs(
    trials: int = 6,
    channels: int = 3,
    samples: int = 2048,
    *,
    sfreq: float = 512.0,
    tmin: float = -1.5,
    seed: int = 0,
) -> Epochs:
    rng = np.random.default_rng(seed)
    drift = np.cumsum(rng.standard_normal((trials, channels, samples)), axis=2)
    return Epochs(
        data=1e-6 * (drift + 50 * rng.standard_normal((trials, channels, 1))),
        labels=np.arange(trials) % 2,
        classes=("face", "object"),
        times=tmin + np.arange(samples) / sfreq,
        sfreq=sfreq,
        channels=tuple(f"E{number}" for number in range(channels)),
    )


def test_without_filter_it_is_the_signal_less_its_baseline_in_the_published_order() -> None:
    epochs = make_epochs()
    asked = AmplitudeSettings(lowpass=None, start=0.1, bins=7, bin_samples=4, step=3)
    got = amplitude_features(epochs, asked)
    start = min(range(2048), key=lambda sample: abs(epochs.times[sample] - 0.1))
    for trial in range(6):
        for channel in range(3):
            signal = epochs.data[trial, channel]
            mean = np.mean([signal[i] for i in range(2048) if -0.2 <= epochs.times[i] <= 0.0])
            for one in range(7):
                for sample in range(4):
                    value = signal[start + 3 * (4 * one + sample)] - mean
                    assert got.data[one, trial, channel * 4 + sample] == np.float32(value)


@pytest.mark.parametrize(("order", "lowpass"), [(6, 30.0), (4, 12.5), (3, 100.0)])
def test_filter_agrees_with_mne_away_from_the_ends(order: int, lowpass: float) -> None:
    from mne.filter import filter_data

    epochs = make_epochs()
    asked = AmplitudeSettings(lowpass=lowpass, order=order, start=-0.4, bins=100, bin_samples=7)
    got = amplitude_features(epochs, asked)
    base = (epochs.times >= -0.2) & (epochs.times <= 0)
    signal = epochs.data - epochs.data[..., base].mean(axis=2, keepdims=True)
    how: dict[str, Any] = {"order": order, "ftype": "butter", "output": "sos"}
    peer = filter_data(signal, epochs.sfreq, None, lowpass, method="iir", iir_params=how, verbose=False)
    first = np.argmin(abs(epochs.times + 0.4))
    expected = peer[:, :, first : first + 700].reshape(6, 3, 100, 7).transpose(2, 0, 1, 3).reshape(100, 6, 21)
    np.testing.assert_allclose(got.data, expected, rtol=2e-6, atol=1e-12)


def test_the_published_size_and_names() -> None:
    got = amplitude_features(make_epochs(trials=4, channels=31), AmplitudeSettings(start=-0.0215))
    assert (got.data.shape, got.data.dtype) == ((40, 4, 341), np.float32)
    assert got.data.flags.c_contiguous
    assert (got.kind, got.unit, got.time_unit, got.classes) == ("amplitude", "V", "s", ("face", "object"))
    assert len(set(got.names)) == 341
    assert got.names[:3] == ("E0 0 ms", "E0 2 ms", "E0 4 ms")
    assert got.names[340] == "E30 20 ms"
    np.testing.assert_allclose(got.times, -1.5 + (757 + 5 + 11 * np.arange(40)) / 512)


@pytest.mark.parametrize("sfreq", [64.0, 1000.0, 2048.0, 10000.0, 1000 / 0.75])
def test_names_tell_features_apart_at_any_sampling_rate(sfreq: float) -> None:
    epochs = make_epochs(trials=1, samples=600, sfreq=sfreq, tmin=0.0)
    got = amplitude_features(epochs, AmplitudeSettings(baseline=None, start=0.0, bins=2, bin_samples=100))
    assert len(set(got.names)) == 300


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_agrees_with_mne_also_where_wavelets_leave_the_epoch(data: st.DataObject) -> None:
    from mne.time_frequency import tfr_array_morlet

    sfreq = data.draw(st.sampled_from([100.0, 128.0, 250.0]), "sfreq")
    every, fmin = data.draw(st.integers(1, 7), "every"), data.draw(st.floats(6, 20), "fmin")
    asked = PowerSettings(
        fmin=fmin,
        fmax=fmin + data.draw(st.floats(0, 20), "range"),
        fstep=data.draw(st.sampled_from([0.3, 1.0, 3.0]), "fstep"),
        cycles=data.draw(st.floats(1, 5), "cycles"),
        every=every,
    )
    # MNE refuses wavelets that are longer than the epoch.
    longest = 2 * int(np.ceil(5 * asked.cycles / (2 * np.pi * fmin) * sfreq)) - 1
    samples = data.draw(st.integers(max(240, longest), 400), "samples")
    points = np.arange(data.draw(st.integers(0, samples - 1), "first"), samples, every)
    points = points[: data.draw(st.integers(1, len(points)), "points")]
    signal = np.random.default_rng(samples).standard_normal((2, 2, samples)).cumsum(axis=2) + 30
    peer = tfr_array_morlet(
        signal, sfreq, frequencies(asked), n_cycles=asked.cycles, output="power", verbose=False
    )
    got = power_of_trials(signal, sfreq, asked, points)
    np.testing.assert_allclose(got, peer[..., points], rtol=1e-9, atol=1e-11 * peer.max())


def power_of_trials(data: np.ndarray, sfreq: float, asked: PowerSettings, points: np.ndarray) -> np.ndarray:
    """Power (trials, channels, frequencies, points) before it is cut into bins."""
    bank = _Bank(sfreq, asked, points)
    return np.stack([bank.power(signal) for signal in data])


def test_features_are_ordered_by_channel_frequency_and_point() -> None:
    from mne.time_frequency import tfr_array_morlet

    epochs = make_epochs(trials=4)
    asked = PowerSettings(fmin=5, fmax=20, fstep=2.5, every=4, start=0.1, bins=6, bin_points=3)
    got = power_features(epochs, asked)
    freqs = [5.0, 7.5, 10.0, 12.5, 15.0, 17.5, 20.0]
    peer = tfr_array_morlet(epochs.data, 512.0, freqs, n_cycles=5.0, output="power", decim=4, verbose=False)
    first = np.argmin(abs(epochs.times[::4] - 0.1))
    assert got.data.shape == (6, 4, 3 * 7 * 3)
    for one in range(6):
        for trial in range(4):
            column = 0
            for channel in range(3):
                for row, frequency in enumerate(freqs):
                    for point in range(3):
                        value = peer[trial, channel, row, first + 3 * one + point]
                        assert got.data[one, trial, column] == pytest.approx(value, rel=1e-6)
                        assert got.names[column] == f"E{channel} {frequency:g} Hz point {point + 1}"
                        column += 1
    assert got.times[0] == pytest.approx(epochs.times[4 * (first + 1)])


def test_the_published_size() -> None:
    got = power_features(make_epochs(trials=2, channels=31), PowerSettings(start=-0.045))
    assert (got.data.shape, got.data.dtype) == ((20, 2, 6510), np.float32)
    assert got.data.flags.c_contiguous
    assert (got.kind, got.unit, len(set(got.names))) == ("power", "V²", 6510)
    # Point 150, counted from 1, of a grid of 9.765625 ms; the bin's centre is two points later.
    assert got.times[0] == pytest.approx(-1.5 + (149 + 2) * 0.009765625)
    assert got.times[1] - got.times[0] == pytest.approx(5 * 0.009765625)


@pytest.mark.parametrize(
    ("fmin", "fmax", "fstep", "expected"),
    [
        (4, 45, 1, list(range(4, 46))),
        (4, 4, 1, [4]),
        (1, 2, 0.1, [1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2]),
        (4, 9.9, 3, [4, 7]),
    ],
)
def test_frequencies_include_the_last(fmin: float, fmax: float, fstep: float, expected: list[float]) -> None:
    np.testing.assert_allclose(frequencies(PowerSettings(fmin=fmin, fmax=fmax, fstep=fstep)), expected)


KINDS: dict[str, Any] = {
    "amplitude": (amplitude_features, AmplitudeSettings(start=-0.0215)),
    "power": (power_features, PowerSettings(fmax=20, every=3, bins=9, bin_points=3)),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
@pytest.mark.parametrize("cuts", [[0, 1, 6], [0, 3, 3, 6], [0, 1, 2, 3, 4, 5, 6]])
def test_any_split_over_trials_gives_the_same_bits(kind: str, cuts: list[int], tmp_path: Path) -> None:
    compute, asked = KINDS[kind]
    epochs = make_epochs()
    np.save(tmp_path / "data.npy", epochs.data.astype(np.float32))
    mapped = Epochs(**{**vars(epochs), "data": np.load(tmp_path / "data.npy", mmap_mode="r")})
    whole = compute(mapped, asked)
    out = np.full_like(whole.data, np.nan)
    for begin, end in itertools.pairwise(cuts):
        part = compute(mapped, asked, trials=slice(begin, end), out=out[:, begin:end])
        assert np.array_equal(part.labels, epochs.labels[begin:end])
        assert np.shares_memory(part.data, out) or begin == end
    assert out.tobytes() == whole.data.tobytes()


@each_kind
def test_neither_order_nor_place_in_memory_nor_a_bad_trial_changes_a_bit_of_others(kind: str) -> None:
    compute, asked = KINDS[kind]
    epochs = make_epochs()
    whole = compute(epochs, asked).data
    shifted = np.empty(epochs.data.size + 3)[3:].reshape(epochs.data.shape)
    shifted[:] = epochs.data
    for copy in (shifted, np.asfortranarray(epochs.data)):
        assert compute(Epochs(**{**vars(epochs), "data": copy}), asked).data.tobytes() == whole.tobytes()
    good, data = compute(epochs, asked).data, epochs.data.copy()
    data[2] = np.nan
    bad = compute(Epochs(**{**vars(epochs), "data": data}), asked).data
    assert np.isnan(bad[:, 2]).all()
    assert np.array_equal(np.delete(bad, 2, axis=1), np.delete(good, 2, axis=1))


@each_kind
def test_an_empty_slice_describes_the_whole_and_what_cannot_be_is_refused(kind: str) -> None:
    compute, asked = KINDS[kind]
    epochs = make_epochs()
    whole, plan = compute(epochs, asked), compute(epochs, asked, trials=slice(0, 0))
    assert plan.data.shape == (len(whole.data), 0, whole.data.shape[2])
    assert plan.names == whole.names
    assert np.array_equal(plan.times, whole.times)
    with refusal("", participant="s02", field=f"features.{kind}.bins"):
        compute(make_epochs(samples=800), asked, participant="s02")  # ends at 0.06 s
    with pytest.raises(ValueError, match=r"out has shape .* the features need \(.*, 6, "):
        compute(make_epochs(), asked, out=np.empty((5, 5, 33), dtype=np.float32))


def epochs_of(cut: mne.Epochs) -> Epochs:
    names = {number: name for name, number in cut.event_id.items()}
    labels = np.array([CLASSES.index(names[number]) for number in cut.events[:, 2]])
    data = cut.get_data(picks="eeg")
    channels = ("EEG Fz", "Cz", "Pz", "O z", "C3", "A 1 ms")
    return Epochs(data, labels, CLASSES, cut.times, cut.info["sfreq"], channels)


@pytest.mark.parametrize("baseline", [None, (-0.2, 0.0)])
def test_means_and_errors_are_those_of_mne(baseline: tuple[float, float] | None) -> None:
    cut = direct(make_raw(seconds=24), baseline=baseline)
    raw = epochs_of(direct(make_raw(seconds=24)))
    window = None if baseline is None else baseline_samples(raw.times, baseline)
    for label, name in enumerate(CLASSES):
        mean, error = mean_and_error(raw, label, window)
        evoked = cut[name]
        np.testing.assert_allclose(mean, evoked.average("eeg").data, rtol=1e-7, atol=1e-15)
        np.testing.assert_allclose(error, sem(evoked.get_data(picks="eeg"), axis=0), rtol=1e-6, atol=1e-15)


def test_a_class_of_one_trial_has_no_error_and_one_of_none_no_mean() -> None:
    epochs = epochs_of(direct(make_raw()))
    few = Epochs(epochs.data[:1], np.array([1]), CLASSES, epochs.times, epochs.sfreq, epochs.channels)
    mean, error = mean_and_error(few, 1)
    np.testing.assert_array_equal(mean, epochs.data[0])
    assert np.isnan(error).all()
    assert np.isnan(mean_and_error(few, 0)).all()


def test_names_of_features_say_their_channels() -> None:
    epochs = epochs_of(direct(make_raw()))
    amplitude = AmplitudeSettings(baseline=None, start=-0.2, bins=3, bin_samples=4, step=2)
    assert channels_of(amplitude_features(epochs, amplitude).names) == epochs.channels
    power = PowerSettings(fmin=20, fmax=30, fstep=2.5, start=0.0, bins=2, bin_points=2, every=3)
    assert channels_of(power_features(epochs, power).names) == epochs.channels
    assert channels_of(["E0_freq_4_tpoint_1", "E1_freq_4_tpoint_1"]) == ()
    assert channels_of(["Cz 0 ms", "Pz 0 ms", "Cz 4 ms"]) == ()  # not channel by channel
    assert channels_of(["Cz 0 ms", "Cz 4 ms", "Pz 0 ms"]) == ()
    assert channels_of([]) == ()
    assert frequencies_of(power_features(epochs, power).names) == tuple(frequencies(power))
    assert frequencies_of(amplitude_features(epochs, amplitude).names) == ()
    assert frequencies_of(["Cz 4 Hz point 1", "Cz 5 Hz point 1", "Pz 5 Hz point 1", "Pz 4 Hz point 1"]) == ()
    assert frequencies_of(["Cz 4 Hz point 1", "Cz 0 ms"]) == ()
    assert frequencies_of([]) == ()


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
        assert bin_samples(times, start=start, bins=bins, size=size, step=step).tolist() == long_way
    else:
        with refusal(r"epochs"):
            bin_samples(times, start=start, bins=bins, size=size, step=step)


def test_bins_at_the_ends_of_epochs_of_some_samples_one_or_none() -> None:
    times = np.arange(100) / 100
    assert bin_samples(times, start=0.2, bins=8, size=10)[-1, -1] == 99
    with refusal(
        "", "0 to 0.99 s (100 samples)", "up to 1 s", "at most 7 bins", field="features.amplitude.bins"
    ):
        bin_samples(times, start=0.21, bins=8, size=10, field="features.amplitude")
    assert bin_samples(np.array([0.3]), start=0.3, bins=1, size=1).tolist() == [[0]]
    with refusal("without samples"):
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
def test_settings_that_cannot_fit(kind: str, change: dict[str, object], field: str, words: str) -> None:
    base: AmplitudeSettings | PowerSettings = AMPLITUDE if kind == "amplitude" else POWER
    epochs: dict[str, Any] = {"tmin": -0.5, "sfreq": 256.0, "samples": 512}
    check_bins_fit(kind, base, **epochs)
    with refusal("", words, participant="p03", file="p03.edf", field=f"features.{kind}.{field}") as caught:
        check_bins_fit(kind, base.model_copy(update=change), **epochs, participant="p03", file="p03.edf")
    error = caught.value
    assert None not in (error.found, error.expected, error.hint)


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
