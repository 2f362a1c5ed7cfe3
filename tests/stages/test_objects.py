"""Objects of a job: alike ones give alike bytes, what cannot be read back is refused, when one is read."""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import functools
import json
import os
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jobs_project import ROOT, fresh_python
from no_warnings import no_warnings
from refusal import refusal
from scipy.stats import ttest_ind
from sklearn.linear_model import LinearRegression

from shortloop.base.errors import TransientError
from shortloop.stages.objects import loaded, packed
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


class Side(enum.Enum):
    LEFT = 1
    RIGHT = "r"


@dataclasses.dataclass(frozen=True)
class Held:
    value: Any
    more: tuple[Any, ...] = ()


Pair = collections.namedtuple("Pair", "one two")
ATOMS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.dates(),
    st.sampled_from([*Side]),
    st.builds(np.float64, st.floats(allow_nan=False)),
    st.builds(np.int16, st.integers(-99, 99)),
    st.builds(pd.Timedelta, st.integers(0, 10**9)),
    st.sampled_from([np.dtype("f4"), np.dtype([("a", "i4")]), int, len, os.path.join, pd.Interval(0, 1)]),
)
KEYS = st.one_of(st.none(), st.integers(), st.text(), st.dates(), st.sampled_from([*Side]))
OBJECTS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(KEYS, inner),
        st.sets(KEYS),
        st.frozensets(st.tuples(KEYS, KEYS)),
        st.builds(Held, inner, st.tuples(inner)),
        st.builds(Pair, inner, inner),
        st.lists(KEYS).map(collections.deque),
        st.dictionaries(KEYS, st.integers()).map(collections.Counter),
    ),
    max_leaves=20,
)


@given(OBJECTS)
def test_nested_objects_come_back_equal_and_give_the_same_bytes_again(value: object) -> None:
    data = packed(value, "x", "fit").data
    for back in (loaded(data), pickle.loads(data)):
        assert back == value
        assert type(back) is type(value)
        assert packed(back, "x", "fit").data == data
    assert packed(copy.deepcopy(value), "x", "fit").data == data


@given(st.lists(KEYS, unique=True))
def test_the_order_in_which_a_set_was_filled_does_not_show(members: list[object]) -> None:
    backwards: set[object] = set()
    for each in reversed(members):
        backwards.add(each)
    sets = [set(members), backwards, ({*range(1000), *members} - {*range(1000)}) | {*members}]
    assert len({packed([each, frozenset(each)], "x", "fit").data for each in sets}) == 1


def test_texts_and_types_that_are_one_object_or_several_give_the_same_bytes() -> None:
    text, kind = "a long text", np.dtype(">f8")
    other = "".join(["a long", " text"])
    same = [[text, text, (1, "b"), (1, "b")], {"k": np.zeros(2, kind), "l": np.zeros(2, kind)}]
    others = [
        [text, other, (1, "b"), (*[1, "".join("b")],)],
        {"k": np.zeros(2, kind), "l": np.zeros(2, np.dtype(">f8").newbyteorder("S").newbyteorder("S"))},
    ]
    assert packed(same, "x", "fit").data == packed(others, "x", "fit").data


def test_parts_that_are_one_object_stay_one_and_nests_are_kept() -> None:
    part: list[object] = [1]
    back: Any = loaded(packed([part, part, {"a": part}], "x", "fit").data)
    assert back[0] is back[1] is back[2]["a"]
    part.append(part)
    around: Any = loaded(packed(part, "x", "fit").data)
    assert around[1] is around
    value: Any = 1
    for _ in range(900):
        value = [value]
    back = loaded(packed({"x": Held(value)}, "x", "fit").data)
    assert repr(back["x"].value) == repr(value)


