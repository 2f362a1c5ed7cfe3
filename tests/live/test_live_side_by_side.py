"""Independent jobs run at the same time: with the ids, keys and bits of jobs that run one after the other.
Jobs that follow others of their method run in processes forked before, and are what they would be."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from cases import first_cases
from live_project import (
    PATIENCE,
    SHORTLOOP,
    Done,
    EmptyProject,
    fixture_of,
    processes,
    script,
    served,
    stages,
    wait_for,
)
from toy_project import server_processes

METHODS = stages("""\
# meet
@stage
def meet(name: str, other: str = "", seconds: float = 60.0):
    board = Path(os.environ["BOARD"])
    (board / name).touch()
    deadline = time.monotonic() + seconds
    while other and not (board / other).exists():
        if time.monotonic() > deadline:
            return {"met": False, "name": name}
        time.sleep(0.01)
    if (board / f"fail-{name}").exists():
        raise ValueError(f"{name} was told to fail")
    return {"met": True, "name": name}

# units
import numpy as np


def seeds(count: int, of: Job | None = None):
    return {f"u{number}": number for number in range(count)}


@stage(units=seeds)
def units(seed, count: int, scale: float = 1.0, of: Job | None = None):
    values = np.linalg.svd(np.random.default_rng(seed).standard_normal((30, 20)), compute_uv=False)
    return {"value": float(values @ values[::-1]) * scale}

# total
@stage
def total(parts: list[Job], factor: float = 1.0):
    return {"total": factor * sum(float(each["value"].sum()) for each in parts)}

# chosen
@stage
def chosen(parts: list[Job]):
    return {"name": max(parts, key=lambda each: each["value"].sum()).partition}

# refusing
@stage
def refusing(number: int):
    raise InputError("no such number", found=number, hint="give another")

# hangs
@stage(retries=1, timeout="3 s")
def hangs(name: str, times: int, of: Job | None = None):
    board = Path(os.environ["BOARD"])
    tries = len([*board.glob(f"{name}-*")])
    print(f"try {tries}", flush=True)
    (board / f"{name}-{tries}").touch()
    time.sleep(30 if tries < times else 0)
    return {"tries": 0}

# talk
@stage(retries=1)
def talk(name: str, fails: bool = False, of: Job | None = None):
    print(f"I am {name}", flush=True)
    tried = Path(os.environ["BOARD"]) / f"tried-{name}"
    if fails and not tried.exists():
        tried.touch()
        raise ConnectionError(name)
    return {"name": name}

# link
from methods.shared import VALUE

IMPORTED, PROCESS = time.time(), os.getpid()
print("imported by", PROCESS)


@stage
def link(number: int, run: int, of: Job | None = None):
    board = Path(os.environ["BOARD"])
    (board / f"began-{number}").touch()
    while (board / f"hold-{number}").exists():
        time.sleep(0.01)
    print("link", number)
    return {"imported": IMPORTED, "is_own": PROCESS == os.getpid(), "value": VALUE}

# flaky
@stage(retries=2, timeout="2 s")
def flaky(name: str, bad: int, slow: int = 0):
    board = Path(os.environ["BOARD"])
    tries = len([*board.glob(f"{name}-*")])
    (board / f"{name}-{tries}").touch()
    if tries < slow:
        time.sleep(600)
    if tries < bad:
        raise ConnectionError(f"try {tries}")
    return {"tries": 0}
""")


class Project(EmptyProject):
    """Jobs that say on a board that they run."""

    sources: ClassVar = {**METHODS, "methods/shared.py": "VALUE = 1\n"}

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.board = folder / "board"
        self.board.mkdir()
        self.asked = 0

    def script(self, lines: str) -> str:
        """A new build script of these lines; its name."""
        self.asked += 1
        self.write(f"build_scripts/build_s{self.asked}.py", script(lines))
        return f"s{self.asked}"

    def go(self, script: str, *more: str, **environment: str) -> Done:
        return self.shortloop("run", script, *more, **environment)

    def start(self, script: str) -> subprocess.Popen[str]:
        return self.popen(SHORTLOOP, "run", script, session=True)


def built(said: str) -> dict[tuple[str, str], str]:
    """Ids by stage and partition."""
    found = re.findall(r"\] built (\S+) +(\S*) +(main-\d+) ", said)
    return {(stage, partition): job for stage, partition, job in found}


shared = fixture_of(Project)


@pytest.fixture
def project(shared: Project) -> Iterator[Project]:
    yield shared
    for file in shared.board.iterdir():
        file.unlink()


def several_cores() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("jobs run one after the other on one core")


@first_cases(1, "engine", ["slices", "joblib", "dask", "ray"])
def test_jobs_without_units_run_at_the_same_time(project: Project, engine: str) -> None:
    several_cores()
    script = project.script(f"""
