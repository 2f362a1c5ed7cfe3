"""The one-line reason to build a job: what differs between two keys, and what changed in code, by name."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jobs_project import write
from toy_jobs import CODE, ToyJobs, keep_code, toy_project, with_code

from shortloop.keys.code import EXTRA_CODE
from shortloop.keys.key import Parts
from shortloop.plan.explain import reasons
from shortloop.plan.explain.reasons import (
    NEW,
    Difference,
    changed_names,
    differences,
    option_rows,
    reason_to_build,
    stored_code,
)
from shortloop.plan.pipeline import Built
from shortloop.store.inputs import register
from shortloop.store.manifest import Manifest
from shortloop.store.store import Store

NOW = with_code(steps="def step(x):\n    return x + 2\n\ndef other():\n    pass", more="LIMIT = 1")


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyJobs:
    monkeypatch.chdir(toy_project(tmp_path))
    monkeypatch.setattr(reasons, "_names", {})
    for name in ("steps", "more"):
        write(tmp_path, f"shortloop/{name}.py", NOW[f"shortloop.{name}"])
    monkeypatch.setattr(reasons, "find_method", lambda method: ("methods", tmp_path / f"a_{method}.py"))
    monkeypatch.setattr(reasons, "code_texts", lambda file, more=(): NOW)
    return ToyJobs(tmp_path)


def reason(jobs: ToyJobs, old: Manifest, new: Manifest, **above: Built | list[Built]) -> str:
    with Store() as store:
        return reason_to_build(store, new.parts, old, above)


def built(manifest: Manifest) -> Built:
    stage = manifest.parts.method.rpartition(".")[2]
    return Built(manifest.job, stage, manifest.partition, content=manifest.content)


def test_without_a_job_before_it_is_new_and_with_the_same_key_gone(jobs: ToyJobs) -> None:
    one = jobs.make()
    with Store() as store:
        assert reason_to_build(store, one.parts, None, {}) == NEW == "new"
    assert reason(jobs, one, one) == "its result is gone"
    two = jobs.make(above={"scores": one})  # what is not known yet is no reason
    new = jobs.make(options={"seed": 2}, above={"scores": one})
    planned = replace(new, parts=replace(new.parts, inputs={"scores": ""}))
    assert reason(jobs, two, planned, scores=Built("", "scores", "A")) == "option seed: none → 2"


def test_code_is_named_by_function_and_file(jobs: ToyJobs) -> None:
    one, two = jobs.make(), jobs.make(code={**NOW})
    said = r"code of steps.step, steps.other \(shortloop/steps.py\); code of more \(shortloop/more.py\), not"
    assert re.match(said, reason(jobs, one, two))
    assert "code of more (shortloop/more.py), no longer" in reason(jobs, two, one)
    reasons._names.clear()
    three, four = jobs.make("B"), jobs.make("B", code=with_code(steps=NOW["shortloop.steps"]))
    (jobs.folder(three.job) / "method.tar.gz").unlink()  # by file, if its code is gone
    assert reason(jobs, three, four) == "code of steps (shortloop/steps.py)"


def test_files_are_named(jobs: ToyJobs) -> None:
    files = [jobs.project / name for name in ("a.npz", "b.npz")]
    for file in files:
        file.write_bytes(file.name.encode())
    a, b = register(files)
    files[0].write_bytes(b"changed")
    (changed,) = register(files[:1])
    one = jobs.make(options={"files": {"study": [a, b], "test": [a]}})
    for new, said in [
        ({"study": [changed, b], "test": [a]}, "file a.npz was changed"),
        ({"study": [b, b], "test": [a]}, "file a.npz → b.npz"),
        ({"study": [a], "test": [a]}, "file b.npz was removed"),
        ({"study": [a, b, changed], "test": [a]}, "file a.npz is new"),
        ({"study": [a, b], "test": "0" * 64}, "file a.npz → 000000000000…"),
    ]:
        assert reason(jobs, one, jobs.make(options={"files": new})) == said


def test_inputs_of_many_partitions_are_counted(jobs: ToyJobs) -> None:
    old = [jobs.make(name, left=1) for name in "ABC"]
    new = [jobs.make(name, left=2) for name in "ABC"]

    def said(*now: Manifest) -> str:
        return reason(jobs, one, jobs.make(None, above={"all": list(now)}), all=[built(each) for each in now])

    one = jobs.make(None, above={"all": old})
    assert said(old[0], new[1], old[2]) == "scores B main-1 → main-4 came out different"
    assert said(*new) == "3 of 3 scores jobs came out different"
    # One that has another name takes another place, and moves those between.
    assert said(old[1], old[2], new[0]) == "scores A main-0 → main-3 came out different"
    assert said(old[1], old[2], old[0]) == "the order of 3 scores jobs changed"
    assert said(*old[:2]) == "all: 3 → 2 jobs"


A, B, C = ("a" * 64, "b" * 64, "c" * 64)


def parts(**changes: Any) -> Parts:
    empty: dict[str, Any] = {"code": {}, "versions": {}, "options": {}, "inputs": {}}
    return Parts(**{"method": "methods.m", **empty, **changes})


def found(old: Parts, new: Parts) -> list[tuple[str, str, Any, Any]]:
    return [(each.kind, each.name, each.old, each.new) for each in differences(old, new)]


def test_the_order_is_options_code_versions_inputs() -> None:
    old = parts(code={"gone": "1", "m": "1"}, versions={"numpy": "2.0"}, options={"a": 1, "z": 1})
    new = parts(
        code={"a": "2", "m": "2"}, versions={"numpy": "2.1"}, options={"b": 1, "z": 2}, inputs={"f": "x"}
    )
    assert found(old, new) == [
        ("option", "z", 1, 2),
        ("option", "b", None, 1),
        ("option", "a", 1, None),
        ("code", "m", "1", "2"),
        ("code", "a", None, "2"),
        ("code", "gone", "1", None),
        ("version", "numpy", "2.0", "2.1"),
        ("input", "f", None, "x"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([A, B], [A, C], [("file", "files", B, C)]),
        ([A, B], [A], [("file", "files", B, None)]),
        ([A], [A, B], [("file", "files", None, B)]),
        (A, B, [("file", "files", A, B)]),
        (A, "", [("file", "files", A, "")]),
        ([A], [A, A], [("option", "files", [A], [A, A])]),
        ([["a", A], ["b", B]], [["a", A], ["b", C]], [("file", "files", B, C)]),
        ([["a", A], ["b", B]], [["a", A], ["b", ""]], [("file", "files", B, "")]),
        ([["a", A]], [["a", ""]], [("file", "files", A, "")]),
        ([["a", A]], [["b", A]], [("option", "files", "a", "b")]),
        ([[["a", A]]], [[["a", A], ["b", B]]], [("file", "files", None, B)]),
        (None, [["a", A]], [("file", "files", None, A)]),
        (None, [A], [("file", "files", None, A)]),
        (A, None, [("file", "files", A, None)]),
        ([["a", A], 1], [["a", B], 1], [("option", "files", [["a", A], 1], [["a", B], 1])]),
        (["x"], ["y"], [("option", "files", ["x"], ["y"])]),
        ("", "x", [("option", "files", "", "x")]),
        (None, 1, [("option", "files", None, 1)]),
        ([A], 3, [("option", "files", [A], 3)]),
    ],
)
def test_contents_of_files_are_told_from_other_options(old: Any, new: Any, expected: list[Any]) -> None:
    assert found(parts(options={"files": old}), parts(options={"files": new})) == expected


def test_options_are_flat_with_dots() -> None:
    assert dict(option_rows({"a": {"b": {"c": 1}, "d": {}}, "e": [1]})) == {"a.b.c": 1, "a.d": {}, "e": [1]}
    one, none = parts(options={"a": {"b": 1}}), parts(options={"a": {}})
    assert found(one, none) == [("option", "a.b", 1, None)]
    assert found(none, one) == [("option", "a.b", None, 1)]
    assert found(none, parts()) == [("option", "a", {}, None)]
    same = parts(code={"m": "1"}, options={"files": [A], "s": {"C": [1]}}, inputs={"f": ["x"]})
    assert differences(same, same) == []


@pytest.mark.parametrize(
    ("kind", "old", "new", "known"),
    [
        ("input", "x", "y", True),
        ("input", "x", "", False),
        ("input", ["x", "y"], ["x", ""], False),
        ("input", ["x", "y"], ["", "z"], True),
        ("input", ["x", "y"], ["x"], True),
        ("input", "x", None, True),
        ("file", None, "", True),
        ("file", A, "", False),
        ("file", A, B, True),
        ("option", "x", "", True),
        ("option", ["x"], [""], False),
    ],
)
def test_what_is_not_built_or_read_yet_is_not_known(kind: str, old: Any, new: Any, known: bool) -> None:
    assert Difference(kind, "n", old, new).known is known


@pytest.mark.parametrize(
    ("kind", "old", "new", "said"),
    [
        ("option", None, 1, "option n: none → 1"),
        ("option", [1, 2], "", "option n: [1, 2] → "),
        ("option", 0.1, None, "option n: 0.1 → none"),
        ("input", None, "1", "n was added"),
        ("input", "1", None, "n was removed"),
    ],
)
def test_a_difference_in_words(kind: str, old: Any, new: Any, said: str) -> None:
    assert Difference(kind, "n", old, new).words() == said


def test_a_long_value_is_cut_and_a_package_is_named_by_its_file() -> None:
    each = Difference("option", "n", "x" * 100, 1)
    assert len(each.words()) < 60
    assert each.words(full=True) == f"option n: {'x' * 100} → 1"
    assert Difference("code", "shortloop.run", "1", "2").words() == "code of run (shortloop/run/__init__.py)"


OLD = """\
import os
LIMIT = 3
first, second = (1, 2)