IN_A_PROCESS = """
import hashlib, numpy as np, pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
import statsmodels.formula.api as smf
from shortloop.stages.objects import packed
rng = np.random.default_rng(0)
frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"]).assign(g=["u", "v"] * 40)
y = (frame.a + rng.normal(size=80) > 0).astype(int)
forest = RandomForestClassifier(5, random_state=1).fit(frame[["a", "b"]], y)
line = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame[["a", "b"]], y)
found = {
    "sets": {"a", "b", "c", ("d", 1), frozenset(["e", "f"])}, "forest": forest, "pipeline": line,
    "ols": smf.ols("a ~ b + np.exp(c) + C(g)", frame).fit(), "series": frame["g"],
    "categorical": pd.Categorical(frame["g"]), "index": pd.MultiIndex.from_frame(frame[["a", "g"]]),
    "objects": np.array(["a", None, {"x", "y"}], dtype=object), "masked": np.ma.masked_equal([1, 2], 1),
}
hashes = {name: hashlib.sha1(packed(each, name, "fit").data).hexdigest() for name, each in found.items()}
"""


def test_models_have_the_same_bytes_in_each_process() -> None:
    """Whatever order sets have there. Some libraries leave chance in objects: unused memory in GLM of
    statsmodels, addresses in figures; docs/caching.md says so."""
    here: dict[str, Any] = {}
    exec(IN_A_PROCESS, here)
    assert fresh_python(f"{IN_A_PROCESS}print(hashes)", ROOT, PYTHONHASHSEED="1") == f"{here['hashes']}\n"


def test_modules_are_those_that_reading_imports() -> None:
    value = {"a": Held(np.arange(2)), "b": functools.partial(len), "c": pd.Interval(0, 1)}
    modules = packed(value, "x", "fit").described["modules"]
    assert {__name__, "numpy", "pandas"} <= {*modules}
    assert {"builtins", "functools"}.isdisjoint(modules)


def made() -> Any:
    class Local:
        pass

    return Local()


def stream(path: Path) -> Any:
    file = path / "open.txt"
    file.touch()
    return file.open()


class Raises:
    """Can be written, and not read."""

    def __reduce__(self) -> Any:
        return int, ("no number",)


@pytest.mark.parametrize(
    ("value", "where", "hint"),
    [
        (lambda path: lambda: 1, "x", "a function with a name at the top of a module"),
        (lambda path: {"a": [0, Held(lambda: 1)]}, "x['a'][1].value", "a function with a name"),
        (lambda path: [made()], "x[0]", "define Local at the top of a module of the project"),
        (lambda path: type(made()), "x", "define Local at the top"),
        (lambda path: (0, threading.Lock()), "x[1]", "leave it out, and make it again"),
        (lambda path: {"f": stream(path)}, "x['f']", "give its path as a text"),
        (lambda path: (each for each in "ab"), "x", "`list(x)`"),
        (lambda path: ttest_ind([1.0, 2], [2.0, 4]), "x", "`tuple(x)`"),
        (lambda path: {"a": {"b": 1}.keys()}, "x['a']", "`list(x)`"),
        (lambda path: memoryview(b"a"), "x", "`bytes(x)`"),
        (lambda path: {"m": pickle}, "x['m']", "import it where it is used"),
        (lambda path: Held(Raises()), "x.value", "leave it out"),
    ],
)
def test_what_cannot_be_read_has_a_remedy(tmp_path: Path, value: Any, where: str, hint: str) -> None:
    with refusal("", hint, field=where) as caught:
        packed(value(tmp_path), "x", "fit")
    assert "0x" not in caught.value.message  # which is a job's result, and the same in every process


def test_a_class_of_the_main_module_and_a_formula_of_local_names_are_refused() -> None:
    code = (
        "class Own: pass\nfrom shortloop.stages.objects import packed\n"
        "try: packed([Own()], 'x', 'fit')\nexcept ValueError as error: print(error)"
    )
    said = fresh_python(code, ROOT)
    assert "x[0]" in said
    assert "define Own at the top of a module of the project, and import it from there" in said
    # Names that the reader happens to have are not those of the formula.
    import statsmodels.formula.api as smf

    def own(values: Any) -> Any:
        return 2 * values

    fitted = smf.ols("y ~ own(z)", pd.DataFrame({"y": [1.0, 2.0, 4.0, 3.0], "z": [1.0, 2.0, 3.0, 5.0]})).fit()
    with refusal("name 'own' is not defined"):
        packed(fitted, "x", "fit")
