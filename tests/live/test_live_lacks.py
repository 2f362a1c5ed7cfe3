"""What a run says that lacks files or memory, whose job leaves a pipe, or whose options are no plain data."""

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


@pytest.mark.parametrize("files", [5, 6])
def test_a_list_of_jobs_with_few_files(toy: DagProject, files: int) -> None:
    assert_one_message(limited(toy, f"-n {files}", f"{COMMAND} jobs"), "too many files are open", "ulimit -n")


@pytest.mark.parametrize("files", [8, 12])
def test_a_run_with_few_files(toy: DagProject, files: int) -> None:
    assert_one_message(limited(toy, f"-n {files}", f"{COMMAND} run dag"), "too many files", "ulimit -n")


@first_cases(1, "limit", ["-n 19", "-v 150000"])
def test_a_server_that_lacks_something(toy: DagProject, limit: str) -> None:
    toy.stop_server()
    try:
        failed = limited(toy, limit, f"{COMMAND} run dag")
    finally:
        toy.start_server()
    assert_one_message(failed, "the exax server did not start: ", f"ulimit {limit[:2]}", "server.log")


@first_cases(1, "command", ["run dag", "jobs"])
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


@pytest.mark.slow
def test_a_job_that_leaves_no_file(toy: DagProject) -> None:
    step = toy.folder / "methods/step_scale.py"
    text = step.read_text(encoding="utf-8")
    toy.new_chains()
    # It is called in every slice, and these run at the same time.
    left = "\n    import contextlib, os\n    with contextlib.suppress(FileExistsError): os.mkfifo('left')\n"
    step.write_text(text.replace("\n", left, 1), encoding="utf-8")
    try:
        for _ in range(2):
            failed = toy.shell(str(SHORTLOOP), "run", "dag")
            assert_one_message(failed, "a job left a file of an unsupported kind", "a pipe", "/left")
    finally:
        step.write_text(text, encoding="utf-8")
    for command in ("jobs", "verify", "gc"):
        done = toy.shortloop(command)
        assert "Traceback" not in done.stderr
    assert toy.go().status == 0


@pytest.mark.parametrize("way", ["run", "plan"])
def test_options_that_are_no_plain_data(toy: DagProject, way: str) -> None:
    script = toy.folder / "build_scripts/build_dag.py"
    text = script.read_text(encoding="utf-8")
    toy.new_chains()
    script.write_text(text.replace('node["number"]}', '{node["number"]}}'), encoding="utf-8")
    try:
        assert_one_message(
            toy.shortloop(way, "dag"), "an option of first is not plain data", "number", "set: {"
        )
    finally:
        script.write_text(text, encoding="utf-8")


def test_a_deleted_current_folder(toy: DagProject, tmp_path: Path) -> None:
    for number, command in enumerate(("run dag", "jobs", "plan dag", "study x.toml", "verify")):
        gone = tmp_path / str(number)
        gone.mkdir()
        code = f"cd {gone}; rmdir {gone}; PYTHONPATH={toy.folder} exec {COMMAND} {command}"
        done = toy.shell("bash", "-c", code)
        assert_one_message(done, "the current folder was deleted" if number != 3 else "x.toml")
    gone = tmp_path / "last"
    gone.mkdir()
    code = f"cd {gone}; rmdir {gone}; PYTHONPATH={toy.folder} exec {sys.executable} -c"
    load = "import shortloop; shortloop.load('main-1')"
    done = toy.shell("bash", "-c", f'{code} "{load}"')
    assert "InputError: the current folder was deleted" in done.stderr
