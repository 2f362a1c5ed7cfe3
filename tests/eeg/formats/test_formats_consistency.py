"""Recordings that differ from the others, are there twice, or have too few trials, are named."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from eeg_recordings import exported, make_raw, warned
from hypothesis import given, settings
from hypothesis import strategies as st
from no_warnings import no_warnings
from refusal import refusal
from sklearn.model_selection import StratifiedKFold

from shortloop.eeg.checks.consistency import check_alike, check_scales, check_trials, refuse_repeated
from shortloop.eeg.checks.duplicate_trials import (
    feature_digests,
    refuse_same_features,
    refuse_shared,
    trial_digests,
)
from shortloop.eeg.checks.summary import RecordingSummary, summarize
from shortloop.eeg.data import Epochs, Features
from shortloop.stages.inputs import File

EPOCHS = RecordingSummary(
    participant="S1",
    phase="study",
    kind="epochs",
    file="a.fif",
    trials={"face": 20, "house": 20},
    channels=("Fz", "Cz", "Pz"),
    sfreq=512.0,
    tmin=-0.5,
    samples=1025,
    bins=0,
    features=0,
)
POWER = replace(EPOCHS, kind="power", channels=(), sfreq=0.0, tmin=0.0, samples=0, bins=20, features=651)
POWER = replace(POWER, names=("a", "b"), times=(0.0, 0.1))


def study_of(one: RecordingSummary, **odd: Any) -> list[RecordingSummary]:
    each = [(f"S{n}", phase) for n in (1, 2, 3) for phase in ("study", "test")]
    everyone = [replace(one, participant=who, phase=phase) for who, phase in each]
    everyone[3] = replace(everyone[3], file="odd.fif", **odd)
    return everyone


def test_equal_recordings_pass_and_phases_have_times_of_their_own() -> None:
    check_alike([])
    check_alike([EPOCHS])
    check_alike(study_of(EPOCHS) + study_of(POWER))
    check_alike([*study_of(POWER), *study_of(replace(POWER, kind="amplitude", bins=40, features=341))])
    check_alike(study_of(EPOCHS, tmin=-0.5001, sfreq=512.0001, trials={"face": 5, "house": 50}))
    later = [replace(each, times=(1.0, 1.1)) if each.phase == "test" else each for each in study_of(POWER)]
    assert len(check_alike(later)) == len(later)
    with refusal("times of bins of the test phase", "0.05 to 0.15", "0 to 0.1, as in S1", participant="S2"):
        check_alike(study_of(POWER, times=(0.05, 0.15)))


@pytest.mark.parametrize(
    ("one", "odd", "field", "found", "expected"),
    [
        (EPOCHS, {"channels": ("Fz", "Pz", "Cz")}, "channels", "another order: Fz, Pz, Cz", "Fz, Cz, Pz"),
        (EPOCHS, {"channels": ("Fz", "Pz")}, "channels", "2 channels, without Cz", "3 channels"),
        (EPOCHS, {"channels": ("Fz", "Cz", "Oz")}, "channels", "without Pz and with Oz", "3 channels"),
        (POWER, {"names": ("b", "a")}, "names", "another order: b, a", "a, b"),
        (POWER, {"names": ("a", "c")}, "names", "without b and with c", "2 features"),
        (EPOCHS, {"sfreq": 500.0}, "sfreq", "500", "512"),
        (EPOCHS, {"tmin": -0.4}, "tmin", "-0.4", "-0.5"),
        (EPOCHS, {"samples": 1024}, "samples", "1024", "1025"),
        (POWER, {"bins": 19}, "bins", "19", "20"),
        (POWER, {"features": 650}, "features", "650", "651"),
    ],
)
def test_odd_ones(one: RecordingSummary, odd: dict[str, Any], field: str, found: str, expected: str) -> None:
    parts = ("test phase", found, expected, "S1, study")
    with refusal("differ", *parts, participant="S2", file="odd.fif", field=field):
        check_alike(study_of(one, **odd))


@settings(max_examples=60, deadline=None)
@given(
    counts=st.tuples(st.integers(0, 14), st.integers(0, 14)), folds=st.integers(2, 6), inner=st.integers(2, 5)
)
def test_enough_trials_is_what_stratified_folds_need(counts: tuple[int, int], folds: int, inner: int) -> None:
    summary = replace(EPOCHS, trials=dict(zip(("face", "house"), counts)))
    y = np.repeat([0, 1], counts)
    enough = min(counts) > 0
    with no_warnings():  # of a class with fewer trials than folds
        try:
            for train, _ in StratifiedKFold(folds, shuffle=True, random_state=0).split(y, y):
                inner_y = y[train]
                enough &= bool((np.bincount(inner_y, minlength=2) > 0).all())
                list(StratifiedKFold(inner).split(inner_y, inner_y))
        except (UserWarning, ValueError):
            enough = False
    if enough:
        check_trials([summary], folds=folds, inner_folds=inner)
    else:
        with refusal("too few trials"):
            check_trials([summary], folds=folds, inner_folds=inner)


def test_the_class_with_too_few_trials_is_named() -> None:
    few = replace(EPOCHS, participant="S7", file="few.fif", trials={"face": 20, "house": 9})
    with refusal("in the study phase", "9 trials of house", "at least 10 ", participant="S7", file="few.fif"):
        check_trials([EPOCHS, few], folds=10, inner_folds=None)
    with refusal("", "9 trials of face", "at least 10 "):
        check_trials([replace(EPOCHS, trials={"face": 9, "house": 5})], folds=2, inner_folds=5)


def test_summary_of_epochs_and_of_features() -> None:
    labels, classes, times = np.array([0, 0, 2]), ("a", "b", "c"), np.arange(5) / 100 - 0.02
    epochs = Epochs(np.zeros((3, 2, 5)), labels, classes, times, 100.0, ("x", "y"))
    summary = summarize(epochs, participant="S1", phase="study", file="f")
    assert (summary.kind, summary.samples, summary.bins, summary.channels) == ("epochs", 5, 0, ("x", "y"))
    assert summary.trials == {"a": 2, "b": 0, "c": 1}
    assert math.isclose(summary.tmin, -0.02)
    features = Features(np.zeros((4, 3, 7)), labels, classes, np.arange(4.0), tuple("abcdefg"), "power")
    summary = summarize(features, participant="S1", phase="study", file="f")
    assert (summary.kind, summary.bins, summary.features, summary.samples) == ("power", 4, 7, 0)
    for each in (EPOCHS, POWER, summary):
        assert RecordingSummary.from_dict(json.loads(json.dumps(each.to_dict()))) == each


def sized(*amplitudes: float) -> list[RecordingSummary]:
    made = []
    for number, size in enumerate(amplitudes):
        who, phase = f"S{number // 2 + 1}", ("study", "test")[number % 2]
        made.append(replace(EPOCHS, participant=who, phase=phase, amplitude=size, unit="V", file=f"{size}"))
    return made


@pytest.mark.parametrize("apart", [1e6, 1e-6, 2e5])
def test_volts_beside_microvolts(apart: float) -> None:
    odd = 1e-5 * apart
    with refusal(
        "in V, and others in µV", f"{odd:.3g} V within", "as in S1, study", participant="S2", file=odd
    ):
        check_scales(sized(1e-5, 2e-5, 1.5e-5, odd, 1e-5, 1e-5))


@pytest.mark.parametrize(("apart", "word"), [(1e3, "1e+03 times larger"), (1e-3, "1e+03 times smaller")])
def test_millivolts_beside_microvolts_are_told_of(apart: float, word: str) -> None:
    for usual in ((1e-5, 2e-5, 9e-5, 3e-6), (1e-5,), (), (0.0, 1e-5, 4e-4, 6e-6)):
        assert check_scales(sized(*usual)) == {}
    odd = check_scales(sized(1e-5, 2e-5, 1e-5, 1e-5 * apart))
    assert list(odd) == [3]
    assert word in odd[3]


A1, A2, B1, B2 = (File(f"content of {name}", Path(f"/data/{name}.mat")) for name in ("A1", "A2", "B1", "B2"))


def test_each_its_own() -> None:
    """Or one for all phases of a participant; what nobody has read is not compared."""
    refuse_repeated({"A": {"study": [A1], "test": [A1]}, "B": {"study": [B1], "test": [B1]}}, "input.files")
    unread = [File("", file.path) for file in (A1, B1)]
    refuse_repeated({"A": {"study": unread[:1]}, "B": {"study": unread[1:]}}, "input.files")
    refuse_repeated({"A": {"study": [A1], "test": [A2]}, "B": {"study": [B1], "test": [B2]}}, "input.files")


@pytest.mark.parametrize(
    ("files", "participant", "phase"),
    [
        ({"A": {"study": [A1]}, "B": {"study": [A1]}}, "B", "study"),
        ({"A": {"study": [A1]}, "B": {"study": [File(A1.content, B1.path)]}}, "B", "study"),
        ({"A": {"study": [A1], "test": [File(A1.content, A2.path)]}}, "A", "test"),
        ({"A": {"study": [A1, File(A1.content, A2.path)]}}, "A", "study"),
    ],
    ids=["one file for two", "a copy for another", "trained on and decoded", "in one phase"],
)
def test_twice_is_refused(files: dict[str, dict[str, list[File]]], participant: str, phase: str) -> None:
    with refusal("there twice", f"input.files.{phase}", str(A1.path), participant=participant):
        refuse_repeated(files, "input.files")


EVENTS = {"face": ("0",), "house": ("1",)}


def npz(file: Path, data: np.ndarray, y: np.ndarray) -> Path:
    np.savez(file, X=data, y=y, t=np.arange(data.shape[2]) / 100, ch=["Fz", "Cz"])
    return file


def trials(seed: int = 0, number: int = 10) -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(seed).standard_normal((number, 2, 30)) * 1e-5, np.arange(number) % 2


def test_classes_that_were_balanced_by_drawing_again(tmp_path: Path) -> None:
    data, y = trials()
    again = [1, 3, 3]
    file = npz(tmp_path / "S1.npz", np.concatenate([data, data[again]]), np.r_[y, y[again]])
    epochs, (text,) = warned("npz", [file], events=EVENTS)
    np.testing.assert_array_equal(epochs.data, data)
    np.testing.assert_array_equal(epochs.labels, y)
    np.testing.assert_array_equal(epochs.trial_info["event"], y.astype(str))
    assert text.startswith("S1, S1.npz: 3 of 13 trials are there twice, the first is trial 11, as trial 2")


def test_two_files_of_the_same_moments_are_told_of(tmp_path: Path) -> None:
    """A second amplifier has other samples of the same trials; a second run has trials of its own."""
    raw = make_raw(0)
    first = exported(raw, tmp_path / "S1_left.edf")
    noise = np.random.default_rng(7).standard_normal(raw.get_data().shape) * 1e-5
    other = mne.io.RawArray(raw.get_data() + noise, raw.info, verbose="ERROR")
    parallel = exported(other.set_annotations(raw.annotations), tmp_path / "S1_right.edf")
    run = exported(make_raw(1), tmp_path / "S1_run2.edf")
    _, texts = warned("edf", [first, parallel])
    (text,) = [text for text in texts if "begin when" in text]
    assert re.match("S1, S1_right.edf: 13 of 13 trials begin when .* in S1_left", text)
    assert not any("begin when" in text for text in warned("edf", [first, run])[1])
    assert sum("begin when" in text for text in warned("edf", [first, run, parallel])[1]) == 1


def test_trials_without_signal_and_epochs_that_share_samples_are_no_copies(tmp_path: Path) -> None:
    data, y = trials()
    data[[2, 5]] = 0  # of both classes
    epochs, (text,) = warned("npz", [npz(tmp_path / "S1.npz", data, y)], events=EVENTS)
    assert len(epochs.labels) == 10
    assert "2 of 10 trials are flat in all channels" in text
    assert trial_digests(data)[0][2] is None
    epochs, texts = warned("fif", [exported(make_raw(), tmp_path / "S1_raw.fif")], tmin=-1.0, tmax=1.0)
    assert len(epochs.labels) >= 12
    assert not [text for text in texts if "twice" in text]


def test_what_was_left_out_is_in_the_account(tmp_path: Path) -> None:
    raw = make_raw()
    events, ids = mne.events_from_annotations(raw, verbose="ERROR")
    wanted = {name: ids[name] for name in ("face", "house")}
    epochs = mne.Epochs(raw, events, wanted, -0.25, 0.5, baseline=None, preload=True, verbose="ERROR")
    twice = mne.concatenate_epochs([epochs, epochs[:3]], verbose="ERROR")
    twice.save(tmp_path / "S1-epo.fif", fmt="double", verbose="ERROR")
    found, texts = warned("fif", [tmp_path / "S1-epo.fif"], tmin=None, tmax=None)
    assert len(found.labels) == len(epochs)
    assert any(f"3 of {len(twice)} trials are there twice" in text for text in texts)
    (account,) = found.accounts
    dropped = [each for each in account["dropped"] if each["reason"] == "there twice"]
    assert sum(each["trials"] for each in dropped) == 3


def test_one_trial_in_two_phases_is_enough() -> None:
    study, _ = trials(0)
    test, _ = trials(1)
    test[6] = study[2]
    test[7] = 0
    study[3] = 0
    how: dict[str, Any] = {"participant": "S1", "files": {"study": "a", "test": "b"}, "field": "input.files"}
    with refusal("what they were trained on", "1 of 10 trials", "trial 7, as trial 3"):
        refuse_shared(dict(zip(("study", "test"), trial_digests(study, test))), **how)
    test[6] = -test[6]
    refuse_shared(dict(zip(("study", "test"), trial_digests(study, test))), **how)


def test_features_that_are_there_twice() -> None:
    data = np.random.default_rng(0).standard_normal((5, 8, 3))
    data[:, 4] = 0
    data[:, 6] = 0
    refuse_same_features(data, "study")
    data[:, 7] = data[:, 1]
    with refusal("there twice", "trial 8, as trial 2"):
        refuse_same_features(np.asfortranarray(data), "study")
    assert feature_digests(data)[0][4] is None


@pytest.mark.parametrize("shape", [(40, 3, 50), (40, 1, 9), (40, 7)])
def test_hashes_are_equal_if_and_only_if_trials_are(shape: tuple[int, ...]) -> None:
    """Also where trials differ in one sample, and where all have those in common that are looked at first."""
    rng = np.random.default_rng(3)
    data = rng.integers(0, 2, shape).astype(float)
    data[5], data[9] = data[4], data[4]
    data[9, ..., -2] += 1e-9
    other = np.concatenate([data[[4, 9]], rng.standard_normal((3, *shape[1:]))])
    digests = [each for part in trial_digests(data, other) for each in part]
    trials = [*data, *other]
    for i, j in itertools.combinations(range(len(trials)), 2):
        same = digests[i] is not None and digests[i] == digests[j]
        assert same == ((trials[i] == trials[j]).all() and len({*trials[i].flat}) > 1)
