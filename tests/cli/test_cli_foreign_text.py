"""Escape sequences in what others named: no command passes them on to a terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from cases import first_cases
from on_a_terminal import ROOT, command_on_a_terminal
from toy_jobs import CODE, ToyJobs, toy_project, with_code

from shortloop.store.loaded import load

ESCAPE = "\x1b]0;mine\x07\x1b[2J\x9b31m\u202e"
SHOWN = r"\x1b]0;mine\x07\x1b[2J\x9b31m\u202e"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two jobs of which everything has such a name."""
    folder = toy_project(tmp_path_factory.mktemp("project"))
    here = Path.cwd()
    os.chdir(folder)
    try:
        jobs = ToyJobs(folder)
        array = {"axes": ESCAPE, "description": ESCAPE, "shape": [4], "dtype": "float64", "unit": ESCAPE}
        for value in ("old", "new"):
            jobs.make(
                ESCAPE,
                options={ESCAPE: f"{value} {ESCAPE}"},
                code=CODE if value == "old" else with_code(steps=f"x = {ESCAPE!r}\n# {ESCAPE}"),
                reason=f"{ESCAPE}\n{ESCAPE}",
                pipeline=f"build_toy {ESCAPE}",
                facts={"files": {ESCAPE: [{"name": ESCAPE, "content": ESCAPE}]}},
                arrays={} if value == "old" else {"times": array},
                left=len(value),
            )
        jobs.ended(f"build_toy {ESCAPE}")
        (jobs.folder("main-1") / f"{ESCAPE}.txt").touch()
        (jobs.folder("main-1") / os.fsdecode(b"\xff")).touch()
        jobs.damage("main-0")
    finally:
        os.chdir(here)
    return folder


@first_cases(
    3,
    "command",
    [
        ("show", "main-1"),
        ("why", ESCAPE),
        ("compare", "main-0", "main-1"),
        ("jobs",),
        ("why", "main-1"),
        ("why", "scores"),
        ("jobs", "--state", ESCAPE),
        ("verify",),
        ("gc", "--older", ESCAPE),
        ("plan", ESCAPE),
    ],
    ids=lambda command: " ".join(command).replace(ESCAPE, "ESCAPE"),
)
def test_commands_show_what_a_terminal_would_obey(project: Path, command: tuple[str, ...]) -> None:
    given = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    program = [sys.executable, "-m", "shortloop", *command]
    shown = command_on_a_terminal(program, project, given, columns=500, may_fail=True)
    assert "Traceback" not in shown
    assert SHOWN in shown
    # Of what is left, all is ours: colours and bold.
    assert "\x1b]" not in shown
    assert "\x1b[2J" not in shown
    assert not {"\x07", "\x9b", "\u202e"} & set(shown)


def test_what_python_shows_of_a_job(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    assert repr(load("main-1")) == f"<main-1: scores of {SHOWN}, scores, times, files>"
