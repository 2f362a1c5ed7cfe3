"""Arrays of a job with names of axes and what stands along them, in xarray and in pandas."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jobs_project import ROOT, empty_project, make_job
from python_process import ended
from refused import refusing
from source_tree import METHODS, id_of

import shortloop
from shortloop.base.errors import InputError
from shortloop.base.plain import Plain
from shortloop.keys.closure import closure
from shortloop.stages.records import axes_of, save_array, write_record
from shortloop.stages.results import open_result
from shortloop.stages.stage import Values
from shortloop.store.loaded import LoadedJob

project = pytest.fixture(empty_project)
VALUES = np.arange(12.0).reshape(2, 3, 2)


def write(
    folder: Path,
    arrays: Mapping[str, tuple[str, np.ndarray]],
    coordinates: Mapping[str, str] | None = None,
    facts: Mapping[str, Plain] | None = None,
    versions: Mapping[str, str] | None = None,
) -> None:
    """What a job leaves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, (_, values) in arrays.items():
            save_array(name, values)
        said = {name: Values(None, axes, f"all {name}", "V") for name, (axes, _) in arrays.items()}
        write_record("toy", "A", said, facts=facts, coordinates=dict(coordinates or {}), versions=versions)


@pytest.fixture
def job(project: Path) -> LoadedJob:
    """A job of four arrays, made from another."""
    write(make_job(project, "main-1", method="first", options={"scale": 2.0}), {}, versions={"numpy": "2"})
    folder = make_job(project, "main-2", method="toy", options={"partition": "A"}, jobs={"from": "main-1"})
    arrays = {
        "values": ("rows × time steps × sides", VALUES),
        "times": ("time steps", np.array([0.1, 0.2, 0.4])),
        "spread": ("sides × sides", np.eye(2)),
        "total": ("", np.array(7)),
    }
    facts: dict[str, Plain] = {"names": [["a", 1], ["b", 2]], "sides": ["left", "right"], "how": "well"}
    write(folder, arrays, {"rows": "names", "time steps": "times", "sides": "sides"}, facts)
    return shortloop.load("main-2")


def test_axes_have_names_and_units_descriptions_and_what_made_it_are_attributes(job: LoadedJob) -> None:
    found = job.to_xarray()
    assert found["values"].dims == ("rows", "times", "sides")
    assert (found["spread"].dims, found["total"].dims) == (("sides", "sides_2"), ())
    assert [*found.data_vars] == ["values", "spread", "total"]
    assert {*found.coords} == {"rows", "times", "sides", "sides_2"}
    assert found["rows"].values.tolist() == ["a, 1", "b, 2"]
    assert found["sides_2"].values.tolist() == ["left", "right"]
    near = found["values"].sel(times=0.22, method="nearest").sel(rows="b, 2", sides="right")
    assert near.item() == VALUES[1, 1, 1]
    found = job.to_xarray()
    assert found["values"].attrs == {"long_name": "all values", "units": "V"}
    assert found["times"].attrs == {"long_name": "all times", "units": "V"}
    assert (found.attrs["job"], found.attrs["stage"], found.attrs["partition"]) == ("main-2", "toy", "A")
    assert found.attrs["made"].startswith("2023-11-1")
    assert json.loads(found.attrs["facts"]) == {"how": "well"}  # the others are coordinates
    made = json.loads(found.attrs["provenance"])
    assert [(each["job"], each["options"], each["versions"]) for each in made] == [
        ("main-2", {}, {}),
        ("main-1", {"scale": 2.0}, {"numpy": "2"}),
    ]
    assert made[0]["inputs"] == {"from": "main-1"}


@pytest.mark.parametrize("file", METHODS, ids=id_of)
def test_it_is_in_no_key(file: Path) -> None:
    """A job would be built again for a newer xarray, which computed nothing of it."""
    modules, libraries = closure(file)
    assert not {"shortloop.store.loaded"} & modules.keys()
    assert "xarray" not in libraries


def test_an_array_is_a_table_whose_index_is_what_stands_along_it(job: LoadedJob) -> None:
    frame = job.to_frame("values")
    assert [*frame.columns] == ["values"]
    assert [*frame.index.names] == ["rows", "times", "sides"]
    assert frame.loc[("b, 2", 0.4, "left"), "values"] == VALUES[1, 2, 0]
    pd.testing.assert_frame_equal(frame, job.to_xarray()["values"].to_dataframe()[["values"]])
    assert job.to_frame("times").index.tolist() == [0.1, 0.2, 0.4]
    assert job.to_frame("total")["total"].tolist() == [7]
    for table in ("", "no such"):
        with pytest.raises(InputError, match="no such table") as caught:
            job.to_frame(table)
        assert "one of values, times, spread, total" in str(caught.value)


