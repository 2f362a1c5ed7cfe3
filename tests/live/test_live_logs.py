"""What stages and methods print is shown while they run, kept with the job and by unit, and found again."""

from __future__ import annotations

import json
import os
import re
import signal
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
    stages,
    wait_for,
)
from on_a_terminal import command_on_a_terminal
from python_process import line_of

METHODS = stages("""\
# loud
import logging
import subprocess
import warnings


log = logging.getLogger(__name__)


def groups(count: int = 6):
    for number in range(count):
        yield f"g{number}", number


@stage(units=groups)
def loud(number, unit: str, salt: int, talks: bool = True, fails: str = "", killed: bool = False):
    if talks and number != 3:
        print(f"print of {unit} 漢字")
        log.info("info of %s", unit)
        log.warning("careful %s", unit)
        warnings.warn(f"odd {number}")
        subprocess.run(["echo", f"program of {unit}"], check=True)
    wait = Path(os.environ["FOLDER"], "hold")
    while wait.exists() and number == 5:
        wait.with_name("held").touch()
        time.sleep(0.01)
    if unit == fails and killed:
        os.kill(os.getpid(), 9)
    if unit == fails:
        raise ValueError("as asked")
    return {"x": number + salt}

# plain
@stage
def plain(loud: Job, threads: bool = False):
    from tqdm import tqdm

    for _ in tqdm(range(3), desc="plain"):
        pass
    print("end of plain")
    return {"x": loud["x"].sum()}

# threaded
import threading


def groups(count: int = 6):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    for number in range(count):
        yield f"t{number}", number


@stage(units=groups)
def threaded(number, unit: str, salt: int):
    print(f"print of {unit}")
    return {"x": number}
""")
SCRIPT = script("""
import json, os
from pathlib import Path
asked = json.loads(Path(os.environ["FOLDER"], "asked.json").read_text())
if asked.pop("threaded", False):
    return run.build("threaded", **asked)
loud = run.build("loud", partition="A", **asked)
return run.build("plain", loud=loud)
""")
BARE = """\
import os
import subprocess
import sys

options = {"number": 0, "lines": 1}


def prepare(job):
    print("prepare", os.getppid())


def analysis(sliceno):
    for line in range(options["lines"]):
        print(f"slice {sliceno} line {line:06}")
    subprocess.run([sys.executable, "-c", f"print('program of slice {sliceno}')"], check=True)


def synthesis():
    print("synthesis é", file=sys.stderr)
"""
SILENT = "options = {'number': 0}\n\n\ndef synthesis():\n    return options['number']\n"
OF_EXAX = """\
import json
import os
from pathlib import Path


def main(urd):
    for number, (method, options) in enumerate(json.loads(os.environ["ASKED"])):
        job = urd.build(method, number=number, force_build=True, **options)
    print("last:", job)
"""


class LogsProject(EmptyProject):
    """Loud jobs."""

    sources: ClassVar = {
        **METHODS,
        "methods/a_bare.py": BARE,
        "methods/a_silent.py": SILENT,
        "build_scripts/build_loud.py": SCRIPT,
        "build_scripts/build_of_exax.py": OF_EXAX,
    }
    _salt = 0

    def environment(self, **more: str) -> dict[str, str]:
        return super().environment(PYTHONIOENCODING="utf-8", **more)

    def ask(self, **options: object) -> None:
        self._salt += 1  # so that the job and its units are new
        self.write("asked.json", json.dumps({"salt": self._salt, **options}))

    def go(self, *flags: str, **environment: str) -> Done:
        return self.shortloop("run", *flags, "loud", **environment)

    def logs(self, *arguments: str) -> str:
        return self.works("logs", *arguments)

    def newest(self, stage: str) -> Path:
        found = [
            (int(file.parent.name.rpartition("-")[2]), file.parent)
            for file in (self.folder / "workdirs/main").glob("main-[0-9]*/setup.json")
            if json.loads(file.read_text(encoding="utf-8"))["method"] == stage
        ]
        return max(found)[1]

    def printed(self, *jobs: tuple[str, dict[str, int]]) -> dict[str, str]:
        """What the last of some jobs of exax's own build printed, by its part."""
        said = self.ax("run", "of_exax", ASKED=json.dumps(jobs)).ok().stdout
        self.last_of_exax = re.findall("^last: (.*)$", said, re.M)[0]
        files = (self.job_folder(self.last_of_exax) / "OUTPUT").glob("*")
        return {file.name: file.read_text(encoding="utf-8") for file in files}

    def keepers(self) -> list[int]:
        """Processes that keep what jobs of this project print."""
        found = processes(self.folder)
        return [number for number, each in found.items() if each.command.rstrip() == "output of jobs"]


project = fixture_of(LogsProject)


@first_cases(1, "engine", ["slices", "joblib", "dask"])
def test_units_are_shown_and_told_apart(project: LogsProject, engine: str) -> None:
    project.ask()
    done = project.go(SHORTLOOP_ENGINE=engine).ok()
    lines = done.stdout.splitlines()
    for unit in ("g0", "g5"):
        assert f"loud A | print of {unit} 漢字" in lines
        assert f"loud A | program of {unit}" in lines
        assert [line for line in lines if line.endswith(f"WARNING methods.a_loud: careful {unit}")]
    assert "info of" not in done.stdout
    assert done.stdout.count("UserWarning") == 1, done.stdout
    assert "plain | end of plain" in lines
    assert len([line for line in lines if "3/3" in line]) == 1
    assert not [line for line in lines if re.search(r"\| .*\| print of", line)]
    job = re.findall(r"built loud +A +(main-\d+)", done.stdout)[0]
    found = project.logs(job, "--unit", "g0").splitlines()
    assert found[0] == "print of g0 漢字"
    assert re.fullmatch(r"20\S+ \S+ INFO methods.a_loud: info of g0", found[1])
    assert found[2].endswith("WARNING methods.a_loud: careful g0")
    assert found[-1] == "program of g0"
    whole = project.logs(job).splitlines()
    assert "g5 | print of g5 漢字" in whole
    assert not [line for line in whole if not re.match(r"g\d | ", line)]
    assert "g0" in project.shortloop("logs", job, "--unit", "g3").fails()
    assert "loud, plain" in project.shortloop("logs", "none").fails()
    again = project.go()
    assert "2 reused" in again.stdout
    assert " | " not in again.stdout


