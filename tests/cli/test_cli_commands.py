"""The command as a user types it: what it says, its exit status, its options, what it lacks, and Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import first_cases
from command_line import ROOT, assert_one_message, forked, shortloop
from jobs_project import empty_project, make_job
from python_process import ended
from refused import refusing
from source_tree import PROJECT
from toy_jobs import project_of_two_jobs

from shortloop.base.extras import REPORT_LIBRARIES
from shortloop.eeg.pipeline import LIBRARIES
from shortloop.stages.records import FORMAT

project = pytest.fixture(empty_project)


def finished(project: Path, job: str, jobs: Mapping[str, Any] | None = None, **changes: object) -> Path:
    """A finished job, with names that a terminal library may take for its own marks."""
    options = {"partition": "S01", "settings": {"drop": ["[EOG]", "[/x]"], "empty": {}}}
    folder = make_job(project, job, method="import_epochs", options=options, jobs=jobs)
    array = {"axes": "a × b", "description": "[red]it[/red]", "unit": "V", "shape": [2, 3]}
    record: dict[str, object] = {
        "format": FORMAT,
        "stage": "import_epochs",
        "partition": "S01",
        "arrays": {"data": {**array, "dtype": "float64"}},
        "facts": {"files": {"study": [{"name": "rec[bold].npz", "content": "c0ffee"}]}},
        "threads": [{"library": "libblas", "version": "0.3", "threads": 8, "threads_used": 1}],
        "versions": {"numpy": np.__version__},
        "problem": None,
    }
    np.save(folder / "data.npy", np.zeros((2, 3)))
    (folder / "record.json").write_text(json.dumps({**record, **changes}), encoding="utf-8")
    return folder


PANEL = ROOT / "shortloop/panel/default.toml"
STUDY = ROOT / "shortloop/eeg/study/default.toml"
folder = pytest.fixture(project_of_two_jobs)


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_help_lists_the_commands(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = forked(tmp_path, *arguments)
    said = done.stdout + done.stderr
    assert done.returncode == (0 if arguments else 2)
    first = ["init", "study", "run", "plan", "sweep", "graph", "why", "show", "logs", "board"]
    first += ["profile", "isolate", "limits", "history", "export"]
    first += ["compare", "jobs", "runs", "harmless", "verify", "gc"]  # as one meets them
    assert re.findall(r"^\W{2}([a-z][a-z-]*) ", said, re.MULTILINE)[: len(first)] == first


def test_show_prints_names_as_they_are(project: Path) -> None:
    finished(project, "main-0")
    finished(project, "other-4", stage="train", jobs={"epochs": "main-0", "more": ["main-9", "other-5"]})
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


def test_show_of_a_job_that_is_missing_rejected_or_unfinished(project: Path) -> None:
    for job, words in {
        "main-7": ("no such job", "main-7", "shortloop jobs"),
        "nonsense": ("job id", "nonsense", "main-NUMBER or other-NUMBER"),
        "third-1": ("job id", "third-1"),
    }.items():
        assert_one_message(forked(project, "show", job), *words)
    folder = finished(project, "main-0", problem="no labels\n  found: [/data] [x]", arrays={}, facts={})
    done = forked(project, "show", "main-0")
    assert done.returncode == 0, done.stderr
    assert "rejected: no labels\n  found: [/data] [x]\n" in done.stdout
    (folder / "post.json").unlink()
    assert_one_message(forked(project, "show", "main-0"), "did not finish", "main-0")


def test_show_into_a_closed_pipe_is_quiet(project: Path) -> None:
    finished(project, "main-0")
    done = ended(["bash", "-c", f"{sys.executable} -m shortloop show main-0 | head -n 1"], project)
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_outside_a_project(tmp_path: Path) -> None:
    """With a library that is not part of a project itself."""
    shutil.copytree(
        ROOT / "shortloop", tmp_path / "lib" / "shortloop", ignore=shutil.ignore_patterns("__pycache__")
    )
    outside = tmp_path / "outside"
    outside.mkdir()
    for command in (("run",), ("show", "main-1"), ("board", "--no-browser")):
        done = shortloop(outside, *command, library=tmp_path / "lib")
        assert_one_message(done, "no accelerator.conf", str(outside), "change to the project's folder")
    assert list(outside.iterdir()) == []


@first_cases(
    2,
    "arguments",
    [
        ("--panel", "new", "--data", "a.csv"),
        ("new", "--data=a.csv", "--panel"),
        ("--data", "a.csv", "new", "--panel"),
        ("--data=a.csv", "--panel", "new"),
        ("--data", "a.csv", "new"),
        ("--", "new"),
    ],
    ids=" ".join,
)
def test_init_takes_its_options_anywhere(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    rows = "".join(f"{each % 5},{each},{each * 2.5}\n" for each in range(40))
    (tmp_path / "a.csv").write_text(f"firm,year,value\n{rows}", encoding="utf-8")
    done = forked(tmp_path, "init", *arguments)
    assert done.returncode in (0, 3), done.stderr  # 3: the data leave a question open
    assert (tmp_path / "new" / "accelerator.conf").is_file()
    assert (tmp_path / "new" / "panel.toml").is_file() == ("--" not in arguments)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("run", "--untill", "train"), "--until"),
        (("init", "new", "--pannel"), "--panel"),
        (("study", "--quik"), "--quick"),
        (("jobs", "--partion=A"), "--partition"),
        (("plan", "--jsn"), "--json"),
        (("shwo", "main-1"), "'show'"),
    ],
    ids=str,
)
def test_a_wrong_word_is_met_by_the_right_one(folder: Path, arguments: tuple[str, ...], meant: str) -> None:
    done = forked(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("shortloop: no such ")
    assert f"did you mean {meant}" in done.stderr
    assert not (folder / "new").exists()


def test_fields_are_those_of_the_analysis_that_is_named(tmp_path: Path) -> None:
    said = forked(tmp_path, "study", "--panel").stdout
    assert "groups.blocks" in said
    assert "models[ols].formula" in said
    assert "participants" not in said
    assert "participants" in forked(tmp_path, "study", "--eeg").stdout


def test_a_file_is_taken_for_what_it_looks_like(tmp_path: Path) -> None:
    assert "models plain (ols)" in forked(tmp_path, "study", str(PANEL)).stdout
    assert "8 participants" in forked(tmp_path, "study", str(STUDY)).stdout
    assert "models plain (ols)" in forked(tmp_path, "study", "--panel", str(PANEL)).stdout
    wrong = forked(tmp_path, "study", str(PANEL), "--eeg")
    assert wrong.returncode == 1
    assert "missing a key" in wrong.stdout


def without(folder: Path, libraries: tuple[str, ...], *arguments: str) -> subprocess.CompletedProcess[str]:
    return shortloop(folder, *arguments, library=f"{refusing(folder, libraries)}:{ROOT}")


def test_two_jobs_are_compared_but_not_drawn(folder: Path) -> None:
    done = without(folder, REPORT_LIBRARIES, "compare", "main-0", "main-1")
    assert "· option left: 1.0 → 2.0" in done.stdout
    assert "4 values differ" in done.stdout
    assert "mean  52.500  53.500       1.000" in done.stdout
    done.stdout = ""
    assert_one_message(done, "matplotlib", "not installed", "pip install 'shortloop[report]'")


def test_a_study_is_checked_without_what_its_run_needs(tmp_path: Path) -> None:
    done = without(tmp_path, LIBRARIES, "study", str(ROOT / "shortloop/eeg/study/default.toml"))
    assert done.returncode == 0, done.stderr
    assert "is fine" in done.stdout


@first_cases(1, "library", ["mne", "numba", "matplotlib"])
def test_a_run_says_at_once_what_it_lacks(tmp_path: Path, library: str) -> None:
    """Planned here: a run begins in the same way."""
    refused = refusing(tmp_path, [library])
    for name in ("accelerator.conf", "methods", "build_scripts", "dev"):
        (tmp_path / name).symlink_to(ROOT / name)
    done = shortloop(tmp_path, "plan", library=f"{refused}:{ROOT}")
    assert_one_message(done, f"{library} is not installed", "pip install 'shortloop[eeg]'")


# As some libraries do that are interrupted while they are imported. A signal just before a sleep ends none.
SLOW = """\
import pathlib, time
pathlib.Path({reached!r}).touch()
try:
    for _ in range(6000):
        time.sleep(0.01)
