"""What a job leaves: what is written is what is read, and it says what it is."""

from __future__ import annotations

import os
import pickle
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from jobs_project import empty_project, make_job

from shortloop.base.errors import InputError
from shortloop.base.plain import Plain
from shortloop.stages.records import (
    Described,
    axes_of,
    check_array_name,
    check_file_name,
    create_array,
    noted,
    reject,
    save_array,
    write_record,
)
from shortloop.stages.results import open_result
from shortloop.stages.stage import Values
from shortloop.stages.threads import Pool

project = pytest.fixture(empty_project)


@pytest.fixture
def job(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a job that is running, which is the current folder."""
    folder = make_job(project, "main-3", finished=False)
    monkeypatch.chdir(folder)
    return folder


DTYPES = st.one_of(
    npst.floating_dtypes(endianness="="),
    npst.integer_dtypes(endianness="="),
    npst.boolean_dtypes(),
    npst.unicode_string_dtypes(endianness="=", max_len=5),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=npst.arrays(DTYPES, npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)))
def test_arrays_come_back_bit_for_bit(job: Path, values: np.ndarray) -> None:
    """In whatever order and however far apart its values are."""
    for each in (values, np.asfortranarray(values), values[..., ::-1] if values.ndim else values, values.T):
        save_array("a", each)
        write_record("train", "S01", {"a": Values(None, "x × y", "anything", "V")})
        result = open_result(job)
        back = result.arrays["a"]
        assert (back.dtype, back.shape) == (each.dtype, each.shape)
        assert back.tobytes() == each.tobytes()
        said = {"axes": "x × y", "description": "anything", "unit": "V"}
        size = {"shape": list(each.shape), "dtype": str(each.dtype)}
        assert result.record["arrays"]["a"] == said | size


class Trap:
    """Unpickling it would show."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("sprung",)


def test_a_pickle_in_the_place_of_an_array_is_never_opened(job: Path) -> None:
    save_array("a", np.zeros(3))
    write_record("train", None, {"a": Values(None, "", "")})
    trap = np.empty(1, dtype=object)
    trap[0] = Trap()
    for content in ("array", "plain"):
        if content == "array":
            np.save("a.npy", trap, allow_pickle=True)
        else:
            Path("a.npy").write_bytes(pickle.dumps(Trap()))
        with pytest.raises(ValueError, match=r"pickle|Python objects"):
            open_result(job).arrays["a"]
        with pytest.raises(ValueError, match=r"pickle|Python objects"):
            write_record("train", None, {"a": Values(None, "", "")})
    assert not Path("sprung").exists()


def test_a_created_array_is_shared_with_forks(job: Path) -> None:
    shared = create_array("a", (4, 2), np.int16)
    assert not shared.any()
    for row in range(4):
        child = os.fork()
        if child == 0:
            shared[row] = [row, -row]
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    write_record("train", None, {"a": Values(None, "", "")})
    np.testing.assert_array_equal(open_result(job).arrays["a"], [[0, 0], [1, -1], [2, -2], [3, -3]])
    assert open_result(job).arrays["a"].dtype == np.int16


def test_facts_threads_and_versions_come_back(job: Path) -> None:
    facts: dict[str, Plain] = {
        "classes": ["Gesicht", "Straße"],
        "n": 3,
        "x": 0.1 + 0.2,
        "none": None,
        "deep": {"a": [1, []]},
    }
    pools: list[Pool] = [{"library": "blas", "version": "1", "threads": 1, "threads_used": 1}]
    write_record("train", "S01", {}, facts=facts, threads=iter(pools), versions={"numpy": "2.1"})
    result = open_result(job)
    assert (result.stage, result.partition, result.problem) == ("train", "S01", None)
    assert result.facts == facts
    assert result.record["threads"] == pools
    assert result.record["versions"] == {"numpy": "2.1"}


def test_facts_that_are_no_plain_data_and_arrays_of_objects_or_none_are_refused(job: Path) -> None:
    for value in (float("nan"), float("inf"), np.arange(2), object()):
        with pytest.raises((ValueError, TypeError)):
            write_record("train", None, {}, facts={"x": value})  # type: ignore[dict-item]
    with pytest.raises(FileNotFoundError, match=r"gone\.npy"):
        write_record("train", None, {"gone": Values(None, "", "")})
    lists: list[list[object]] = [[{}, None], [1, "ab"], [[1, 2], [3]]]
    for values in lists:
        objects = np.empty(len(values), dtype=object)
        objects[:] = values
        with pytest.raises(ValueError, match="an array of objects"):
            save_array("a", objects)
    assert not Path("record.json").exists()


def test_a_rejected_job_leaves_the_message_and_nothing_else(job: Path) -> None:
    save_array("data_study", np.zeros(3))  # of a phase before the bad one
    error = InputError("no labels", partition="S01", file="a.npz", hint="look [there]")
    reject("import_epochs", "S01", error)
    result = open_result(job)
    assert result.problem == error.message
    assert "a.npz" in result.problem
    assert len(result.arrays) == 0
    assert {file.name for file in job.iterdir()} == {"setup.json", "record.json"}
    os.chdir(job.parents[2])  # outside of a job, nothing is deleted
    np.save("mine.npy", np.zeros(3))
    reject("import_epochs", "S01", InputError("no labels"))
    assert Path("mine.npy").exists()


def test_warnings_of_readers_become_notes(job: Path) -> None:
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as others:
        warnings.simplefilter("always")
        with noted("S01, study", notes):
            for _ in range(2):
                warnings.warn("channel X is flat", UserWarning, stacklevel=1)
            warnings.warn("old", DeprecationWarning, stacklevel=1)
            warnings.warn("not converged", type("Special", (UserWarning,), {}), stacklevel=1)
    assert notes == ["S01, study: channel X is flat"] * 2
    assert [str(warning.message) for warning in others] == ["old", "not converged"]


FACTS: dict[str, Plain] = {"names": ["x", "y", "z"], "text": "xyz", "of": {"names": ["x", "y", "z"]}}


def described(axes: str, ndim: int) -> Described:
    return {"axes": axes, "description": "", "unit": "", "shape": [2] * ndim, "dtype": "float64"}


@pytest.mark.parametrize(
    ("text", "ndim", "names"),
    [
        ("groups × coefficients", 2, ("groups", "coefficients")),
        ("groups x coefficients", 2, ("groups", "coefficients")),
        ("test  bins ×\ttraining bins", 2, ("test  bins", "training bins")),
        ("boxes", 1, ("boxes",)),
        ("trials of x × channels of x", 2, ("trials of x", "channels of x")),
        ("units × …", 1, ("units",)),
        ("units × …", 3, ("units", "", "")),
        ("…", 2, ("", "")),
        ("units × …", 0, ()),
        ("", 0, ()),
        ("", 2, ("", "")),
        ("rows", 2, ("", "")),  # nobody knows which of them
        ("rows × columns", 1, ("",)),
        ("rows × columns × …", 1, ("",)),
    ],
)
def test_names_of_axes(text: str, ndim: int, names: tuple[str, ...]) -> None:
    assert axes_of(described(text, ndim)) == names


def write(folder: Path, coordinates: dict[str, str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        save_array("values", np.zeros((3, 2)))
        save_array("places", np.arange(2.0))
        save_array("table", np.zeros((2, 2)))
        save_array("more", np.zeros(5))
        arrays = {
            "values": Values(None, "rows × columns", ""),
            "places": Values(None, "columns", ""),
            "table": Values(None, "columns × lines", ""),
            "more": Values(None, "lines", ""),
        }
        write_record("made", None, arrays, facts=FACTS, coordinates=coordinates)


@pytest.mark.parametrize(
    ("axis", "name", "message"),
    [
        ("depth", "names", r"in the lengths \[\]"),
        ("lines", "more", r"in the lengths \[2, 5\]"),
        ("rows", "other", "must be an array, or a fact"),
        ("rows", "text", "a fact that is a list"),
        ("rows", "of", "a fact that is a list"),
        ("columns", "names", "of the same length"),
        ("columns", "table", "has the axes 'columns × lines'"),
        ("rows", "places", "has the axes 'columns'"),
    ],
)
def test_what_is_not_along_an_axis_is_refused(tmp_path: Path, axis: str, name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write(tmp_path, {axis: name})


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["a.txt", "a/b/c.svg", "a b", "ü.txt", "a/record.json", "a/b.npy", "a..b"], ""),
        (
            ["", ".", "..", "../a", "a/../../b", "/a", "a/", "a//b", "./a", ".b", "a/.b", "a\0b"],
            "must be below",
        ),
        (["record.json", "failed_units.json", "manifest.json", "a.npy", "OUTPUT/a"], "that of another"),
        (["a" * 241, "é" * 121, "\ud800.txt"], "too long, or no valid text"),
        (["setup.json", "post.json", "method.tar.gz"], "that of another"),
    ],
)
def test_names_of_files_and_arrays(names: list[str], problem: str) -> None:
    for name in names:
        with pytest.raises(ValueError, match=problem) if problem else nullcontext():
            check_file_name(name)
    for name in ("a", "a b", "a.b", "ü", "record"):
        check_array_name(name)
    for name in ("", ".a", "a/b", "../a", "a\0", "\ud800", "a" * 241):
        with pytest.raises(ValueError, match="an array cannot have"):
            check_array_name(name)