def test_what_is_printed_is_no_part_of_the_result(project: LogsProject) -> None:
    """A job that prints, and one that does not, are the same to the next stage."""
    project.ask()
    assert "INFO methods.a_loud: info of g0" in project.go("--verbose").ok().stdout
    before = project.manifest(project.newest("loud").name)["content"]
    project.write("asked.json", json.dumps({**project.read_json("asked.json"), "talks": False}))
    silent = project.go()
    assert " | " not in silent.stdout
    assert "1 job built, 1 reused" in silent.stdout
    assert project.manifest(project.newest("loud").name)["content"] == before
    assert not (project.newest("loud") / "OUTPUT").exists()


@first_cases(2, ("engine", "killed"), [("slices", False), ("slices", True), ("joblib", False)])
def test_a_job_that_fails_keeps_what_it_printed(project: LogsProject, engine: str, killed: bool) -> None:
    project.ask(fails="g1", killed=killed)
    failed = project.go(SHORTLOOP_ENGINE=engine)
    said = failed.fails()
    job = project.newest("loud").name
    assert f"shortloop logs {job}" in said
    assert killed or said.count("ValueError: as asked") == 1, said
    assert "loud A | print of g1" in failed.stdout
    assert "print of g1 漢字" in project.logs(job, *(() if killed else ("--unit", "g1")))
    assert project.logs("loud", "--partition", "A") == project.logs(job)  # the newest of the stage
    assert "deathening" not in project.logs(job) + said


def test_a_job_that_runs_is_followed_and_keeps_its_log_when_killed(project: LogsProject) -> None:
    project.ask()
    (project.folder / "hold").touch()
    run = project.popen(SHORTLOOP, "run", "loud")
    wait_for((project.folder / "held").exists)
    job = project.newest("loud").name
    follow = project.popen(SHORTLOOP, "logs", "-f", job)
    for process, wanted in ((follow, "print of g5 漢字"), (run, "loud A | print of g5 漢字")):
        while (line := line_of(process)) != wanted:
            assert line or process.poll() is None, "it ended"
    assert follow.poll() is None
    assert "g0 | print of g0 漢字" in project.logs(job)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=PATIENCE)
    follow.communicate(timeout=PATIENCE)
    assert follow.returncode == 0
    for name in ("hold", "held"):
        (project.folder / name).unlink()
    assert "print of g5 漢字" in project.logs(job)


def test_units_in_processes_of_their_own(project: LogsProject) -> None:
    project.ask(threaded=True)
    assert "threaded | print of t0" in project.go().ok().stdout.splitlines()
    assert project.logs("threaded", "--unit", "t3") == "print of t3\n"


def test_on_a_terminal_lines_are_above_the_bar(project: LogsProject) -> None:
    project.ask()
    given = {**project.environment(), "TERM": "xterm-256color", "COLUMNS": "80"}
    said = command_on_a_terminal([SHORTLOOP, "run", "loud"], project.folder, given)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said).replace("\r", "\n")
    assert "loud A | print of g0 漢字\n" in shown
    # Each line is written where the bar was, and the bar again below it.
    after = shown[shown.rindex("loud A | print of g") :]
    assert re.search(r"\n[^\n|]*(loud A|plain)[^\n|]*/2", after), after
    assert "\x1b[2K" in said


def is_whole(printed: dict[str, str], lines: int) -> bool:
    slices = [
        "".join(f"slice {number} line {line:06}\n" for line in range(lines)) + f"program of slice {number}\n"
        for number in range(2)
    ]
    return [printed["0"], printed["1"], printed["synthesis"]] == [*slices, "synthesis é\n"]


def test_each_part_of_a_method_is_kept_and_shown_by_one_process(project: LogsProject) -> None:
    printed = project.printed(("bare", {"lines": 20_000}))
    assert printed.keys() == {"prepare", "0", "1", "synthesis"}
    assert is_whole(printed, 20_000)
    assert "slice 1 line 000000" in (project.folder / "server.log").read_text(encoding="utf-8")
    assert "slice 0 line 019999" in project.ax("job", "-O", project.last_of_exax).stdout
    assert len(project.keepers()) == 1
    assert project.printed(("silent", {})) == {}
    assert not (project.job_folder(project.last_of_exax) / "OUTPUT").exists()


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL]
)
def test_output_is_kept_whatever_becomes_of_that_process(project: LogsProject, number: int) -> None:
    (keeper,) = project.keepers()
    os.kill(keeper, number)
    if number == signal.SIGKILL:
        wait_for(lambda: keeper not in project.keepers())
    assert is_whole(project.printed(("bare", {}), ("silent", {}), ("bare", {"lines": 3})), 3)
    assert len(project.keepers()) == (number != signal.SIGKILL)


@pytest.mark.slow
def test_another_one_comes_with_the_methods_and_none_is_left(project: LogsProject) -> None:
    project.write("methods/a_silent.py", f"{SILENT}\n\nx = 1\n")
    project.printed(("silent", {}), ("bare", {}))
    assert len(project.keepers()) == 1
    project.stop_server()
    wait_for(lambda: not project.keepers())  # it ends with those whose output it keeps
    project.start_server()