except KeyboardInterrupt:
    raise {error}
"""


@first_cases(
    3,
    ("library", "command", "error"),
    [
        ("typer", ("jobs",), ""),
        ("shortloop/cli/main", ("jobs",), ""),
        ("numpy", ("compare", "main-0", "main-1"), "ImportError('broken')"),
        ("numpy", ("compare", "main-0", "main-1"), "SystemError('unreported')"),
        ("rich", ("--help",), ""),
        ("pydantic", ("study",), "ImportError('broken')"),
    ],
)
def test_an_interrupt(
    folder: Path, tmp_path: Path, library: str, command: tuple[str, ...], error: str
) -> None:
    slow, reached = tmp_path / "slow", tmp_path / "reached"
    path = [str(slow), str(ROOT)]
    file = slow / f"{library}.py"
    if "/" in library:  # a copy of the package, of which one module is slow
        shutil.copytree(ROOT / "shortloop", slow / "shortloop", ignore=shutil.ignore_patterns("__pycache__"))
        path = [str(slow)]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SLOW.format(reached=str(reached), error=error), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "shortloop", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not reached.exists():
            assert time.monotonic() < deadline
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert said == ""
    assert process.returncode == 130


def test_one_who_ignores_interrupts_goes_on_ignoring_them(folder: Path) -> None:
    """As programs do that a shell started in the background."""
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); import sys;"
    code += "sys.argv = ['shortloop', 'jobs']; from shortloop.__main__ import main\n"
    code += "try: main()\nfinally: print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    done = ended(["-c", code], folder)
    assert done.stdout.endswith("True\n"), done.stderr
    assert PROJECT["scripts"] == {"shortloop": "shortloop.__main__:main"}  # what is installed is quiet too
