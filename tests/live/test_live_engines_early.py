"""Units of coming jobs are computed while the job before leaves workers idle: each once, with the same bits,
by the code that the job's key says, and kept if the run is cut off."""

from __future__ import annotations

import os
import re
import signal
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from engine_project import EngineProject, end
from live_project import PATIENCE, served, wait_for

pytestmark = pytest.mark.live
SHARED = ["joblib", *(pytest.param(each, marks=pytest.mark.slow) for each in ("dask", "ray"))]
PARTITIONS = ["P", "Q", "R"]


@pytest.fixture(scope="module")
def shared() -> Iterator[EngineProject]:
    with served(EngineProject) as made:
        yield made


@pytest.fixture
def project(shared: EngineProject) -> Iterator[EngineProject]:
    """Three jobs that nobody has built yet, which hang on no other, and one more."""
    shared.mend()
    asked = len(shared.first)
    shared.first.append("")
    shared.ask(partitions=PARTITIONS, factors={"count": 12 + asked}, fit={"groups": 20 + asked})
    yield shared
    wait_for(lambda: not shared.processes())


Script = Callable[[str, str], None]


@pytest.fixture
def script(project: EngineProject) -> Iterator[Script]:
    """Writes a build script of a name, of the lines of its function."""
    written: list[Path] = []

    def write(name: str, lines: str) -> None:
        written.append(project.folder / f"build_scripts/build_{name}.py")
        head = "from shortloop import pipeline\n\n\n@pipeline\ndef main(run):\n"
        written[-1].write_text(head + textwrap.indent(textwrap.dedent(lines), "    "), encoding="utf-8")

    yield write
    for file in written:
        file.unlink()


def count(project: EngineProject) -> int:
    return 11 + len(project.first)


def results(
    project: EngineProject, said: str, stage: str = "factors"
) -> dict[str, tuple[str, dict[str, bytes], int]]:
    """Key, files and number of units that were computed early, of each job that a run has built."""
    found = re.findall(rf"built {stage} +(\w) +(main-\d+)", said)
    jobs = project.jobs()
    return {
        name: (jobs[job]["key"], project.files(job), project.record(job).get("engine", {}).get("early", 0))
        for name, job in found
    }


@pytest.mark.parametrize("engine", SHARED)
def test_each_unit_is_computed_once_and_the_same_bits_come_of_it(project: EngineProject, engine: str) -> None:
    done = project.go(engine)
    assert done.returncode == 0, done.stdout + done.stderr
    computed = Counter(each for each in project.computed() if each.startswith("factors"))
    assert computed == {f"factors {unit}": 3 for unit in range(count(project))}
    early = results(project, done.stdout)
    first, *others = (each[2] for each in early.values())
    assert first == 0
    assert all(others)  # if it is soon their turn, not all of them
    assert not [*(project.folder / "workdirs/.cache/engine/early").iterdir()]
    (last,) = re.findall(r"built factors +R +(main-\d+)", done.stdout)
    shown = " ".join(project.shortloop("show", last).stdout.split())
    assert f"{early['R'][2]} units before the job began" in shown
    assert "utilisation" not in project.jobs()[last]["cost"]
    forced = project.shortloop("run", "x", "--force", "factors", SHORTLOOP_ENGINE="slices")
    assert forced.returncode == 0, forced.stdout + forced.stderr
    alone = results(project, forced.stdout)
    assert {name: each[:2] for name, each in early.items()} == {
        name: each[:2] for name, each in alone.items()
    }


def test_threads_have_no_workers_to_share(project: EngineProject) -> None:
    done = project.go("joblib:threading")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [each[2] for each in results(project, done.stdout).values()] == [0, 0, 0]


@pytest.mark.parametrize("engine", SHARED)
def test_a_run_that_is_cut_off_keeps_them(project: EngineProject, engine: str) -> None:
    """The next run takes them, on slices too."""
    project.fault("factors", 5, "hold")
    running = project.start(engine)
    early = project.folder / "workdirs/.cache/engine/early"
    wait_for(
        lambda: (
            project.computed().count("factors 5") >= 2
            and any(file.stat().st_size for file in early.iterdir())
        )
    )
    end(running, signal.SIGKILL)
    wait_for(lambda: not project.processes())
    before = Counter(project.computed())
    (project.faults / "factors-5").unlink()
    done = project.go("slices")
    assert done.returncode == 0, done.stdout + done.stderr
    again = Counter(project.computed()) - before
    kept = sum(each[2] for each in results(project, done.stdout).values())
    assert kept > 0
    factors = sum(number for name, number in again.items() if name.startswith("factors"))
    assert factors <= 3 * count(project) - kept
    assert not [*early.iterdir()]


