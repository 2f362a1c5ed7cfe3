"""Epochs that MNE saved come back as they were."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import eeg_recordings
import mne
import numpy as np
import pandas as pd
import pytest
from eeg_recordings import refused

N400 = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "n400" / "subject04-epo.fif"
CLASSES = ("face", "house")
EVENT_ID = {"face/big": 1, "face/small": 2, "house/big": 3, "cue": 4}
CODES = [1, 3, 2, 4, 3, 1]


def make(seed: int = 0, sfreq: float = 50.0, names: Sequence[str] = ("Fz", "Cz", "EOG")) -> mne.EpochsArray:
    rng = np.random.default_rng(seed)
    info = mne.create_info(list(names), sfreq, ["eog" if name == "EOG" else "eeg" for name in names])
    events = np.c_[np.arange(6) * 100, np.zeros(6), CODES].astype(int)
    metadata = pd.DataFrame({"rt": rng.random(6), "word": list("abcdef"), "n": np.arange(6)})
    return mne.EpochsArray(
        rng.standard_normal((6, len(names), 30)) * 1e-5,
        info,
        events,
        tmin=-0.2,
        event_id=EVENT_ID,
        metadata=metadata,
        verbose="ERROR",
    )


def save(folder: Path, epochs: mne.EpochsArray, name: str = "a-epo.fif") -> Path:
    epochs.save(folder / name, fmt="double", overwrite=True, verbose="ERROR")
    return folder / name


read = partial(eeg_recordings.read, "fif", tmin=None, tmax=None)
expect = partial(refused, read)


def test_round_trip_by_hierarchical_names(tmp_path: Path) -> None:
    saved = make()
    epochs = read([save(tmp_path, saved)])
    keep = [0, 1, 2, 4, 5]
    np.testing.assert_array_equal(epochs.data, saved.get_data()[keep][:, :2])
    assert epochs.labels.tolist() == [0, 1, 0, 1, 0]
    assert epochs.channels == ("Fz", "Cz")
    assert epochs.sfreq == 50.0
    np.testing.assert_allclose(epochs.times, np.arange(-10, 20) / 50)
    assert epochs.trial_info["event"].tolist() == [
        "face/big",
        "house/big",
        "face/small",
        "house/big",
        "face/big",
    ]
    np.testing.assert_allclose(epochs.trial_info["rt"], saved.metadata["rt"].to_numpy()[keep], rtol=1e-8)
    assert epochs.trial_info["word"].tolist() == ["a", "b", "c", "e", "f"]
    assert all(values.dtype != object for values in epochs.trial_info.values())


def test_events_name_the_classes(tmp_path: Path) -> None:
    events = {"big": ("face/big", "house"), "cue": ("cue",)}
    epochs = read([save(tmp_path, make())], classes=("big", "cue"), events=events)
    assert epochs.labels.tolist() == [0, 0, 1, 0, 0]


def test_files_are_joined_and_must_agree(tmp_path: Path) -> None:
    first, second = save(tmp_path, make(0)), save(tmp_path, make(1), "b-epo.fif")
    epochs = read([first, second])
    np.testing.assert_array_equal(epochs.data, np.concatenate([read([first]).data, read([second]).data]))
    assert epochs.trial_info["file"].tolist() == [0] * 5 + [1] * 5
    assert len(epochs.trial_info["rt"]) == 10
    other = save(tmp_path, make(2, sfreq=100.0), "c-epo.fif")
    expect([first, other], "differ in sampling rate", "100 Hz")
    named = save(tmp_path, make(3, names=("Fz", "Pz", "EOG")), "d-epo.fif")
    expect([first, named], "differ in channels", "Pz")
    shorter = save(tmp_path, make(4).crop(tmax=0.2), "e-epo.fif")
    expect([first, shorter], "differ in times", "21 samples", "30 samples")


def test_parts_of_a_split_file_are_used_once(tmp_path: Path) -> None:
    make(0).save(tmp_path / "a-epo.fif", fmt="double", split_naming="neuromag", verbose="ERROR")
    make(0)[3:].save(tmp_path / "a-epo-1.fif", fmt="double", verbose="ERROR")
    with pytest.warns(UserWarning, match="S1, a-epo-1.fif: 2 of 2 trials are there twice, .* of a-epo.fif"):
        epochs = read([tmp_path / "a-epo.fif", tmp_path / "a-epo-1.fif"])
    assert len(epochs.labels) == 5


def test_an_event_of_two_classes_is_an_error(tmp_path: Path) -> None:
    file = save(tmp_path, make())
    expect([file], "two classes", "face/big in face and house", events={"face": ("face",), "house": ("big",)})


def test_a_class_without_events_is_named_with_what_there_is(tmp_path: Path) -> None:
    expect(
        [save(tmp_path, make())], "run phase has no trials of dog", "2 × house/big", classes=("face", "dog")
    )


@pytest.mark.skipif(not N400.is_file(), reason="needs ../shared/data/n400")
def test_real_epochs_are_what_mne_reads() -> None:
    epochs = read([N400], classes=("related", "unrelated"))
    direct = mne.read_epochs(N400, verbose="ERROR")
    np.testing.assert_array_equal(epochs.data, direct.get_data())
    np.testing.assert_array_equal(epochs.labels, direct.events[:, 2] - 6)
    assert epochs.channels == tuple(direct.ch_names)
    np.testing.assert_array_equal(epochs.times, direct.times)
    # The other order of classes turns the labels, not the trials.
    turned = read([N400], classes=("unrelated", "related"))
    np.testing.assert_array_equal(turned.labels, 1 - epochs.labels)
    np.testing.assert_array_equal(turned.data, epochs.data)