a = run.build("meet", partition="a", name="a-{engine}", other="b-{engine}")
b = run.build("meet", partition="b", name="b-{engine}", other="a-{engine}")
return b
""")
    done = project.go(script, SHORTLOOP_ENGINE=engine).ok()
    assert {project.record(job)["facts"]["met"] for job in built(done.stdout).values()} == {True}


CHAINS = """
parts = []
for name, count in [("p", 8), ("q", 5), ("r", 13), ("s", 8)]:
    first = run.build("units", partition=name, count=count, scale=SCALE)
    second = run.build("units", partition=name + "2", count=count + 2, scale=SCALE, of=first)
    parts += [second]
    run.build("meet", partition=name, name=f"{name}-SCALE")
return run.build("total", parts=parts)
"""


@first_cases(1, "ways", [[("1", "slices"), ("5", "joblib")], [("5", "slices"), ("2", "dask"), ("2", "ray")]])
def test_the_same_ids_and_bits_on_any_number_of_slices_and_any_engine(ways: list[tuple[str, str]]) -> None:
    found = {}
    for slices, engine in ways:
        with served(Project, SHORTLOOP_SLICES=slices) as project:
            script = project.script(CHAINS.replace("SCALE", "1.5"))
            jobs = built(project.go(script, SHORTLOOP_SLICES=slices, SHORTLOOP_ENGINE=engine).ok().stdout)
            assert len(jobs) == 13
            found[slices, engine] = {
                name: (job, *(project.manifest(job)[each] for each in ("key", "content")))
                for name, job in sorted(jobs.items())
            }
    first, *more = found.values()
    assert more == [first] * len(more)
    assert sorted(int(job.removeprefix("main-")) for job, *_ in first.values()) == [*range(1, 14)]


def test_what_needs_nothing_that_failed_is_built(project: Project) -> None:
    (project.board / "fail-x1").touch()
    (project.board / "fail-x4").touch()
    script = project.script("""
parts = [run.build("meet", partition=f"x{i}", name=f"x{i}") for i in range(6)]
part = run.build("units", partition="k1", count=3, scale=4.25, of=parts[1])
other = run.build("units", partition="k2", count=4, scale=3.25)
run.build("total", parts=[other])
return run.build("total", parts=[part, other], factor=2.0)
""")
    done = project.go(script)
    said = done.fails()
    made = {partition or stage for stage, partition in built(done.stdout)}
    assert made == {"x0", "x2", "x3", "x5", "k2", "total"}
    assert "ValueError: x4 was told to fail" in said
    assert re.search(
        "2 jobs failed: meet x1, meet x4\n(.*\n)*2 jobs not built.*: units k1, total", done.stdout
    )
    for file in project.board.glob("fail-*"):
        file.unlink()
    again = {partition or stage for stage, partition in built(project.go(script).ok().stdout)}
    assert again == {"x1", "x4", "k1", "total"}


def test_each_job_that_refuses_its_input_says_why_once(project: Project) -> None:
    lines = 'return [run.build("refusing", partition=f"r{i}", number=i) for i in range(3)][-1]'
    done = project.go(project.script(lines))
    assert done.returncode == 1
    assert "3 jobs failed: refusing r0, refusing r1, refusing r2" in done.stdout
    said = done.stdout + done.stderr
    assert said.count("no such number\n") == 3
    assert [said.count(f"  found:        {number}\n") for number in range(3)] == [1, 1, 1]
    assert said.count("] refused refusing ") == 3
    assert "built refusing" not in said


def test_a_run_may_end_with_the_first_that_fails(project: Project) -> None:
    (project.board / "fail-z0").touch()
    script = project.script("""