def test_what_an_edit_makes_wrong_is_not_used(project: EngineProject) -> None:
    """The second job is begun early while the code is another, which the files do not tell later."""
    steps = project.folder / "tools/steps.py"
    text = steps.read_text(encoding="utf-8")
    for unit in (4, 9):  # of the first job, one for each worker: none goes on to the second before the edit
        project.fault("factors", unit, "hold")
    running = project.start("joblib", PAUSE="0.1")
    try:
        wait_for(lambda: {"factors 4", "factors 9"} <= {*project.computed()})
        steps.write_text(text.replace("1.5", "2.5"), encoding="utf-8")
        (project.faults / "factors-9").unlink()
        wait_for(lambda: project.computed().count("factors 4") == 2)
        assert len(project.computed()) > count(project)  # all of the first job is handed out
    finally:
        steps.write_text(text, encoding="utf-8")
        project.mend()
    said = "".join(running.communicate(timeout=PATIENCE))
    assert running.returncode == 0, said
    mixed = results(project, said)
    forced = project.shortloop("run", "x", "--force", "factors", SHORTLOOP_ENGINE="slices")
    alone = results(project, forced.stdout)
    assert {*mixed} == {*alone} == {*PARTITIONS}
    for name, found in alone.items():
        assert mixed[name][:2] == found[:2]


@pytest.mark.slow
def test_what_a_worker_has_loaded_that_failed_is_not_used(project: EngineProject) -> None:
    """The others are begun early with code that fails, and computed when that is as before."""
    method = project.folder / "methods/a_factors.py"
    text = method.read_text(encoding="utf-8")
    failing = text.replace("return [1.0", "return 1 / 0 or [1.0").replace("scaled(np", "2 * scaled(np")
    project.fault("factors", 4, "hold")  # of the first job, and the others do not come so far
    running = project.start("joblib", PAUSE="0.1")
    try:
        wait_for(lambda: len(project.computed()) >= 4)  # both workers have loaded what the first job needs
        method.write_text(failing, encoding="utf-8")
        wait_for(lambda: sum("factors" in unit for unit in project.computed()) == count(project))
        time.sleep(3)  # the others are begun, and fail
    finally:
        method.write_text(text, encoding="utf-8")
        project.mend()
    said = "".join(running.communicate(timeout=PATIENCE))
    assert running.returncode == 0, said
    mixed = results(project, said)
    forced = project.shortloop("run", "x", "--force", "factors", SHORTLOOP_ENGINE="slices")
    alone = results(project, forced.stdout)
    assert {*mixed} == {*alone} == {*PARTITIONS}
    for name, found in alone.items():
        assert mixed[name][:2] == found[:2]


READS = """\
from pathlib import Path

from shortloop import Job, stage


def each(numbers: Job, count: int = 0):
    for number in range(count):
        yield f"n{number}", number


@stage(units=each)
def reads(number, unit: str, partition_: str = ""):
    from tools.faults import meet

    meet(f"reads-{partition_}", number)
    return {"read": float(Path(__file__).with_name("factor.txt").read_text()) * number}
"""


@pytest.mark.slow
def test_what_was_read_of_a_file_that_changed_is_not_used(project: EngineProject, script: Script) -> None:
    """Nobody has declared it, and on slices a warning would be all: but the job would read one of both."""
    factor = project.folder / "methods/factor.txt"
    (project.folder / "methods/a_reads.py").write_text(READS, encoding="utf-8")
    factor.write_text("1", encoding="utf-8")
    os.utime(factor, (0, 0))
    script(
        "reads",
        f"""
        numbers = run.build("numbers", file=run.file("numbers.txt"))
        run.build("factors", numbers=numbers, count={count(project)})
        return run.build("reads", numbers=numbers, count=8, partition_="late")
        """,
    )
    time.sleep(2.1)  # so that the time of the file tells it from a later one
    project.fault("factors", 4, "hold")
    running = project.start("joblib", "reads")
    wait_for(lambda: len([each for each in project.computed() if each.startswith("reads")]) == 8)
    time.sleep(0.5)
    factor.write_text("2", encoding="utf-8")
    project.mend()
    said = "".join(running.communicate(timeout=PATIENCE))
    assert running.returncode == 0, said
    assert "factor.txt, which its key does not see" in said
    (job,) = re.findall(r"built reads +(main-\d+)", said)
    shown = project.shell(
        sys.executable, "-c", f"import shortloop; print(shortloop.load('{job}').to_frame()['read'].tolist())"
    )
    assert shown.stdout.strip() == str([2.0 * number for number in range(8)]), shown.stderr


