"""Ready-made features in arrays of NumPy: what was saved is what is read, and no pickle is ever loaded."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortloop.base.errors import InputError
from shortloop.eeg.data import Features
from shortloop.eeg.formats.arrays import ArraysInput
from shortloop.eeg.formats.read import read_features

CLASSES = ("face", "house")


def read(file: Path, labels: Path | None = None, classes: tuple[str, ...] = CLASSES) -> Features:
    settings = ArraysInput(format="arrays", unit="µV")
    return read_features(
        settings, file, labels, kind="power", participant="S1", phase="study", classes=classes
    )


@pytest.fixture
def X() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((12, 4, 3))


@pytest.fixture
def y() -> np.ndarray:
    return np.array(["house", "face", "other"] * 4)


def test_an_archive(tmp_path: Path, X: np.ndarray, y: np.ndarray) -> None:
    file = tmp_path / "S1.npz"
    np.savez_compressed(file, X=X.astype("f4"), y=y, t=[0.1, 0.2, 0.3], names=[*"abcd"])
    found = read(file)
    kept = y != "other"
    np.testing.assert_array_equal(found.data, X.astype("f4")[kept].transpose(2, 0, 1))
    assert [CLASSES[label] for label in found.labels] == y[kept].tolist()
    assert (found.times.tolist(), found.time_unit, found.unit) == ([0.1, 0.2, 0.3], "s", "µV")
    assert found.names == tuple("abcd")
    np.savez(file, X=X[..., 0], y=y)
    one = read(file)
    np.testing.assert_array_equal(one.data, X[kept, :, 0][np.newaxis])
    assert (one.times.tolist(), one.time_unit, one.names[-1]) == ([0.0], "bin", "feature 4")


def test_an_array_for_each(tmp_path: Path, X: np.ndarray, y: np.ndarray) -> None:
    file, labels = tmp_path / "S1_X.npy", tmp_path / "S1_y.npy"
    np.save(file, np.asfortranarray(X))
    numbers = (y == "face").astype(float)
    np.save(labels, numbers[:, np.newaxis])
    found = read(file, labels, ("0", "1"))
    np.testing.assert_array_equal(found.data, X.transpose(2, 0, 1))
    np.testing.assert_array_equal(found.labels, numbers)
    with pytest.raises(InputError, match="the file has no array y") as refused:
        read(file)
    assert "input.labels" in str(refused.value.hint)


class Canary:
    """What it leaves when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_python_objects_are_refused_without_being_loaded(
    tmp_path: Path, X: np.ndarray, y: np.ndarray
) -> None:
    sang = tmp_path / "sang"
    bird = np.array([Canary(sang)] * 12, dtype=object)
    whole, labels = tmp_path / "S1.npy", tmp_path / "y.npy"
    np.save(whole, X)
    np.save(labels, bird, allow_pickle=True)
    files: list[tuple[Path, Path | None]] = [(whole, labels)]
    for key in ("X", "y", "t", "names"):
        file = tmp_path / f"{key}.npz"
        np.savez(file, **{"X": X, "y": y, key: bird})  # type: ignore[arg-type]
        files.append((file, None))
    alone, pickled = tmp_path / "alone.npy", tmp_path / "pickled.npy"
    np.save(alone, bird, allow_pickle=True)
    pickled.write_bytes(pickle.dumps(bird))
    for file, beside in [*files, (alone, labels), (pickled, labels)]:
        with pytest.raises(InputError):
            read(file, beside)
        assert not sang.exists(), file
    with pytest.raises(InputError, match="labels are Python objects") as refused:
        read(tmp_path / "y.npz")
    assert refused.value.hint == "save it again with y.astype(str)"
    np.load(labels, allow_pickle=True)
    assert sang.exists()  # it would have sung


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"y": np.array(["face", "house"] * 5)}, "do not fit together"),
        ({"X": np.zeros(12)}, "do not fit together"),
        ({"names": np.array(["a", "b"])}, "do not fit together"),
        ({"t": np.arange(5.0)}, "do not fit together"),
        ({"t": np.array([0.0, 0.0, 1.0])}, "do not increase"),
        ({"t": np.array([-200.0, 0.0, 200.0])}, "cannot be meant in seconds"),
        ({"X": np.full((12, 4, 3), 1j)}, "real numbers"),
        ({"X": np.full((12, 4, 3), np.nan)}, "not finite"),
        ({"y": np.array(["Face", "house"] * 6)}, "no trials of face, but of Face"),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, X: np.ndarray, y: np.ndarray, change: dict[str, Any], said: str
) -> None:
    file = tmp_path / "S1.npz"
    np.savez(file, **{"X": X, "y": y, **change})
    with pytest.raises(InputError, match=said) as refused:
        read(file)
    assert refused.value.file == str(file)
    assert refused.value.where["participant"] == "S1"


@pytest.mark.parametrize("of", ["class", "count"])
def test_a_feature_that_is_the_class_or_its_place_is_refused(
    tmp_path: Path, X: np.ndarray, y: np.ndarray, of: str
) -> None:
    X[:, 2] = (np.unique(y, return_inverse=True)[1] if of == "class" else np.arange(12))[:, np.newaxis]
    file = tmp_path / "S1.npz"
    np.savez(file, X=X, y=y, names=[*"abcd"])
    said = "is the class in other words" if of == "class" else "counts the trials"
    with pytest.raises(InputError, match=said) as refused:
        read(file)
    assert refused.value.field == "c"


def test_a_file_that_is_cut_short_is_refused(tmp_path: Path, X: np.ndarray, y: np.ndarray) -> None:
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    whole = (tmp_path / "X.npy").read_bytes()
    (tmp_path / "X.npy").write_bytes(whole[:-9])
    with pytest.raises(InputError, match="the file cannot be read") as refused:
        read(tmp_path / "X.npy", tmp_path / "y.npy")
    assert refused.value.found == f"{X.nbytes - 9} bytes"


@pytest.mark.parametrize("kind", ["u1", "i1", "u8"])
def test_differences_of_small_numbers_do_not_overflow(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.permuted(np.tile(np.arange(0, 120, 4), (4, 1)), axis=1).T.astype(kind)
    np.savez(tmp_path / "S1.npz", X=X, y=np.tile(CLASSES, 15))
    np.testing.assert_array_equal(read(tmp_path / "S1.npz").data[0], X)
