"""What a command says that lacks files, memory or its current folder, or whose server or job is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cases import first_cases
from live_project import AX, PATIENCE, SHORTLOOP, Done, slowness, wait_for
from toy_project import DagProject, chains, expected

COMMAND = str(SHORTLOOP)


def limited(toy: DagProject, limit: str, command: str) -> Done:
    return toy.shell("bash", "-c", f"ulimit {limit}; exec {command}")


def assert_one_message(done: Done, *words: str) -> None:
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert said.count("shortloop: ") == 1
    assert "Traceback" not in said
    assert 'File "' not in said
    for word in words:
        assert word in said


def test_a_run_with_few_files(toy: DagProject) -> None:
    assert_one_message(limited(toy, "-n 8", f"{COMMAND} run dag"), "too many files", "ulimit -n")


@first_cases(1, "limit", ["-n 19", "-v 150000"])
def test_a_server_that_lacks_something(toy: DagProject, limit: str) -> None:
    toy.stop_server()
    try:
        failed = limited(toy, limit, f"{COMMAND} run dag")
    finally:
        toy.start_server()
    assert_one_message(failed, "the exax server did not start: ", f"ulimit {limit[:2]}", "server.log")


@first_cases(1, "command", ["jobs", "run dag"])
def test_too_little_memory(toy: DagProject, command: str) -> None:
    toy.write_dag(chains(1))
    toy.go()
    for size in range(64_000, 20_000, -4_000):  # how much is too little is another size on another machine
        done = limited(toy, f"-v {size} -t 5", f"{COMMAND} {command}")
        if done.returncode == -signal.SIGKILL:  # 5 s of processor time
            continue  # CPython 3.11 may raise MemoryError for ever in an import
        if done.returncode:
            assert_one_message(done, "ulimit -v")  # for memory, or for what a thread needs of it
            return
    pytest.fail("it needs no memory")


def test_a_job_that_uses_up_its_files(toy: DagProject) -> None:
    step = toy.folder / "methods/step_scale.py"
    text = step.read_text(encoding="utf-8")
    toy.write_dag(chains(700, 1))
    step.write_text(text.replace("\n", "\n    all = [open('/dev/null') for _ in range(10**7)]\n", 1), "utf-8")
    try:
        failed = toy.shell(str(AX), "run", "dag")
    finally:
        step.write_text(text, encoding="utf-8")
    said = failed.fails()
    assert said.count("shortloop: ") == 1
    for word in ("step_scale.py", "open('/dev/null')", "too many files are open", "ulimit -n"):
        assert word in said
    toy.check(toy.go(), expected(chains(700, 1)))


def test_a_deleted_current_folder(toy: DagProject, tmp_path: Path) -> None:
    for command in ("run dag", "jobs", "study x.toml"):
        gone = tmp_path / command
        gone.mkdir()
        code = f"cd '{gone}'; rmdir '{gone}'; PYTHONPATH={toy.folder} exec {COMMAND} {command}"
        done = toy.shell("bash", "-c", code)
        assert_one_message(done, "x.toml" if "x.toml" in command else "the current folder was deleted")
    gone = tmp_path / "last"
    gone.mkdir()
    code = f"cd {gone}; rmdir {gone}; PYTHONPATH={toy.folder} exec {sys.executable} -c"
    load = "import shortloop; shortloop.load('main-1')"
    done = toy.shell("bash", "-c", f'{code} "{load}"')
    assert "InputError: the current folder was deleted" in done.stderr


@contextmanager
def stopped(process: int) -> Iterator[None]:
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


@first_cases(1, "command", [("run", "dag"), ("gc", "--delete")])
def test_a_stopped_server_is_named_at_once(toy: DagProject, command: tuple[str, ...]) -> None:
    toy.new_chains()
    (server,) = toy.processes()["server"]
    with stopped(server):
        started = time.monotonic()
        done = toy.shortloop(*command)
        seconds = time.monotonic() - started
    assert_one_message(done, "the exax server is stopped", f"process {server} (", f"kill -CONT {server}")
    assert seconds < 10 * slowness()
    assert toy.processes()["server"] == [server]


@first_cases(1, "what", ["server", "slice", "runner"])
def test_one_that_is_stopped_while_a_job_runs_is_named(toy: DagProject, what: str) -> None:
    nodes = toy.new_chains()
    toy.break_at("analysis", nodes[2].number, "hold")
    running = toy.start()
    toy.wait_until_reached()
    wait_for(lambda: toy.processes()["slice"])
    process = toy.processes()[what][0]
    with stopped(process):
        toy.mend()
        started = time.monotonic()
        said = said_until(running, f"{process}")
        assert time.monotonic() - started < 10
        assert "the exax server is stopped" in said or what != "server"
        assert said_until(running, "kill -CONT").count(f"kill -CONT {process}") == 1
    ran = toy.end(running)
    assert ran.status == 0, ran.said
    toy.check(ran, expected(nodes))


@pytest.mark.slow
def test_a_run_whose_server_is_stopped_can_be_ended(toy: DagProject) -> None:
    nodes = toy.new_chains()
    toy.break_at("analysis", nodes[2].number, "hold")
    running = toy.start()
    toy.wait_until_reached()
    (server,) = toy.processes()["server"]
    with stopped(server):
        running.terminate()
        assert running.wait(timeout=PATIENCE) != 0
    toy.mend()
    toy.check(toy.go(), expected(nodes))


def test_a_build_script_whose_server_stops_before_it_asks_says_so(toy: DagProject) -> None:
    toy.new_chains()
    begin = "(urd):\n    from methods.faults import fault\n\n    fault('script', 0)\n"
    toy.edit("build_scripts/build_dag.py", "(urd):\n", begin)
    toy.break_at("script", 0, "hold")
    running = toy.start()
    toy.wait_until_reached()
    (server,) = toy.processes()["server"]
    with stopped(server):
        toy.mend()
        assert "Traceback" not in said_until(running, "the exax server is stopped")
        assert f"kill -CONT {server}" in said_until(running, "kill -CONT")
    ran = toy.end(running)
    toy.edit("build_scripts/build_dag.py", begin, "(urd):\n")
    assert ran.status == 1
    assert "Traceback" not in ran.said


def said_until(running: subprocess.Popen[str], wanted: str) -> str:
    """The line of a run in which that is."""
    assert running.stdout is not None
    watchdog = threading.Timer(30, running.kill)  # so that waiting in vain ends
    watchdog.start()
    said = ""
    try:
        while line := running.stdout.readline():
            said += line
            if wanted in line:
                return line
    finally:
        watchdog.cancel()
    raise AssertionError(f"never said {wanted}:\n{said}")
