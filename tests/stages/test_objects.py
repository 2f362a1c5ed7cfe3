"""Objects of a job are read when they are asked for, where nothing speaks against it; other versions of their
libraries are named."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from no_warnings import no_warnings
from refusal import refusal
from sklearn.linear_model import LinearRegression

from shortloop.base.errors import TransientError
from shortloop.stages.output import write_output
from shortloop.stages.records import RECORD
from shortloop.stages.results import Result, Where, open_result
from shortloop.stages.rows import pack, stacked, unpack
from shortloop.stages.stage import Finished, Outputs, Stage
from shortloop.stages.task import Task
from shortloop.store.loaded import facts_as_json


class Ends(Stage):
    finished: Finished

    def finish(self, out: Outputs) -> Finished:
        return self.finished


@pytest.fixture(autouse=True)
def any_warning_is_an_error() -> Iterator[None]:
    with no_warnings():
        yield


def left(folder: Path, facts: dict[str, Any], where: Where | None = None) -> Result:
    """A job that leaves facts."""
    folder.mkdir()
    stage = Ends()
    stage.finished = Finished(facts)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_output(stage, Task("ends", "", "", None, {}, {}), {}, [])
    return open_result(folder, where)


MODEL = LinearRegression().fit(np.arange(6.0).reshape(3, 2), [1.0, 2.0, 4.0])


def test_facts_that_are_objects_come_back_beside_plain_ones(tmp_path: Path) -> None:
    series = pd.Series([1.0, 2.0], index=["a", "b"])
    found = left(tmp_path / "main-1", {"n": 1, "model": MODEL, "series": series})
    assert found.names() == ["n", "model", "series"]
    assert found.facts["n"] == 1
    pd.testing.assert_series_equal(found.facts["series"], series)
    assert found["model"].predict([[1.0, 2.0]]) == MODEL.predict([[1.0, 2.0]])
    assert found["model"] is not found["model"]  # who changes it changes nothing here
    assert type(pickle.loads((found.path / "model.pkl").read_bytes())) is LinearRegression
    long = left(tmp_path / "main-2", {"x": np.array([object(), *["text"] * 99], dtype=object)})
    text = long.record["objects"]["x"]["text"]
    assert len(text) <= 200
    assert "0x" not in text
    # As in `summary.json` and in attributes of xarray.
    assert facts_as_json(found.record)["model"] == "LinearRegression()"
    described = found.record["objects"]["model"]
    assert (described["type"], described["text"]) == (
        "sklearn.linear_model._base.LinearRegression",
        "LinearRegression()",
    )


def test_objects_of_units_are_read_one_by_one_and_numbers_beside_them_refused(tmp_path: Path) -> None:
    names = ["a", ("b", 2), 3, None]
    rows = [unpack(pack({"model": {1: number}, "none": None}, "unit")) for number in range(4)]
    arrays, tables, objects = stacked(names, rows, "fit")
    assert not arrays
    assert not tables
    found = left(tmp_path / "main-1", {"units": names, **objects})
    models = found["model"]
    assert [*models] == names
    assert [models[name] for name in names] == [{1: 0}, {1: 1}, {1: 2}, {1: 3}]
    assert models[np.int64(3)] == {1: 2}
    assert dict(found.facts["none"]) == dict.fromkeys(names)
    assert repr(models) == "<objects of 4 units: ['a', ('b', 2), 3, None]>"
    with pytest.raises(KeyError, match="other; there are"):
        models["other"]
    rows = [unpack(pack({"x": each}, "unit")) for each in (1.0, None)]
    with refusal("units of fit give x of other types", "NoneType of unit b", "nan for a number"):
        stacked(["a", "b"], rows, "fit")


def of_another_user(found: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root alone can give files away; all others become another user."""
    if os.geteuid() == 0:
        for file in found.path.iterdir():
            os.chown(file, 54321, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 54321)


def test_what_others_wrote_is_read_only_if_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = left(tmp_path / "main-1", {"n": 1, "model": MODEL, "day": {"x"}})
    of_another_user(found, monkeypatch)
    assert (found["n"], found["day"]) == (1, {"x"})
    with pytest.raises(TransientError, match="is not read, as somebody else may have written it") as caught:
        found["model"]
    assert 'shortloop.load("main-1", trusted=True)' in caught.value.message
    assert type(open_result(found.path, Where(trusted=True))["model"]) is LinearRegression


def test_other_versions_of_its_libraries_are_named(tmp_path: Path) -> None:
    found = left(tmp_path / "main-1", {"model": MODEL})
    record = json.loads((found.path / RECORD).read_text())
    record["objects"]["model"]["versions"]["sklearn"] = "0.1"
    (found.path / RECORD).write_text(json.dumps(record))
    with pytest.warns(
        UserWarning, match=r"main-1, model: written with sklearn 0\.1, read with sklearn [\d.]+\."
    ):
        open_result(found.path)["model"]


def test_unreadable_objects_say_what_they_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "module_of_objects.py").write_text("class Own:\n    pass\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    from module_of_objects import Own  # type: ignore[import-not-found]

    found = left(tmp_path / "main-1", {"own": Own()})
    assert type(found["own"]) is Own
    monkeypatch.undo()
    monkeypatch.delitem(__import__("sys").modules, "module_of_objects")
    with pytest.raises(TransientError, match="No module named 'module_of_objects'"):
        found["own"]
