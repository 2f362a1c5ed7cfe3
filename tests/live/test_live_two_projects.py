"""Two projects on one workdir, each with its own server: they take turns, and spare what the other needs."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_project import AX, PATIENCE, SHORTLOOP, wait_for
from live_toy import ToyProject
from toy_jobs import is_deleted


class OnWorkdir(ToyProject):
    """A project whose jobs are kept in the workdir of another one."""

    def __init__(self, folder: Path, workdir: Path) -> None:
        super().__init__(folder)
        self.workdir = workdir
        self.edit("accelerator.conf", "./workdirs/main", str(workdir))

    def job_folder(self, job: str) -> Path:
        return self.workdir / job

    def command(self, *arguments: str) -> subprocess.Popen[str]:
        """Begin a command of shortloop."""
        return self.popen(SHORTLOOP, *arguments)

    def go(self) -> tuple[list[str], str]:
        """Run the chain with a server of its own; the jobs it built, and what it said."""
        return ended(self.command("run", "chain"))


def ended(running: subprocess.Popen[str]) -> tuple[list[str], str]:
    said, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, said
    return re.findall(r"\] built toy +(main-\d+)", said), said


@pytest.fixture(scope="module")
def projects() -> Iterator[tuple[OnWorkdir, OnWorkdir]]:
    """Not in tmp_path: the path of a Unix socket must be short."""
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        # Within one of them, so that the current folder of the other's jobs is in the wrong project.
        workdir = Path(folder).resolve() / "a" / "workdirs" / "main"
        yield OnWorkdir(Path(folder) / "a", workdir), OnWorkdir(Path(folder) / "b", workdir)


@pytest.mark.slow
def test_gc_of_one_leaves_the_other_alone_and_both_take_turns(projects: tuple[OnWorkdir, OnWorkdir]) -> None:
    a, b = projects
    a.new_chain()
    first, _ = a.go()
    a.new_chain()
    second, _ = a.go()
    b.write_chain('{"add": 7}', "{}", "{}")
    of_b, _ = b.go()
    assert len(first) == len(second) == len(of_b) == 3
    b.write_chain('{"add": 7}', "{}", '{"add": 8}')
    with b.held("2"):
        running = b.command("run", "chain")
        wait_for((b.folder / "held-2").exists)
        held = next(each for each in b.workdir.glob("main-*") if is_running(each))
        said = a.shortloop("gc", "--delete").fails()
        assert "a run is in progress" in said
        assert f"of the project {b.folder.resolve()}" in said
        waiting = a.command("run", "chain")
        assert waiting.stdout is not None
        assert f"of the project {b.folder.resolve()}" in waiting.stdout.readline()
        assert not is_deleted(a.job_folder(first[0]))
    assert ended(running)[0] == [held.name]
    assert ended(waiting)[0] == []  # all that it needs is there
    assert b.value(held.name) == 7 + 1 + 8

    assert f"3 jobs kept for chain of {b.folder.resolve()}" in a.shortloop("gc", "--delete").ok().stdout
    gone = [each for each in [*first, *second, *of_b] if is_deleted(a.job_folder(each))]
    assert gone == [*first, of_b[-1]]  # of which each was superseded in its own project
    for project in (b, a):
        built, said = project.go()
        assert built == [], said
        assert "0 jobs built, 3 reused" in said


def is_running(job: Path) -> bool:
    return (job / "setup.json").is_file() and not (job / "post.json").exists() and "toy" in text_of(job)


def text_of(job: Path) -> str:
    return (job / "setup.json").read_text(encoding="utf-8").split('"options"')[0]


def test_a_running_job_is_not_touched_though_its_run_has_no_lock(
    projects: tuple[OnWorkdir, OnWorkdir],
) -> None:
    """A build script that asks exax itself, on a server that was started by hand."""
    a, b = projects
    a.go()
    plain = "def main(urd):\n    urd.build('toy', options={'number': 9, 'add': 1})\n"
    b.write("build_scripts/build_plain.py", plain)
    b.start_server()
    try:
        with b.held("9"):
            running = subprocess.Popen([str(AX), "run", "plain"], cwd=b.folder, env=b.environment())
            wait_for((b.folder / "held-9").exists)
            held = next(each for each in b.workdir.glob("main-*") if is_running(each))
            before = {file.name for file in held.iterdir()}
            done = a.shortloop("gc", "--delete")
            assert done.returncode == 1
            assert "the exax server of another project has the workdir main" in done.stderr
            assert str(b.folder.resolve()) in done.stderr
            unchanged = a.shortloop("run", "chain").ok()
            assert "0 jobs built, 3 reused" in unchanged.stdout  # which needs no server
            kept = (a.folder / "chain.json").read_bytes()
            a.new_chain()
            refused = a.shortloop("run", "chain")
            assert refused.returncode == 1
            assert "in use by another exax server" in refused.stderr
            (a.folder / "chain.json").write_bytes(kept)
            assert {file.name for file in held.iterdir()} == before
        assert running.wait(timeout=PATIENCE) == 0
        assert b.value(held.name) == 1
    finally:
        b.stop_server()
    built, said = a.go()
    assert (built, is_deleted(held)) == ([], False), said
