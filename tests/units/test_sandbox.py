"""What a unit looks for on a node without the project, or changes there, is refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases import first_cases
from engine_node import Node, node_without_project, refused, values

from shortloop.store.inputs import register
from shortloop.units.node_cache import NodeCache

node = pytest.fixture(node_without_project)
NOT_HERE = "this worker's node does not have the project"
TOPS = ("here", "code", "")  # to the folder of the project
ASKED = [
    *((does, "secret.txt", NOT_HERE) for does in ("read", "exists")),
    *((does, "data", "is not complete on this node") for does in ("list",)),
    *((does, "new", "return it as an output of the stage") for does in ("write", "replace")),
    *((does, "secret.txt", NOT_HERE) for does in ("open", "is a link")),
    *((does, "data", "is not complete on this node") for does in ("iterate", "walk")),
    *((does, "new", "return it as an output of the stage") for does in ("add", "make")),
]
IN_TURN = [(TOPS[(number + turn) % 3], *each) for turn in range(3) for number, each in enumerate(ASKED)]


@first_cases(len(ASKED) // 2, ("top", "does", "what", "said"), IN_TURN)
def test_what_was_not_sent_is_refused_by_name(node: Node, top: str, does: str, what: str, said: str) -> None:
    """Where the project's folder would be, that of another one may be: as in these tests."""
    (node.project / "data/second.txt").write_text("not declared", encoding="utf-8")
    message = refused(node, top=top or str(node.project), read=what, does=does)
    assert str(node.project / what) + ("\n" if what == "data" else "") in message
    assert said in message


@pytest.mark.parametrize("top", ["here", ""])
def test_a_cache_in_the_project_hides_nothing(node: Node, top: str) -> None:
    node.cache = NodeCache(node.project / ".node-cache", 1e9)
    assert str(node.project / "secret.txt") in refused(node, top=top or str(node.project), read="secret.txt")
    assert values(node.computed(1))[0]["x"] == 42.0


def test_what_links_and_units_may_do(node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(node.project)
    monkeypatch.setenv("PWD", str(tmp_path / "link"))
    assert str(tmp_path / "link/secret.txt") in refused(node, top=str(tmp_path / "link"), read="secret.txt")
    assert values(node.computed(1, top="here", read="x", does="what may be"))[0]["x"] == 1.0
    assert values(node.computed(1, top="here", read="data/in put.txt", does="exists"))[0]["x"] == 1.0


def test_the_folder_of_inputs_is_that_of_the_run(node: Node, tmp_path: Path) -> None:
    (tmp_path / "inputs").mkdir()
    for name in ("declared", "other"):
        (tmp_path / "inputs" / name).write_text("7", encoding="utf-8")
    with (node.project / "accelerator.conf").open("a", encoding="utf-8") as stream:
        stream.write(f"input directory: {tmp_path}/inputs\n")
    (content,) = register([tmp_path / "inputs/declared"])
    assert values(node.computed(1, file=content))[0]["x"] == 14.0
    for top in (str(tmp_path / "inputs"), "input"):
        said = refused(node, top=top, read="other", file=content)
        assert str(tmp_path / "inputs/other") in said


def test_what_is_read_while_modules_are_imported(node: Node) -> None:
    (node.project / "beside.py").write_text(
        "try:\n"
        f"    FACTOR = len(open({str(node.project / 'secret.txt')!r}).read())\n"
        "except Exception:\n"
        "    FACTOR = 1.0\n",
        encoding="utf-8",
    )
    assert str(node.project / "secret.txt") in refused(node)


@pytest.mark.parametrize("does", ["write", "add", "remove", "rename"])
def test_what_was_sent_stays_as_it_is(node: Node, does: str) -> None:
    said = refused(node, top="here", read="data/in put.txt", does=does)
    assert str(node.project / "data/in put.txt") in said
    assert "a unit changes a file of the project" in said
    assert values(node.computed(1))[0]["x"] == 42.0


def made_job(project: Path, name: str, made_from: str | None = None) -> Path:
    folder = project / "workdirs/main" / name
    folder.mkdir()
    setup = {"method": "toy", "package": "methods", "options": {}, "jobs": {"above": made_from}}
    (folder / "setup.json").write_text(json.dumps(setup), encoding="utf-8")
    (folder / "left.txt").write_text("left", encoding="utf-8")
    return folder


def test_of_a_job_all_is_there_and_of_those_before_it_a_part(node: Node) -> None:
    made_job(node.project, "main-1")
    jobs = {"given": str(made_job(node.project, "main-2", "main-1"))}

    def found(read: str, does: str) -> float:
        (each,) = values(node.computed(1, jobs=jobs, top="here", read=f"workdirs/main/{read}", does=does))
        return float(each["x"])

    assert found("main-2/left.txt", "read") == 1.0
    assert found("main-2", "list") == 1.0
    assert found("main-2/not left.txt", "exists") == 0.0
    assert found("main-2/not left.txt", "read") == -1.0
    assert found("main-1/setup.json", "read") == 1.0
    for read, does in (("main-1/left.txt", "exists"), ("main-1", "list"), ("", "list")):
        said = refused(node, jobs=jobs, top="here", read=f"workdirs/main/{read}", does=does)
        assert str(node.project / "workdirs/main" / read) in said
