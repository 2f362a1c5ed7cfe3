"""Long chains of jobs: `why` follows them some levels up, and says where it goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_jobs import ToyJobs, toy_project

from shortloop.cli.why import print_why
from shortloop.plan.explain.causes import DEEPEST

LENGTH = 400  # more than Python's recursion would follow


def test_a_chain_of_many_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(toy_project(tmp_path))
    made = ToyJobs(tmp_path)
    for again in (False, True):
        last = made.make(
            str(0), options={"a": int(again)}, left=float(again), previous="main-0" if again else ""
        )
        for number in range(1, LENGTH):
            previous = f"main-{number}" if again else ""
            last = made.make(str(number), above={"above": last}, left=float(again), previous=previous)
    made.ended()
    print_why(last.job, None, full=False)
    said = capsys.readouterr().out
    assert said.count("came out different") == DEEPEST
    goes_on = f"main-{2 * LENGTH - 1 - DEEPEST}"
    assert (
        said.splitlines()[-1].strip()
        == f"{goes_on} {LENGTH - 1 - DEEPEST} (scores): `shortloop why {goes_on}` continues from here"
    )
