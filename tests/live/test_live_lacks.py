"""What a command says that lacks files, memory or its current folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cases import first_cases
from live_project import AX, SHORTLOOP, Done
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


@pytest.mark.parametrize("command", ["jobs", "run dag"])
def test_a_command_with_few_files(toy: DagProject, command: str) -> None:
    files = 6 if command == "jobs" else 8
    assert_one_message(limited(toy, f"-n {files}", f"{COMMAND} {command}"), "too many files", "ulimit -n")


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
        done = limited(toy, f"-v {size}", f"{COMMAND} {command}")
        if done.returncode:
            assert_one_message(done, "ulimit -v")  # for memory, or for what a thread needs of it
            return
    pytest.fail("it needs no memory")


def test_a_run_with_few_files_that_are_enough(toy: DagProject) -> None:
    nodes = toy.new_chains()
    done = limited(toy, "-n 20", f"{AX} run dag")
    assert done.returncode == 0, done.stdout + done.stderr
    toy.check(toy.go(), expected(nodes))


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
