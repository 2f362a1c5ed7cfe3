"""What pages say of runs, jobs and stages: states, odd names, damage, what is gone, and much of all."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from board_client import BEGAN, Client, begun_job, write_plan, write_run
from jobs_project import empty_project, make_job

from shortloop.board import run_page
from shortloop.board.files import TAIL, read_log
from shortloop.board.run_jobs import jobs_of
from shortloop.run.runs import read_run
from shortloop.stages.records import FORMAT

project = pytest.fixture(empty_project)
ODD = [
    '<script>alert("1")</script>',
    "a'b\"c&amp;",
    "Ünïcode 漢字",
    "line\nbreak\x1b[31m",
    "\udcff",
    "../../x",
    "a" * 300,
]


@pytest.fixture
def client(project: Path) -> Client:
    run_page._ended.clear()
    return Client()


def states(number: int) -> dict[tuple[str, str], str]:
    return {(job.stage, job.partition): job.state for job in jobs_of(number, *read_run(number)).jobs}


PLAN: list[list[Any]] = [
    ["load", "A", "main-1", "reuse", "", 1.0],
    ["load", "B", "", "build", "the file changed", 1.0],
    ["fit", "A", "", "build", "new", 2.0],
    ["fit", "B", "", "perhaps", "if load comes out different", 2.0],
    ["join", None, "", "perhaps", "", 0.0],
]
EDGES = [["load", "fit"], ["fit", "join"]]


def begun(project: Path) -> None:
    """A run that has built a job, and began another: that failed once before."""
    make_job(project, "main-0", method="build_scripts.build_toy")
    begun_job(project, "main-1", "load", "A", age=-100)
    begun_job(project, "main-2", "load", "B", age=1)
    begun_job(project, "main-3", "fit", "A", age=3, jobs={"of": "main-1"}, finished=False)
    begun_job(project, "main-4", "fit", "A", age=4, jobs={"of": "main-1"}, finished=False)
    write_run(project, 1)
    write_plan(project, 1, PLAN, EDGES)


def test_a_run_that_goes_on(project: Path, client: Client) -> None:
    begun(project)
    file = write_run(project, 1, exit=None, seconds=0.0)
    setup = project / "workdirs/main/main-4/setup.json"
    os.utime(setup)  # a moment ago
    with file.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert states(1) == {
            ("load", "A"): "reuse",
            ("load", "B"): "built",
            ("fit", "A"): "running",
            ("fit", "B"): "perhaps",
            ("join", ""): "perhaps",
        }
        said = client.get("/")
        assert 'data-every="1000"' in said.text
        assert "jobs 2 of 5" in said.words
        assert "the file changed" in said.text
        assert "about 2.0 s" in said.words
        job = client.get("/jobs/main-4")
        assert job.status == 200
        os.utime(setup, (BEGAN, BEGAN))  # no process works there
        assert states(1)["fit", "A"] == "failed"
    assert states(1)["fit", "A"] == "failed"
    said = client.get("/")
    assert "cut off" in said.words
    assert 'data-every="5000"' in said.text


def test_a_run_that_failed(project: Path, client: Client) -> None:
    begun(project)
    recorded = [["load", "A", "main-1", False, ""], ["load", "B", "main-2", True, "the file changed"]]
    write_run(project, 1, exit=1, error="ValueError: <b>odd</b>", jobs=recorded)
    # Of other pipelines of the same script: run before this one, and after it.
    begun_job(project, "main-5", "fit", "B", age=-1)
    begun_job(project, "main-6", "fit", "B", age=61)
    assert states(1) == {
        ("load", "A"): "reuse",
        ("load", "B"): "built",
        ("fit", "A"): "failed",
        ("fit", "B"): "left",
        ("join", ""): "left",
    }
    said = client.get("/runs/1")
    assert "failed, exit 1" in said.words
    assert "ValueError: &lt;b&gt;odd&lt;/b&gt;" in said.text
    assert 'href="/jobs/main-4"' in said.text
    assert "failed, or was interrupted" in client.get("/jobs/main-4").words
    assert 'data-every="0"' in said.text


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_text(project: Path, client: Client, name: str) -> None:
    folder = begun_job(project, "main-1", "fit", name)
    record = {"format": FORMAT, "stage": "fit", "partition": name, "facts": {}, "threads": [], "versions": {}}
    array = {"axes": name, "description": name, "unit": name, "shape": [1], "dtype": "float64"}
    record |= {"problem": name, "arrays": {"x": array}, "figures": [], "tables": {}}
    np.save(folder / "x.npy", np.zeros(1))
    (folder / "record.json").write_text(json.dumps(record), encoding="utf-8")
    jobs = [["fit", name, "main-1", True, name], [name, None, "main-1", False, ""]]
    write_run(
        project, 1, jobs=jobs, script=name, settings=name, part=name, text=name, file=name, exit=1, error=name
    )
    for page in ("/", "/runs", "/runs/1", "/jobs/main-1", "/stages/fit"):
        said = client.get(page)
        assert said.status == 200, page
        assert "alert(" not in said.text.replace("&lt;script&gt;alert(", "")
        assert 'b"c' not in said.text
        assert "\x1b" not in said.text
    with_file = folder / name.replace("/", "_")[:200]
    with_file.write_text("in it", encoding="utf-8")
    said = client.get("/jobs/main-1")
    assert said.status == 200
    assert "<script>alert" not in said.text


def test_a_project_without_runs_or_folders(project: Path, client: Client) -> None:
    assert "No run yet" in client.get("/").words
    assert client.get("/runs").status == 200
    for page in (
        "/runs/1",
        "/runs/0",
        "/jobs/main-1",
        "/jobs/nonsense",
        "/jobs/..",
        "/stages/fit",
        "/runs/x",
        "/x",
    ):
        said = client.get(page)
        assert (said.status, "Traceback" in said.text) == (404, False), page
    assert "`shortloop jobs` lists them" in client.get("/jobs/main-1").words


@pytest.mark.parametrize("text", ["", "{}", "[]", "\x00", '{"format": 1, "script": 3}'])
def test_a_damaged_record_of_a_run(project: Path, client: Client, text: str) -> None:
    write_run(project, 1)
    write_run(project, 2).write_text(text, encoding="utf-8")
    assert "1 record of runs cannot be read" in client.get("/runs").words
    assert "the record of a run cannot be read" in client.get("/runs/2").words
    assert "Run 1" in client.get("/").words


def test_records_with_fields_of_wrong_types_spoil_no_other(project: Path, client: Client) -> None:
    write_run(project, 1)
    write_run(project, 2, began="yesterday", seconds=None, jobs=[])
    assert client.get("/runs").status == 200
    assert client.get("/runs/2").status == 404


@pytest.mark.parametrize("name", ["setup.json", "record.json", "manifest.json"])
def test_a_damaged_job(project: Path, client: Client, name: str) -> None:
    folder = begun_job(project, "main-1", "fit", "A")
    (folder / name).write_text("{", encoding="utf-8")
    write_run(project, 1, jobs=[["fit", "A", "main-1", True, "new"]])
    assert client.get("/jobs/main-1").status == (404 if name == "setup.json" else 200)
    assert client.get("/runs/1").status == client.get("/").status == 200


def test_jobs_that_are_deleted_while_they_are_looked_at(project: Path, client: Client) -> None:
    for number in (1, 2):
        begun_job(project, f"main-{number}", "fit", f"P{number}")
    write_run(project, 1, jobs=[["fit", f"P{number}", f"main-{number}", True, "new"] for number in (1, 2)])
    assert client.get("/runs/1").status == 200
    (project / "workdirs/main/main-1/post.json").rename(project / "workdirs/main/main-1/post.deleted.json")
    shutil.rmtree(project / "workdirs/main/main-2")
    run_page._ended.clear()
    assert client.get("/runs/1").status == 200
    assert "deleted: only its record is left" in client.get("/jobs/main-1").words
    said = client.get("/jobs/main-2")
    assert (said.status, "no such job" in said.words) == (404, True)
    assert client.get("/jobs/main-2/log").status == 404
    assert client.get("/stages/fit").status == 200


@pytest.mark.slow
def test_many_jobs_are_quick_and_cut_short(project: Path, client: Client) -> None:
    jobs = []
    for number in range(1, 2001):
        begun_job(project, f"main-{number}", "fit", f"P{number:04}")
        jobs.append(["fit", f"P{number:04}", f"main-{number}", True, "new"])
    write_run(project, 1, jobs=jobs)
    began = time.process_time()
    said = client.get("/runs/1")
    assert time.process_time() - began < 5
    assert "1,940 more jobs: list them all" in said.words
    assert said.text.count('href="/jobs/') < 100
    began = time.process_time()
    assert client.get("/runs/1?all=fit").text.count('href="/jobs/main-') >= 2000
    stage = client.get("/stages/fit")
    assert time.process_time() - began < 5
    assert "1,700 older jobs" in stage.words


def test_output_is_read_from_where_it_was_left(project: Path, client: Client) -> None:
    folder = begun_job(project, "main-1", "fit", "A", finished=False)
    output = folder / "OUTPUT"
    output.mkdir()
    (output / "prepare").write_bytes(b"\x1b[31mred\x1b[0m <b>&\n\0NUL\nstep 1\rstep 2")
    log = read_log(folder)
    assert (log.text, log.open) == ("red <b>&\n\\x00NUL\n", "step 2")
    (output / "prepare").write_bytes(b"\x1b[31mred\x1b[0m <b>&\n\0NUL\nstep 1\rstep 3\nnext\n")
    (output / "0").write_bytes(b"of a\nof none\n")
    (output / "0.units").write_text('["a", 0, 5]\n', encoding="utf-8")
    said = json.loads(client.get(f"/jobs/main-1/log?position={log.position}").text)
    assert (said["text"], said["open"]) == ("step 3\nnext\na | of a\nof none\n", "")
    assert said["goes_on"] is False
    assert read_log(folder, said["position"]).text == ""
    for wrong in ("nonsense", "prepare:-1", "prepare:99999999999999999999", "0:7,prepare:1e3", "a:1" * 5000):
        assert client.get(f"/jobs/main-1/log?position={wrong}").status == 200
    page = client.get("/jobs/main-1").text
    assert "red &lt;b&gt;&amp;" in page


@pytest.mark.parametrize("line", [b"x" * 99 + b"\n", b"y"])
def test_of_much_output_the_end_is_read(project: Path, client: Client, line: bytes) -> None:
    folder = begun_job(project, "main-1", "fit", "A", finished=False)
    (folder / "OUTPUT").mkdir()
    with (folder / "OUTPUT/synthesis").open("wb") as stream:
        stream.truncate(50_000_000)
        stream.seek(50_000_000)
        stream.write(line * (TAIL // len(line) + 10) + b"\nthe end\n")
    began = time.process_time()
    said = client.get("/jobs/main-1")
    assert time.process_time() - began < 3
    assert len(said.text) < 3 * TAIL
    assert "50 MB left out: shortloop logs main-1" in said.text
    assert "the end" in said.text
