"""Stages made of functions: their fields, their units, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from refusal import refusal
from scipy.sparse import csr_array

from shortloop.stages.content import SIZE
from shortloop.stages.function import UnitsStage, sort_results, stage_of_function
from shortloop.stages.inputs import File
from shortloop.stages.output import compute_row, computed, write_output
from shortloop.stages.results import open_result
from shortloop.stages.rows import take_rows
from shortloop.stages.stage import Job, Values
from shortloop.stages.task import REQUIRED, Task, fields_of
from shortloop.store.loaded import dimensions


def everything(
    file: File, panel: Job, fits: list[Job], extra: Job | None, formula: str, digits: int = 3
) -> dict[str, Any]:
    """What it says."""
    return {}


def squares(count: int, twice: bool = False) -> Iterator[tuple[str, list[int]]]:
    for number in range(count):
        yield f"n{number}", [number] * (1 + twice)


def power(read: list[int], exponent: float = 2.0) -> dict[str, Any]:
    return {"power": sum(read) ** exponent, "terms": np.array(read[:1])}


def named(read: int, unit: str, partition: str | None) -> dict[str, Any]:
    return {"said": f"{unit}={read} of {partition}"}


def nothing() -> list[Any]:
    return []


def test_parameters_are_fields() -> None:
    kind = stage_of_function(everything)
    fields = fields_of(kind)
    assert fields.jobs == {"panel": "one", "fits": "many", "extra": "optional"}
    assert fields.options == {"file": REQUIRED, "formula": REQUIRED, "digits": 3}
    assert (kind.__name__, kind.__doc__, kind.__module__) == ("everything", "What it says.", __name__)


def opened(
    function: Callable[..., Any], units: Callable[..., Any], allow_empty: bool = False, **options: Any
) -> UnitsStage:
    stage = stage_of_function(function, units, allow_empty)()
    assert isinstance(stage, UnitsStage)
    for name, value in options.items():
        setattr(stage, name, value)
    stage.open()
    return stage


def done(stage: UnitsStage, folder: Path, *earlier: Path) -> tuple[Any, int]:
    """What a job leaves, and how many units it has taken over."""
    folder.mkdir()
    task = Task("power", "", "", stage.partition, {}, {})
    rows: dict[int, bytes] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        taken = take_rows(stage, range(len(stage.units())), rows.__setitem__, {}, earlier)
        for unit in range(len(stage.units())):
            if unit not in rows:
                rows[unit] = compute_row(stage, unit)
        write_output(stage, task, {}, [], rows=[rows[unit] for unit in sorted(rows)], taken=taken)
    return open_result(folder), sum(taken.values())


def test_units_become_arrays_and_a_frame(tmp_path: Path) -> None:
    found, _ = done(opened(power, squares, count=4), tmp_path / "main-1")
    assert found["power"].tolist() == [0, 1, 4, 9]
    assert found["terms"].tolist() == [[0], [1], [2], [3]]
    frame = found.to_frame()
    assert [*frame.columns] == ["power"]  # only what has one value a unit
    assert frame.index.to_list() == ["n0", "n1", "n2", "n3"]
    assert found.facts["units"] == ["n0", "n1", "n2", "n3"]
    assert found.names() == ["power", "terms", "units"]
    with pytest.raises(KeyError, match="main-1 has power, terms, units"):
        found["other"]
    axes, coordinates = dimensions(found.record)
    assert axes == {"power": ("units",), "terms": ("units", "axis_1_of_terms")}
    assert coordinates == {"units": "units"}
    none, _ = done(opened(power, squares, True, count=0), tmp_path / "main-2")
    assert "coordinates" not in none.record


def means(count: int) -> dict[str, Any]:
    sides = np.array(["left", "right"])
    return {
        "means": Values(np.zeros((count, 2)), "sessions × sides", "mean of each"),
        "sides": Values(sides, "sides", ""),
    }


def test_a_function_names_its_axes_with_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/notebooks.md says."""
    monkeypatch.chdir(tmp_path)
    stage = stage_of_function(means)()
    stage.count = 3  # type: ignore[attr-defined]
    write_output(stage, Task("means", "", "", None, {}, {}, None), {}, [])
    axes, coordinates = dimensions(open_result(tmp_path).record)
    assert axes == {"means": ("sessions", "sides"), "sides": ("sides",)}
    assert coordinates == {"sides": "sides"}


