"""What a stage leaves: arrays that its units fill, more of them at the end, files, and the record."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from in_process import do_job, files_of, keep_file
from matplotlib.figure import Figure
from toy_stages import Growing, Numbers, Powers, task_of

from shortloop.base.errors import InputError
from shortloop.base.types import Span
from shortloop.stages.output import check_coverage, compute_unit, keep_unit, lay_out, write_output
from shortloop.stages.records import Outside
from shortloop.stages.results import Result, Where, open_result
from shortloop.stages.stage import CollectingStage, Finished, Index, Out, Outputs, Stage, Values
from shortloop.stages.task import Task
from shortloop.stages.threads import Pool


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    """A job of three numbers."""
    file = tmp_path / "numbers.txt"
    file.write_text("1 2 3", encoding="utf-8")
    return do_job(task_of(Numbers, {"file": "c1"}, {}, where=Where({"c1": file})), tmp_path / "main-1").path


def powers(numbers: Path, count: int, **more: Any) -> Task:
    jobs: dict[str, Any] = {"numbers": str(numbers), "others": [], "offset": None}
    return task_of(Powers, {"count": count, "style": {"name": "x"}}, jobs, **more)


def test_what_units_and_the_end_leave(numbers: Path, tmp_path: Path) -> None:
    result = do_job(powers(numbers, 4, versions={"numpy": "2"}), tmp_path / "main-2")
    expected = np.array([1.0, 2, 3]) ** np.arange(4)[:, np.newaxis]
    np.testing.assert_array_equal(result.arrays["powers"], expected)
    np.testing.assert_array_equal(result.arrays["largest"], np.array([[1, 3, 9, 27]], "f4"), strict=True)
    np.testing.assert_array_equal(result.arrays["means"], expected.mean(axis=1))
    assert result.arrays["total"] == expected.sum()
    assert result.facts == {"rows": 3}
    files = {file for file in files_of(result.path) if not file.endswith(".npy")}
    assert files == {"record.json", "report/all.txt", *(f"pages/{number}.txt" for number in range(4))}
    assert result.record["versions"] == {"numpy": "2"}
    assert (result.stage, result.partition, result.problem) == ("powers", None, None)
    described = result.record["arrays"]
    said = {"axes": "one × powers", "description": "largest power", "unit": "m"}
    assert described["largest"] == {**said, "shape": [1, 4], "dtype": "float32"}
    assert list(described) == ["powers", "largest", "means", "total"]


class Square(Growing):
    """Whose outputs do not all have a row for each of what it grows in."""

    def outputs(self) -> dict[str, Out]:
        return {**super().outputs(), "square": Out((2, 2), "f8", "rows × rows", "")}


class Pages(Growing):
    """Whose units give files."""

    def compute(self, unit: int) -> Any:
        return {**super().compute(unit), "page.txt": b"x"}


@pytest.mark.parametrize(("stage", "said"), [(Square, "square has the shape"), (Pages, "gives files")])
def test_what_could_not_be_taken_over(numbers: Path, tmp_path: Path, stage: type[Growing], said: str) -> None:
    """Also where nothing is: a job that grows from this one would have zeros in its first rows."""
    task = Task("x", "", "", None, {"count": 3}, {"numbers": str(numbers)})
    made = stage()
    made.count, made.numbers = 3, open_result(numbers)
    with pytest.raises(ValueError, match=said):
        keep_unit(
            made, 0, compute_unit(made, 0), lay_out(made, task, lambda name, *of: np.zeros(*of)), keep_file
        )


class Placed(Stage):
    """Units whose place in their arrays differs."""

    INDEX: Any = None

    def outputs(self) -> dict[str, Out]:
        return {"a": Out((4, 3), "i2", "x × y", "it"), "b": Out((4,), "?", "x", "it")}

    def index(self, unit: int) -> Any:
        return self.INDEX


def keep(index: Any, values: Any, arrays: dict[str, np.ndarray], keep_file: Any = keep_file) -> None:
    """Put the values of a unit where its index says."""
    stage = Placed()
    stage.INDEX = index
    stage.compute = lambda unit: values  # type: ignore[method-assign]
    keep_unit(stage, 0, compute_unit(stage, 0), arrays, keep_file)


@pytest.mark.parametrize(
    ("index", "values", "a", "b"),
    [
        (2, {"a": [1, 2, 3], "b": True}, [[0] * 3, [0] * 3, [1, 2, 3], [0] * 3], [0, 0, 1, 0]),
        ({"a": slice(1, 3)}, {"a": np.ones((2, 3), int)}, [[0] * 3, [1] * 3, [1] * 3, [0] * 3], [0] * 4),
        (
            {"a": (slice(None), 1), "b": 0},
            {"a": [1, 2, 3, 4], "b": True},
            [[0, 1, 0], [0, 2, 0], [0, 3, 0], [0, 4, 0]],
            [1, 0, 0, 0],
        ),
        ({"a": (0, 0)}, {"a": 5}, [[5, 0, 0], [0] * 3, [0] * 3, [0] * 3], [0] * 4),
    ],
)
def test_a_unit_is_put_where_it_belongs(
    index: Index | Mapping[str, Index], values: dict[str, Any], a: list[list[int]], b: list[int]
) -> None:
    arrays = {name: np.zeros(out.shape, out.dtype) for name, out in Placed().outputs().items()}
    keep(index, values, arrays)
    np.testing.assert_array_equal(arrays["a"], np.array(a, "i2"), strict=True)
    np.testing.assert_array_equal(arrays["b"], np.array(b, "?"), strict=True)
    files = dict[str, bytes]()
    keep({"b": 3}, {"figures/1.svg": b"<svg/>", "b": True}, arrays, files.__setitem__)  # bytes become files
    assert files == {"figures/1.svg": b"<svg/>"}
    assert arrays["b"].tolist() == [*b[:3], True]


class WithoutCompute(Stage):
    def units(self) -> int:
        return 1


class WithoutKey(CollectingStage):
    unit_fields = ()


def test_a_stage_that_lacks_what_it_needs_says_so() -> None:
    assert (Stage().is_small(), Stage().finish(Outputs({}))) == (False, Finished())
    with pytest.raises(NotImplementedError, match="WithoutCompute has units, and no `compute`"):
        compute_unit(WithoutCompute(), 0)
    with pytest.raises(TypeError, match=r"WithoutKey.*unit_key"):
        WithoutKey()  # type: ignore[abstract]
    stage = Placed()
    stage.finish = lambda out: Finished(arrays={"a": Values([1], "x", "again")})  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="Placed gives a at its end"):
        write_output(stage, Task("placed", "", "", None, {}, {}), {}, [])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"c": 1}, "gives c; it is to fill a, b"),
        ({}, "gives nothing; it is to fill a, b"),
        (None, "gives NoneType, not outputs by name"),
        ({"a": 5}, r"gives a as int64 \(\); its output is int16 \(3,\)"),  # NumPy would repeat it
        ({"a": [[1, 2, 3]]}, "gives a as"),
        ({"a": [1.5, 2.5, 3.5]}, "gives a as float64"),  # and cut these off
        ({"b": 1}, "its output is bool"),
        ({"a": [1, 2, 40_000]}, "gives a with values that int16 cannot hold"),
        ({"a": b"abc"}, r"gives a as \|S3 \(\)"),  # the name of an output is none of a file
        ({"a": [1, 2, 3], "c": b"x"}, "gives a; it is to fill a, b"),
    ],
)
def test_what_fits_no_output_is_refused(values: Any, said: str) -> None:
    index = dict.fromkeys(values, 0) if values and "c" not in values else 0
    arrays = {"a": np.zeros((4, 3), "i2"), "b": np.zeros(4, bool)}
    with pytest.raises(ValueError, match=f"unit 0 of the stage Placed .*{said}"):
        keep(index, values, arrays)
    assert not arrays["a"].any()


@pytest.mark.parametrize(
    ("dtype", "value", "is_held"),
    [
        ("U3", "abc", True),
        ("U3", "abcd", False),
        ("S3", b"abcd", False),
        ("f4", 1e300, False),
        ("f4", np.inf, True),
        ("f4", np.nan, True),
        ("f4", 0.1, True),  # rounded
        ("i8", np.uint64(2**63), False),
        ("i8", True, True),
        ("M8[s]", np.datetime64("2020-01-01T00:00:00.5"), False),
        ("M8[s]", np.datetime64("2020-01-01T00:00:00.0"), True),
        ("M8[s]", np.datetime64("NaT", "ms"), True),
        ("i4,f4", np.ones((), "i4,f4"), True),
    ],
)
def test_values_are_kept_as_they_are_or_refused(dtype: str, value: Any, is_held: bool) -> None:
    arrays = {"a": np.zeros(1, dtype)}
    if is_held:
        keep({"a": 0}, {"a": value}, arrays)
        np.testing.assert_array_equal(arrays["a"][0], np.asarray(value).astype(dtype))
    else:
        with pytest.raises(ValueError, match=r"values that .* cannot hold"):
            keep({"a": 0}, {"a": value}, arrays)


class Ends(Stage):
    """Leaves what it is told to."""

    finished: Finished

    def finish(self, out: Outputs) -> Finished:
        return self.finished


POOLS: list[Pool] = [{"library": "blas", "version": "1", "threads": 1, "threads_used": 1}]


def ended(finished: Finished, folder: Path, where: Where) -> Result:
    stage = Ends()
    stage.finished = finished
    assert write_output(stage, Task("ends", "", "", "A", {}, {}), {}, POOLS) == list(finished.files)
    return open_result(folder, where)


def test_values_are_given_made_before_or_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "input.bin"
    file.write_bytes(b"before! " + np.arange(6.0).tobytes())
    span = Span(offset=8, shape=(2, 3), strides=(24, 8), dtype="<f8")
    Outputs({}).create("made", (2,), "i4")[...] = [3, 4]
    arrays = {
        "given": Values([1.5, 2.5], "x", "given", "s"),
        "made": Values(None, "x", "made"),
        "elsewhere": Values(Outside("input.bin", "c1", span), "x × y", "in a file of the input"),
    }
    result = ended(Finished({"n": 1}, arrays), tmp_path, Where({"c1": file}))
    assert result.arrays["given"].tolist() == [1.5, 2.5]
    assert result.arrays["made"].tolist() == [3, 4]
    assert result.arrays["elsewhere"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not Path("elsewhere.npy").exists()
    assert (result.partition, result.record["threads"]) == ("A", POOLS)
    assert result.record["arrays"]["elsewhere"]["shape"] == [2, 3]


@pytest.mark.parametrize(
    ("finished", "said"),
    [
        (None, "finish of Ends gives NoneType"),
        ({"rows": 1}, "finish of Ends gives dict"),
        (
            Finished({"rows": threading.Lock()}),
            r"Ends returns a value that cannot be stored\n  field: +rows\n",
        ),
        (Finished({"by": [{"a": lambda: 1}]}), r"  field: +by\[0\]\['a'\]\n"),
        (Finished({"../a": object()}), "Ends gives an object under a name that no file can have"),
        (Finished({"a": object()}, files={"a.pkl": b""}), "gives a.pkl 2 times"),
        (Finished(arrays={"a": Values(np.ma.masked_equal([1, 2], 1), "x", "")}), "numpy.ma.MaskedArray"),
        (Finished(files={"a.png": b""}, figures={"a": Figure()}), "gives a.png 2 times"),
        (Finished(files={"a.parquet": b""}, tables={"a": pd.DataFrame()}), "gives a.parquet 2 times"),
        (Finished(files={"a.d/b": b"", "a.d": b""}), "gives a.d as a file and a folder"),
        (Finished(files={"record.json": b""}), "'record.json': it is that of another file"),
        (Finished(files={"../a": b""}), "'../a': it must be below"),
        (Finished(arrays={"../a": Values(1, "", "")}), "'../a'"),
    ],
)
def test_unreadable_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished: Any, said: str) -> None:
    monkeypatch.chdir(tmp_path)
    stage = Ends()
    stage.finished = finished
    with pytest.raises(ValueError, match=said) as caught:
        write_output(stage, Task("ends", "", "", None, {}, {}), {}, [])
    assert not list(tmp_path.iterdir())
    assert isinstance(caught.value, InputError) or "2 times" not in said


OUTS = {"a": Out((4, 3), "f8", "x × y", ""), "b": Out((4,), "f8", "x", "")}


class Units(Stage):
    """Units whose place the test says."""

    indices: Any = None

    def index(self, unit: int) -> Any:
        return self.indices[unit]


@pytest.mark.parametrize(
    ("indices", "have", "said"),
    [
        ([0, 1, 2, 3], 0, ""),
        ([-1, 0, 2, 1], 0, ""),
        ([slice(0, 3), 3], 0, ""),
        ([slice(None, None, 2), slice(1, None, 2)], 0, ""),
        ([2, 3], 2, ""),
        ([], 4, ""),
        ([{"a": (slice(None), y)} for y in range(3)] + [{"b": slice(None)}], 0, ""),
        ([{"a": (x, y)} for x in range(4) for y in range(3)] + [{"b": x} for x in range(4)], 0, ""),
        ([{"a": 0, "b": slice(None)}, {"a": (1, slice(None))}, {"a": (slice(2, 4), slice(0, 3))}], 0, ""),
        ([0, 1, 2], 0, r"a of Units, of shape \(4, 3\): 0 units fill \[3\]"),
        ([0, 1, 2, 2], 0, r"a of Units.*: 2 units fill \[2\]"),
        ([0, 0, 0, 0], 0, r"4 units fill \[0\]"),
        ([0, 1, 2, 3, 4], 0, "the index of a unit is outside of it: index 4 is out of bounds"),
        ([1, 2, 3], 2, r"2 units fill \[1\]"),  # a row of the job before, computed again
        ([3], 2, r"0 units fill \[2\]"),
        ([], 0, r"0 units fill \[0\]"),
        ([(0, 0), 0, 1, 2, 3], 0, r"2 units fill \[0, 0\]"),
        ([{"a": slice(None)}], 0, r"b of Units.*: 0 units fill \[0\]"),
        ([{"c": 0}], 0, r"index\(0\) of Units names c; its outputs are a, b"),
    ],
)
def test_each_element_is_filled_once(indices: list[Any], have: int, said: str) -> None:
    stage = Units()
    stage.indices, stage.have = indices, have
    with pytest.raises(ValueError, match=said) if said else nullcontext():
        check_coverage(stage, OUTS, len(indices))


@pytest.mark.parametrize(("units", "is_right"), [(4, True), (3, False), (5, False), (0, False)])
def test_without_an_index_the_first_axis_is_the_units(units: int, is_right: bool) -> None:
    if is_right:
        check_coverage(Stage(), OUTS, units)
    else:
        with pytest.raises(ValueError, match=f"Stage has {units} units, and the first axis of its output a"):
            check_coverage(Stage(), OUTS, units)
    check_coverage(Units(), {"a": Out((3, 0), "f8", "", "")}, 0)  # nothing is to be filled in what is empty
    check_coverage(Stage(), {}, units)
