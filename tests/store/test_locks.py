"""One run at a time: the second waits, and says for whom."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from jobs_project import ROOT, empty_project

from shortloop.base.errors import InputError
from shortloop.store.workdir import HELD, only_run

project = pytest.fixture(empty_project)

HOLD = """
import sys
from shortloop.store.workdir import only_run
with only_run(sys.argv[1]):
    print("has it", flush=True)
    sys.stdin.read()
"""


def start(what: str, **environment: str) -> subprocess.Popen[str]:
    """A process that waits for the run, holds it, and ends with its input."""
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, what],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@contextmanager
def held() -> Iterator[subprocess.Popen[str]]:
    process = start("the first")
    try:
        assert line_of(process) == "has it"
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_second_waits_until_the_first_is_gone(project: Path, number: int) -> None:
    with held() as first:
        second = start("the second")
        said = line_of(second)
        assert said.startswith("waiting for another run to end: the first, process ")
        assert str(first.pid) in said
        first.send_signal(number)
        assert line_of(second) == "has it"
        third = start("the third")
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
        child = start("the child", **{HELD: str(os.getpid())})
        assert line_of(child) == "has it"
        child.communicate("")
        stranger = start("a stranger", **{HELD: "1"})
        assert "the parent" in line_of(stranger)
    assert line_of(stranger) == "has it"
    stranger.communicate("")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"what": "x"}', "\0\0"])
def test_a_holder_that_does_not_say_who_it_is(project: Path, text: str) -> None:
    with held():
        (project / "workdirs/.cache/jobs/run.lock").write_text(text, encoding="utf-8")
        second = start("the second")
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
        second = start("the second")
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
    text = (other / "accelerator.conf").read_text(encoding="utf-8")
    head, _, tail = text.partition("workdirs:\n")
    tail = tail[tail.index("method packages") :]
    for folder, lines in ((project, shared), (other, shared[::-1])):
        each = "".join(lines).replace("./elsewhere", str(project / "elsewhere"))
        (folder / "accelerator.conf").write_text(f"{head}workdirs:\n{each}{tail}", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", TAKE_MANY], cwd=folder, env=environment, stdout=subprocess.DEVNULL
        )
        for folder in (project, other)
    ]
    try:
        assert [process.wait(timeout=300) for process in running] == [0, 0]
    finally:
        for process in running:
            process.kill()


def test_another_project_has_another_run(project: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "accelerator.conf").write_bytes((project / "accelerator.conf").read_bytes())
    with only_run("here"):
        os.chdir(tmp_path / "other")
        with only_run("there", wait=False):
            pass