def test_units_that_read_the_same_are_taken_over(tmp_path: Path) -> None:
    """Wherever they stand; what comes out is what would come out anew."""
    first, taken = done(opened(power, squares, count=4), tmp_path / "main-1")
    assert taken == 0

    def other(count: int, twice: bool = False) -> dict[str, list[int]]:
        return {"new": [9], "n3": [3], "n1": [1], "n2": [7]}

    stage = opened(power, other, count=4)
    again, taken = done(stage, tmp_path / "main-2", first.path)
    anew, _ = done(stage, tmp_path / "main-3")
    assert taken == 2
    assert again["power"].tolist() == anew["power"].tolist() == [81, 9, 1, 49]
    for name in ("power.npy", "terms.npy", "units.rows"):
        assert (again.path / name).read_bytes() == (anew.path / name).read_bytes()


def test_a_function_that_asks_for_the_name_of_its_unit_hangs_on_it(tmp_path: Path) -> None:
    one = opened(named, lambda: {"a": 1, "b": 1}, partition="S01")
    assert one.unit_key(0) != one.unit_key(1)
    found, _ = done(one, tmp_path / "main-1")
    assert found["said"].tolist() == ["a=1 of S01", "b=1 of S01"]
    without = opened(lambda read: {"x": read}, lambda: {"a": 1, "b": 1})
    assert without.unit_key(0) == without.unit_key(1)
    assert len(without.unit_key(0)) == SIZE

    def first(unit: str, read: int, factor: int = 2) -> dict[str, Any]:
        return {"said": f"{unit}={factor * read}"}

    def alone(unit: str) -> dict[str, Any]:
        return {"said": 2 * unit}

    for function, said in ((first, ["a=2", "b=4"]), (alone, ["aa", "bb"])):
        stage = opened(function, lambda: {"a": 1, "b": 2})
        assert [stage.compute(unit)["said"] for unit in range(2)] == said


def test_what_a_unit_does_to_its_data_changes_no_other_unit_and_no_key(tmp_path: Path) -> None:
    """Nor what is computed, in which order or process ever units are."""
    shared = [1.0]  # all units are given the same list

    def greedy(read: list[float], weights: list[float], unit: tuple[str, str]) -> dict[str, float]:
        read.append(2.0)
        weights.append(3.0)
        return {"sum": sum(read) + sum(weights), "words": len(unit)}

    given = {("a", "1"): shared, ("a", "2"): shared}
    stage = opened(greedy, lambda: given, weights=[1.0])
    keys = [stage.unit_key(unit) for unit in range(2)]
    found, _ = done(stage, tmp_path / "main-1")
    assert found["sum"].tolist() == [7.0, 7.0]
    assert found["words"].tolist() == [2, 2]
    assert found["units"] == [("a", "1"), ("a", "2")]
    assert [stage.unit_key(unit) for unit in range(2)] == keys
    _, taken = done(opened(greedy, lambda: given, weights=[1.0]), tmp_path / "main-2", found.path)
    assert taken == 2

    # Units of one process look at one and the same job.
    def words(read: int, earlier: Job) -> dict[str, int]:
        for found in (earlier["units"], earlier.facts["units"]):
            found.append("one more")
        return {"words": len(earlier["units"]) - read}

    earlier, _ = done(opened(power, squares, count=3), tmp_path / "main-3")
    stage = opened(words, lambda: {"a": 0, "b": 0}, earlier=earlier)
    assert [stage.compute(unit) for unit in range(2)] == [{"words": 3}, {"words": 3}]


