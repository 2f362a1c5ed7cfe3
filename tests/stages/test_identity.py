"""Units are known by their names, or by all that a stage found; never by an order that one process has."""

from __future__ import annotations

import dataclasses
import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortloop.base.types import Span
from shortloop.stages.function import UnitsStage, stage_of_function
from shortloop.stages.identity import digest_of_units, ids_of_units
from shortloop.stages.stage import Stage


@dataclasses.dataclass
class Part:
    name: str
    rows: list[float]


class Plain:
    def __init__(self, name: str) -> None:
        self.name = name


class Own(Stage):
    """Its units are what the test says."""

    names: list[str]
    found: Any = None

    def open(self) -> None:
        self._found = self.found


def own(found: Any) -> bytes:
    stage = Own()
    stage.names, stage.found = [], None
    stage.open()
    stage._found = found
    return digest_of_units(stage, [1.0, 1.0])


def of_function(units: Any) -> UnitsStage:
    stage = stage_of_function(lambda read: {"x": 1}, lambda: units, allow_empty=True)()
    assert isinstance(stage, UnitsStage)
    stage.open()
    return stage


names = st.one_of(
    st.text(max_size=5), st.integers(), st.booleans(), st.tuples(st.text(max_size=3), st.integers())
)


@given(st.lists(names, unique_by=repr, max_size=20), st.randoms())
def test_units_with_names_have_the_same_identity_in_any_order(units: list[Any], rng: Any) -> None:
    mixed = rng.sample(units, len(units))
    first, then = (
        dict(zip(map(repr, each), ids_of_units(of_function([(name, 0) for name in each]), [1.0] * len(each))))
        for each in (units, mixed)
    )
    assert first == then
    assert len({*first.values()}) == len(units)


@pytest.mark.parametrize(
    "found",
    [
        ["a", "b"],
        [("a", 1), ("b", 2)],
        {"a": 1, "b": 2},
        [Path("a"), Path("b")],
        [Path("/in/a"), Path("/in/b")],
        np.array(["a", "b"]),
        np.array(["a", "b"], dtype=object),
        np.arange(100_000.0),
        [np.arange(3.0), np.arange(3.0) + 1],
        [Part("a", [1.0]), Part("b", [1.0])],
        [Plain("a"), Plain("b")],
        [pd.DataFrame({"x": [1.0]}), pd.DataFrame({"x": [2.0]})],
        [pl.DataFrame({"x": [1.0]}), pl.DataFrame({"x": [2.0]})],
        pd.Index(["a", "b"]),
        pl.Series(["a", "b"]),
        [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)],
        [slice(0, 3), slice(3, 5)],
        [[1, [2, [3]]], [1, [2, [4]]]],
    ],
    ids=lambda found: (
        type(found).__name__ + (f" of {type(found[0]).__name__}" if isinstance(found, list) else "")
    ),
)
def test_another_order_of_what_a_class_found_is_another_identity(found: Any) -> None:
    turned = dict(reversed(found.items())) if isinstance(found, dict) else found[::-1]
    again = dict(found) if isinstance(found, dict) else found[:]
    assert own(found) == own(again)
    assert own(found) != own(turned)


def test_places_of_files_do_not_count_and_places_in_them_do(tmp_path: Path) -> None:
    """Where files lie, in what order a set is, objects of libraries."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "x.npy", np.arange(3.0))
    first, second = (np.load(tmp_path / folder / "x.npy", mmap_mode="r") for folder in ("one", "two"))
    assert own(first) == own(second)
    assert own([tmp_path / "one/a.csv"]) == own([tmp_path / "two/a.csv"])
    assert own({"a", "b", "c"}) == own({"c", "b", "a"})
    assert own(open) == own(print)
    np.save(tmp_path / "x.npy", np.arange(12.0))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    span = Span(mapped.offset, (3, 4), (8, 24), "<f8")
    for parts in (mapped, np.asarray(mapped), span.map(tmp_path / "x.npy")):
        assert own(parts[:2]) == own(parts[:2])
        assert own(parts[:2]) != own(parts[1:3])
        assert own(parts) != own(parts[::-1])


def test_a_loop_of_objects_ends_and_costs_count() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    assert own(loop) == own(loop)
    stage = Own()
    stage.names = []
    stage.open()
    assert digest_of_units(stage, [1.0, 2.0]) != digest_of_units(stage, [2.0, 1.0])
    assert ids_of_units(stage, [1.0, 1.0])[0] != ids_of_units(stage, [1.0, 1.0])[1]
