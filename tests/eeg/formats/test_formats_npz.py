"""Arrays in .npz: sessions are joined, and what does not fit is named."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import eeg_recordings
import numpy as np
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


def test_classes_name_themselves_where_no_events_are_given(tmp_path: Path) -> None:
    file = save(tmp_path, arrays(y=np.array(["face", "house", "house", "cue", "face"])))
    assert read([file], events={}).labels.tolist() == [1, 0, 0, 1]


def test_sessions_are_joined_and_must_agree(tmp_path: Path) -> None:
    files = [save(tmp_path, arrays(seed), f"{seed}.npz") for seed in (2, 1)]
    epochs = read(files)
    np.testing.assert_array_equal(epochs.data, np.concatenate([read([file]).data for file in files]))
    assert epochs.trial_info["file"].tolist() == [0] * 4 + [1] * 4
    later = save(tmp_path, arrays(3, t=np.arange(-1, 7) / 128), "l.npz")
    expect([files[0], later], "differ in times", "as in 2.npz")


def test_trials_that_are_in_two_files_are_used_once(tmp_path: Path) -> None:
    first, second = arrays(0), arrays(1)
    second["X"][:2] = first["X"][[3, 1]]
    files = [save(tmp_path, first), save(tmp_path, second, "b.npz")]
    with pytest.warns(UserWarning, match="s01, b.npz: 2 of 4 trials are there twice, .* of a.npz"):
        epochs = read(files)
    np.testing.assert_array_equal(epochs.data, np.concatenate([first["X"][:4], second["X"][2:4]]))
    assert epochs.labels.tolist() == [0, 1, 1, 0, 1, 0]
    assert epochs.trial_info["file"].tolist() == [0] * 4 + [1] * 2


def test_a_trial_under_two_classes_is_an_error(tmp_path: Path) -> None:
    turned = arrays(0, y=np.array([1, 0, 0, 1, 2]))
    files = [save(tmp_path, arrays(0)), save(tmp_path, turned, "b.npz")]
    expect(
        files,
        "under different classes",
        "4 trials that are there twice, the first is trial 1, as trial 1 of a.npz",
    )


@pytest.mark.parametrize("key", ["X", "y", "t", "ch"])
def test_a_missing_array_is_named(tmp_path: Path, key: str) -> None:
    without: dict[str, Any] = {key: None}
    expect([save(tmp_path, arrays(**without))], f"no array {key}\n", "X, y, t, ch")


@pytest.mark.parametrize(
    "other",
    [
        {"y": np.zeros(4, int)},
        {"t": np.arange(9) / 128},
        {"ch": np.array(["a", "b"])},
        {"X": np.zeros((5, 24))},
        {"y": np.zeros((5, 1), int)},
    ],
)
def test_arrays_that_do_not_fit_are_named(tmp_path: Path, other: dict[str, Any]) -> None:
    expect([save(tmp_path, arrays(**other))], "do not fit together", "(trials, channels, samples)")


@pytest.mark.parametrize("other", [{"X": np.zeros((5, 3, 8), complex)}, {"t": np.array(list("abcdefgh"))}])
def test_arrays_of_no_numbers_are_refused(tmp_path: Path, other: dict[str, Any]) -> None:
    expect([save(tmp_path, arrays(**other))], "real numbers")


def test_pickled_objects_are_not_loaded(tmp_path: Path) -> None:
    pickled = arrays(ch=np.array(["a", "b", 3], dtype=object))
    expect([save(tmp_path, pickled)], "names of channels are Python objects", "ch.astype(str)")


def test_a_single_array_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.npy"
    np.save(file, np.zeros(3))
    expect([file], "not of the format that the study says", "one array of NumPy", "numpy.savez")


@pytest.mark.parametrize(
    "t", [np.zeros(8), -np.arange(8) / 128, np.r_[0, np.arange(2, 9)] / 128, [np.nan] * 8]
)
def test_times_that_do_not_increase_evenly_are_refused(tmp_path: Path, t: Any) -> None:
    expect([save(tmp_path, arrays(t=np.array(t)))], "times do not")


def test_channels_and_samples_are_checked(tmp_path: Path) -> None:
    expect([save(tmp_path, arrays(ch=np.array(["a", "b", "a"])))], "two channels have the same name", "a")
    content = arrays()
    content["X"][3, 1, 2:5] = np.inf
    expect([save(tmp_path, content)], "not finite", "3 of 96", "trial 4, channel AF7")
    expect([save(tmp_path, arrays(y=np.zeros(5, int)))], "no trials of face", "5 × 0")
    expect([save(tmp_path, arrays())], "channel to drop", drop=("Cz",))


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