def test_groups_of_frames_are_units() -> None:
    frame = pd.DataFrame({"f": ["b", "a", "b"], "k": [1, 2, 1], "x": [1.0, 2, 3]})
    one = opened(lambda rows: {"sum": rows["x"].sum()}, lambda: frame.groupby("f"))
    assert one.units() == [1, 2]  # larger ones first are drawn by what they cost
    assert [one.compute(unit)["sum"] for unit in range(2)] == [2, 4]
    two = opened(lambda rows: {"sum": rows["x"].sum()}, lambda: frame.groupby(["f", "k"]))
    assert [two.unit_name(unit) for unit in range(2)] == ["('a', 2) of <lambda>", "('b', 1) of <lambda>"]
    other = pl.DataFrame({"a": [number * 7919 % 1000 for number in range(1000)]})
    stage = opened(lambda rows: {"count": len(rows)}, lambda: other.group_by("a"))  # in the order of its rows
    assert [stage.unit_name(unit) for unit in range(1000)] == [f"({a},) of <lambda>" for a in other["a"]]


def test_units_may_read_data_without_a_length() -> None:
    data = {
        "scalar": np.array(3.0),
        "sparse": csr_array(np.eye(2)),
        "lazy": pl.LazyFrame({"x": [1]}),
        "two": [1, 2],
    }
    stage = opened(lambda read: {"type": type(read).__name__}, lambda: data)
    assert stage.units() == [1, 1, 1, 2]
    assert stage.compute(1) == {"type": "csr_array"}


NAMES: list[tuple[Any, Any]] = [
    (float("nan"), None), (None, None), (pd.NaT, None), (pd.NA, None), (np.float64("nan"), None),
    (float("inf"), "inf"), (np.int64(3), 3), (2.5, 2.5), (True, True), (("a", float("nan")), ("a", None)),
    (pd.Timestamp("2026-01-01"), "2026-01-01 00:00:00"), ("nan", "nan"), ("", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kept"), NAMES)
def test_any_name_of_a_unit_is_kept_as_plain_data(tmp_path: Path, name: Any, kept: Any) -> None:
    found, _ = done(opened(power, lambda: [(name, [1]), ("other", [2])]), tmp_path / "main-1")
    assert found.facts["units"] == [kept, "other"]
    frame = found.to_frame()
    assert frame["power"].tolist() == [1, 4]
    first = frame.index[0]
    assert pd.isna(first) if kept is None else first == (tuple(kept) if isinstance(kept, list) else kept)


def test_an_error_names_its_unit() -> None:
    def fails(read: list[int]) -> dict[str, Any]:
        raise ZeroDivisionError("no")

    stage = opened(fails, squares, count=2)
    with pytest.raises(ZeroDivisionError) as caught:
        computed(stage, 1)
    assert caught.value.__notes__ == ["in unit n1 of fails"]


@pytest.mark.parametrize(
    ("units", "said"),
    [
        (lambda: [("a", 1), ("a", 2)], "two units of power have the same name"),
        (lambda: [1, 2], "not pairs of a name"),
        (lambda: 3, "not pairs of a name"),
        (lambda: None, "not pairs of a name"),
        (nothing, rf"power has no units: nothing gives none(.|\n)*{Path.cwd()}(.|\n)*allow_empty=True"),
    ],
)
def test_units_that_are_none_are_refused(units: Callable[..., Any], said: str) -> None:
    with refusal(said):
        opened(power, units)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([1], "returns no values by name"),
        ({1: 2}, "whose name is not a string"),
        ({"a/b": np.arange(3)}, "with an invalid name"),
        ({"a.npy": "x"}, "with an invalid name"),
        ({"../a.txt": "x"}, "with an invalid name"),
        ({"a" * 250: np.arange(3)}, "with an invalid name"),
        ({"a.txt": "\ud800"}, "a text that no file can hold"),
    ],
)
def test_what_a_function_may_not_return(given: Any, said: str) -> None:
    with refusal(said):
        sort_results(given, "fit")


def no_type(rows, formula): ...  # type: ignore[no-untyped-def]


def several(*files: File) -> None: ...


def any_names(**options: int) -> None: ...


def other_type(read: list[int], count: float) -> None: ...


@pytest.mark.parametrize(
    ("function", "units", "said"),
    [
        (no_type, None, "a parameter of no_type has no type"),
        (several, None, "cannot be given by name"),
        (any_names, None, "cannot be given by name"),
        (other_type, squares, "other_type and squares disagree about a parameter"),
    ],
)
def test_functions_that_make_no_stage_are_refused(function: Any, units: Any, said: str) -> None:
    with refusal(said):
        stage_of_function(function, units)
