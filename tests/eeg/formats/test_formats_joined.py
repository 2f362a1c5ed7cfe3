"""Files of one phase: channels by their names, bad channels of each, trials of the same moments."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from eeg_recordings import exported, make_raw, read

from shortloop.base.errors import InputError
from shortloop.eeg.checks.consistency import check_alike
from shortloop.eeg.checks.summary import summarize

pytestmark = pytest.mark.filterwarnings("ignore:S1, ")
NAMES = ("Fz", "Cz", "Pz", "Oz", "C3", "C4")
MIXED = ["C4", "Fz", "Oz", "Pz", "Cz", "C3", "VEOG"]


def two(folder: Path, second: mne.io.BaseRaw) -> list[Path]:
    return [exported(make_raw(1), folder / "a_raw.fif"), exported(second, folder / "b_raw.fif")]


def by_mne(file: Path, names: tuple[str, ...] = NAMES) -> np.ndarray:
    raw = mne.io.read_raw_fif(file, verbose="ERROR")
    events, ids = mne.events_from_annotations(raw, {"face": 1, "house": 2}, verbose="ERROR")
    cut = mne.Epochs(raw, events, ids, -0.25, 0.5, baseline=None, preload=True, verbose="ERROR")
    return np.stack([cut.get_data(picks=[name])[:, 0] for name in names], axis=1)


def test_channels_in_another_order_are_joined_by_their_names(tmp_path: Path) -> None:
    files = two(tmp_path, make_raw(2).reorder_channels(MIXED))
    epochs = read("fif", files)
    assert epochs.channels == NAMES
    np.testing.assert_array_equal(epochs.data, np.concatenate([by_mne(file) for file in files]))


def test_picks_give_the_order_of_people_who_have_several(tmp_path: Path) -> None:
    """The hint that the message gives works; one by type comes where it is named."""
    files = two(tmp_path, make_raw(2).reorder_channels(MIXED))
    found = [
        summarize(read("fif", [file]), participant=who, phase="run", file="")
        for who, file in zip("ABA", [*files, files[0]])
    ]
    with pytest.raises(InputError, match="differ from the others") as caught:
        check_alike(found)
    listed = re.search(r"input\.picks = \[(.*)\]", str(caught.value.hint))
    assert listed is not None
    picks = tuple(name.strip("' ") for name in listed[1].split(","))
    assert picks == NAMES
    for file in files:
        epochs = read("fif", [file], picks=picks)
        assert epochs.channels == NAMES
        np.testing.assert_array_equal(epochs.data, by_mne(file))
    assert read("fif", files[:1], picks=("eog", "Cz", "Fz")).channels == ("VEOG", "Cz", "Fz")


def bad_in_one(folder: Path) -> list[Path]:
    second = make_raw(2)
    second.info["bads"] = ["Pz"]
    return two(folder, second)


def test_bad_channels_of_one_run_are_bad_in_all_if_one_says_so(tmp_path: Path) -> None:
    files = bad_in_one(tmp_path)
    with pytest.raises(InputError, match="differ in channels") as caught:
        read("fif", files)
    assert "input.preprocessing.bads.S1 = ['Pz']" in str(caught.value.hint)
    epochs = read("fif", files, preprocessing={"bads": {"S1": ["Pz"]}})
    left = ("Fz", "Cz", "Oz", "C3", "C4")
    assert epochs.channels == left
    np.testing.assert_array_equal(epochs.data, np.concatenate([by_mne(file, left) for file in files]))


def test_bad_channels_of_one_run_can_be_interpolated(tmp_path: Path) -> None:
    files = bad_in_one(tmp_path)
    with pytest.raises(InputError) as caught:
        read("fif", files)
    assert "input.preprocessing.interpolate = true" in str(caught.value.hint)
    epochs = read("fif", files, preprocessing={"interpolate": True, "montage": "standard_1020"})
    assert epochs.channels == NAMES
    np.testing.assert_allclose(epochs.data[: len(epochs.data) // 2], by_mne(files[0]), atol=1e-15)


def epochs_file(folder: Path, name: str, seed: int, samples: np.ndarray) -> Path:
    data = np.random.default_rng(seed).standard_normal((len(samples), 3, 97)) * 1e-5
    events = np.c_[samples, 0 * samples, np.arange(len(samples)) % 2 + 1]
    info = mne.create_info(3, 128.0, "eeg")
    epochs = mne.EpochsArray(data, info, events, -0.25, {"face": 1, "house": 2}, verbose="ERROR")
    epochs.save(folder / name, verbose="ERROR")
    return folder / name


@pytest.mark.parametrize(("even", "shift", "told"), [(False, 0, True), (False, 40, False), (True, 0, False)])
def test_files_of_epochs_that_were_cut_at_the_same_samples_are_told_of(
    tmp_path: Path, even: bool, shift: int, told: bool
) -> None:
    """Samples in even steps are numbers of trials, which say nothing."""
    at = np.arange(20) * 200 + (0 if even else np.random.default_rng(0).integers(0, 90, 20))
    files = [epochs_file(tmp_path, f"{n}-epo.fif", n, at + n * shift) for n in (0, 1)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(read("fif", files).data) == 40
    said = "20 of 20 trials begin when trials of the same class begin in 0-epo.fif"
    assert any(said in str(each.message) for each in caught) == told


@pytest.mark.parametrize("reference", ["average", ["Pz", "Oz"]])
def test_the_channel_with_nan_is_named_and_not_those_it_spread_to(tmp_path: Path, reference: Any) -> None:
    """Outside of trials it is no matter; both remedies of the hint work."""
    raw = make_raw(1)
    raw._data[2, :40] = np.nan
    assert len(
        read("fif", [exported(raw, tmp_path / "a_raw.fif")], preprocessing={"reference": reference}).data
    )
    raw._data[2, 600:900] = np.nan
    file = exported(raw, tmp_path / "b_raw.fif")
    with pytest.raises(InputError, match="the reference spreads them") as caught:
        read("fif", [file], preprocessing={"reference": reference})
    assert caught.value.found == "NaN or infinite values in Pz"
    assert "input.drop = ['Pz']" in str(caught.value.hint)
    assert "input.preprocessing.bads.S1" in str(caught.value.hint)
    if reference == "average":
        left = ("Fz", "Cz", "Oz", "C3", "C4")
        own = by_mne(file, left)
        expected = own - own.mean(axis=1, keepdims=True)
        drop: dict[str, Any] = {"drop": ("Pz",), "preprocessing": {"reference": "average"}}
        bad: dict[str, Any] = {"preprocessing": {"reference": "average", "bads": {"S1": ["Pz"]}}}
        for settings in (drop, bad):
            np.testing.assert_allclose(read("fif", [file], **settings).data, expected, atol=1e-18)
