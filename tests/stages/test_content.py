"""Hashes of data in memory are equal if and only if the data are."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import itertools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from blake3 import blake3
from jobs_project import ROOT, fresh_python
from refusal import refusal

from shortloop.stages.content import BULK, content_of


@dataclasses.dataclass
class Point:
    x: int


class Slotted:
    __slots__ = ("beside",)


@dataclasses.dataclass
class Marked(Slotted):
    x: int

    def __init__(self, beside: int) -> None:
        self.x, self.beside = 1, beside


@dataclasses.dataclass
class Listed(list[int]):
    x: int


class Pair(collections.namedtuple("Pair", "a b")):
    """A tuple with names, which can have attributes beside these."""


def with_attribute(value: Any) -> Any:
    value.c = 1
    return value


FRAME = pd.DataFrame({"firm": ["a", "b", "c"], "x": [1.0, 2.0, np.nan], "n": [1, 2, 3]})


def fields(*offsets: int) -> Any:
    return np.dtype({"names": ["a", "b"], "formats": ["i4", "i2"], "offsets": [*offsets]})


DIFFERENT: dict[str, Any] = {
    "none": None, "false": False, "0": 0, "0.0": 0.0, "-0.0": -0.0, "nan": float("nan"), "text 0": "0",
    "bytes 0": b"0", "empty text": "", "empty bytes": b"", "1": 1, "true": True, "large": 2**80,
    "complex": 1j,
    "list": [], "tuple": (), "dict": {}, "list of list": [[]], "list of 1": [1], "tuple of 1": (1,),
    "ab": ["a", "b"], "ab in one": ["ab"], "a, b": ["a, b"], "split": ["a", ["b"]],
    "dict ab": {"a": 1, "b": 2}, "dict ba": {"b": 2, "a": 1}, "pairs": [("a", 1), ("b", 2)],
    "list like dict": ["dict", "a", 1, "b", 2], "list like generic": ["generic", np.array(1)],
    "list like array": ["array", repr(np.arange(4).dtype), (4,)],
    "list like series": ["series", "x", FRAME[["x"]]],
    "list like frame": ["frame", 3, 3, {}, "str", None, [None], [None]],
    "overlapping": np.zeros(1, fields(0, 2)),
    "not overlapping": np.zeros(1, fields(0, 4)),
    "array": np.arange(4), "array of 2": np.arange(4).reshape(2, 2), "array of i4": np.arange(4, dtype="i4"),
    "array of f8": np.arange(4.0), "array big endian": np.arange(4, dtype=">i8"), "0-d": np.array(1),
    "generic": np.int64(1), "objects": np.array(["a", None], object), "texts": np.array(["a"]),
    "other objects": np.array(["a", "None"], object), "longer texts": np.array(["a"], "U2"),
    "record": np.zeros(1, [("a", "i4")]), "record b": np.zeros(1, [("b", "i4")]),
    "time": np.datetime64("2026-01-01"), "time ns": np.datetime64("2026-01-01", "ns"),
    "frame": FRAME, "frame of 2": FRAME[:2], "other order": FRAME[["x", "firm", "n"]],
    "renamed": FRAME.rename(columns={"x": "y"}), "other index": FRAME.set_axis([5, 6, 7]),
    "named columns": FRAME.rename_axis(columns="k"), "frame in list": [FRAME], "two frames": [FRAME, FRAME],
    "named index": FRAME.rename_axis("k"), "index": FRAME.set_index("firm"), "i4": FRAME.astype({"n": "i4"}),
    "category": FRAME.astype({"firm": "category"}), "object": FRAME.astype({"firm": object}),
    "nullable": FRAME.astype({"n": "Int64"}), "one cell": FRAME.assign(x=[1.0, 2.0, 3.0]),
    "attrs": FRAME.copy(), "other category": FRAME.assign(firm=pd.Categorical(["a", "b",
    "c"], ["c", "b", "a"])),
    "ordered": FRAME.assign(firm=pd.Categorical(["a", "b", "c"], ordered=True)),
    "utc": FRAME.assign(t=pd.to_datetime(["2026-01-01"] * 3, utc=True)),
    "no zone": FRAME.assign(t=pd.to_datetime(["2026-01-01"] * 3)), "series": FRAME["x"],
    "series n": FRAME["n"],
    "polars": pl.DataFrame({"x": [1]}), "polars y": pl.DataFrame({"y": [1]}),
    "polars f": pl.DataFrame({"x": [1.0]}), "date": datetime.date(2026, 1, 1),
    "decimal": decimal.Decimal("1.0"),
    "decimal 1.00": decimal.Decimal("1.00"), "point": Point(1), "point 2": Point(2), "set": {1},
    "frozen": frozenset({1}), "int": int, "of lists": collections.defaultdict(list),
    "of ints": collections.defaultdict(int), "of none": collections.defaultdict(),
    "pair": Pair(1, 2), "pair with more": with_attribute(Pair(1, 2)), "marked": Marked(1),
    "marked 2": Marked(2),
    "labels of categories": FRAME.set_axis(pd.CategoricalIndex([*FRAME]), axis="columns"),
}  # fmt: skip
DIFFERENT["attrs"].attrs["unit"] = "m"


def test_different_data_have_different_hashes_or_none() -> None:
    found = {name: content_of(value) for name, value in DIFFERENT.items()}
    same = [(one, other) for one, other in itertools.combinations(found, 2) if found[one] == found[other]]
    assert same == []
    incomparable: list[Any] = [lambda: 1, collections.defaultdict(lambda: 1), Listed(1)]
    for value in incomparable:
        with refusal("cannot be compared"):
            content_of([value])


def test_the_frequency_of_an_index_counts() -> None:
    times = pd.date_range("2026-01-01", periods=3)
    with_it, without = pd.DataFrame(index=times), pd.DataFrame(index=pd.DatetimeIndex([*times]))
    assert content_of(with_it) != content_of(without)


def made_again(value: Any) -> Any:
    """The same data in other memory, laid out otherwise."""
    if isinstance(value, pd.DataFrame):
        attrs, value = value.attrs, pd.concat([value[:1], value[1:]])[[*value.columns]].copy()
        value.attrs = attrs
        return value
    if isinstance(value, np.ndarray):
        return np.asfortranarray(np.repeat(value[None], 2, 0)[0]) if value.ndim else value.copy()
    if isinstance(value, pl.DataFrame):
        return pl.concat([value[:1], value[1:]], rechunk=False)
    if type(value) in (list, tuple):
        return type(value)(map(made_again, value))
    if type(value) is dict:
        return {made_again(key): made_again(each) for key, each in value.items()}
    return "".join([*value]) if isinstance(value, str) else value


@pytest.mark.parametrize("name", DIFFERENT)
def test_equal_data_have_equal_hashes(name: str) -> None:
    value = DIFFERENT[name]
    if isinstance(value, pd.DataFrame) and any(
        isinstance(each, pd.CategoricalDtype) for each in value.dtypes
    ):
        value = value.copy()  # to put parts together changes categories
        assert content_of(value) == content_of(DIFFERENT[name])
    else:
        assert content_of(made_again(value)) == content_of(value)


def test_large_data_that_differ_in_one_bit_have_different_hashes() -> None:
    rng = np.random.default_rng(0)
    for size in (BULK - 1, BULK, BULK + 1, 1_000_003):
        data = rng.integers(0, 256, size, dtype=np.uint8)
        found = {content_of(data), content_of(data.tobytes()), content_of(blake3(data.tobytes()).digest())}
        places = [0, 1, size // 2, size - 2, size - 1, *rng.integers(0, size, 20).tolist()]
        bits = {(place, place % 8) for place in places} | {(0, bit) for bit in range(8)}
        for place, bit in bits:
            data[place] ^= 1 << bit
            found.add(content_of(data))
            data[place] ^= 1 << bit
        assert len(found) == 3 + len(bits)


def test_hashes_are_the_same_in_every_process() -> None:
    code = (
        "import numpy as np, pandas as pd; from shortloop.stages.content import BULK, content_of;"
        "f = pd.DataFrame({'firm': ['a', 'b'], 'x': [1.0, 2.0]});"
        "found = content_of([f, {'a': (1, 2.5, None)}, np.arange(3)]).hex();"
    )
    here: dict[str, Any] = {}
    exec(code, here)
    assert fresh_python(f"{code}print(found)", ROOT, PYTHONHASHSEED="1") == f"{here['found']}\n"