def solve(x):
    return x

class Model:
    size: int = 1

    def fit(self, x):
        return x

    def predict(self, x):
        return x"""


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("", ""), []),
        (("import os", "import sys"), []),
        (("LIMIT = 3", "LIMIT = 4"), ["LIMIT"]),
        (("(1, 2)", "(1, 3)"), ["first", "second"]),
        (("def solve(x):\n    return x", "def solve(x):\n    return -x"), ["solve"]),
        (("def solve(x)", "def solved(x)"), ["solved", "solve"]),
        (("size: int = 1", "size: int = 2"), ["Model.size"]),
        (("predict(self, x):\n        return x", "predict(self, x):\n        return 2"), ["Model.predict"]),
        (("class Model:", "class Model(dict):"), ["Model"]),
        (("def fit(self, x)", "def fit(self, x, y)"), ["Model.fit"]),
    ],
)
def test_what_changed_has_a_name(change: tuple[str, str], names: list[str]) -> None:
    assert changed_names(OLD, OLD.replace(*change)) == names


def test_the_code_of_a_job_is_in_what_exax_kept(tmp_path: Path) -> None:
    """With that of modules that it imports by name; what cannot be read is not known."""
    folders = [tmp_path / name for name in ("more", "extra", "cut short", "no archive", "gone")]
    for folder in folders:
        folder.mkdir()
        keep_code(folder, "scores", CODE)
    method = '"""A docstring."""\nimport shortloop.steps  # a comment'
    keep_code(folders[0], "scores", {**CODE, "methods.a_scores": method, "shortloop.empty": ""})
    extra = "\n# module tools.one\nx = 1\n\n# module tools.two\ny = 2\nz = 3\n"
    (folders[1] / EXTRA_CODE).write_text(extra)
    archives = [folder / "method.tar.gz" for folder in folders]
    archives[2].write_bytes(archives[2].read_bytes()[:60])
    archives[3].write_bytes(b"nothing")
    archives[4].unlink()
    by_name = {"tools.one": "x = 1", "tools.two": "y = 2\nz = 3"}
    found = [stored_code(folder) for folder in folders]
    assert found == [{**CODE, "shortloop.empty": ""}, {**CODE, **by_name}, {}, {}, {}]
