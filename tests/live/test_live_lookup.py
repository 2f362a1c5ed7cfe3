"""Plan, run, change, plan, why, compare, gc and verify, as a user goes through them on a live server."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_toy import STEPS, ToyProject
from toy_jobs import is_deleted

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def toy() -> Iterator[ToyProject]:
    """Not in tmp_path: the path of a Unix socket must be short."""
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        yield ToyProject(Path(folder))


def said(toy: ToyProject, *command: str, status: int = 0) -> str:
    done = toy.shortloop(*command)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def test_a_change_can_be_foreseen_made_and_explained(toy: ToyProject) -> None:
    text = said(toy, "plan", "chain")  # with no server, and nothing there yet
    assert "3 × toy: new" in text
    assert "3 jobs would be built, 0 reused; no earlier job tells how long toy will take" in text
    assert not list((toy.folder / "workdirs").glob("main/main-*"))

    toy.start_server()
    try:
        _run_and_change(toy)
    finally:
        toy.stop_server()


def _run_and_change(toy: ToyProject) -> None:
    first, _ = toy.chain()
    assert len(first) == 3
    assert "all 3 jobs are cached: nothing would be built" in said(toy, "plan", "chain")

    toy.steps.write_text(STEPS.replace("return value", "return value + 1"), encoding="utf-8")
    text = said(toy, "plan", "chain")
    assert "3 × toy: code of steps.step (methods/steps.py)" in text
    assert re.search(r"^3 jobs would be built, 0 reused: [\d.]+ s$", text, re.M)
    second, printed = toy.chain()
    assert len(second) == 3
    assert printed.count("code of steps.step (methods/steps.py)") == 3

    text = said(toy, "why", second[-1])
    assert f"compared with {first[-1]}, in its place before" in text
    assert "+    return value + 1" in text
    assert f"previous: {first[1]} → {second[1]} came out different" in text
    assert "· code of steps.step" in said(toy, "compare", first[0], second[0])

    toy.write_chain("{}", "{}", '{"add": 5}')
    text = said(toy, "plan", "chain")
    assert "1 × toy: option add: none → 5" in text
    assert "1 job would be built, 2 reused" in text
    third, printed = toy.chain()
    assert len(third) == 1
    assert "option add: none → 5" in printed

    superseded = [*first, second[-1]]
    assert "4 of" not in said(toy, "verify")
    states = dict(re.findall(r"^(main-\d+) .* (\w+)$", said(toy, "jobs"), re.M))
    assert {job for job, state in states.items() if state == "superseded"} == set(superseded)
    said(toy, "gc", "--delete")
    assert all(is_deleted(toy.job_folder(job)) for job in superseded)
    assert toy.chain()[0] == []  # what is needed is there

    # The server that still thinks that it has them does not bring them back.
    toy.steps.write_text(STEPS, encoding="utf-8")
    toy.write_chain("{}", "{}", "{}")
    again, _ = toy.chain()
    assert len(again) == 3
    assert not set(again) & set(superseded)
    assert toy.value(again[-1]) == 3
    assert "all are as they were recorded" in said(toy, "verify")
    assert "state" in said(toy, "show", first[0])
