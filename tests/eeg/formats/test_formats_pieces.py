"""Recordings in pieces: nothing goes across a gap, and channels of several rates are read whole."""

from __future__ import annotations

import warnings
from pathlib import Path

import mne
import numpy as np
import pytest
from eeg_recordings import direct, exported, make_raw, read

GAP = 7.0  # s; within the sixth trial


def paused(raw: mne.io.BaseRaw) -> mne.io.BaseRaw:
    raw.annotations.append([GAP] * 2, 0.0, ["BAD boundary", "EDGE boundary"])
    return raw


def files(folder: Path) -> dict[str, Path]:
    """A recording with a gap, as EEGLAB and BrainVision say it."""
    raw = make_raw()
    raw.annotations.append(GAP, 0.0, "boundary")
    eeglab = exported(raw, folder / "S1_raw.set")
    brainvision = exported(make_raw(), folder / "S1_raw.vhdr")
    with brainvision.with_suffix(".vmrk").open("a", encoding="utf-8") as markers:
        markers.write(f"Mk99=New Segment,,{round(GAP * 128) + 1},1,0,20200101120000000000\n")
    return {"eeglab": eeglab, "brainvision": brainvision}


@pytest.mark.filterwarnings("ignore:S1, ")
@pytest.mark.parametrize("kind", ["eeglab", "brainvision"])
def test_nothing_goes_across_a_gap(tmp_path: Path, kind: str) -> None:
    file = files(tmp_path)[kind]
    with mne.utils.use_log_level("ERROR"):
        readers = {"eeglab": mne.io.read_raw_eeglab, "brainvision": mne.io.read_raw_brainvision}
        raw = readers[kind](file, preload=True).drop_channels(["VEOG"])
        expected = direct(paused(raw).filter(2.0, None))
    epochs = read(kind, [file], drop=("VEOG",), preprocessing={"highpass": 2.0})
    np.testing.assert_array_equal(epochs.data, expected.get_data())
    (account,) = epochs.accounts
    assert {"class": "face", "reason": "across a gap in the recording", "trials": 1} in account["dropped"]


@pytest.mark.filterwarnings("ignore:S1, ")
def test_gaps_are_there_with_events_of_a_table_too(tmp_path: Path) -> None:
    file = tmp_path / "S1_raw.fif"
    mne.concatenate_raws([make_raw(), make_raw(1)], verbose="ERROR").save(file, fmt="double", verbose="ERROR")
    raw = (
        mne.io.read_raw_fif(file, preload=True, verbose="ERROR")
        .pick("eeg")
        .filter(2.0, None, verbose="ERROR")
    )
    expected = direct(raw)
    rows = [f"{at:.6f}\t0\t{name}\n" for at, name in zip(raw.annotations.onset, raw.annotations.description)]
    (tmp_path / "S1_raw_events.tsv").write_text(
        "onset\tduration\ttrial_type\n" + "".join(row for row in rows if "boundary" not in row)
    )
    epochs = read("fif", [file], preprocessing={"highpass": 2.0})
    assert epochs.accounts[0]["events_from"] == "tsv"
    np.testing.assert_array_equal(epochs.data, expected.get_data())


@pytest.mark.filterwarnings("ignore:S1, ")
def test_what_a_table_marks_as_bad_lasts(tmp_path: Path) -> None:
    raw = make_raw()
    onsets, names = raw.annotations.onset[1:15], [*["face", "house"] * 7]
    raw.set_annotations(None)
    file = exported(raw, tmp_path / "S1_raw.fif")
    rows = [f"{at}\tn/a\t{name}\n" for at, name in zip(onsets, names, strict=True)]
    (tmp_path / "S1_raw_events.tsv").write_text(
        "onset\tduration\ttrial_type\n" + "".join(rows) + "3.3\t4.0\tBAD_talks\n"
    )
    epochs = read("fif", [file])
    spoilt = (onsets + 0.5 >= 3.3) & (onsets - 0.25 <= 7.3)
    assert spoilt.sum() > 1
    np.testing.assert_allclose(epochs.trial_info["onset"], onsets[~spoilt], atol=1 / 128)


def test_channels_of_several_rates_are_read_whole(tmp_path: Path) -> None:
    edfio = pytest.importorskip("edfio")
    rng = np.random.default_rng(0)
    signals = [
        edfio.EdfSignal(
            100 + np.cumsum(rng.standard_normal(40 * rate)) / 4,
            rate,
            label=f"EEG {name}",
            physical_dimension="uV",
            physical_range=(-500, 500),
        )
        for name, rate in (("Cz", 256), ("Fz", 128))
    ]
    said = [edfio.EdfAnnotation(1 + 1.5 * i, None, ["face", "house"][i % 2]) for i in range(24)]
    edfio.Edf(signals, annotations=said).write(tmp_path / "S1.edf")
    expected = direct(mne.io.read_raw_edf(tmp_path / "S1.edf", preload=True, verbose="ERROR")).get_data()
    for kind in ("edf", "mne"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = read(kind, [tmp_path / "S1.edf"])
        np.testing.assert_array_equal(found.data, expected)


@pytest.mark.filterwarnings("ignore:S1, ")
def test_projections_are_those_of_all_channels(tmp_path: Path) -> None:
    raw = make_raw()
    raw.set_eeg_reference("average", projection=True, verbose="ERROR")
    file = exported(raw, tmp_path / "S1_raw.fif")
    expected = direct(mne.io.read_raw_fif(file, verbose="ERROR")).get_data(picks=["Fz", "Cz"])
    epochs = read("fif", [file], picks=("Fz", "Cz"))
    np.testing.assert_array_equal(epochs.data, expected)