def test_jobs_of_a_dataset(project: EngineProject, script: Script) -> None:
    """exax calls one of them by the id of its job alone."""
    script(
        "rows",
        """
        rows = run.build("rows", rows=1000)
        return [run.build("sums", partition=name, rows=rows) for name in "STU"][-1]
        """,
    )
    done = project.ax("run", "rows", SHORTLOOP_ENGINE="joblib")
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"built sums +\w +(main-\d+)", done.stdout)
    assert all(project.record(job)["engine"].get("early", 0) for job in found[1:])


@pytest.mark.slow
def test_a_unit_that_raises_is_told_when_its_job_has_its_turn(project: EngineProject) -> None:
    """Only in the second job, and there by the same name and message as ever."""
    project.fault("factors", 4, "hold")
    running = project.start("joblib")
    wait_for(lambda: "factors 4" in project.computed())
    project.fault("factors", count(project) - 1, "raise")
    (project.faults / "factors-4").unlink()
    said = "".join(running.communicate(timeout=PATIENCE))
    assert running.returncode == 1
    assert "ZeroDivisionError: a fault" in said
    assert re.search(
        rf"unit {count(project) - 1} of the stage Factors \(factors [PQR]\) failed in a worker", said
    )
    project.mend()
    assert project.go("joblib").returncode == 0


@pytest.mark.slow
def test_a_worker_that_is_killed_early_disturbs_nothing(project: EngineProject) -> None:
    project.fault("factors", 3, "once kill")
    done = project.go("joblib")
    assert done.returncode == 0, done.stdout + done.stderr
    computed = Counter(each for each in project.computed() if each.startswith("factors"))
    assert {*computed} == {f"factors {unit}" for unit in range(count(project))}
    assert computed["factors 3"] == 4


@pytest.mark.slow
def test_a_pipeline_that_asks_for_results_is_looked_at_again(project: EngineProject, script: Script) -> None:
    """Only then is it known which jobs come later. To look costs no line of what it prints."""
    script(
        "asks",
        f"""
        numbers = run.build("numbers", file=run.file("numbers.txt"), partition="asks")
        assert len(numbers.result().arrays["numbers"])
        print("there are numbers")
        count = {count(project)}
        return [run.build("factors", partition=name, numbers=numbers, count=count) for name in "KLM"][-1]
        """,
    )
    done = project.ax("run", "asks", SHORTLOOP_ENGINE="joblib")
    assert done.returncode == 0, done.stdout + done.stderr
    found = results(project, done.stdout)
    first, *others = (each[2] for each in found.values())
    assert first == 0
    assert all(others)
    assert done.stdout.count("there are numbers") == 1  # the first plan ends before it


def test_a_pipeline_that_goes_another_way_than_planned(project: EngineProject, script: Script) -> None:
    """What was computed in vain is not used, and nobody misses it."""
    script(
        "way",
        f"""
        calls = globals().setdefault("CALLS", [])
        calls.append(1)
        numbers = run.build("numbers", file=run.file("numbers.txt"))
        run.build("factors", partition="A", numbers=numbers, count={count(project)})
        more = {count(project)} + 100 * (len(calls) > 1)
        return run.build("factors", partition="B", numbers=numbers, count=more)
        """,
    )
    done = project.ax("run", "way", SHORTLOOP_ENGINE="joblib")
    assert done.returncode == 0, done.stdout + done.stderr
    found = results(project, done.stdout)
    assert found["B"][2] == 0
    assert len(found["B"][1]) > 100  # its pages


@pytest.mark.slow
def test_jobs_that_take_over_rows_of_others_are_left_to_their_turn(
    project: EngineProject, script: Script
) -> None:
    """T has another degree than S, so there is none to take over; U has all units of T."""
    groups = 20 + count(project)
    script(
        "lines",
        f"""
        numbers = run.build("numbers", file=run.file("numbers.txt"))
        jobs = [("S", 4, 0), ("T", 2, 0), ("U", 2, 5)]
        return [
            run.build("fit", partition=name, numbers=numbers, degree=degree, groups={groups} + more)
            for name, degree, more in jobs
        ][-1]
        """,
    )
    project.fault("fit", 4, "hold")  # which costs least: all others of S are handed out before
    running = project.start("joblib", "lines")
    wait_for(lambda: project.computed().count("fit 4") == 2)  # of S, and of T after units that cost more
    (project.faults / "fit-4").unlink()
    said = "".join(running.communicate(timeout=PATIENCE))
    assert running.returncode == 0, said
    early = {name: each[2] for name, each in results(project, said, "fit").items()}
    assert early["T"]
    assert early["S"] == early["U"] == 0
    assert Counter(project.computed()) == {f"fit {n}": 2 if n < groups else 1 for n in range(groups + 5)}
