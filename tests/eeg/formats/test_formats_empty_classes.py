"""Trials that are left out: how many, why, and a remedy that helps; events that are marked twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from eeg_recordings import direct, exported, make_raw, read

from shortloop.base.errors import InputError
from shortloop.eeg.data import Epochs


def in_pieces(seconds: float, pieces: int = 14) -> mne.io.BaseRaw:
    """A trial in each of some pieces, 0.25 s behind its beginning; MNE joins them."""
    raws = []
    for number in range(pieces):
        raw = make_raw(number).crop(0, seconds, include_tmax=False)
        raw.set_annotations(mne.Annotations(0.25, 0, ["face", "house"][number % 2]))
        raws.append(raw)
    return mne.concatenate_raws(raws, verbose="ERROR")


@pytest.mark.parametrize("more", [{}, {"resample": 64.0}])
def test_all_trials_beyond_an_amplitude_are_counted(tmp_path: Path, more: dict[str, Any]) -> None:
    """As MNE's drop log has them."""
    raw = make_raw()
    file = exported(raw, tmp_path / "S1_raw.fif")
    steps = {"reject": {"eeg": 2e-6}, **more}
    with pytest.warns(UserWarning, match="15 × amplitude|14 of 14"), pytest.raises(InputError) as caught:
        read("fif", [file], preprocessing=steps)
    log = direct(raw, reject={"eeg": 2e-6}).drop_log
    by = {name: sum(name in each for each in log) for name in raw.ch_names}
    most = max(by, key=lambda name: by[name])
    assert caught.value.problem == "all trials of face, house in the run phase were left out"
    assert f"; by channel: {most} {by[most]}" in str(caught.value.found)
    assert caught.value.field == "input.preprocessing.reject"
    assert "raise input.preprocessing.reject" in str(caught.value.hint)
    assert len(read("fif", [file], preprocessing={**steps, "reject": {"eeg": 1e-3}}).labels) == 13


def test_one_loose_channel_can_be_dropped(tmp_path: Path) -> None:
    raw = make_raw()
    raw._data[2] *= 100
    file = exported(raw, tmp_path / "S1_raw.fif")
    with pytest.warns(UserWarning, match="were left out"), pytest.raises(InputError) as caught:
        read("fif", [file], preprocessing={"reject": {"eeg": 3e-4}})
    assert str(caught.value.hint).endswith("leave channels out (input.drop = ['Pz'])")
    assert len(read("fif", [file], preprocessing={"reject": {"eeg": 3e-4}}, drop=("Pz",)).labels) == 13


@pytest.mark.parametrize("pieces", [1, 14])
def test_epochs_that_end_a_sample_too_late_are_told_where_to_end(tmp_path: Path, pieces: int) -> None:
    """Pieces of one second, cut to their last sample and one more; the hint is followed."""
    raw = in_pieces(1.0)
    if pieces == 1:  # the end of the recording alone
        raw = make_raw().crop(0, 20.0, include_tmax=False)
        raw.set_annotations(mne.Annotations([1, 3, 5, 19.25], 0, ["face", "house", "face", "house"]))
    file = exported(raw, tmp_path / "S1_raw.fif")
    expected = 96 - 1  # samples behind the event
    hint = f"input.tmax = {expected / 128:.7g}"
    if pieces > 1:
        with pytest.warns(UserWarning, match=hint), pytest.raises(InputError) as caught:
            read("fif", [file], tmax=0.75)
        assert "7 of 7 face (7 × across a gap" in str(caught.value.found)
        assert hint in str(caught.value.hint)
    else:
        with pytest.warns(UserWarning, match=hint):
            read("fif", [file], tmax=0.75)
    found = read("fif", [file], tmax=float(hint.split(" = ")[1]))
    whole = raw.get_data(picks=[*raw.ch_names[:6]])
    at = np.sort(
        raw.time_as_index(raw.annotations.onset[np.isin(raw.annotations.description, ["face", "house"])])
    )
    assert len(found.labels) == len(at)
    np.testing.assert_array_equal(found.data[-1], whole[:, at[-1] - 32 : at[-1] + expected + 1])


def test_epochs_far_too_long_get_no_such_hint(tmp_path: Path) -> None:
    file = exported(in_pieces(1.0), tmp_path / "S1_raw.fif")
    with pytest.warns(UserWarning, match="were left out"), pytest.raises(InputError) as caught:
        read("fif", [file], tmax=1.5)
    assert caught.value.hint == "make the epochs shorter: input.tmin, input.tmax"


def same(one: Epochs, other: Epochs) -> None:
    np.testing.assert_array_equal(one.data, other.data)
    np.testing.assert_array_equal(one.labels, other.labels)


def test_an_event_that_is_marked_twice_counts_once(tmp_path: Path) -> None:
    raw = make_raw()
    once = read("fif", [exported(raw, tmp_path / "once_raw.fif")])
    for name, number in (("face", 0), ("house", 3), ("house", 3), ("face", 12)):
        raw.annotations.append(
            make_raw().annotations.onset[make_raw().annotations.description == name][number // 2], 0, name
        )
    with pytest.warns(UserWarning, match="4 of 18 events are at the sample of another one of their class"):
        twice = read("fif", [exported(raw, tmp_path / "twice_raw.fif")])
    same(once, twice)


def test_two_names_of_one_class_at_one_sample_are_one_trial(tmp_path: Path) -> None:
    raw = make_raw()
    once = read("fif", [exported(raw, tmp_path / "once_raw.fif")])
    faces = raw.annotations.onset[raw.annotations.description == "face"]
    raw.annotations.append(faces, 0, "face/famous")
    with pytest.warns(UserWarning, match="7 of 21 events"):
        same(once, read("fif", [exported(raw, tmp_path / "twice_raw.fif")]))
