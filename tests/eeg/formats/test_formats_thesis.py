"""Classification data in .mat files: what was saved is what is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.format import open_memmap
from scipy.io import savemat

from shortloop.base.errors import InputError
from shortloop.eeg.data import Features
from shortloop.eeg.formats.edf import EdfInput
from shortloop.eeg.formats.read import read_epochs, read_features
from shortloop.eeg.formats.thesis import ThesisInput

INPUT = ThesisInput(format="thesis", power={"study": "x.mat"})
NAMES = np.array(["Face", "Landmark", "Object"], dtype=object)


def cell(items: list[Any]) -> np.ndarray:
    out = np.empty(len(items), dtype=object)
    for index, item in enumerate(items):
        out[index] = item
    return out


def struct(y: np.ndarray, bins: list[np.ndarray], **more: Any) -> dict[str, Any]:
    """The schema of the published code, as its simulation writes it."""
    names = np.array([f"E0_freq_4_tpoint_{t}" for t in range(bins[0].shape[1])], dtype=object)
    return {
        "category": (y + 1).astype(float),
        "category_name": NAMES[y],
        "feature_name": names,
        "feature": cell(bins),
        "numclassifiers": float(len(bins)),
        **more,
    }


def save(
    folder: Path, content: dict[str, Any], name: str = "Subj01_study_data", compressed: bool = False
) -> Path:
    file = folder / f"{name}.mat"
    savemat(file, {name: content}, do_compression=compressed)
    return file


def save_hdf5(folder: Path, content: dict[str, Any], name: str = "Subj01_study_data") -> Path:
    hdf5storage = pytest.importorskip("hdf5storage")
    file = folder / f"{name}.mat"
    hdf5storage.savemat(str(file), {name: content}, format="7.3", oned_as="row", store_python_metadata=False)
    return file


def read(
    file: Path, classes: tuple[str, ...] = ("Face", "Landmark", "Object"), kind: str = "power"
) -> Features:
    return read_features(INPUT, file, kind=kind, participant="Subj01", phase="study", classes=classes)


@pytest.fixture
def y() -> np.ndarray:
    return np.array([2, 0, 1, 1, 0, 2, 0])


@pytest.fixture
def bins(y: np.ndarray) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.standard_normal((len(y), 5)) for _ in range(4)]


@pytest.mark.parametrize("count", [1, 4])
def test_version_7_3_is_read_as_the_others(
    tmp_path: Path, y: np.ndarray, bins: list[np.ndarray], count: int
) -> None:
    file = save_hdf5(tmp_path, struct(y, bins[:count]))
    features = read(file)
    np.testing.assert_array_equal(features.data, np.stack(bins[:count]))
    assert features.labels.tolist() == y.tolist()
    assert features.names == tuple(f"E0_freq_4_tpoint_{t}" for t in range(5))
    assert features.span is None
    two = read(file, ("Object", "Face"))
    np.testing.assert_array_equal(two.data, np.stack(bins[:count])[:, y != 1])
    matrix = save_hdf5(tmp_path, {**struct(y, bins[:1]), "feature": bins[0]}, "matrix")
    np.testing.assert_array_equal(read(matrix).data, bins[0][np.newaxis])
    with pytest.raises(InputError, match="no struct of its own name") as caught:
        read(file.rename(tmp_path / "other.mat"))
    assert caught.value.found == "Subj01_study_data"
    lost = struct(y, bins)
    del lost["category_name"]
    with pytest.raises(InputError, match="no field category_name"):
        read(save_hdf5(tmp_path, lost, "lost"))


@settings(max_examples=15, deadline=None)
@given(
    n_bins=st.integers(1, 4), n_features=st.integers(1, 4), repeats=st.integers(1, 3), seed=st.integers(0, 99)
)
def test_round_trip(tmp_path_factory: Any, n_bins: int, n_features: int, repeats: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1, 2], repeats))
    bins = [rng.standard_normal((len(y), n_features)) for _ in range(n_bins)]
    features = read(save(tmp_path_factory.mktemp("mat"), struct(y, bins)))
    np.testing.assert_array_equal(features.data, np.stack(bins))
    assert features.data.dtype == np.float64
    np.testing.assert_array_equal(features.labels, y)
    assert features.names == tuple(f"E0_freq_4_tpoint_{t}" for t in range(n_features))
    np.testing.assert_array_equal(features.times, np.arange(n_bins))


def test_a_file_that_is_not_compressed_is_mapped_and_gives_the_same(
    tmp_path: Path, y: np.ndarray, bins: list[np.ndarray]
) -> None:
    copied = read(save(tmp_path, struct(y, bins), compressed=True))
    file = save(tmp_path, struct(y, bins))
    mapped = read(file)
    assert copied.span is None
    assert mapped.span is not None
    np.testing.assert_array_equal(mapped.data, copied.data)
    np.testing.assert_array_equal(mapped.span.map(file), copied.data)
    np.testing.assert_array_equal(mapped.labels, copied.labels)
    assert (mapped.names, mapped.classes) == (copied.names, copied.classes)
    with pytest.raises(ValueError, match="read-only"):
        mapped.data[0] = 1


def test_what_is_mapped_needs_no_memory(tmp_path: Path, y: np.ndarray, bins: list[np.ndarray]) -> None:
    copy = tmp_path / "copy.npy"

    def allocate(shape: tuple[int, ...]) -> np.ndarray:
        return open_memmap(copy, mode="w+", dtype="f8", shape=shape)

    def read_into(file: Path, classes: tuple[str, ...]) -> Features:
        return read_features(
            INPUT, file, kind="power", participant="Subj01", phase="study", classes=classes, allocate=allocate
        )

    file = save(tmp_path, struct(y, bins))
    assert read_into(file, ("Face", "Landmark", "Object")).span is not None
    assert not copy.exists()
    features = read_into(file, ("Face", "Object"))
    assert features.span is None
    np.testing.assert_array_equal(np.load(copy), np.stack(bins)[:, y != 1])
    features.data[0, 0, 0] = 5  # it is no copy of the copy
    assert np.load(copy)[0, 0, 0] == 5


def test_units_and_kinds(tmp_path: Path, y: np.ndarray, bins: list[np.ndarray]) -> None:
    file = save(tmp_path, struct(y, bins, trialinfo=np.c_[y + 1, y]))
    power, amplitude = read(file), read(file, kind="amplitude")
    assert (power.kind, power.unit, power.time_unit) == ("power", "V²", "bin")
    assert (amplitude.kind, amplitude.unit) == ("amplitude", "V")


def test_names_may_be_a_matrix_of_characters(tmp_path: Path, y: np.ndarray, bins: list[np.ndarray]) -> None:
    features = read(save(tmp_path, struct(y, bins, category_name=NAMES[y].astype("U8"))))
    np.testing.assert_array_equal(features.labels, y)


def expect(
    file: Path, problem: str, *parts: str, classes: tuple[str, ...] = ("Face", "Landmark", "Object")
) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        read(file, classes=classes)
    assert caught.value.where["participant"] == "Subj01"
    assert caught.value.file == str(file)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize("field", ["category_name", "feature_name", "feature"])
def test_a_missing_field_is_named(tmp_path: Path, y: np.ndarray, bins: list[np.ndarray], field: str) -> None:
    content = struct(y, bins)
    del content[field]
    expect(save(tmp_path, content), f"no field {field}\n", "category")


def test_the_struct_must_have_the_name_of_the_file(
    tmp_path: Path, y: np.ndarray, bins: list[np.ndarray]
) -> None:
    file = save(tmp_path, struct(y, bins))
    other = file.rename(tmp_path / "Subj02_study_data.mat")
    expect(other, "no struct of its own name", "Subj01_study_data", "Subj02_study_data")


def test_a_variable_that_is_no_struct(tmp_path: Path) -> None:
    file = tmp_path / "a.mat"
    savemat(file, {"a": np.eye(3)})
    expect(file, "no struct of its own name")


def test_a_bin_of_another_shape_is_named(tmp_path: Path, y: np.ndarray, bins: list[np.ndarray]) -> None:
    bins[2] = bins[2][:-1]
    expect(save(tmp_path, struct(y, bins)), "do not fit together", "bin 3", "6 × 5", "7 trials")


@pytest.mark.parametrize("compressed", [False, True])
def test_category_and_name_must_agree(
    tmp_path: Path, y: np.ndarray, bins: list[np.ndarray], compressed: bool
) -> None:
    category = (y + 1).astype(float)
    category[0] = 1
    expect(
        save(tmp_path, struct(y, bins, category=category), compressed=compressed), "do not agree", "1 Object"
    )


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_value_that_is_no_number_is_placed(
    tmp_path: Path, y: np.ndarray, bins: list[np.ndarray], bad: float, compressed: bool
) -> None:
    bins[1][4, 3] = bad
    expect(
        save(tmp_path, struct(y, bins), compressed=compressed),
        "not finite",
        "bin 2, trial 5",
        "tpoint_3",
        "1 of 35",
    )


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    expect(tmp_path / "none.mat", "cannot be read", "none.mat")


def test_epochs_and_features_have_their_own_door(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="features, not epochs"):
        read_epochs(INPUT, [tmp_path / "x.mat"], participant="S1", phase="study", classes=("a", "b"))
    edf = EdfInput(format="edf", files={"study": ("x.edf",)})
    with pytest.raises(InputError, match="epochs, not features"):
        read_features(edf, tmp_path / "x", kind="power", participant="S1", phase="study", classes=("a",))
    with pytest.raises(InputError, match="no files of the study phase"):
        read_epochs(edf, [], participant="S1", phase="study", classes=("a", "b"))


def test_a_file_cut_short_anywhere_is_named(tmp_path: Path) -> None:
    file = save(tmp_path, struct(np.array([0, 1, 2]), [np.eye(3)] * 2))
    whole = file.read_bytes()
    for size in range(0, len(whole), 20):
        file.write_bytes(whole[:size])
        expect(file, "cannot be read|no struct|no field|fit together")
