"""What a workdir calls its projects, and that exax does not mind what is kept there."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from jobs_project import empty_project, make_job
from jobs_recorded import manifest_for, recorded_job
from python_process import line_of, python

from shortloop.base.errors import InputError
from shortloop.project.project import job_folders
from shortloop.store.store import Store
from shortloop.store.workdir import HELD, HIDDEN, hidden_folder, only_run, project_at, project_name

project = pytest.fixture(empty_project)
MAIN = Path("workdirs/main", HIDDEN)


def test_a_project_has_a_name_in_its_workdir(project: Path, tmp_path: Path) -> None:
    for workdir, name in (("workdirs/main", "../.."), ("w", ".."), ("../elsewhere/main", str(project))):
        folder = project / workdir
        assert project_name(folder) == name
        assert project_at(folder, project_name(folder)) == project
    folder = project / "workdirs/main/main-1"
    with Store() as store:
        recorded_job(project, "main-1")
        store.add(folder, manifest_for(folder))
    with Store() as store:
        manifest = store.manifest_of("main-1")
        assert manifest is not None
        assert manifest.project == "../.."
    (project / "workdirs").rename(tmp_path / "large-disk")
    (project / "workdirs").symlink_to(tmp_path / "large-disk")  # which is not inside of the project
    assert project_name(project / "workdirs/main") == str(project)


def test_what_is_kept_there_is_no_job_and_what_cannot_be_made_is_explained(project: Path) -> None:
    from accelerator.job import dirnamematcher

    make_job(project, "main-1")
    workdir = project / "workdirs/main"
    hidden_folder(workdir)
    assert [each.name for each in job_folders({"main": workdir})] == ["main-1"]
    assert list(filter(dirnamematcher("main"), [HIDDEN, "main-1"])) == ["main-1"]
    (project / "elsewhere").write_text("no folder", encoding="utf-8")
    with pytest.raises(InputError, match="the workdir cannot be used") as caught:
        Store()
    assert str(project / "elsewhere/other") in caught.value.message


def test_who_may_write_to_a_workdir_may_write_to_its_index(project: Path) -> None:
    """A group that shares it, say, and works with such a mask."""
    before = os.umask(0o002)
    try:
        with Store():
            modes = {each.name: each.stat().st_mode & 0o777 for each in (project / MAIN).iterdir()}
    finally:
        os.umask(before)
    assert modes["main.sqlite"] == 0o664
    assert set(modes.values()) == {0o664}


HOLD = """
import sys
from shortloop.store.workdir import only_run
with only_run(sys.argv[1]):
    print("has it", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held() -> Iterator[subprocess.Popen[str]]:
    process = python(HOLD, "the first")
    try:
        assert line_of(process) == "has it"
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_second_waits_until_the_first_is_gone(project: Path, number: int) -> None:
    with held() as first:
        second = python(HOLD, "the second")
        said = line_of(second)
        assert said.startswith("waiting for another run to end: the first, process ")
        assert str(first.pid) in said
        first.send_signal(number)
        assert line_of(second) == "has it"
        third = python(HOLD, "the third")
        assert "the second" in line_of(third)
        second.communicate("")
        assert line_of(third) == "has it"
        third.communicate("")
        assert (second.returncode, third.returncode) == (0, 0)


def test_who_does_not_wait_is_told_who_has_it(project: Path) -> None:
    with held(), pytest.raises(InputError, match="a run is in progress") as caught, only_run("x", wait=False):
        pass
    assert "the first" in str(caught.value.found)
    with only_run("x", wait=False):
        pass


def test_a_child_of_the_one_that_holds_it_goes_on(project: Path) -> None:
    """`shortloop run` holds it for the `ax run` that it starts."""
    with only_run("the parent"):
        child = python(HOLD, "the child", environment={HELD: str(os.getpid())})
        assert line_of(child) == "has it"
        child.communicate("")
        stranger = python(HOLD, "a stranger", environment={HELD: "1"})
        assert "the parent" in line_of(stranger)
    assert line_of(stranger) == "has it"
    stranger.communicate("")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"what": "x"}', "\0\0"])
def test_a_holder_that_does_not_say_who_it_is(project: Path, text: str) -> None:
    with held():
        (project / "workdirs/.cache/jobs/run.lock").write_text(text, encoding="utf-8")
        second = python(HOLD, "the second")
        assert line_of(second).endswith("a process that does not say which")
        second.kill()
        second.communicate()


def on_the_same_workdir(project: Path) -> Path:
    other = project.with_name("other")
    other.mkdir()
    text = (project / "accelerator.conf").read_text(encoding="utf-8")
    text = text.replace("./workdirs/main", str(project / "workdirs/main")).replace("./elsewhere", "./own")
    (other / "accelerator.conf").write_text(text, encoding="utf-8")
    return other


def test_a_workdir_has_one_run_of_whichever_project(project: Path) -> None:
    other = on_the_same_workdir(project)
    with held() as first:
        os.chdir(other)
        second = python(HOLD, "the second")
        said = line_of(second)
        waited_for = f"the first of the project {project}, process {first.pid}, since "
        assert said.startswith(f"waiting for another run to end: {waited_for}")
        with pytest.raises(InputError, match="a run is in progress") as caught, only_run("x", wait=False):
            pass
        assert "the second, process" in caught.value.message  # which is first to have it
        first.kill()
        first.wait(60)  # it gives back one lock after the other
        assert line_of(second) == "has it"
        os.chdir(project)
        with pytest.raises(InputError, match=f"the second of the project {other}"), only_run("x", wait=False):
            pass
        second.communicate("")
    with only_run("x", wait=False):
        pass


TAKE_MANY = """
import sys
from shortloop.store.workdir import only_run
for _ in range(30):
    with only_run("one of many"):
        pass
print("done")
"""


def test_projects_that_share_two_workdirs_never_wait_for_each_other_for_ever(project: Path) -> None:
    """Each names them in another order."""
    other = on_the_same_workdir(project)
    shared = ("\tzebra ./elsewhere/other\n", f"\tant {project}/workdirs/main\n")
    head, _, tail = (other / "accelerator.conf").read_text(encoding="utf-8").partition("workdirs:\n")
    tail = tail[tail.index("method packages") :]
    for folder, lines in ((project, shared), (other, shared[::-1])):
        each = "".join(lines).replace("./elsewhere", str(project / "elsewhere"))
        (folder / "accelerator.conf").write_text(f"{head}workdirs:\n{each}{tail}", encoding="utf-8")
    running = [python(TAKE_MANY, cwd=folder) for folder in (project, other)]
    try:
        assert [process.communicate(timeout=300)[0].splitlines()[-1] for process in running] == ["done"] * 2
    finally:
        for process in running:
            process.kill()
