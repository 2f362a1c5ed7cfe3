"""Arrays of MAT files in their place: what is mapped is what SciPy reads, and anything else is refused."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import loadmat, savemat
from scipy.sparse import csc_matrix

from shortloop.eeg.headers.mat5 import NotMappable, open_struct

HEADER = 128  # bytes before the first variable
TEXTS = st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=12))


def cell(items: list[Any]) -> np.ndarray:
    out = np.empty(len(items), dtype=object)
    out[:] = items
    return out


def bins(count: int = 3, shape: tuple[int, int] = (4, 5), seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape) for _ in range(count)]


def save(folder: Path, content: dict[str, Any], **settings: Any) -> Path:
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
    content = {
        **more,
        "names": cell(names),
        "x": cell(bins(count, (rows, columns), seed)),
        "y": np.arange(7.0),
    }
    order = np.random.default_rng(seed).permutation(list(content))
    others = {"before": np.eye(2), "s": {name: content[name] for name in order}, "t": {"x": 1.0}}
    file = save(tmp_path_factory.mktemp("mat"), others, oned_as=oned_as)
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
    file = save(tmp_path, {"s": {"y": np.array([1.0, 2.0, 3.0, 1.0])}})
    content = file.read_bytes()
    wide = struct.pack("<2I4d", 9, 32, 1, 2, 3, 1)
    at = content.index(wide)
    # The tag and the values shrink by 32 bytes, and so do the two matrices around them.
    for packed in (struct.pack("<HH4B", 2, 4, 1, 2, 3, 1), struct.pack("<2I4B4x", 2, 4, 1, 2, 3, 1)):
        shrunk = bytearray(content[:at] + packed + content[at + len(wide) :])
        less = len(wide) - len(packed)
        for tag in (HEADER, at - 48):
            size = struct.unpack_from("<I", shrunk, tag + 4)[0]
            struct.pack_into("<I", shrunk, tag + 4, size - less)
        file.write_bytes(shrunk)
        assert loadmat(file)["s"][0, 0]["y"].ravel().tolist() == [1, 2, 3, 1]
        with open_struct(file, "s") as found:
            assert found.numbers("y") == [1, 2, 3, 1]


@pytest.mark.parametrize(
    "odd",
    [
        cell([np.eye(2), np.eye(2) * 1j]),
        cell([np.eye(2), np.eye(2, dtype=np.float32)]),
        cell([np.eye(2), np.eye(2, dtype=np.int16)]),
        cell([np.eye(2, dtype=bool)]),
        cell([np.eye(2), np.eye(3)]),
        cell([np.ones((2, 3)), np.ones((3, 2))]),
        cell([np.eye(2), csc_matrix(np.eye(2))]),
        cell([np.ones((2, 2, 2)), np.ones((2, 2, 2))]),
        cell([np.zeros((0, 3)), np.zeros((0, 3))]),
        cell([np.eye(2), "text"]),
        cell([np.eye(2), {"a": 1.0}]),
        cell([cell([np.eye(2)]), cell([np.eye(2)])]),
        cell([np.eye(2)] * 4).reshape(2, 2),
        cell([]),
        np.eye(3),
        "text",
        {"a": np.eye(2)},
        np.array([(np.eye(2),), (np.eye(2),)], dtype=[("x", object)]),
    ],
    ids=lambda odd: f"{type(odd).__name__} {getattr(odd, 'shape', '')}",
)
def test_any_other_cells_are_refused(tmp_path: Path, odd: Any) -> None:
    refused(save(tmp_path, {"s": {"x": odd}}))


def test_integers_in_the_place_of_doubles_are_refused(tmp_path: Path) -> None:
    file = save(tmp_path, {"s": {"x": cell([np.arange(4.0).reshape(2, 2)])}})
    content = bytearray(file.read_bytes())
    at = content.rindex(struct.pack("<2I", 9, 32))
    for stored in (1, 2, 5, 7, 12, 13):
        struct.pack_into("<I", content, at, stored)
        file.write_bytes(content)
        refused(file)


@pytest.mark.parametrize("texts", [True, False])
@pytest.mark.parametrize(
    "odd",
    [
        *(cell(each) for each in (["Ü"], ["a", ""], ["a", 3.0], ["a", np.array(["b", "c"])], [np.eye(2)])),
        *(np.eye(2), np.arange(3), np.ones(3) * 1j, np.array([True, False]), "1", cell([1.0])),
    ],
)
def test_any_other_texts_and_numbers_are_refused(tmp_path: Path, odd: Any, texts: bool) -> None:
    file = save(tmp_path, {"s": {"x": odd}})
    with pytest.raises(NotMappable), open_struct(file, "s") as found:
        (found.texts if texts else found.numbers)("x")


def test_other_formats_are_refused(tmp_path: Path) -> None:
    content = {"s": {"x": cell(bins())}}
    refused(save(tmp_path, content, do_compression=True))
    refused(save(tmp_path, {"s": np.eye(3)}, format="4"))
    file = save(tmp_path, content)
    whole = file.read_bytes()
    for head in (whole[:124] + b"\x01\x00MI", whole[:124] + b"\x00\x02IM", b"\x00" * 4 + whole[4:128]):
        file.write_bytes(head + whole[128:])
        refused(file)
    twice = whole + whole[128:]
    for other in (b"", b"MATLAB", b"\x89HDF\r\n\x1a\n" + bytes(500), twice):
        file.write_bytes(other)
        refused(file)
    others: list[dict[str, Any]] = [{"t": {"x": 1.0}}, {"s": np.eye(2)}, {"s": cell([np.eye(2)])}, {}]
    for other_content in others:
        refused(save(tmp_path, other_content))


def test_a_file_cut_short_anywhere_or_too_long_is_refused(tmp_path: Path) -> None:
    file = save(tmp_path, {"s": {"x": cell(bins(2, (2, 2))), "names": cell(["a", "bcdef"])}})
    whole = file.read_bytes()
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        refused(file)
    for more in (b"\0", bytes(8), bytes(64)):
        file.write_bytes(whole + more)
        refused(file)


@settings(max_examples=400, deadline=None)
@given(at=st.integers(0, 10_000), value=st.integers(0, 2**32 - 1))
def test_a_damaged_file_is_refused_or_lies_in_bounds(
    tmp_path_factory: pytest.TempPathFactory, at: int, value: int
) -> None:
    folder = tmp_path_factory.mktemp("mat")
    file = save(folder, {"s": {"x": cell(bins(2, (2, 2))), "n": cell(["a", "bcdef"]), "y": np.arange(2.0)}})
    content = bytearray(file.read_bytes())
    struct.pack_into("<I", content, HEADER + 4 * (at % ((len(content) - HEADER) // 4)), value)
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
    assert values.nbytes == np.stack(bins(2, (2, 2))).nbytes
    values.sum()
