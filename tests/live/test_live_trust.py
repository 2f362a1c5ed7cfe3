"""Results that can be trusted, whatever happens to code, files and processes; on a chain of toy jobs."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from live_project import PATIENCE, fixture_of, in_short_folder, processes, served, wait_for
from live_toy import METHOD, STEPS, ToyProject

server = fixture_of(ToyProject)


@pytest.fixture
def toy(server: ToyProject) -> ToyProject:
    """Three jobs of the usual code, whatever the test before did."""
    server.method.write_text(METHOD, encoding="utf-8")
    server.steps.write_text(STEPS, encoding="utf-8")
    server.write_chain("{}", "{}", "{}")
    return server


@pytest.fixture
def built(toy: ToyProject) -> ToyProject:
    """The same, built and up to date."""
    toy.chain()
    return toy


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


def test_remarks_in_a_method_or_a_module_build_nothing(built: ToyProject) -> None:
    edit(built.method, '"""Adds to what the job before left."""', '"""Adds."""  # a remark')
    edit(built.steps, '"""The next value."""', "# a remark")
    assert built.chain()[0] == []


def test_code_that_leaves_the_same_builds_nothing_below(built: ToyProject) -> None:
    """An option of the first job that changes nothing stands for code of it alone."""
    built.write_chain('{"many": 0, "add": 1}', "{}", "{}")
    jobs, said = built.chain()
    assert len(jobs) == 1, said
    assert "2 reused" in said


def test_an_edit_reaches_all_below_and_back_builds_nothing(built: ToyProject) -> None:
    edit(built.steps, "return value", "return value + 10")
    jobs, _ = built.chain()
    assert [built.value(job) for job in jobs] == [11, 22, 33]
    edit(built.steps, "return value + 10", "return value")
    assert built.chain()[0] == []


def test_a_server_that_was_not_told_of_an_edit_builds_nothing_old(built: ToyProject) -> None:
    """`ax run -q` has it load nothing anew."""
    edit(built.steps, "return value", "return value + 100")
    jobs, _ = built.chain("-q")
    assert [built.value(job) for job in jobs] == [101, 202, 303]
    edit(built.method, "step(value) + ", "step(value) - ")
    jobs, said = built.chain("-q")
    assert [built.value(job) for job in jobs] == [99, 198, 297]
    assert "built again" not in said  # nor anything twice
    assert built.chain()[0] == []


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


@pytest.mark.parametrize(
    "name",
    [
        "x.npy",
        "manifest.json",
        *(pytest.param(f"{each}.json", marks=pytest.mark.slow) for each in ("record", "post")),
    ],
)
def test_a_damaged_file_is_made_again_and_nothing_below(toy: ToyProject, name: str) -> None:
    left = toy.new_chain()
    toy.chain()
    first = last_jobs(toy)[0]
    content = (first / name).read_bytes()
    (first / name).write_bytes(content[:-2] + b"??")
    built, said = toy.chain()
    assert len(built) == 1, said
    assert f"{first.name} was damaged: {name}" in said
    assert toy.value(built[0]) == left
    assert not (first / "post.json").exists()
    assert toy.chain()[0] == []


def test_a_deleted_job_is_made_again(toy: ToyProject) -> None:
    left = toy.new_chain()
    toy.chain()
    shutil.rmtree(last_jobs(toy)[1])
    built, said = toy.chain("-q")  # the server still thinks that it has it
    assert len(built) == 1, said
    assert toy.value(built[0]) == left + 1


def test_a_lost_index_costs_nothing(built: ToyProject) -> None:
    built.forget_index()
    assert built.chain()[0] == []


class Edited(ToyProject):
    edits_package = True


def test_finished_jobs_without_a_manifest_are_taken_over() -> None:
    """As those of a run that is killed before it can manifest one."""
    with served(Edited) as toy:
        toy.new_chain()
        manifest = toy.folder / "shortloop" / "store" / "manifest.py"
        text = manifest.read_text(encoding="utf-8")
        first = "    try:\n        for name in {*manifest.files"
        edit(manifest, first, f"    os._exit(9)\n{first}")
        assert toy.ax("run", "chain").returncode == 9
        manifest.write_text(text, encoding="utf-8")
        done = [file.parent for file in (toy.folder / "workdirs/main").glob("main-[0-9]*/post.json")]
        cut = [each for each in done if (each / ".notes").exists() and not (each / "manifest.json").exists()]
        assert cut
        built, _ = toy.chain()
        assert len(built) == 3 - len(cut)
        assert not {folder.name for folder in cut} & set(built)
        assert all((folder / "manifest.json").is_file() for folder in cut)
        assert not any((folder / ".notes").exists() for folder in cut)


def test_a_job_grows_from_the_one_before(toy: ToyProject) -> None:
    toy.write_chain('{"add": 3, "many": 4}')
    toy.chain()
    toy.write_chain('{"add": 3, "many": 6}')
    (grown,) = toy.chain()[0]
    said = toy.job_folder(grown) / "OUTPUT" / "synthesis"
    wait_for(said.exists)  # what a job prints is kept by another process
    assert said.read_text() == "grown from 5\n"


def test_a_second_run_waits_for_the_first(toy: ToyProject) -> None:
    toy.new_chain()
    with toy.held("script"):
        first = toy.start_chain()
        toy.wait_until_held("script")
        second = toy.start_chain()
        assert second.stdout is not None
        said = ""
        while "waiting for another run to end: chain, process" not in said:
            line = second.stdout.readline()
            assert line, said
            said += line
    assert "3 jobs built, 0 reused" in first.communicate(timeout=PATIENCE)[0]
    assert "0 jobs built, 3 reused" in second.communicate(timeout=PATIENCE)[0]


SLOW_TO_START = """
import sys
import time

