"""Heavy libraries are loaded once for many jobs, and not at all for a run that builds nothing."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shortloop.jobs import warm

ROOT = Path(__file__).resolve().parents[2]


def test_every_module_to_load_exists() -> None:
    for module in {*warm.ALWAYS, *(each for modules in warm.MODULES.values() for each in modules)}:
        importlib.import_module(module)


def test_every_stage_that_is_named_is_a_method() -> None:
    assert {f"a_{stage}" for stage in warm.MODULES} <= {
        file.stem for file in (ROOT / "methods").glob("a_*.py")
    }


CODE = f"""
import json, os, sys, types
sys.path.insert(0, {str(ROOT)!r})
sys.modules["__main__"] = types.SimpleNamespace(__file__=sys.argv[1])
from shortloop.jobs import warm
from shortloop.jobs.server import prepare_runner
prepare_runner()
warm.ALWAYS, warm.MODULES = (), {{"a": ("colorsys",), "b": ("sndhdr",)}}

def fork(then):
    child = os.fork()
    if not child:
        then()
        print("colorsys" in sys.modules, "sndhdr" in sys.modules, flush=True)
        os._exit(0)
    os.waitpid(child, 0)

warm.announce(sys.argv[2])
if len(sys.argv) > 3:
    note = json.loads(warm._note().read_text())
    warm._note().write_text(json.dumps(note | {{"pid": int(sys.argv[3])}}))

def announce_and_fork():
    warm.announce("b")
    fork(lambda: None)

fork(announce_and_fork)
warm.announce("b")
fork(lambda: None)
"""
RUNNER = "/x/accelerator/runner.py"


@pytest.fixture
def imported(tmp_path: Path) -> Callable[..., list[str]]:
    """What a job of a job, that job, and the next one have of the modules of stages a and b."""
    (tmp_path / "accelerator.conf").touch()

    def run(*arguments: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", CODE, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()

    return run


def test_what_a_stage_needs_is_there_before_its_first_job(
    imported: Callable[..., list[str]],
) -> None:
    # The job that announces b and forks stands for slices: these import for themselves.
    assert imported(RUNNER, "a") == ["True False", "True False", "True True"]


def test_only_the_process_that_forks_jobs_imports_anything(imported: Callable[..., list[str]]) -> None:
    assert imported("/x/bin/ax", "a") == ["False False"] * 3  # nor do its forks


def test_stages_of_other_packages_need_nothing(imported: Callable[..., list[str]]) -> None:
    assert imported(RUNNER, "c") == ["False False", "False False", "False True"]


def test_what_a_run_announced_that_was_killed_does_not_count(imported: Callable[..., list[str]]) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert imported(RUNNER, "a", str(gone.pid))[0] == "False False"


def test_a_run_that_is_over_leaves_no_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "accelerator.conf").touch()
    monkeypatch.chdir(tmp_path)
    warm._note().write_text("{}", encoding="utf-8")
    warm.forget()
    warm.forget()
    assert not warm._note().exists()
