"""Results that can be trusted, whatever happens to code and processes; on a chain of toy jobs."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path

import pytest
from live_project import PATIENCE, fixture_of, wait_for
from live_toy import METHOD, STEPS, ToyProject
from toy_jobs import is_deleted

server = fixture_of(ToyProject)


@pytest.fixture
def toy(server: ToyProject) -> ToyProject:
    """Three jobs of the usual code, whatever the test before did."""
    server.method.write_text(METHOD, encoding="utf-8")
    server.steps.write_text(STEPS, encoding="utf-8")
    server.write_chain("{}", "{}", "{}")
    return server


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def last_jobs(toy: ToyProject, count: int = 3) -> list[Path]:
    """Recorded jobs, the newest last. One that was started again has a higher number than those after it."""
    recorded = [
        manifest.parent for manifest in (toy.folder / "workdirs/main").glob("main-[0-9]*/manifest.json")
    ]
    return sorted(recorded, key=lambda folder: (folder / "setup.json").stat().st_mtime_ns)[-count:]


def test_edits_of_code_and_options(toy: ToyProject) -> None:
    toy.chain()
    edit(toy.method, '"""Adds to what the job before left."""', '"""Adds."""  # a remark')
    edit(toy.steps, '"""The next value."""', "# a remark")
    toy.forget_index()
    assert toy.chain()[0] == []
    # An option of the first job that changes nothing stands for code of it alone.
    toy.write_chain('{"many": 0, "add": 1}', "{}", "{}")
    jobs, said = toy.chain()
    assert len(jobs) == 1, said
    assert "2 reused" in said
    toy.write_chain("{}", "{}", "{}")
    # An edit reaches all below, and back nothing is built.
    edit(toy.steps, "return value", "return value + 10")
    assert [toy.value(job) for job in toy.chain()[0]] == [11, 22, 33]
    edit(toy.steps, "return value + 10", "return value")
    assert toy.chain()[0] == []
    # `ax run -q` has the server load nothing anew.
    edit(toy.steps, "return value", "return value + 100")
    assert [toy.value(job) for job in toy.chain("-q")[0]] == [101, 202, 303]
    edit(toy.method, "step(value) + ", "step(value) - ")
    jobs, said = toy.chain("-q")
    assert [toy.value(job) for job in jobs] == [99, 198, 297]
    assert "built again" not in said  # nor anything twice
    assert toy.chain()[0] == []


def test_a_change_is_foreseen_explained_and_cleaned_up_after(toy: ToyProject) -> None:
    toy.chain()
    first = toy.new_chain()
    assert "1 × toy: option add: " in toy.works("plan", "chain")
    old, _ = toy.chain()
    edit(toy.steps, "return value", "return value + 1")
    text = toy.works("plan", "chain")
    assert "3 × toy: code of steps.step (methods/steps.py)" in text
    assert re.search(r"^3 jobs would be built, 0 reused: [\d.]+ s$", text, re.M)
    new, printed = toy.chain()
    assert printed.count("code of steps.step (methods/steps.py)") == 3
    text = toy.works("why", new[-1])
    assert f"compared with {old[-1]}, in its place before" in text
    assert "+    return value + 1" in text
    assert f"previous: {old[1]} → {new[1]} came out different" in text
    assert "· code of steps.step" in toy.works("compare", old[0], new[0])
    states = dict(re.findall(r"^(main-\d+) .* (\w+)$", toy.works("jobs"), re.M))
    assert {states[job] for job in old} == {"superseded"}
    toy.works("gc", "--delete")
    assert all(is_deleted(toy.job_folder(job)) for job in old)
    assert toy.chain()[0] == []  # what is needed is there
    # The server that still thinks that it has them does not bring them back.
    toy.steps.write_text(STEPS, encoding="utf-8")
    again, _ = toy.chain()
    assert [toy.value(job) for job in again] == [first, first + 1, first + 2]
    assert not {*again} & {*old}
    assert "all are as they were recorded" in toy.works("verify")
    assert "state" in toy.works("show", old[0])


def test_code_that_is_edited_while_a_job_runs(toy: ToyProject) -> None:
    first = toy.new_chain()
    with toy.held("1"):
        running = toy.start_chain()
        toy.wait_until_held("1")
        edit(toy.steps, "return value", "return value + 1000")
    said, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, said
    assert "the code of toy was edited while" in said
    # The one that ran is kept as what the old code leaves; what came after is of the new code.
    assert [toy.value(folder.name) for folder in last_jobs(toy)] == [first + 1, first + 1001, first + 2002]
    built, _ = toy.chain()
    assert toy.value(built[0]) == first + 1000


def test_a_job_grows_from_the_one_before(toy: ToyProject) -> None:
    toy.write_chain('{"add": 3, "many": 4}')
    toy.chain()
    toy.write_chain('{"add": 3, "many": 6}')
    (grown,) = toy.chain()[0]
    said = toy.job_folder(grown) / "OUTPUT" / "synthesis"
    wait_for(said.exists)  # what a job prints is kept by another process
    assert said.read_text() == "grown from 5\n"


SLOW_TO_START = """
import sys
import time

if any(part.endswith("accelerator/runner.py") for part in sys.orig_argv):
    time.sleep(1)
"""


@pytest.mark.slow
def test_methods_that_somebody_has_loaded_anew_end_no_run(
    toy: ToyProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """exax ends the job that runs then; it is started again, once they are loaded."""
    left = toy.new_chain()
    usual, start = toy.environment, str(toy.write("start/sitecustomize.py", SLOW_TO_START).parent)
    monkeypatch.setattr(toy, "environment", lambda **more: usual(**{"PYTHONPATH": start, **more}))
    toy.stop_server()
    toy.start_server()
    with toy.held("1"):
        running = toy.start_chain()
        toy.wait_until_held("1", running)
        code = "from shortloop.exax.client import reload_methods; reload_methods()"
        toy.shell(sys.executable, "-c", code).ok()
        toy.wait_until_held("1", running)
    said, _ = running.communicate(timeout=PATIENCE)
    log = (toy.folder / "server.log").read_text(encoding="utf-8")
    monkeypatch.undo()
    toy.stop_server()
    toy.start_server()
    assert running.returncode == 0, said
    assert said.count("was cut off from outside; it starts again") == 1
    again = last_jobs(toy)
    assert [toy.value(folder.name) for folder in again] == [left, left + 1, left + 2]
    assert log.rindex("Updated ") < log.index(f"| {again[1].name} [toy] |")


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGKILL]
)
def test_a_run_that_is_ended_goes_on_where_it_was(toy: ToyProject, number: int) -> None:
    left = toy.new_chain()
    with toy.held("1"):
        running = toy.start_chain()
        toy.wait_until_held("1")
        running.send_signal(number)
        running.communicate(timeout=PATIENCE)
    assert running.returncode != 0
    built, said = toy.chain()
    # The one that ran is built again, unless nobody could end it, as its run was killed.
    assert len(built) == (1 if number == signal.SIGKILL else 2), said
    assert [toy.value(folder.name) for folder in last_jobs(toy)] == [left, left + 1, left + 2]
    assert toy.chain()[0] == []