def test_axes_that_cannot_be_shared_are_one_of_its_own_in_each_array(project: Path) -> None:
    arrays = {
        "first": ("rows", np.zeros(2)),
        "second": ("rows × 2", np.zeros((3, 2))),
        "nameless": ("", np.zeros((2, 3))),
        "half": ("units × …", np.zeros((2, 3))),
        # Called as an axis without being along it: xarray would take it for what stands there, or refuse it.
        "folds": ("places", np.zeros(4)),
        "groups": ("groups × places", np.zeros((2, 4))),
        "weights": ("groups × folds", np.zeros((2, 3))),
        "places": ("places", np.arange(4.0)),  # this one is
    }
    write(make_job(project, "main-1"), arrays)
    found = shortloop.load("main-1").to_xarray()
    assert found["first"].dims == ("rows_of_first",)
    assert found["second"].dims == ("rows_of_second", "2")
    assert found["nameless"].dims == ("axis_0_of_nameless", "axis_1_of_nameless")
    assert found["half"].dims == ("units", "axis_1_of_half")
    assert found["weights"].dims == ("groups_", "folds_")
    assert [*found.coords] == ["places"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([1, 2], np.array([1, 2])),
        ([0.5, 2], np.array([0.5, 2.0])),
        ([1, "2"], np.array(["1", "2"])),
        (["x", None], np.array(["x", ""])),
        ([2**70, 1], np.array([str(2**70), "1"])),
    ],
)
def test_an_axis_has_numbers_or_texts(project: Path, names: list[Plain], expected: np.ndarray) -> None:
    write(make_job(project, "main-1"), {"a": ("rows", np.zeros(2))}, {"rows": "names"}, {"names": names})
    np.testing.assert_array_equal(shortloop.load("main-1").to_xarray()["rows"].values, expected, strict=True)


NAMES = st.sampled_from(["a", "b", "a b", "a_b", "a_b_", "a of b", "a_2", "a of a", "axis 0 of b", "axis 0"])
SHAPES = st.lists(st.tuples(NAMES, st.integers(1, 3)), max_size=3)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arrays=st.dictionaries(NAMES, SHAPES, min_size=1, max_size=5), facts=st.sets(NAMES, max_size=3))
def test_any_names_of_arrays_and_axes(arrays: dict[str, list[tuple[str, int]]], facts: set[str]) -> None:
    """Each array is there, each axis has its length, and what is said to stand along it."""
    rng = np.random.default_rng(0)
    given = {}
    for name, shape in arrays.items():
        axes = "" if name == "b" else " × ".join(axis for axis, _ in shape)  # of one nobody says them
        given[name] = axes, rng.random(tuple(length for _, length in shape))
    lengths = lengths_of(shape for name, shape in arrays.items() if name != "b")
    listed: dict[str, Plain] = {
        axis: [f"{axis} {place}" for place in range(min(lengths[axis]))] for axis in facts & lengths.keys()
    }
    along = {axis: axis for axis in listed if len(lengths[axis]) == 1 and axis not in arrays}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "main-1"
        folder.mkdir()
        setup = {"method": "toy", "options": {}, "jobs": {}, "starttime": 0, "exectime": {"total": 1}}
        (folder / "setup.json").write_text(json.dumps(setup))
        write(folder, given, along, listed)
        found = open_result(folder)
        job = LoadedJob(found.job, found.path, found.record, found.where)
        labelled = job.to_xarray()
        for name, (_, values) in given.items():
            np.testing.assert_array_equal(labelled[name].values, values)
            for axis, dim in zip(axes_of(found.record["arrays"][name]), labelled[name].dims, strict=True):
                if axis in along:
                    assert labelled[dim].values.tolist() == listed[axis]
                elif dim in labelled.coords:
                    source = axis.replace(" ", "_").strip("_")
                    assert axes_of(found.record["arrays"][source]) == (axis,)
                    np.testing.assert_array_equal(labelled[dim].values, given[source][1])
            assert job.to_frame(name)[name].tolist() == values.reshape(-1).tolist()
        of = {
            (axis or name, dim)
            for name, each in found.record["arrays"].items()
            for axis, dim in zip(axes_of(each), labelled[name].dims, strict=True)
        }
        assert len({dim for _, dim in of}) == len(of)  # no axis has the name of another


def lengths_of(shapes: Iterable[Sequence[tuple[str, int]]]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for shape in shapes:
        for axis, length in shape:
            found.setdefault(axis, set()).add(length)
    return found


@pytest.mark.parametrize(
    ("library", "call", "extra"),
    [("xarray", "to_xarray()", "xarray"), ("pandas", 'to_frame("times")', "tables")],
)
def test_a_missing_library_is_named(
    job: LoadedJob, tmp_path: Path, library: str, call: str, extra: str
) -> None:
    code = f"import shortloop\njob = shortloop.load('main-2')\nprint(job.arrays['times'][0])\njob.{call}"
    done = ended(["-c", code], PYTHONPATH=f"{refusing(tmp_path, [library])}:{ROOT}")
    assert done.stdout == "0.1\n"
    assert f"{library} is not installed" in done.stderr
    assert f"pip install 'shortloop[{extra}]'" in done.stderr
