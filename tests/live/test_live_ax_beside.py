"""What exax offers works on as it did: its own builds and lists, its looks at jobs and datasets, its `gc`."""

from __future__ import annotations

import re
import socket
from typing import ClassVar

import pytest
from exax_project import ExaxProject, expected
from live_project import AX, PATIENCE, fixture_of, wait_for

PLAIN = """\
def main(urd):
    urd.begin("list", "2024-01-02")
    rows = urd.build("csvimport", filename="data/old.csv")
    typed = urd.build("dataset_type", source=rows, column2type={"a": "int64_10"})
    urd.finish("list", "2024-01-02")
    print("plain", rows, typed, sum(typed.dataset().iterate(None, "a")))
"""
SLOW = """\
import time
from pathlib import Path

options = {"folder": ""}


def synthesis(job):
    folder = Path(options.folder)
    (folder / "held").touch()
    while (folder / "hold").exists():
        time.sleep(0.01)
    job.json_save(1, "one.json")
"""
HELD = """\
from pathlib import Path

from shortloop.run.executor import run_pipeline

HERE = Path(__file__).parents[1]


def main(urd):
    return run_pipeline(urd, lambda run: run.build("slow", folder=str(HERE)), name="held")
"""


class Beside(ExaxProject):
    sources: ClassVar = {
        **ExaxProject.sources,
        "build_scripts/build_plain.py": PLAIN,
        "build_scripts/build_held.py": HELD,
        "theirs/methods/a_slow.py": SLOW,
    }


project = fixture_of(Beside)


def said(project: ExaxProject, *command: str) -> str:
    return project.ax(*command).ok().stdout


def test_a_build_script_of_exax_runs_beside_ours(project: ExaxProject) -> None:
    """Each keeps its own jobs, and a run of one has the other build nothing."""
    ours, _ = project.go()
    first = re.search(r"^plain .*", said(project, "run", "plain"), re.MULTILINE)
    assert first is not None
    assert first[0].endswith(" 55")
    assert project.go()[0] == ours | {"built": []}
    again = re.search(r"^plain .*", said(project, "run", "plain"), re.MULTILINE)
    assert again is not None
    assert again[0] == first[0]
    assert project.shortloop("verify").stdout.count("is not recorded") == 2
    assert "csvimport" in said(project, "urd", "list/2024-01-02")


def test_a_terminal_may_know_ascii_alone(project: ExaxProject) -> None:
    project.go()
    project.edit("build_scripts/build_rows.py", '"factor": 2', '"factor": 7')
    ascii_alone = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert "option factor: 2 -> 7" in project.ax("run", "rows", **ascii_alone).ok().stdout
    # Also what is printed to a file, from which exax makes a pipe of its own.
    project.edit("build_scripts/build_rows.py", '"factor": 7', '"factor": 8')
    file = project.folder / "said.txt"
    done = project.shell("sh", "-c", f'"{AX}" run rows > said.txt 2>&1', **ascii_alone)
    project.edit("build_scripts/build_rows.py", '"factor": 8', '"factor": 2')
    assert done.returncode == 0, file.read_text(encoding="utf-8")
    assert "option factor: 7 -> 8" in file.read_text(encoding="ascii")


def test_jobs_and_datasets_are_shown(project: ExaxProject) -> None:
    ours, _ = project.go()
    jobs = ours["jobs"]
    assert "dataset_type" in said(project, "job", jobs["dataset_type"])
    shown = said(project, "ds", "-c", jobs["csvimport new"])
    assert jobs["csvimport old"] in shown
    assert jobs["odd"] in said(project, "workdir", "main")
    assert "x30" in said(project, "grep", "x30", jobs["dataset_hashpart"])


def test_the_board_shows_them(project: ExaxProject) -> None:
    ours, _ = project.go()
    job = ours["jobs"]["dataset_filter_columns"]
    for page, words in ((f"job/{job}", "keep_columns"), (f"dataset/{job}", "int64")):
        with socket.socket(socket.AF_UNIX) as board:
            board.connect(str(project.folder / ".socket.dir/board"))
            board.sendall(f"GET /{page} HTTP/1.0\r\n\r\n".encode())
            assert words in b"".join(iter(lambda: board.recv(65536), b"")).decode()


@pytest.mark.slow
def test_exax_may_tidy_up(project: ExaxProject) -> None:
    """It takes what did not finish, and what we have deleted or set aside; no job that anything rests on."""
    before, _ = project.go()
    damaged = project.job_folder(before["jobs"]["dataset_hashpart"])
    (damaged / "DS/default.m").write_bytes(b"")
    ours, _ = project.go()
    assert ours["built"] == ["dataset_hashpart"]
    project.edit("build_scripts/build_rows.py", '"factor": 2', '"factor": 5')
    other, _ = project.go()
    assert other["more"] == expected(factor=5)
    project.shortloop("gc", "--delete").ok()
    deleted = project.job_folder(before["jobs"]["odd"])
    assert (deleted / "post.deleted.json").exists()
    assert "Deleting" in said(project, "gc")
    assert not deleted.exists()
    assert not damaged.exists()
    assert project.go()[0] == other | {"built": []}
    project.shortloop("plan", "rows").ok()
    assert "is gone" not in project.shortloop("verify").stdout
    assert "no such job" in project.shortloop("show", deleted.name).stderr
    project.edit("build_scripts/build_rows.py", '"factor": 5', '"factor": 2')
    back, told = project.go()
    assert back["more"] == expected()
    assert back["built"] == ["odd", "reads"], told


def test_a_job_that_exax_deletes_while_it_runs_is_built_again(project: ExaxProject) -> None:
    hold = project.write("hold", "")
    running = project.popen(AX, "run", "held")
    wait_for((project.folder / "held").exists)
    assert "Deleting" in said(project, "gc")
    hold.unlink()
    told, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 1
    assert "the folder of this run was deleted while it ran" in told
    assert "1 job built" in project.ax("run", "held").ok().stdout
    assert project.go()[0]["built"] == []
