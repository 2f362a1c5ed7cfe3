"""`--json`: one document on standard output, which says what the text says, also of what is wrong."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import ROOT, forked
from toy_jobs import project_of_two_jobs

folder = pytest.fixture(project_of_two_jobs)
NAMED = {*re.findall(r"`(\w+)`", (ROOT / "docs" / "json.md").read_text(encoding="utf-8"))}
OWN = {"cost", "options", "facts", "versions", "threads", "engine", "columns"}


def fields(value: Any) -> set[str]:
    """Names of all fields; what a document keeps of a job or of settings has names of its own."""
    if isinstance(value, list):
        return set().union(*map(fields, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(fields(each) for name, each in value.items() if name not in OWN))


def document(done: subprocess.CompletedProcess[str], status: int = 0) -> Any:
    """What a command says, in fields that docs/json.md has."""
    assert done.returncode == status, done.stderr
    assert done.stdout, done.stderr
    said = json.loads(done.stdout)
    assert fields(said) - NAMED == set()
    return said


def both(folder: Path, *arguments: str, status: int = 0) -> tuple[Any, str]:
    """What a command says to programs, and to people."""
    text = forked(folder, *arguments)
    assert text.returncode == status, text.stderr
    return document(forked(folder, *arguments, "--json"), status), text.stdout


def run_record(folder: Path, number: int, **more: Any) -> None:
    runs = folder / "workdirs" / ".runs"
    runs.mkdir(exist_ok=True)
    record = {"format": 1, "script": "build_toy", "pipeline": "build_toy small", "settings": "small"}
    record |= {"file": "/x/small.toml", "text": "a = 1\n", "part": "", "began": 1.7e9, "exit": 0}
    record |= {"script_job": "main-9", "seconds": 2.5, "error": "", **more}
    record["jobs"] = [["scores", "A", "main-0", True, "new"], ["scores", "B", "main-1", False, ""]]
    (runs / f"{number:05d}.json").write_text(json.dumps(record), encoding="ascii")


def test_jobs(folder: Path) -> None:
    said, text = both(folder, "jobs")
    rows = [line.split() for line in text.splitlines()[1:-1]]
    names = ("job", "stage", "partition", "state")
    assert [[each[name] for name in names] for each in said["jobs"]] == [[*row[:3], row[-1]] for row in rows]
    assert said["bytes"] == sum(each["bytes"] for each in said["jobs"]) > 0
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT.+[+-]\d\d:\d\d", each["made"]) for each in said["jobs"])
    assert document(forked(folder, "jobs", "--json", "--stage", "none"))["jobs"] == []


def test_runs(folder: Path) -> None:
    run_record(folder, 1)
    run_record(folder, 2, exit=1, error="could not", part="--until scores")
    run_record(folder, 3, exit=None)
    said, text = both(folder, "runs")
    assert [each["run"] for each in said["runs"]] == [1, 2, 3]
    assert (said["all"], said["unreadable"]) == (3, 0)
    first, second, third = said["runs"]
    assert (first["built"], first["reused"], first["seconds"], first["exit"]) == (1, 1, 2.5, 0)
    assert re.search(r"1 +\S+ \S+ +build_toy +small +1 +1 +2\.5 +0", text)
    assert (second["part"], second["exit"], second["state"]) == ("--until scores", 1, "ended")
    assert (third["state"], third["exit"], third["seconds"]) == ("cut off", None, None)
    said, text = both(folder, "runs", "2")
    assert said["problem"] == "could not"
    assert said["problem"] in text
    job = {"stage": "scores", "partition": "A", "job": "main-0", "built": True, "reason": "new"}
    assert said["jobs"][0] == job


def test_show_why_and_compare(folder: Path) -> None:
    shown, text = both(folder, "show", "main-1")
    assert text.startswith(f"main-1: {shown['stage']} of {shown['partition']}\n")
    for name in ("key", "content", "reason", "folder", "state"):
        assert str(shown[name]) in text
    assert [each["name"] for each in shown["arrays"]] == re.findall(r"^(\w+) +\d.*float64", text, re.M)
    assert {each["name"] for each in shown["files"]} >= {"manifest.json", "record.json"}
    said, text = both(folder, "why", "main-1")
    (group,) = said["groups"]
    assert group["jobs"] == [{"job": "main-1", "partition": shown["partition"]}]
    assert re.findall("^  · (.*)$", text, re.M) == [each["words"] for each in group["causes"]]
    said, text = both(folder, "compare", "main-0", "main-1")
    assert [each["job"] for each in said["jobs"]] == ["main-0", "main-1"]
    (array,) = [each for each in said["arrays"] if each["differ"]]
    assert re.search(rf"{array['name']} .* {array['differ']} values differ", text)
    assert said["same"] is False


def test_verify_and_gc(folder: Path) -> None:
    said, text = both(folder, "verify")
    assert text.startswith(f"{said['jobs']} jobs")
    assert said["problems"] == []
    scores = folder / "workdirs/main/main-0/scores.npy"
    scores.write_bytes(scores.read_bytes()[:-1] + b"x")
    said, text = both(folder, "verify", status=1)
    (problem,) = said["problems"]
    assert problem["job"] == "main-0"
    assert problem["damaged"]
    assert problem["what"] in text
    said, text = both(folder, "gc")
    assert f"{len(said['jobs'])} of {len(said['jobs']) + said['jobs_left']} jobs would be deleted" in text
    assert said["deleted"] is False
    said = document(forked(folder, "gc", "--delete", "--json"))
    assert said["deleted"] is True
    assert document(forked(folder, "gc", "--json"))["jobs"] == []


def test_study(tmp_path: Path) -> None:
    said, text = both(tmp_path, "study", "--panel")
    assert [each["field"] for each in said["fields"]] == [line.split()[0] for line in text.splitlines()[1:]]
    file = tmp_path / "panel.toml"
    file.write_text((ROOT / "shortloop/panel/default.toml").read_text(encoding="utf-8"), encoding="utf-8")
    said, text = both(tmp_path, "study", str(file), "--quick")
    assert said["settings"] in text
    file.write_text("[inference]\nmethod = 3\nwhat = 1\n", encoding="utf-8")
    said, text = both(tmp_path, "study", str(file), status=1)
    assert [each["problem"] in text for each in said["problems"]] == [True] * len(said["problems"])
    assert f"{len(said['problems'])} problems" in text


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (("show", "main-77"), 1, "no such job"),
        (("jobs", "--older", "old"), 1, "invalid value"),
        (("runs", "4"), 1, "no such run"),
        (("plan", "nothing"), 1, "no such build script"),
        (("jobs", "--zzz"), 2, "no such option: --zzz"),
        (("show",), 2, "missing argument 'job'"),
        (("shwo", "main-1"), 2, "no such command 'shwo'"),
    ],
    ids=str,
)
def test_errors_are_documents(folder: Path, arguments: tuple[str, ...], status: int, problem: str) -> None:
    done = forked(folder, *arguments, "--json")
    said = document(done, status)["error"]
    assert said["problem"] == problem
    assert done.stderr == ""
    assert f"shortloop: {said['message']}\n" == forked(folder, *arguments).stderr


SCRIPT = """\
import os, sys
from shortloop import pipeline
print("of the script")
os.write(1, b"of a library\\n")

@pipeline
def main(run):
    print("of the pipeline")
    {}
"""


@pytest.mark.parametrize(
    ("line", "status", "problem"),
    [
        ("return run.build('none')", 1, None),
        ("raise ValueError('wrong')", 1, "ValueError: wrong"),
        ("sys.exit(5)", 5, "exited with status 5"),
    ],
)
def test_what_a_script_prints_is_left_out(folder: Path, line: str, status: int, problem: str | None) -> None:
    (folder / "methods").mkdir(exist_ok=True)
    (folder / "methods" / "__init__.py").touch()
    (folder / "methods" / "build_toy.py").write_text(SCRIPT.format(line), encoding="utf-8")
    done = forked(folder, "plan", "toy", "--json")
    assert problem in (None, document(done, status)["error"]["problem"])
    assert all(f"of {what}\n" in done.stderr for what in ("the script", "a library", "the pipeline"))
