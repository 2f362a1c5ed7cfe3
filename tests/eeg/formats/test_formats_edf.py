"""EDF+ recordings: epochs are the samples around the annotations, and damaged files are refused."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import eeg_recordings
import numpy as np
import pytest
from edf_files import ANNOTATIONS, signal, write_edf
from eeg_recordings import refused

from shortloop.base.errors import InputError

EEGBCI = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "eegbci"
CLASSES = ("left", "right")
EVENTS = {"left": ("T1",), "right": ("T2",)}


read = partial(eeg_recordings.read, "edf", classes=CLASSES, participant="S001", events=EVENTS)
expect = partial(refused, read)


def test_epochs_are_the_samples_around_the_annotations(tmp_path: Path) -> None:
    digital = signal()
    epochs = read([write_edf(tmp_path / "a.edf", digital)])
    starts = [int((t - 0.25) * 64) for t, name in ANNOTATIONS if name != "T0"]
    expected = np.stack([digital[:2, start : start + 49] for start in starts]) * 0.1e-6
    np.testing.assert_allclose(epochs.data, expected, rtol=0, atol=1e-12)
    assert epochs.labels.tolist() == [0, 1, 0, 1]
    assert epochs.channels == ("Fz", "Cz")
    assert (epochs.sfreq, epochs.unit) == (64.0, "V")
    np.testing.assert_allclose(epochs.times, np.arange(-16, 33) / 64)
    assert epochs.trial_info["event"].tolist() == ["T1", "T2", "T1", "T2"]
    np.testing.assert_allclose(epochs.trial_info["onset"], [1.0, 2.0, 3.25, 4.5])


def test_a_file_without_events_adds_nothing(tmp_path: Path) -> None:
    one = write_edf(tmp_path / "a.edf", signal(1))
    none = write_edf(tmp_path / "b.edf", signal(2), annotations=[(0.0, "T0")])
    for files in ([one, none], [none, one]):
        np.testing.assert_array_equal(read(files).data, read([one]).data)


def test_drop_leaves_channels_out(tmp_path: Path) -> None:
    file = write_edf(tmp_path / "a.edf", signal())
    assert read([file], drop=("Fz", "left")).channels == ("Cz",)
    expect([file], "channel to drop is not in the file", "Pz", "Fz, Cz", drop=("Pz",))
    expect([file], "no channels are left", drop=("Fz", "Cz"))


def test_trials_beyond_the_recording_are_left_out_and_counted(tmp_path: Path) -> None:
    late = [*ANNOTATIONS, (7.75, "T1")]
    file = write_edf(tmp_path / "a.edf", signal(), annotations=late)
    with pytest.warns(UserWarning, match=r"S001, a.edf: 1 of 5 trials were left out"):
        assert len(read([file]).labels) == 4


@pytest.mark.parametrize("cut", [1, 2, 100, 64 * 2 * 3 + 128, 3000])
def test_a_truncated_file_is_refused(tmp_path: Path, cut: int) -> None:
    file = write_edf(tmp_path / "a.edf", signal())
    whole = file.read_bytes()
    file.write_bytes(whole[:-cut])
    expect([file], "truncated", f"{len(whole)} bytes: 8 records")


def test_a_longer_file_is_refused_and_an_unknown_length_is_not(tmp_path: Path) -> None:
    file = write_edf(tmp_path / "a.edf", signal())
    whole = file.read_bytes()
    file.write_bytes(whole[:236] + b"-1      " + whole[244:])
    assert len(read([file]).labels) == 4
    file.write_bytes(whole[:236] + b"-1      " + whole[244:-10])
    expect([file], "truncated")
    file.write_bytes(whole + whole[-512:])
    expect([file], "longer than its header")


def test_other_damage_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "t.edf"
    text.write_text("onset,label\n" * 100)
    expect([text], "not EDF", "onset")
    expect([tmp_path / "none.edf"], "cannot be read", "FileNotFoundError")


def test_epochs_that_end_before_they_begin(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="end before they begin") as caught:
        read([write_edf(tmp_path / "a.edf", signal())], tmin=0.5, tmax=0.5)
    assert caught.value.field == "input.tmax"


@pytest.mark.skipif(not EEGBCI.is_dir(), reason="needs ../shared/data/eegbci")
def test_real_recordings_are_what_mne_reads() -> None:
    import mne

    files = [EEGBCI / f"S001R{run:02d}.edf" for run in (3, 7, 11)]
    epochs = read(files, tmin=-0.5, tmax=1.5)
    assert epochs.data.shape == (45, 64, 321)
    assert np.bincount(epochs.labels).tolist() == [23, 22]
    assert {"FC5", "Cz", "Fpz", "AFz", "Iz"} <= set(epochs.channels)
    trial = 0
    for file in files:
        raw = mne.io.read_raw_edf(file, preload=True, verbose="ERROR")
        for onset, name in zip(raw.annotations.onset, raw.annotations.description):
            if name != "T0":
                start = round(onset * 160) - 80
                np.testing.assert_array_equal(epochs.data[trial], raw[:, start : start + 321][0])
                assert epochs.labels[trial] == ["T1", "T2"].index(name)
                trial += 1
    assert trial == 45
