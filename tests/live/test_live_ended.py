"""Units that end their process, and runs that are interrupted while a unit waits."""

from __future__ import annotations

import re
import signal

from live_project import PATIENCE, SHORTLOOP, EmptyProject, fixture_of, wait_for

METHOD = """\
import ctypes, os, signal, sys, time
from pathlib import Path

from shortloop import stage


def found():
    return {{f"f{{number:02}}": number for number in range(40)}}


@stage(units=found)
def {name}(number):
    with open("{folder}/computed", "ab", buffering=0) as computed:
        computed.write(b".")
    if number == 27:
        Path("{folder}/reached").touch()
        {bad}
    return {{"x": number}}
"""
SCRIPT = """\
from shortloop import pipeline


@pipeline
def main(run):
    return run.build("{name}")
"""


project = fixture_of(EmptyProject)


def write(project: EmptyProject, name: str, bad: str) -> None:
    project.write(f"methods/a_{name}.py", METHOD.format(name=name, bad=bad, folder=project.folder))
    project.write(f"build_scripts/build_{name}.py", SCRIPT.format(name=name))


def test_a_unit_that_crashes_is_named_each_time(project: EmptyProject) -> None:
    write(project, "crashes", "ctypes.string_at(0)")
    first = project.shortloop("run", "crashes")
    assert first.returncode == 1
    assert re.search(r"unit: +f27 of crashes\n +found: +signal 11 \(SIGSEGV\)", first.stdout)
    again = project.shortloop("run", "crashes")  # now it is the only one, and the job's own process has it
    (kept,) = re.findall(r"(\d+) of 40 units are kept", again.stdout)
    assert int(kept) < 40
    assert re.search(r"unit: +[^\n]*f27 of crashes\n +found: +signal 11 \(SIGSEGV\)", again.stdout)


def test_text_of_an_exit_is_told(project: EmptyProject) -> None:
    write(project, "exits", 'sys.exit("no more rows")')
    said = project.shortloop("run", "exits").fails()
    assert "SystemExit: no more rows\n    in unit f27 of exits" in said


def test_an_interrupt_of_the_command_alone_ends_the_run(project: EmptyProject) -> None:
    """As a supervisor or an editor sends it; a terminal sends it to all processes of the run."""
    hold, reached, computed = (project.folder / name for name in ("hold", "reached", "computed"))
    write(project, "waits", f'Path("{hold}").exists() and time.sleep(600)')
    hold.touch()
    reached.unlink()
    running = project.popen(SHORTLOOP, "run", "waits")
    wait_for(reached.exists)
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert "interrupted: finished jobs are kept; run again to go on" in said
    (kept,) = re.findall(r"\(waits\) did not finish; (\d+) of 40 units are kept", said)
    hold.unlink()
    computed.unlink()
    project.shortloop("run", "waits").ok()
    assert computed.stat().st_size == 40 - int(kept)
