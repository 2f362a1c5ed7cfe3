"""Two projects on one workdir, each with its own server: they take turns, and spare what the other needs."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_project import AX, PATIENCE, wait_for
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

    def go(self) -> tuple[list[str], str]:
        """Run the chain with a server of its own; the jobs it built, and what it said."""
        said = self.works("run", "chain")
        return re.findall(r"\] built toy +(main-\d+)", said), said


@pytest.fixture(scope="module")
def projects() -> Iterator[tuple[OnWorkdir, OnWorkdir]]:
    """Not in tmp_path: the path of a Unix socket must be short."""
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        # Within one of them, so that the current folder of the other's jobs is in the wrong project.
        workdir = Path(folder).resolve() / "a" / "workdirs" / "main"
        yield OnWorkdir(Path(folder) / "a", workdir), OnWorkdir(Path(folder) / "b", workdir)


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
