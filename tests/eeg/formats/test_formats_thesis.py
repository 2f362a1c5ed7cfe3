"""Classification data in .mat files: what is read or mapped is what SciPy reads; anything else is refused."""

from __future__ import annotations

import struct as bytes_of
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.format import open_memmap
from refusal import refusal
from scipy.io import loadmat, savemat
from scipy.sparse import csc_matrix

from shortloop.eeg.data import Features
from shortloop.eeg.formats.edf import EdfInput
from shortloop.eeg.formats.read import read_epochs, read_features
from shortloop.eeg.formats.thesis import ThesisInput
from shortloop.eeg.headers.mat5 import NotMappable, open_struct

INPUT = ThesisInput(format="thesis", power={"study": "x.mat"})
NAMES = np.array(["Face", "Landmark", "Object"], dtype=object)


def cell(items: list[Any]) -> np.ndarray:
    out = np.empty(len(items), dtype=object)
    out[:] = items
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
    import hdf5storage

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
def test_version_7_3_is_as_others(tmp_path: Path, y: np.ndarray, bins: list[np.ndarray], count: int) -> None:
    file = save_hdf5(tmp_path, struct(y, bins[:count]))
    features = read(file)
    np.testing.assert_array_equal(features.data, np.stack(bins[:count]))
    assert features.labels.tolist() == y.tolist()
    assert features.names == tuple(f"E0_freq_4_tpoint_{t}" for t in range(5))
    assert features.span is None
    np.testing.assert_array_equal(read(file, ("Object", "Face")).data, np.stack(bins[:count])[:, y != 1])
    matrix = save_hdf5(tmp_path, {**struct(y, bins[:1]), "feature": bins[0]}, "matrix")
    np.testing.assert_array_equal(read(matrix).data, bins[0][np.newaxis])
    with refusal("no struct of its own name", found="Subj01_study_data"):
        read(file.rename(tmp_path / "other.mat"))
    lost = struct(y, bins)
    del lost["category_name"]
    with refusal("no field category_name"):
        read(save_hdf5(tmp_path, lost, "lost"))


def test_plain_files_are_mapped_and_the_same(tmp_path: Path, y: np.ndarray, bins: list[np.ndarray]) -> None:
    copied = read(save(tmp_path, struct(y, bins), compressed=True))
    file = save(tmp_path, struct(y, bins))
    mapped = read(file)
    assert copied.span is None
    assert mapped.span is not None
    np.testing.assert_array_equal(copied.data, np.stack(bins), strict=True)
    np.testing.assert_array_equal(copied.labels, y)
    np.testing.assert_array_equal(copied.times, np.arange(4))
    assert copied.names == tuple(f"E0_freq_4_tpoint_{t}" for t in range(5))
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
        given: dict[str, Any] = {"participant": "Subj01", "phase": "study", "allocate": allocate}
        return read_features(INPUT, file, kind="power", classes=classes, **given)

    file = save(tmp_path, struct(y, bins))
    assert read_into(file, ("Face", "Landmark", "Object")).span is not None
    assert not copy.exists()
    features = read_into(file, ("Face", "Object"))
    assert features.span is None
    np.testing.assert_array_equal(np.load(copy), np.stack(bins)[:, y != 1])
    features.data[0, 0, 0] = 5  # it is no copy of the copy
    assert np.load(copy)[0, 0, 0] == 5


def test_units_names_and_doors_of_features(tmp_path: Path, y: np.ndarray, bins: list[np.ndarray]) -> None:
    file = save(tmp_path, struct(y, bins, trialinfo=np.c_[y + 1, y]))
    power, amplitude = read(file), read(file, kind="amplitude")
    characters = struct(y, bins, category_name=NAMES[y].astype("U8"))
    np.testing.assert_array_equal(read(save(tmp_path, characters, "other")).labels, y)
    assert (power.kind, power.unit, power.time_unit) == ("power", "V²", "bin")
    assert (amplitude.kind, amplitude.unit) == ("amplitude", "V")
    with refusal("features, not epochs"):
        read_epochs(INPUT, [tmp_path / "x.mat"], participant="S1", phase="study", classes=("a", "b"))
    edf = EdfInput(format="edf", files={"study": ("x.edf",)})
    with refusal("epochs, not features"):
        read_features(edf, tmp_path / "x", kind="power", participant="S1", phase="study", classes=("a",))
    with refusal("no files of the study phase"):
        read_epochs(edf, [], participant="S1", phase="study", classes=("a", "b"))


def expect(file: Path, problem: str, *parts: str) -> None:
    with refusal(problem, *parts, participant="Subj01", file=file):
        read(file)


