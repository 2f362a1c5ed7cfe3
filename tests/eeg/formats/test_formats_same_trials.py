"""Trials that are there twice are left out or refused: within a recording, and in two phases."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from eeg_recordings import exported, make_raw, read

from shortloop.base.errors import InputError
from shortloop.eeg.checks.same_trials import (
    feature_digests,
    refuse_same_features,
    refuse_shared,
    trial_digests,
)

EVENTS = {"face": ("0",), "house": ("1",)}


def npz(file: Path, data: np.ndarray, y: np.ndarray) -> Path:
    np.savez(file, X=data, y=y, t=np.arange(data.shape[2]) / 100, ch=["Fz", "Cz"])
    return file


def trials(seed: int = 0, number: int = 10) -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(seed).standard_normal((number, 2, 30)) * 1e-5, np.arange(number) % 2


def warned(*arguments: Any, **given: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = read(*arguments, **given)
    return found, [str(each.message) for each in caught]


def test_classes_that_were_balanced_by_drawing_again(tmp_path: Path) -> None:
    data, y = trials()
    again = [1, 3, 3]
    file = npz(tmp_path / "S1.npz", np.concatenate([data, data[again]]), np.r_[y, y[again]])
    epochs, (text,) = warned("npz", [file], events=EVENTS)
    np.testing.assert_array_equal(epochs.data, data)
    np.testing.assert_array_equal(epochs.labels, y)
    np.testing.assert_array_equal(epochs.trial_info["event"], y.astype(str))
    assert text.startswith("S1, S1.npz: 3 of 13 trials are there twice, the first is trial 11, as trial 2")
    assert "drawn with replacement" in text


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
    assert text.startswith(
        "S1, S1_right.edf: 13 of 13 trials begin when trials of the same class begin in S1_l"
    )
    assert not any("begin when" in text for text in warned("edf", [first, run])[1])
    assert sum("begin when" in text for text in warned("edf", [first, run, parallel])[1]) == 1


def test_trials_without_signal_are_no_copies_of_each_other(tmp_path: Path) -> None:
    data, y = trials()
    data[[2, 5]] = 0  # of both classes
    epochs, (text,) = warned("npz", [npz(tmp_path / "S1.npz", data, y)], events=EVENTS)
    assert len(epochs.labels) == 10
    assert "2 of 10 trials are flat in all channels" in text
    assert trial_digests(data)[0][2] is None


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
    with pytest.raises(InputError, match="what they were trained on") as caught:
        refuse_shared(dict(zip(("study", "test"), trial_digests(study, test))), **how)
    assert "1 of 10 trials have the same samples, the first is trial 7, as trial 3" in str(caught.value.found)
    assert "overlap" in str(caught.value.hint)
    test[6] = -test[6]
    refuse_shared(dict(zip(("study", "test"), trial_digests(study, test))), **how)


def test_features_that_are_there_twice() -> None:
    data = np.random.default_rng(0).standard_normal((5, 8, 3))
    data[:, 4] = 0
    data[:, 6] = 0
    refuse_same_features(data, "study")
    data[:, 7] = data[:, 1]
    with pytest.raises(InputError, match="there twice") as caught:
        refuse_same_features(np.asfortranarray(data), "study")
    assert "trial 8, as trial 2" in str(caught.value.found)
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


def test_epochs_that_share_samples_are_no_copies(tmp_path: Path) -> None:
    epochs, texts = warned("fif", [exported(make_raw(), tmp_path / "S1_raw.fif")], tmin=-1.0, tmax=1.0)
    assert len(epochs.labels) >= 12
    assert not [text for text in texts if "twice" in text]
