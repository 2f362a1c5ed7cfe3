"""`shortloop show`: all that is known of a job."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from toy_jobs import ToyJobs, toy_project

from shortloop.cli.show import show_job
from shortloop.store.store import Store
from shortloop.upkeep.deletion import delete
from shortloop.upkeep.inventory import STATES, inventory


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyJobs:
    monkeypatch.chdir(toy_project(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    made = ToyJobs(tmp_path)
    first = made.make(options={"seed": 1, "grid": {"C": [1, 2]}})
    made.make(
        options={"seed": 2, "grid": {"C": [1, 2]}},
        above={"features": first},
        previous="main-0",
        reason="option seed: 1 → 2",
    )
    made.make(options={"seed": 3})
    made.make(options={"seed": 4})
    made.ended()
    return made


def said(job: str, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    show_job(job)
    lines = capsys.readouterr().out.splitlines()
    rows: dict[str, str] = {}
    for line in lines:
        name, _, value = re.sub(r"  +|: ", "\t", line, count=1).partition("\t")
        rows.setdefault(name, value.strip())
    return rows


def test_why_it_was_made_and_what_it_cost(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    rows = said("main-1", capsys)
    assert rows["main-1"] == "scores of A"
    assert rows["state"] == f"superseded: {STATES['superseded']}"
    assert rows["for"] == "build_toy small"
    assert rows["because"] == "option seed: 1 → 2 (in its place before: main-0)"
    assert rows["cost"] == "time 1.50 s, cpu 2.25 s, peak 3.4 MB, utilisation 75 %"
    assert rows["from features"] == "main-0: scores A"
    assert (rows["option seed"], rows["option grid.C"]) == ("2", "[1, 2]")
    assert "of 2 modules and 1 versions" in rows["key"]
    assert re.search(r"record\.json \(\d+ B\), scores\.npy \(160 B\)", rows["files"])


def test_options_of_every_job_are_told_where_they_are_given(
    jobs: ToyJobs, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [jobs.make(None, options={"partition": None, "modules": more}).job for more in ([], ["one"])]
    assert not {"option partition", "option modules"} & said(made[0], capsys).keys()
    rows = said(made[1], capsys)
    assert rows["option modules"] == "['one']"
    assert "option partition" not in rows


def test_a_deleted_job_still_says_what_it_was(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    with Store() as store:
        delete(store, [each for each in inventory(store) if each.job == "main-1"])
    rows = said("main-1", capsys)
    assert rows["main-1"] == "scores of A"
    assert rows["state"] == f"deleted: {STATES['deleted']}"
    assert rows["because"].startswith("option seed: 1 → 2")
    assert rows["option seed"] == "2"
    assert "scores.npy" not in rows["files"]