@pytest.mark.parametrize("compressed", [False, True])
def test_wrong_structs_told(tmp_path: Path, y: np.ndarray, bins: list[np.ndarray], compressed: bool) -> None:
    category = (y + 1).astype(float)
    category[0] = 1
    wrong = save(tmp_path, struct(y, bins, category=category), compressed=compressed)
    expect(wrong, "do not agree", "1 Object")
    for field in ("category_name", "feature_name", "feature"):
        content = struct(y, bins)
        del content[field]
        expect(save(tmp_path, content, compressed=compressed), f"no field {field}\n", "category")
    for bad in (np.nan, np.inf):
        bins[1][4, 3] = bad
        wrong = save(tmp_path, struct(y, bins), compressed=compressed)
        expect(wrong, "not finite", "bin 2, trial 5", "tpoint_3", "1 of 35")
    bins[2] = bins[2][:-1]
    wrong = save(tmp_path, struct(y, bins), compressed=compressed)
    expect(wrong, "do not fit together", "bin 3", "6 × 5", "7 trials")
    other = wrong.rename(tmp_path / "Subj02_study_data.mat")
    expect(other, "no struct of its own name", "Subj01_study_data", "Subj02_study_data")
    savemat(tmp_path / "a.mat", {"a": np.eye(3)}, do_compression=compressed)
    expect(tmp_path / "a.mat", "no struct of its own name")
    expect(tmp_path / "none.mat", "cannot be read", "none.mat")


HEADER = 128  # bytes before the first variable
TEXTS = st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=12))


def bins_of_mat5(count: int = 3, shape: tuple[int, int] = (4, 5), seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape) for _ in range(count)]


def save_of_mat5(folder: Path, content: dict[str, Any], **settings: Any) -> Path:
    file = folder / "s.mat"
    savemat(file, content, **settings)
    return file


def mapped(file: Path) -> np.ndarray:
    with open_struct(file, "s") as found:
        return found.span("x").map(file)


def refused(file: Path) -> None:
    with pytest.raises(NotMappable):
        mapped(file)


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(1, 5),
    rows=st.integers(1, 6),
    columns=st.integers(1, 6),
    names=TEXTS.filter(len),
    more=st.dictionaries(
        st.text("abcxyz_", min_size=1, max_size=31).filter(str.isalpha), st.integers(-9, 9), max_size=3
    ),
    oned_as=st.sampled_from(["row", "column"]),
    seed=st.integers(0, 99),
)
def test_what_is_mapped_is_what_scipy_reads(
    tmp_path_factory: pytest.TempPathFactory,
    count: int,
    rows: int,
    columns: int,
    names: list[str],
    more: dict[str, int],
    oned_as: str,
    seed: int,
) -> None:
    x = cell(bins_of_mat5(count, (rows, columns), seed))
    content = {**more, "names": cell(names), "x": x, "y": np.arange(7.0)}
    order = np.random.default_rng(seed).permutation(list(content))
    others = {"before": np.eye(2), "s": {name: content[name] for name in order}, "t": {"x": 1.0}}
    file = save_of_mat5(tmp_path_factory.mktemp("mat"), others, oned_as=oned_as)
    read = loadmat(file)["s"][0, 0]
    with open_struct(file, "s") as found:
        assert list(found.fields) == list(read.dtype.names)
        assert found.texts("names") == [str(each[0]) for each in read["names"].ravel()] == names
        assert found.numbers("y") == read["y"].ravel().tolist()
        span = found.span("x")
    values = span.map(file)
    np.testing.assert_array_equal(values, np.stack(list(read["x"].ravel())))
    assert values.dtype == np.float64
    assert values.flags.aligned
    assert not values.flags.writeable
    assert span.offset + values.nbytes <= file.stat().st_size


def test_numbers_may_be_stored_in_less_than_they_are(tmp_path: Path) -> None:
    """As MATLAB stores doubles that are whole numbers, and as a class that is read is one number for each."""
    file = save_of_mat5(tmp_path, {"s": {"y": np.array([1.0, 2.0, 3.0, 1.0])}})
    content = file.read_bytes()
    wide = bytes_of.pack("<2I4d", 9, 32, 1, 2, 3, 1)
    at = content.index(wide)
    # The tag and the values shrink by 32 bytes, and so do the two matrices around them.
    for packed in (bytes_of.pack("<HH4B", 2, 4, 1, 2, 3, 1), bytes_of.pack("<2I4B4x", 2, 4, 1, 2, 3, 1)):
        shrunk = bytearray(content[:at] + packed + content[at + len(wide) :])
        less = len(wide) - len(packed)
        for tag in (HEADER, at - 48):
            bytes_of.pack_into("<I", shrunk, tag + 4, bytes_of.unpack_from("<I", shrunk, tag + 4)[0] - less)
        file.write_bytes(shrunk)
        assert loadmat(file)["s"][0, 0]["y"].ravel().tolist() == [1, 2, 3, 1]
        with open_struct(file, "s") as found:
            assert found.numbers("y") == [1, 2, 3, 1]