parts = [run.build("meet", partition=f"z{i}", name=f"z{i}") for i in range(20)]
return parts[-1]
""")
    done = project.go(script, "--fail-fast")
    assert done.returncode == 1
    assert len(built(done.stdout)) < 10
    assert "not built, because of --fail-fast" in done.stdout


def test_a_pipeline_may_go_on_without_what_failed(project: Project) -> None:
    (project.board / "fail-w1").touch()
    script = project.script("""
from accelerator.error import JobError
parts = []
for name in ("w0", "w1", "w2"):
    try:
        parts.append(run.build("meet", partition=name, name=name))
    except JobError:
        pass
return parts[-1]
""")
    assert {partition for _, partition in built(project.go(script).ok().stdout)} == {"w0", "w2"}


def test_results_may_say_what_comes_next(project: Project) -> None:
    lines = """
parts = [run.build("units", partition=name, count=number, scale=SCALE)
         for number, name in enumerate("abc", 3)]
best = run.build("chosen", parts=parts)
name = best.result().facts["name"]
best = run.build("units", partition=name * 2, count=6, scale=SCALE, of=best)
return run.build("total", parts=[best, *parts])
"""
    for scale, name in [("1.75", "cc"), ("-1.75", "aa")]:
        done = project.go(project.script(lines.replace("SCALE", scale))).ok()
        assert ("units", name) in built(done.stdout)
        assert len(built(done.stdout)) == 6


def test_a_pipeline_may_build_from_a_thread_of_its_own(project: Project) -> None:
    script = project.script("""
from concurrent.futures import ThreadPoolExecutor

with ThreadPoolExecutor(1) as pool:
    parts = [*pool.map(lambda name: run.build("units", partition=name, count=3, scale=7.5), "ab")]
return run.build("total", parts=parts)
""")
    assert len(built(project.go(script).ok().stdout)) == 3


@first_cases(1, "number", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_all_jobs_of_a_run_that_is_ended_end(project: Project, number: int) -> None:
    several_cores()
    name = f"e{number}"
    script = project.script(f"""
done = run.build("meet", partition="{name}", name="{name}-done")
a = run.build("meet", partition="{name}a", name="{name}-a", other="never", seconds=600.0)
b = run.build("meet", partition="{name}b", name="{name}-b", other="never", seconds=600.0)
return b
""")
    running = project.start(script)
    wait_for(lambda: {f"{name}-done", f"{name}-a", f"{name}-b"} <= {*os.listdir(project.board)})
    running.send_signal(number)
    said, _ = running.communicate(timeout=PATIENCE)
    assert "Traceback" not in said
    assert "failed" not in said
    after = f'return run.build("meet", partition="after{name}", name="after-{name}")'
    done = project.go(project.script(after))  # which waits until no job is running
    assert done.returncode == 0, done.stdout + done.stderr
    assert not built(project.go(script, "--until", "meet", "--partition", name).ok().stdout)


def test_a_stage_may_say_how_often_and_how_long_it_is_tried(project: Project) -> None:
    asked = {"raises": "bad=2", "waits": "bad=0, slow=1", "never": "bad=9", "ages": "bad=0, slow=9"}
    lines = [f'run.build("flaky", partition="{name}", name="{name}", {how})' for name, how in asked.items()]
    done = project.go(project.script("\n".join([*lines[:-1], f"return {lines[-1]}"])))
    said = done.stdout + done.stderr
    assert "2 jobs failed: flaky never, flaky ages" in said
    assert "over 2 s" in said
    assert "execute_process" not in said  # the traceback is shown from the user's code on
    jobs = built(said)
    for name, tries in (("raises", 3), ("waits", 2), ("never", 3), ("ages", 3)):
        assert len([*project.board.glob(f"{name}-*")]) == tries
        assert f"flaky {name} is built again: retry {tries - 1} of 2" in said
        has_waited = f"flaky {name} has taken 2 s, the timeout of its stage" in said
        assert has_waited == (name in ("waits", "ages"))
        if ("flaky", name) in jobs:
            assert project.manifest(jobs["flaky", name])["cost"]["attempts"] == tries
    assert {name for _, name in jobs} == {"raises", "waits"}


def test_a_job_that_is_tried_again_shares_its_number_with_none(project: Project) -> None:
    """Results decide on jobs that were not planned when it got another number."""
    asked = """
