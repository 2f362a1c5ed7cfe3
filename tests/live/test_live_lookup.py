"""Plan, run, change, plan, why, compare, gc and verify, as a user goes through them on a live server."""

from __future__ import annotations

import re

import pytest
from live_project import fixture_of
from live_toy import STEPS, ToyProject
from toy_jobs import is_deleted

toy = fixture_of(ToyProject, server=False)


@pytest.mark.slow
def test_a_change_can_be_foreseen_made_and_explained(toy: ToyProject) -> None:
    text = toy.works("plan", "chain")  # with no server, and nothing there yet
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
    assert "all 3 jobs are cached: nothing would be built" in toy.works("plan", "chain")

    toy.steps.write_text(STEPS.replace("return value", "return value + 1"), encoding="utf-8")
    text = toy.works("plan", "chain")
    assert "3 × toy: code of steps.step (methods/steps.py)" in text
    assert re.search(r"^3 jobs would be built, 0 reused: [\d.]+ s$", text, re.M)
    second, printed = toy.chain()
    assert len(second) == 3
    assert printed.count("code of steps.step (methods/steps.py)") == 3

    text = toy.works("why", second[-1])
    assert f"compared with {first[-1]}, in its place before" in text
    assert "+    return value + 1" in text
    assert f"previous: {first[1]} → {second[1]} came out different" in text
    assert "· code of steps.step" in toy.works("compare", first[0], second[0])

    toy.write_chain("{}", "{}", '{"add": 5}')
    text = toy.works("plan", "chain")
    assert "1 × toy: option add: none → 5" in text
    assert "1 job would be built, 2 reused" in text
    third, printed = toy.chain()
    assert len(third) == 1
    assert "option add: none → 5" in printed

    superseded = [*first, second[-1]]
    assert "4 of" not in toy.works("verify")
    states = dict(re.findall(r"^(main-\d+) .* (\w+)$", toy.works("jobs"), re.M))
    assert {job for job, state in states.items() if state == "superseded"} == set(superseded)
    toy.works("gc", "--delete")
    assert all(is_deleted(toy.job_folder(job)) for job in superseded)
    assert toy.chain()[0] == []  # what is needed is there

    # The server that still thinks that it has them does not bring them back.
    toy.steps.write_text(STEPS, encoding="utf-8")
    toy.write_chain("{}", "{}", "{}")
    again, _ = toy.chain()
    assert len(again) == 3
    assert not set(again) & set(superseded)
    assert toy.value(again[-1]) == 3
    assert "all are as they were recorded" in toy.works("verify")
    assert "state" in toy.works("show", first[0])