@pytest.mark.parametrize(
    "odd",
    [
        *(cell([np.eye(2), np.eye(2, dtype=each)]) for each in (complex, np.float32, np.int16)),
        *(cell([np.eye(2), each]) for each in (np.eye(3), csc_matrix(np.eye(2)), "text", {"a": 1.0})),
        *(cell([np.ones((2, 3)), np.ones((3, 2))]), cell([np.eye(2, dtype=bool)]), cell([])),
        cell([np.eye(2)] * 4).reshape(2, 2),
        *(cell([np.ones(shape), np.ones(shape)]) for shape in ((2, 2, 2), (0, 3))),
        *(cell([cell([np.eye(2)]), cell([np.eye(2)])]), np.eye(3), "text", {"a": np.eye(2)}),
        np.array([(np.eye(2),), (np.eye(2),)], dtype=[("x", object)]),
    ],
    ids=lambda odd: f"{type(odd).__name__} {getattr(odd, 'shape', '')}",
)
def test_any_other_cells_are_refused(tmp_path: Path, odd: Any) -> None:
    refused(save_of_mat5(tmp_path, {"s": {"x": odd}}))


@pytest.mark.parametrize("texts", [True, False])
@pytest.mark.parametrize(
    "odd",
    [
        *(cell(each) for each in (["Ü"], ["a", ""], ["a", 3.0], ["a", np.array(["b", "c"])], [np.eye(2)])),
        *(np.eye(2), np.arange(3), np.ones(3) * 1j, np.array([True, False]), "1", cell([1.0])),
    ],
)
def test_any_other_texts_and_numbers_are_refused(tmp_path: Path, odd: Any, texts: bool) -> None:
    file = save_of_mat5(tmp_path, {"s": {"x": odd}})
    with pytest.raises(NotMappable), open_struct(file, "s") as found:
        (found.texts if texts else found.numbers)("x")


def test_other_formats_are_refused(tmp_path: Path) -> None:
    """And integers in the place of doubles."""
    content = {"s": {"x": cell(bins_of_mat5())}}
    refused(save_of_mat5(tmp_path, content, do_compression=True))
    refused(save_of_mat5(tmp_path, {"s": np.eye(3)}, format="4"))
    others: list[dict[str, Any]] = [{"t": {"x": 1.0}}, {"s": np.eye(2)}, {"s": cell([np.eye(2)])}, {}]
    for other in others:
        refused(save_of_mat5(tmp_path, other))
    file = save_of_mat5(tmp_path, content)
    whole = file.read_bytes()
    heads = (whole[:124] + b"\x01\x00MI", whole[:124] + b"\x00\x02IM", b"\x00" * 4 + whole[4:128])
    odd = [b"", b"MATLAB", b"\x89HDF\r\n\x1a\n" + bytes(500), whole + whole[128:]]
    at = whole.rindex(bytes_of.pack("<2I", 9, 160))
    odd += [whole[:at] + bytes_of.pack("<I", of) + whole[at + 4 :] for of in (1, 2, 5, 7, 12, 13)]
    for damaged in [*(head + whole[128:] for head in heads), *odd]:
        file.write_bytes(damaged)
        refused(file)


def test_a_file_cut_short_anywhere_or_too_long_is_refused(tmp_path: Path) -> None:
    file = save_of_mat5(tmp_path, {"s": {"x": cell(bins_of_mat5(2, (2, 2))), "names": cell(["a", "bcdef"])}})
    whole = file.read_bytes()
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        refused(file)
    for more in (b"\0", bytes(8), bytes(64)):
        file.write_bytes(whole + more)
        refused(file)


@settings(max_examples=50, deadline=None)
@given(at=st.integers(0, 10_000), value=st.integers(0, 2**32 - 1))
def test_damage_is_refused_or_bounded(tmp_path_factory: pytest.TempPathFactory, at: int, value: int) -> None:
    known = {"x": cell(bins_of_mat5(2, (2, 2))), "n": cell(["a", "bcdef"]), "y": np.arange(2.0)}
    file = save_of_mat5(tmp_path_factory.mktemp("mat"), {"s": known})
    content = bytearray(file.read_bytes())
    bytes_of.pack_into("<I", content, HEADER + 4 * (at % ((len(content) - HEADER) // 4)), value)
    file.write_bytes(content)
    try:
        with open_struct(file, "s") as found:
            if not {"x", "n", "y"} <= found.fields.keys():
                return
            found.texts("n")
            found.numbers("y")
            values = found.span("x").map(file)
    except NotMappable:
        return
    assert values.shape[0] == 2
    assert values.nbytes == np.stack(bins_of_mat5(2, (2, 2))).nbytes
    values.sum()
