"""The command as a user types it: what it says, and its exit status."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import ROOT, assert_one_message, forked, shortloop

from shortloop.stages.records import FORMAT

CONFIGURATION = """\
slices: 2
workdirs:
	main ./workdirs/main
	other ./workdirs/other
method packages:
	methods auto-discover
listen: .socket.dir/server
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "accelerator.conf").write_text(CONFIGURATION, encoding="utf-8")
    return tmp_path


def make_job(project: Path, job: str, **changes: object) -> Path:
    """A finished job, with names that a terminal library may take for its own marks."""
    folder = project / "workdirs" / job.partition("-")[0] / job
    folder.mkdir(parents=True)
    setup: dict[str, object] = {
        "method": "import_epochs",
        "package": "methods",
        "hash": "0123abcd",
        "starttime": 1_700_000_000.0,
        "options": {"partition": "S01", "settings": {"drop": ["[EOG]", "[/x]"], "empty": {}}},
        "jobs": {},
        "exectime": {"total": 1.5},
    }
    array = {"axes": "a × b", "description": "[red]it[/red]", "unit": "V"}
    record: dict[str, object] = {
        "format": FORMAT,
        "stage": "import_epochs",
        "partition": "S01",
        "arrays": {
            "data": {**array, "shape": [2, 3], "dtype": "float64"},
        },
        "facts": {"files": {"study": [{"name": "rec[bold].npz", "content": "c0ffee"}]}},
        "threads": [{"library": "libblas", "version": "0.3", "threads": 8, "threads_used": 1}],
        "versions": {"numpy": np.__version__},
        "problem": None,
    }
    np.save(folder / "data.npy", np.zeros((2, 3)))
    setup.update({name: value for name, value in changes.items() if name in setup})
    record.update({name: value for name, value in changes.items() if name in record})
    for name, content in (("setup", setup), ("record", record), ("post", {})):
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_help_lists_the_commands(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = forked(tmp_path, *arguments)
    said = done.stdout + done.stderr
    assert done.returncode == (0 if arguments else 2)
    first = [
        "init",
        "study",
        "run",
        "plan",
        "sweep",
        "graph",
        "why",
        "show",
        "logs",
        "compare",
        "jobs",
        "runs",
    ]
    first += ["harmless", "verify", "gc"]
    assert (
        re.findall(r"^\W{2}([a-z][a-z-]*) ", said, re.MULTILINE)[: len(first)] == first
    )  # as one meets them


def test_a_command_explains_its_arguments_and_options(tmp_path: Path) -> None:
    done = forked(tmp_path, "harmless", "--help")
    assert done.returncode == 0
    for word in ("stage", "why", "script", "--settings", "recorded with the jobs"):
        assert word in done.stdout.lower()


def test_show_prints_names_as_they_are(project: Path) -> None:
    make_job(project, "main-0")
    make_job(project, "other-4", stage="train", jobs={"epochs": "main-0", "more": ["main-9", "other-5"]})
    done = forked(project, "show", "main-0")
    assert done.returncode == 0, done.stderr
    for word in ("rec[bold].npz", "c0ffee", "'[EOG]'", "'[/x]'", "settings.empty", "[red]it[/red]", "2 × 3"):
        assert word in done.stdout
    assert "libblas 0.3: 1" in done.stdout
    for file in ("data.npy", "post.json", "record.json", "setup.json"):
        assert file in done.stdout
    done = forked(project, "show", "other-4")
    assert done.returncode == 0, done.stderr
    assert re.search(r"from epochs +main-0: import_epochs S01", done.stdout)
    assert re.search(r"from more +main-9: no such job", done.stdout)


def test_show_says_why_a_job_was_rejected(project: Path) -> None:
    make_job(project, "main-0", problem="no labels\n  found: [/data] [x]", arrays={}, facts={})
    done = forked(project, "show", "main-0")
    assert done.returncode == 0, done.stderr
    assert "rejected: no labels\n  found: [/data] [x]\n" in done.stdout


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ("main-7", ("no such job", "main-7", "shortloop jobs")),
        ("nonsense", ("job id", "nonsense", "main-NUMBER or other-NUMBER")),
        ("third-1", ("job id", "third-1")),
    ],
)
def test_show_of_a_missing_job(project: Path, job: str, words: tuple[str, ...]) -> None:
    assert_one_message(forked(project, "show", job), *words)


def test_show_of_an_unfinished_job(project: Path) -> None:
    (make_job(project, "main-3") / "post.json").unlink()
    assert_one_message(forked(project, "show", "main-3"), "did not finish", "main-3")


def test_show_into_a_closed_pipe_is_quiet(project: Path) -> None:
    make_job(project, "main-0")
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m shortloop show main-0 | head -n 1"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [("run",), ("show", "main-1")])
def test_outside_a_project(tmp_path: Path, command: tuple[str, ...]) -> None:
    """With a library that is not part of a project itself."""
    shutil.copytree(
        ROOT / "shortloop", tmp_path / "lib" / "shortloop", ignore=shutil.ignore_patterns("__pycache__")
    )
    outside = tmp_path / "outside"
    outside.mkdir()
    done = shortloop(outside, *command, library=tmp_path / "lib")
    assert_one_message(done, "no accelerator.conf", str(outside), "change to the project's folder")
    assert list(outside.iterdir()) == []
