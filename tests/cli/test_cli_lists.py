"""`shortloop jobs` and `shortloop plan`, and quantities in words and in tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jobs_project import empty_project
from toy_jobs import ToyJobs, toy_project

from shortloop.base.errors import InputError
from shortloop.base.text import amount, duration
from shortloop.cli.lookup.jobs import Filter, print_jobs
from shortloop.cli.output import parse_age, parse_size
from shortloop.cli.plan import print_plan
from shortloop.plan import dry_run
from shortloop.plan.dry_run import DryRun
from shortloop.plan.pipeline import BUILD, PERHAPS, REUSE, Built
from shortloop.plan.planner import Lookup, Planner
from shortloop.store.store import Store

Listed = Callable[..., list[str]]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = toy_project(tmp_path_factory.mktemp("jobs"))
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        jobs = ToyJobs(folder)
        jobs.make("A", age=10 * 86_400)
        jobs.make("B", age=5 * 86_400, large=200_000)
        jobs.make("A", options={"x": 1})
        jobs.make("A", method="other", age=86_400)
        jobs.unrecorded(finished=True, script=True)
        jobs.ended()
        jobs.places.clear()
        jobs.make("C", pipeline="build_toy big", settings="big")
        jobs.ended("build_toy big")
    return folder


@pytest.fixture
def listed(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Listed:
    """Gives the ids of the jobs that a list has."""
    monkeypatch.chdir(project)

    def of(wanted: Filter, order: str = "id", reverse: bool = False) -> list[str]:
        print_jobs(wanted, order, reverse)
        lines = capsys.readouterr().out.splitlines()
        assert " ".join(lines[0].split()) == "job stage partition settings made seconds size state"
        assert re.match(rf"{len(lines) - 2} jobs?, ", lines[-1])
        return [line.split()[0] for line in lines[1:-1]]

    return of


@pytest.mark.parametrize(
    ("wanted", "jobs"),
    [
        ({}, [0, 1, 2, 3, 5]),
        ({"scripts": True}, [0, 1, 2, 3, 4, 5]),
        ({"stage": "scores"}, [0, 1, 2, 5]),
        ({"partition": "A"}, [0, 2, 3]),
        ({"settings": "big"}, [5]),
        ({"settings": "build_toy small"}, [0, 1, 2, 3]),
        ({"state": "superseded"}, [0]),
        ({"older": "3d"}, [0, 1]),
        ({"newer": "3d"}, [2, 3, 5]),
        ({"older": "3d", "newer": "7d"}, [1]),
        ({"larger": "100KB"}, [1]),
        ({"stage": "scores", "partition": "A", "state": "current"}, [2]),
        ({"stage": "none"}, []),
    ],
)
def test_filters(listed: Listed, wanted: dict[str, Any], jobs: list[int]) -> None:
    assert listed(Filter(**wanted)) == [f"main-{number}" for number in jobs]


@pytest.mark.parametrize(
    ("order", "reverse", "jobs"),
    [
        ("made", False, [0, 1, 3, 2, 5]),
        ("stage", False, [3, 0, 2, 1, 5]),
        ("partition", False, [3, 0, 2, 1, 5]),
        ("size", True, [1, 3, 2, 0, 5]),
        ("id", True, [5, 3, 2, 1, 0]),
    ],
)
def test_orders(listed: Listed, order: str, reverse: bool, jobs: list[int]) -> None:
    found = listed(Filter(), order, reverse)
    count = 1 if order == "size" else 5  # the others are about as large
    assert found[:count] == [f"main-{number}" for number in jobs[:count]]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [({"state": "broken"}, "superseded"), ({"older": "x"}, "30d"), ({"larger": "x"}, "20GB")],
)
def test_a_filter_that_makes_no_sense_is_named(
    project: Path, monkeypatch: pytest.MonkeyPatch, wanted: dict[str, Any], words: str
) -> None:
    monkeypatch.chdir(project)
    with pytest.raises(InputError, match=words):
        print_jobs(Filter(**wanted), "id", False)
    with pytest.raises(InputError, match="partition"):
        print_jobs(Filter(), "colour", False)


JOBS = [
    *(Built(f"main-{each}", "import", each, plan=REUSE, seconds=9) for each in "AB"),
    *(Built("", "train", each, plan=BUILD, reason="option C: 1 → 2", seconds=20) for each in "AB"),
    Built("", "train", "C", plan=BUILD, reason="new"),
    Built("", "group", None, plan=PERHAPS, reason="if train comes out different", seconds=5),
    Built("", "report", None, plan=BUILD, reason="code of page.write (shortloop/eeg/report/eeg_page.py)"),
]


@pytest.fixture
def planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., list[str]]:
    """What is said of a plan of some jobs."""
    empty_project(tmp_path, monkeypatch)

    def said(jobs: list[Built], *, every: bool = False, unread: int = 0) -> list[str]:
        plan = Planner(Lookup(Store(), "toy"))
        plan.jobs, plan.unread = jobs, unread
        found = DryRun()
        found.plans = [plan]
        found.seconds = {"train": 30.0, "import": 9.0}
        monkeypatch.setattr(dry_run, "dry_run", lambda script: found)
        print_plan("build_pipeline", every)
        return capsys.readouterr().out.splitlines()

    return said


def test_every_job_of_a_plan(planned: Callable[..., list[str]]) -> None:
    lines = planned(JOBS, every=True)
    assert lines[1].split() == ["reuse", "import", "A", "main-A"]
    assert lines[3].split() == ["build", "train", "A", "option", "C:", "1", "→", "2"]
    models = ("ols", "logit", "poisson", "ols")  # jobs that differ in what they compute are told apart
    jobs = [Built("", "fit", None, plan=BUILD, reason="new", variant=each) for each in models]
    jobs.append(Built("main-1", "page", None, plan=REUSE))
    lines = planned(jobs, every=True)
    assert lines[0].split() == ["plan", "stage", "partition", "variant", "job", "reason"]
    assert [line.split() for line in lines[1:5]] == [["build", "fit", each, "new"] for each in models]
    assert lines[5].split() == ["reuse", "page", "main-1"]
    assert "4 × fit (ols, logit and 1 more): new" in lines


AMOUNTS = {0: "0 B", 999: "999 B", 1000: "1.0 KB", 34_000: "34 KB", 999_900: "1.0 MB", 2.5e13: "25 TB"}
DURATIONS = {0: "0 s", 0.04: "0.0 s", 9.94: "9.9 s", 42.4: "42 s", 99.4: "99 s", 100: "2 min", 7200: "2.0 h"}
DURATIONS |= {30 * 86_400: "30 d", -1: "-1 s"}


def test_quantities_in_words() -> None:
    assert {size: amount(size) for size in AMOUNTS} == AMOUNTS
    assert {seconds: duration(seconds) for seconds in DURATIONS} == DURATIONS
    assert parse_size("20GB") == parse_size(" 20 gb ") == 20_000_000_000
    assert parse_size("1.5MB") == 1_500_000
    assert (parse_age("12h"), parse_age("30d"), parse_age("2w")) == (43_200, 2_592_000, 1_209_600)
    for text in ("", "20", "GB", "20 XB", "-1GB", "1,5GB", "nan GB"):
        with pytest.raises(InputError, match="20GB") as caught:
            parse_size(text)
        assert caught.value.found == text
    with pytest.raises(InputError, match="30d"):
        parse_age("30 years")


@given(st.integers(0, 10**14))
def test_a_printed_amount_is_read_back(size: int) -> None:
    assert parse_size(amount(size)) == pytest.approx(size, rel=0.06)