one = run.build("talk", partition="one", name="one", fails=True)
two = run.build("talk", partition="two", name=f"two after {one.result()['name']}", of=one)
return run.build("talk", partition="three", name=f"three after {two.result()['name']}", of=two)
"""
    done = project.go(project.script(asked)).ok()
    said = [line.split() for line in done.stdout.splitlines() if " | I am " in line]
    assert [(words[1], words[5]) for words in said] == [(n, n) for n in ("one", "one", "two", "three")]
    assert len({*built(done.stdout).values()}) == 3


def test_a_job_that_was_cut_off_is_followed_where_it_runs_now(project: Project) -> None:
    """It runs in another folder then: what it prints is shown from there, and its time-out looks there."""
    running = project.start(project.script('return run.build("hangs", name="cut", times=2)'))
    wait_for((project.board / "cut-0").exists)
    os.kill(server_processes(project.folder)["runner"][0], signal.SIGKILL)
    said, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, said
    assert "was cut off from outside; it starts again" in said
    shown = [line for line in said.splitlines() if line.startswith("hangs | ")]
    assert shown == ["hangs | try 0", "hangs | try 1", "hangs | try 2"]
    assert said.count("hangs has taken 3 s, the timeout of its stage, and is ended") == 1


@pytest.mark.slow
def test_the_time_that_a_job_waits_to_begin_does_not_count(project: Project) -> None:
    """Its method was edited, and is loaded anew only when the jobs that are running have ended."""
    script = project.script("""
run.build("meet", partition="long", name="long", other="never", seconds=5.0)
done = run.build("meet", partition="wait", name="wait", other="edited")
return run.build("hangs", name="late", times=1, of=done)
""")
    running = project.start(script)
    wait_for(lambda: {"long", "wait"} <= {*os.listdir(project.board)})
    project.edit("methods/a_hangs.py", "try {", "attempt {")
    (project.board / "edited").touch()
    said, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, said
    assert said.count("hangs has taken 3 s, the timeout of its stage, and is ended") == 1
    assert said.index("hangs | attempt 0") < said.index("hangs has taken 3 s") < said.index("| attempt 1")
    project.edit("methods/a_hangs.py", "attempt {", "try {")


CHAIN = """
last = None
for number in range(5):
    last = run.build("link", number=number, run=RUN, of=last)
return last
"""


def test_later_jobs_of_a_chain_were_begun_before_and_have_imported_methods(project: Project) -> None:
    jobs = built_in_turn(project.go(project.script(CHAIN.replace("RUN", "1"))).ok().stdout)
    assert len(jobs) == 5
    early = 0
    for number, job in enumerate(jobs):
        folder, facts = project.job_folder(job), project.record(job)["facts"]
        early += facts["imported"] < json.loads((folder / "post.json").read_text())["starttime"]
        assert facts["is_own"] is True
        assert (folder / "OUTPUT/synthesis").read_text(encoding="utf-8") == f"link {number}\n"
    assert early >= 2


def test_code_edited_while_the_next_job_is_begun_is_noticed(project: Project) -> None:
    (project.board / "hold-2").touch()
    script = project.script(CHAIN.replace("RUN", "2"))
    run = project.start(script)
    wait_for((project.board / "began-2").exists)
    project.write("methods/shared.py", "VALUE = 2\n")
    (project.board / "hold-2").unlink()
    said, _ = run.communicate(timeout=PATIENCE)
    assert "was edited while" in said
    assert [project.record(job)["facts"]["value"] for job in built_in_turn(said)] == [1, 1, 2, 2, 2], said
    again = built_in_turn(project.go(script).ok().stdout)
    assert {project.record(job)["facts"]["value"] for job in again} == {2}
    last = (project.folder / "workdirs/main/main-LATEST").resolve().name
    assert project.record(last)["facts"]["value"] == 2


@first_cases(1, "how", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_its_server(project: Project, how: int) -> None:
    (project.board / "hold-3").touch()
    run = project.start(project.script(CHAIN.replace("RUN", f"{100 + how}")))
    wait_for((project.board / "began-3").exists)
    assert project.server is not None
    os.kill(project.server.pid, how)
    run.communicate(timeout=PATIENCE)
    # exax's board outlives a server that is killed.
    wait_for(lambda: all("board" in each.command for each in processes(project.folder).values()))
    project.stop_server()
    project.start_server()


def built_in_turn(said: str) -> list[str]:
    return re.findall(r"\] built link +(main-\d+) ", said)