if any(part.endswith("accelerator/runner.py") for part in sys.orig_argv):
    time.sleep(1)
"""


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


def test_a_server_that_is_killed_leaves_nothing_behind(toy: ToyProject) -> None:
    toy.new_chain()
    assert toy.server is not None
    with toy.held("1"):
        running = toy.start_chain()
        toy.wait_until_held("1")
        toy.server.kill()
        toy.server.wait()
        toy.server = None
        said, _ = running.communicate(timeout=PATIENCE)
        assert running.returncode == 1, said
        assert "the exax server ended while a job was running" in said
        wait_for(lambda: not jobs_in(toy.folder))
    toy.start_server()
    built, said = toy.chain()
    assert len(built) == 2, said
    assert "did not finish; what it left is deleted" in said


def test_notes_that_a_power_cut_cut_short_do_not_keep_the_server_from_starting(toy: ToyProject) -> None:
    toy.new_chain()
    toy.chain()
    toy.stop_server()
    first, second, _ = last_jobs(toy)
    os.truncate(first / "post.json", 0)
    size = (second / "setup.json").stat().st_size
    (second / "setup.json").write_bytes(bytes(size))
    toy.start_server()
    built, said = toy.chain()
    assert len(built) == 2
    assert f"{first.name} was truncated (post.json)" in said
    assert f"{second.name} was truncated (setup.json)" in said


def test_a_second_server_on_the_same_workdir_is_refused(toy: ToyProject) -> None:
    with in_short_folder(ToyProject) as copy:
        copy.edit("accelerator.conf", "./workdirs/main", str(toy.folder / "workdirs/main"))
        done = copy.ax("server")
    assert done.returncode != 0
    assert "the workdir main is in use by another exax server" in done.stderr + done.stdout
    assert toy.chain()[0] == []


def test_a_method_that_cannot_be_imported_is_in_nobodys_way(toy: ToyProject) -> None:
    bad = toy.write("methods/a_bad.py", "import no_such_module\n")
    toy.new_chain()
    try:
        assert len(toy.chain()[0]) == 3
    finally:
        bad.unlink()


def jobs_in(folder: Path) -> list[str]:
    """Command lines of processes that run methods of a project."""
    return [
        each.command
        for each in processes().values()
        if f"{folder}" in each.command and "runner.py" in each.command
    ]
