"""Positions of channels that a recording has are kept as MNE has them."""

from __future__ import annotations

from pathlib import Path

import mne
import numpy as np
import pytest
from eeg_recordings import NAMES, exported, make_raw, read

from shortloop.eeg.formats.epochs.cut import HEAD, positions_of

pytestmark = pytest.mark.filterwarnings("ignore:S1, ")
EEG = NAMES[:6]


def placed(seed: int = 0, montage: str = "easycap-M1") -> mne.io.BaseRaw:
    return make_raw(seed).set_montage(montage, on_missing="ignore", verbose="ERROR")


def expected(montage: str) -> np.ndarray:
    by_name = placed(montage=montage).get_montage().get_positions()["ch_pos"]
    return np.array([by_name[name] for name in EEG])


@pytest.mark.parametrize(("kind", "name"), [("fif", "x_raw.fif"), ("eeglab", "x.set")])
def test_those_in_the_file(tmp_path: Path, kind: str, name: str) -> None:
    epochs = read(kind, [exported(placed(), tmp_path / name)], picks=EEG)
    assert epochs.positions is not None
    assert epochs.channels == EEG
    np.testing.assert_allclose(epochs.positions, expected("easycap-M1"), atol=1e-6)
    assert epochs.accounts[0]["positions"] == "file"


def test_epochs_have_them_too(tmp_path: Path) -> None:
    raw = placed()
    events, ids = mne.events_from_annotations(raw, verbose="ERROR")
    wanted = {name: ids[name] for name in ("face", "house")}
    made = mne.Epochs(raw, events, wanted, -0.25, 0.5, baseline=None, preload=True, verbose="ERROR")
    made.save(tmp_path / "x-epo.fif", verbose="ERROR")
    found = read("fif", [tmp_path / "x-epo.fif"]).positions
    assert found is not None
    np.testing.assert_allclose(found, expected("easycap-M1"), atol=1e-7)


def test_those_of_the_montage_that_the_study_names(tmp_path: Path) -> None:
    file = exported(placed(), tmp_path / "x_raw.fif")
    epochs = read("fif", [file], preprocessing={"montage": "standard_1020"})
    assert epochs.positions is not None
    np.testing.assert_allclose(epochs.positions, expected("standard_1020"), atol=1e-7)
    assert epochs.accounts[0]["positions"] == "standard_1020"


def test_none_and_some(tmp_path: Path) -> None:
    epochs = read("fif", [exported(make_raw(), tmp_path / "x_raw.fif")])
    assert epochs.positions is None
    assert epochs.accounts[0]["positions"] == ""
    some = placed()
    some.info["chs"][1]["loc"][:3] = 0
    some.info["chs"][2]["loc"][:3] = np.nan
    found = read("fif", [exported(some, tmp_path / "some_raw.fif")]).positions
    assert found is not None
    assert np.isnan(found).all(axis=1).tolist() == [False, True, True, False, False, False]


def test_channels_that_are_decoded_keep_their_own(tmp_path: Path) -> None:
    file = exported(placed(), tmp_path / "x_raw.fif")
    found = read("fif", [file], picks=("Oz", "C3")).positions
    assert found is not None
    np.testing.assert_allclose(found, expected("easycap-M1")[[3, 4]], atol=1e-7)


def test_several_files(tmp_path: Path) -> None:
    one = exported(placed(0), tmp_path / "1_raw.fif")
    two = exported(placed(1, "standard_1020"), tmp_path / "2_raw.fif")
    three = exported(make_raw(2), tmp_path / "3_raw.fif")
    found = read("fif", [one, two, three]).positions
    assert found is not None
    np.testing.assert_allclose(found, (expected("easycap-M1") + expected("standard_1020")) / 2, atol=1e-7)


def test_positions_in_other_coordinates_are_not_known(tmp_path: Path) -> None:
    from mne._fiff.constants import FIFF

    assert HEAD == FIFF.FIFFV_COORD_HEAD
    raw = placed()
    for each in raw.info["chs"]:
        each["coord_frame"] = FIFF.FIFFV_COORD_MRI
    assert positions_of(raw, EEG) is None
    assert positions_of(placed(), EEG) is not None


def meg(kinds: list[str]) -> mne.io.BaseRaw:
    raw = make_raw(3)
    info = mne.create_info(list(raw.ch_names), raw.info["sfreq"], kinds)
    made = mne.io.RawArray(raw.get_data() * 1e-6, info, verbose="ERROR").set_annotations(raw.annotations)
    for number, channel in enumerate(made.info["chs"]):
        channel["loc"][:3] = [0.01 * number, 0.05, 0.1]
    return made


@pytest.mark.parametrize("sensor", ["mag", "grad"])
def test_sensors_of_meg_have_places_in_the_helmet(tmp_path: Path, sensor: str) -> None:
    raw = meg([sensor] * len(make_raw(3).ch_names))
    file = tmp_path / "x_meg.fif"
    raw.save(file, verbose="ERROR")
    epochs = read("fif", [file], picks=EEG)
    assert epochs.unit == {"mag": "T", "grad": "T/m"}[sensor]
    assert epochs.positions is not None
    wanted = [[0.01 * raw.ch_names.index(name), 0.05, 0.1] for name in EEG]
    np.testing.assert_allclose(epochs.positions, wanted, atol=1e-6)


def test_sensors_of_several_types_each_have_theirs(tmp_path: Path) -> None:
    names = make_raw(3).ch_names
    raw = meg((["mag", "grad", "eeg"] * len(names))[: len(names)])
    file = tmp_path / "x_meg.fif"
    raw.save(file, verbose="ERROR")
    epochs = read("fif", [file], picks=EEG)
    assert epochs.unit == "a.u."
    kinds = [raw.get_channel_types([name])[0] for name in EEG]
    assert len({*kinds}) == 3
    assert [account["types"] for account in epochs.accounts] == [kinds]
    assert epochs.positions is not None
    wanted = [[0.01 * names.index(name), 0.05, 0.1] for name in EEG]
    there = [kind != "eeg" for kind in kinds]  # those of EEG are on a head
    np.testing.assert_allclose(epochs.positions[there], np.array(wanted)[there], atol=1e-6)
