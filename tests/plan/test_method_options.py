"""Options of methods that others wrote: exax is given them as it knows them, keys hold what they say."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from accelerator import OptionEnum
from jobs_project import empty_project, own_package, write
from refusal import refusal

from shortloop.plan.pipeline import Built, Call
from shortloop.plan.request import Request, request
from shortloop.plan.signature import PLANNED
from shortloop.stages.inputs import File

project = pytest.fixture(empty_project)
package = pytest.fixture(own_package)
METHOD = """\
import datetime
from pathlib import Path

from accelerator import JobWithFile, OptionDefault, OptionEnum, OptionString, RequiredOption

KIND = OptionEnum("one two", none_ok=True)
options = {
    "kind": KIND,
    "name": OptionString,
    "number": RequiredOption(int),
    "some": OptionDefault([str], default=None),
    "discard": {"x"},
    "names": [],
    "table": {},
    "day": datetime.date,
    "moment": datetime.datetime(2020, 1, 1),
    "hour": datetime.time,
    "span": datetime.timedelta,
    "path": Path,
    "file": JobWithFile,
    "files": [JobWithFile],
    "count": int,
    "share": 0.5,
}
jobs = ("first",)
datasets = ("first", ["many"], "names")


def synthesis():
    job.input_filename(options.name)
