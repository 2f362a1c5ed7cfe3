"""Epochs that were saved by NumPy and MNE: what was saved is what is read, and what does not fit is named."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import eeg_recordings
import mne
import numpy as np
import pandas as pd
import pytest
from eeg_recordings import refused
from hypothesis import given, settings
from hypothesis import strategies as st

N170 = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "n170"
EVENTS = {"house": ("0",), "face": ("1",)}


def arrays(seed: int = 0, **other: Any) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    y = np.array([0, 1, 1, 0, 2], dtype=np.int8)
    content = {
        "X": rng.standard_normal((5, 3, 8)).astype(np.float32),
        "y": y,
        "t": np.arange(-2, 6) / 128,
        "ch": np.array(["TP9", "AF7", "AF8"]),
    }
    return {name: value for name, value in {**content, **other}.items() if value is not None}


def save(folder: Path, content: dict[str, Any], name: str = "a.npz") -> Path:
    np.savez(folder / name, **content)
    return folder / name


read = partial(
    eeg_recordings.read, "npz", classes=("house", "face"), participant="s01", events=EVENTS, unit="µV"
)
expect = partial(refused, read)


@settings(max_examples=15, deadline=None)
@given(
    trials=st.integers(2, 9), channels=st.integers(1, 4), samples=st.integers(2, 9), seed=st.integers(0, 99)
)
def test_round_trip(tmp_path_factory: Any, trials: int, channels: int, samples: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(trials) % 2)
    content = {
        "X": rng.standard_normal((trials, channels, samples)),
        "y": y,
        "t": np.arange(samples) / 512 - 0.1,
        "ch": np.array([f"E{c}" for c in range(channels)]),
    }
    epochs = read([save(tmp_path_factory.mktemp("npz"), content)])
    np.testing.assert_array_equal(epochs.data, content["X"])
    np.testing.assert_array_equal(epochs.labels, y)
    np.testing.assert_array_equal(epochs.times, content["t"])
    assert epochs.channels == tuple(content["ch"].tolist())
    assert epochs.sfreq == pytest.approx(512, rel=1e-9)
    assert epochs.unit == "µV"


def test_trials_of_no_class_are_left_out(tmp_path: Path) -> None:
    content = arrays()
    epochs = read([save(tmp_path, content)], drop=("AF7",))
    np.testing.assert_array_equal(epochs.data, content["X"][:4, [0, 2]])
    assert epochs.data.dtype == np.float64
    assert epochs.labels.tolist() == [0, 1, 1, 0]
    assert epochs.channels == ("TP9", "AF8")


@pytest.mark.parametrize(
    "y", [["0", "1", "1", "0", "2"], [0.0, 1.0, 1.0, 0.0, 2.5], [b"0", b"1", b"1", b"0", b"2"]]
)
def test_labels_of_any_type_are_compared_as_text(tmp_path: Path, y: list[Any]) -> None:
    assert read([save(tmp_path, arrays(y=np.array(y)))]).labels.tolist() == [0, 1, 1, 0]
    named = save(tmp_path, arrays(y=np.array(["face", "house", "house", "cue", "face"])))
    assert read([named], events={}).labels.tolist() == [1, 0, 0, 1]


def test_sessions_are_joined_and_must_agree(tmp_path: Path) -> None:
    files = [save(tmp_path, arrays(seed), f"{seed}.npz") for seed in (2, 1)]
    epochs = read(files)
    np.testing.assert_array_equal(epochs.data, np.concatenate([read([file]).data for file in files]))
    assert epochs.trial_info["file"].tolist() == [0] * 4 + [1] * 4
    later = save(tmp_path, arrays(3, t=np.arange(-1, 7) / 128), "l.npz")
    expect([files[0], later], "differ in times", "as in 2.npz")


def test_trials_that_are_in_two_files_are_used_once_and_not_under_two_classes(tmp_path: Path) -> None:
    first, second = arrays(0), arrays(1)
    second["X"][:2] = first["X"][[3, 1]]
    files = [save(tmp_path, first), save(tmp_path, second, "b.npz")]
    with pytest.warns(UserWarning, match="s01, b.npz: 2 of 4 trials are there twice, .* of a.npz"):
        epochs = read(files)
    np.testing.assert_array_equal(epochs.data, np.concatenate([first["X"][:4], second["X"][2:4]]))
    assert epochs.labels.tolist() == [0, 1, 1, 0, 1, 0]
    assert epochs.trial_info["file"].tolist() == [0] * 4 + [1] * 2
    turned = arrays(0, y=np.array([1, 0, 0, 1, 2]))
    files = [save(tmp_path, arrays(0)), save(tmp_path, turned, "b.npz")]
    said = "4 trials that are there twice, the first is trial 1, as trial 1 of a.npz"
    expect(files, "under different classes", said)
    np.save(tmp_path / "a.npy", np.zeros(3))
    expect([tmp_path / "a.npy"], "not of the format that the study says", "one array of NumPy", "numpy.savez")


INFINITE = arrays()["X"]
INFINITE[3, 1, 2:5] = np.inf
UNEVEN = [np.zeros(8), -np.arange(8) / 128, np.r_[0, np.arange(2, 9)] / 128, np.full(8, np.nan)]
WRONG: list[tuple[dict[str, Any], str, tuple[str, ...]]] = [
    *(({key: None}, f"no array {key}\n", ("X, y, t, ch",)) for key in ("X", "y", "t", "ch")),
    *(
        (other, "do not fit together", ("(trials, channels, samples)",))
        for other in (
            *({"y": np.zeros(shape, int)} for shape in (4, (5, 1))),
            *({"t": np.arange(9) / 128}, {"ch": np.array(["a", "b"])}, {"X": np.zeros((5, 24))}),
        )
    ),
    *(({"t": each}, "times do not", ()) for each in UNEVEN),
    ({"X": np.zeros((5, 3, 8), complex)}, "real numbers", ()),
    ({"t": np.array(list("abcdefgh"))}, "real numbers", ()),
    (
        {"ch": np.array(["a", "b", 3], dtype=object)},
        "names of channels are Python objects",
        ("ch.astype(str)",),
    ),
    ({"ch": np.array(["a", "b", "a"])}, "two channels have the same name", ("a",)),
    ({"X": INFINITE}, "not finite", ("3 of 96", "trial 4, channel AF7")),
    ({"y": np.zeros(5, int)}, "no trials of face", ("5 × 0",)),
]


@pytest.mark.parametrize(("other", "problem", "parts"), WRONG)
def test_what_is_wrong_with_arrays_is_named(
    tmp_path: Path, other: dict[str, Any], problem: str, parts: tuple[str, ...]
) -> None:
    expect([save(tmp_path, arrays(**other))], problem, *parts)


@pytest.mark.skipif(not N170.is_dir(), reason="needs ../shared/data/n170")
def test_real_sessions_are_what_numpy_reads() -> None:
    file = N170 / "group_N170_s02_ses1.npz"
    epochs = read([file])
    with np.load(file) as content:
        np.testing.assert_array_equal(epochs.data, content["X"])
        np.testing.assert_array_equal(epochs.labels, content["y"])
    assert epochs.sfreq == 128.0
    # The N170: the average of faces is more negative than that of houses over the temporal channels.
    epochs = read([N170 / "group_N170_s01_ses1.npz"])
    window = (epochs.times > 0.14) & (epochs.times < 0.22)
    house, face = (
        epochs.data[epochs.labels == label][:, [0, 3]][:, :, window].mean(axis=0).min(axis=1)
        for label in (0, 1)
    )
    assert (face < house - 1).all()


@pytest.mark.skipif(not N170.is_dir(), reason="needs ../shared/data/n170")
def test_real_sessions_that_share_trials() -> None:
    files = [N170 / f"group_N170_s03_ses{number}.npz" for number in (1, 2, 3)]
    with pytest.warns(UserWarning, match="s03_ses2.npz: 180 of 340 trials are there twice, .*_ses1.npz"):
        epochs = read(files)
    assert len({trial.tobytes() for trial in epochs.data}) == len(epochs.data) == 643


N400 = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "n400" / "subject04-epo.fif"
CLASSES = ("face", "house")
EVENT_ID = {"face/big": 1, "face/small": 2, "house/big": 3, "cue": 4}
CODES = [1, 3, 2, 4, 3, 1]


def make(seed: int = 0, sfreq: float = 50.0, names: Sequence[str] = ("Fz", "Cz", "EOG")) -> mne.EpochsArray:
    rng = np.random.default_rng(seed)
    info = mne.create_info(list(names), sfreq, ["eog" if name == "EOG" else "eeg" for name in names])
    events = np.c_[np.arange(6) * 100, np.zeros(6), CODES].astype(int)
    metadata = pd.DataFrame({"rt": rng.random(6), "word": list("abcdef"), "n": np.arange(6)})
    data = rng.standard_normal((6, len(names), 30)) * 1e-5
    return mne.EpochsArray(data, info, events, -0.2, EVENT_ID, metadata=metadata, verbose="ERROR")


def save_of_fif(folder: Path, epochs: mne.EpochsArray, name: str = "a-epo.fif") -> Path:
    epochs.save(folder / name, fmt="double", overwrite=True, verbose="ERROR")
    return folder / name


read_of_fif = partial(eeg_recordings.read, "fif", tmin=None, tmax=None)


def test_round_trip_by_hierarchical_names(tmp_path: Path) -> None:
    saved = make()
    epochs = read_of_fif([save_of_fif(tmp_path, saved)])
    keep = [0, 1, 2, 4, 5]
    np.testing.assert_array_equal(epochs.data, saved.get_data()[keep][:, :2])
    assert epochs.labels.tolist() == [0, 1, 0, 1, 0]
    assert epochs.channels == ("Fz", "Cz")
    assert epochs.sfreq == 50.0
    np.testing.assert_allclose(epochs.times, np.arange(-10, 20) / 50)
    names = {code: name for name, code in EVENT_ID.items()}
    assert epochs.trial_info["event"].tolist() == [names[CODES[number]] for number in keep]
    np.testing.assert_allclose(epochs.trial_info["rt"], saved.metadata["rt"].to_numpy()[keep], rtol=1e-8)
    assert epochs.trial_info["word"].tolist() == ["a", "b", "c", "e", "f"]
    assert all(values.dtype != object for values in epochs.trial_info.values())


def test_events_name_the_classes_of_files_that_are_joined_and_must_agree(tmp_path: Path) -> None:
    """No event is of two, and none is of no event."""
    file, two = save_of_fif(tmp_path, make()), {"face": ("face",), "house": ("big",)}
    refused(read_of_fif, [file], "two classes", "face/big in face and house", events=two)
    refused(read_of_fif, [file], "run phase has no trials of dog", "2 × house/big", classes=("face", "dog"))
    events = {"big": ("face/big", "house"), "cue": ("cue",)}
    epochs = read_of_fif([file], classes=("big", "cue"), events=events)
    assert epochs.labels.tolist() == [0, 0, 1, 0, 0]
    first, second = save_of_fif(tmp_path, make(0)), save_of_fif(tmp_path, make(1), "b-epo.fif")
    assert len(read_of_fif([first, second]).trial_info["rt"]) == 10
    other = save_of_fif(tmp_path, make(2, sfreq=100.0), "c-epo.fif")
    refused(read_of_fif, [first, other], "differ in sampling rate", "100 Hz")
    named = save_of_fif(tmp_path, make(3, names=("Fz", "Pz", "EOG")), "d-epo.fif")
    refused(read_of_fif, [first, named], "differ in channels", "Pz")
    shorter = save_of_fif(tmp_path, make(4).crop(tmax=0.2), "e-epo.fif")
    refused(read_of_fif, [first, shorter], "differ in times", "21 samples", "30 samples")


@pytest.mark.skipif(not N400.is_file(), reason="needs ../shared/data/n400")
def test_real_epochs_are_what_mne_reads() -> None:
    epochs = read_of_fif([N400], classes=("related", "unrelated"))
    direct = mne.read_epochs(N400, verbose="ERROR")
    np.testing.assert_array_equal(epochs.data, direct.get_data())
    np.testing.assert_array_equal(epochs.labels, direct.events[:, 2] - 6)
    assert epochs.channels == tuple(direct.ch_names)
    np.testing.assert_array_equal(epochs.times, direct.times)
    # The other order of classes turns the labels, not the trials.
    turned = read_of_fif([N400], classes=("unrelated", "related"))
    np.testing.assert_array_equal(turned.labels, 1 - epochs.labels)
    np.testing.assert_array_equal(turned.data, epochs.data)
