"""`shortloop plan`: stages, reasons and seconds as their reader sees them."""

from __future__ import annotations

import pytest
from jobs_project import empty_project

from shortloop.cli import plan as room
from shortloop.plan import dry_run
from shortloop.plan.dry_run import DryRun
from shortloop.plan.pipeline import BUILD, PERHAPS, REUSE, Built
from shortloop.plan.planner import Lookup, Planner
from shortloop.store.store import Store

project = pytest.fixture(autouse=True)(empty_project)

JOBS = [
    *(Built(f"main-{each}", "import", each, plan=REUSE, seconds=9) for each in "AB"),
    *(Built("", "train", each, plan=BUILD, reason="option C: 1 → 2", seconds=20) for each in "AB"),
    Built("", "train", "C", plan=BUILD, reason="new"),
    Built("", "group", None, plan=PERHAPS, reason="if train comes out different", seconds=5),
    Built("", "report", None, plan=BUILD, reason="code of page.write (shortloop/eeg/report/page.py)"),
]


def said(
    jobs: list[Built],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    every: bool = False,
    unread: int = 0,
) -> list[str]:
    plan = Planner(Lookup(Store(), "toy"))
    plan.jobs, plan.unread = jobs, unread
    planned = DryRun()
    planned.plans = [plan]
    planned.seconds = {"train": 30.0, "import": 9.0}
    monkeypatch.setattr(dry_run, "dry_run", lambda script: planned)
    room.print_plan("build_pipeline", every)
    return capsys.readouterr().out.splitlines()


def test_stages_reasons_and_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said(JOBS, capsys, monkeypatch) == [
        "stage   reuse  build  perhaps      expected",
        "import      2",
        "train              3                   70 s",
        "group                       1  0 s to 5.0 s",
        "report             1                      ?",
        "",
        "2 × train: option C: 1 → 2",
        "1 × train: new",
        "perhaps 1 × group: if train comes out different",
        "1 × report: code of page.write (shortloop/eeg/report/page.py)",
        "4 jobs would be built, 1 perhaps, 2 reused: 70 s to 75 s; "
        "no earlier job tells how long report will take",
    ]


def test_nothing_to_do(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(JOBS[:2], capsys, monkeypatch)[-1] == "all 2 jobs are cached: nothing would be built"


def test_every_job(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = said(JOBS, capsys, monkeypatch, every=True)
    assert lines[1].split() == ["reuse", "import", "A", "main-A"]
    assert lines[3].split() == ["build", "train", "A", "option", "C:", "1", "→", "2"]


def test_jobs_that_differ_in_what_they_compute_are_told_apart(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    models = ("ols", "logit", "poisson")
    jobs = [Built("", "fit", None, plan=BUILD, reason="new", variant=each) for each in (*models, "ols")]
    jobs.append(Built("main-1", "page", None, plan=REUSE))
    lines = said(jobs, capsys, monkeypatch, every=True)
    assert lines[0].split() == ["plan", "stage", "partition", "variant", "job", "reason"]
    assert [line.split() for line in lines[1:5]] == [
        ["build", "fit", each, "new"] for each in (*models, "ols")
    ]
    assert lines[5].split() == ["reuse", "page", "main-1"]
    assert "4 × fit (ols, logit and 1 more): new" in lines


def test_files_that_are_not_read_yet(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    last = said(JOBS, capsys, monkeypatch, unread=36)[-1]
    assert last == "36 new or changed files not read yet; a run reads them first"
