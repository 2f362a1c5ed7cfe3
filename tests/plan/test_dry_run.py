"""Planning a build script: its pipelines are planned, nothing is built, and no server is asked."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from jobs_project import write
from refusal import refusal
from toy_jobs import CONFIGURATION

from shortloop.plan.dry_run import dry_run
from shortloop.plan.pipeline import BUILD

NUMBERS = itertools.count()
METHOD = "jobs = ('first',)\n\n\ndef synthesis():\n    pass\n"
SCRIPT = """\
from shortloop.run.executor import run_pipeline


def main(urd):
    return run_pipeline(urd, pipeline, finish, name="chain")


def pipeline(run):
    first = run.build("first", partition="A")
    return run.build("second", partition="A", first=first)


def finish(run, last, seconds):
    raise AssertionError("nothing was run")
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write_script(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Writes a build script; each into a package of its own name, as Python keeps those it imported."""
    scripts = f"scripts_{next(NUMBERS)}"
    conf = CONFIGURATION.replace("methods auto-discover", f"methods auto-discover\n\t{scripts} auto-discover")
    write(package, "accelerator.conf", conf)
    write(package, f"{scripts}/__init__.py", "")
    for method in ("first", "second"):
        write(package, f"methods/a_{method}.py", METHOD)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def written(text: str) -> str:
        write(package, f"{scripts}/build_chain.py", text)
        return f"{scripts}.chain"

    yield written
    for name in [name for name in sys.modules if name.startswith(scripts)]:
        del sys.modules[name]


def test_pipelines_are_planned(write_script: Callable[[str], str]) -> None:
    planned = dry_run(write_script(SCRIPT))
    (plan,) = planned.plans
    assert [(job.stage, job.partition, job.plan, job.reason) for job in plan.jobs] == [
        ("first", "A", BUILD, "new"),
        ("second", "A", BUILD, "new"),
    ]
    assert planned.seconds == {}


def test_several_pipelines_are_planned(write_script: Callable[[str], str]) -> None:
    twice = "run_pipeline(urd, pipeline, name='one')\n    return run_pipeline"
    script = write_script(SCRIPT.replace("return run_pipeline", twice))
    assert [plan.name for plan in dry_run(script).plans] == ["one", "chain"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "return run_pipeline(",
            "urd.begin('list')\n    return run_pipeline(",
            r"cannot be planned(.|\n)*urd\.begin",
        ),
        ('return run_pipeline(urd, pipeline, finish, name="chain")', "return 0", "runs no pipeline"),
        ('"second"', '"third"', "no such method"),
        ("return run_pipeline", "return 3 or run_pipeline", ""),
    ],
)
def test_scripts_without_a_plan(write_script: Callable[[str], str], old: str, new: str, words: str) -> None:
    script = write_script(SCRIPT.replace(old, new))
    if words:
        with refusal(words):
            dry_run(script)
        with refusal("no such build script"):
            dry_run("nothing_of_the_kind")
        return
    with pytest.raises(SystemExit) as caught:
        dry_run(script)
    assert caught.value.code == 3