"""
CONTENT = "0123" * 16


@pytest.fixture(autouse=True)
def method(package: Path) -> Path:
    return write(package, "methods/a_theirs.py", METHOD)


def asked(datasets: dict[str, Any] | None = None, **arguments: Any) -> Request:
    return request("p", "theirs", None, Call({"name": "a", "number": 1, **arguments}, (), datasets or {}), {})


def one(**option: Any) -> tuple[Any, Any]:
    """An option as exax is given it, and as a key holds it."""
    ((name, _),) = option.items()
    wanted = asked(**option)
    return wanted.sent[name], wanted.options[name]


@pytest.mark.parametrize(
    ("option", "value", "sent", "kept"),
    [
        ("share", "0.25", "0.25", 0.25),
        ("share", 1, 1, 1.0),
        ("some", "a, b", "a, b", ["a", "b"]),
        ("kind", "two", "two", "two"),
        ("kind", OptionEnum("one two").two, "two", "two"),
        ("discard", {"b", "a"}, ["a", "b"], ["a", "b"]),  # sets are the same in whatever order
        ("discard", ["b", "a", "a"], ["b", "a", "a"], ["a", "b"]),
        ("names", frozenset("ba"), ["a", "b"], ["a", "b"]),
        ("day", datetime.date(2024, 2, 3), [2024, 2, 3], [2024, 2, 3]),
        ("moment", datetime.datetime(2024, 2, 3, 4, 5, 6, 7), [2024, 2, 3, 4, 5, 6, 7], ...),
        ("hour", datetime.time(4, 5), [1970, 1, 1, 4, 5, 0, 0], ...),
        ("span", datetime.timedelta(minutes=2), 120.0, 120.0),
    ],
)
def test_options_are_converted_as_by_exax(option: str, value: object, sent: object, kept: object) -> None:
    assert one(**{option: value}) == (sent, sent if kept is ... else kept)
    assert asked().options == {"name": "a", "number": 1}  # the rest is code


def test_a_file_is_its_path_for_exax_and_its_content_for_the_key(project: Path) -> None:
    file = File(CONTENT, Path("data.csv"))
    path = str(project / "data.csv")
    assert one(name=file) == (path, CONTENT)
    assert one(path=file) == (path, CONTENT)
    assert one(names=[file, file]) == ([path, path], [CONTENT, CONTENT])
    assert one(table={"a": [file]}) == ({"a": [path]}, {"a": [CONTENT]})
    assert one(names={file})[1] == [CONTENT]
    assert one(name=File("", Path("data.csv")))[1] == ""  # in a plan: not read yet


def test_a_method_that_finds_files_by_content_is_given_that(package: Path) -> None:
    head = "from shortloop.keys.code import code_of\ndepend_extra = code_of(__file__)\n"
    write(package, "methods/a_ours.py", f"{head}options = {{'file': None}}\n\n\ndef synthesis(): ...\n")
    wanted = request("p", "ours", None, Call({"file": File(CONTENT, Path("data.csv"))}), {})
    assert wanted.sent == wanted.options == {"file": CONTENT}


def test_a_file_of_a_job_counts_by_the_content_of_the_job() -> None:
    job, other = Built("main-1", "a", None, content="c1"), Built("main-2", "b", None, content="c2")
    wanted = asked(file=(job, "x.json"), files=[(job, "y", True), (other, "z", False, 3)])
    assert wanted.sent["file"] == ["main-1", "x.json"]
    assert wanted.options["file"] == {"name": "x.json"}
    assert wanted.options["files"] == [
        {"name": "y", "sliced": True},
        {"name": "z", "sliced": False, "extra": 3},
    ]
    assert wanted.parts().inputs == {"file": ["c1"], "files": ["c1", "c2"]}
    rebuilt = Built("main-7", "a", None, content="c1")
    again = asked(file=(rebuilt, "x.json"), files=[(job, "y", True), (other, "z", False, 3)])
    assert again.parts().key() == wanted.parts().key()
    planned = asked(file=(Built("", "a", None), "x.json"))
    assert planned.sent["file"] == [PLANNED, "x.json"]
    assert planned.parts().inputs == {"file": [""]}


@pytest.mark.parametrize(
    ("options", "field", "words"),
    [
        ({"moment": datetime.datetime(2024, 2, 3, tzinfo=datetime.UTC)}, "option moment", "without a zone"),
        ({"first_": 1}, None, "wrong arguments"),
        ({"kind": "three"}, "options", "not a permitted value"),
        ({"number": None}, "options", "non-None"),
        ({"name": ""}, "options", "non-empty string"),
        ({"number": "many"}, "options", "Failed to convert"),
        ({"path": Path("data.csv")}, "option path", r"run\.file"),
        ({"names": b"x"}, "option names", "not plain data"),
        ({"names": [Built("main-1", "a", None)]}, "option names", "the names that the method has"),
        ({"file": (Built("main-1", "a", None), 3)}, "option file", "name of its file"),
        ({"share": float("nan")}, "option share", "nan"),
        ({"name": "data.csv"}, "option name", r"run\.file"),
        ({"names": ["x", "data.csv"]}, "option names", r"run\.file"),
    ],
)
def test_what_cannot_be_taken(project: Path, options: dict[str, Any], field: str | None, words: str) -> None:
    write(project, "data.csv", "a\n1\n")
    with refusal(words) as caught:
        asked(**options)
    assert caught.value.hint
    with refusal("number"):
        request("p", "theirs", None, Call({"name": "a"}), {})
    assert field is None or caught.value.field == field


def test_a_name_is_no_path_where_no_file_is_asked_for(package: Path, method: Path) -> None:
    write(package, "data.csv", "a\n1\n")
    method.write_text(METHOD.replace("job.input_filename(options.name)", "pass"), encoding="utf-8")
    assert one(name="data.csv") == ("data.csv", "data.csv")
    with refusal(r"run\.file"):
        one(name=str(package / "data.csv"))


def test_datasets_are_given_by_name(package: Path) -> None:
    job, other = Built("main-1", "a", None, content="c1"), Built("main-2", "b", None, content="c2")
    wanted = asked(many=[job, (other, "bad")])
    assert wanted.dataset_ids() == {"many": ["main-1/default", "main-2/bad"]}
    assert wanted.parts().inputs == {"many": ["c1", "c2/bad"]}
    assert asked({"many": [job, (other, "bad")]}) == wanted
    assert asked(many=[Built("main-9", "a", None, content="c1"), (other, "bad")]).parts() == wanted.parts()
    assert asked(many=[job, (other, "worse")]).parts() != wanted.parts()
    assert asked(many=[job, (Built("", "b", None), "bad")]).parts().inputs == {"many": ["c1", ""]}
    assert asked(many=None).dataset_ids() == {}


def test_a_dataset_may_have_the_name_of_a_job_or_an_option() -> None:
    job, other = Built("main-1", "a", None, content="c1"), Built("main-2", "b", None, content="c2")
    wanted = asked({"first": (other, "x"), "names": job}, first=job, names=["n"])
    assert (wanted.ids(), wanted.dataset_ids()) == (
        {"first": "main-1"},
        {"first": "main-2/x", "names": "main-1/default"},
    )
    assert wanted.parts().inputs == {"first": "c1", "datasets.first": "c2/x", "names": "c1"}
    assert wanted.options["names"] == ["n"]


@pytest.mark.parametrize(
    ("arguments", "datasets", "words"),
    [
        ({"many": Built("main-1", "a", None)}, {}, "a list of"),
        ({"many": (Built("main-1", "a", None), "x")}, {}, "a list of|made from datasets"),
        ({"many": ["main-1"]}, {}, "made from datasets"),
        ({}, {"first": "main-1"}, "made from datasets"),
        ({}, {"first": [Built("main-1", "a", None)]}, "made from datasets"),
        ({}, {"first": (Built("main-1", "a", None), "")}, "made from datasets"),
        ({}, {"frist": Built("main-1", "a", None)}, "frist"),
        ({"many": []}, {"many": []}, "many twice"),
    ],
)
def test_no_datasets_are_refused(arguments: dict[str, Any], datasets: dict[str, Any], words: str) -> None:
    with refusal(words) as caught:
        asked(datasets, **arguments)
    assert caught.value.hint
