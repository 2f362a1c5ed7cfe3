"""Results that can be trusted when a server has loaded methods anew, or deleted jobs; on a chain of toy jobs.

Two projects on one workdir, each with its own server, take turns, and spare what the other needs. Code is
edited in test_live_loading.py and test_live_property.py, and runs are ended in test_live_faults_processes.py.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_project import AX, PATIENCE, fixture_of, wait_for
from live_toy import ToyProject
from toy_jobs import is_deleted

server = fixture_of(ToyProject)


@pytest.fixture
def toy(server: ToyProject) -> ToyProject:
    """Three jobs of the usual code, whatever the test before did."""
    server.restore()
    return server


def last_jobs(toy: ToyProject, count: int = 3) -> list[Path]:
    """Recorded jobs, the newest last. One that was started again has a higher number than those after it."""
    manifests = (toy.folder / "workdirs/main").glob("main-[0-9]*/manifest.json")
    recorded = [manifest.parent for manifest in manifests]
    return sorted(recorded, key=lambda folder: (folder / "setup.json").stat().st_mtime_ns)[-count:]


SLOW_TO_START = """
import sys
import time

if any(part.endswith("accelerator/runner.py") for part in sys.orig_argv):
    time.sleep(1)
"""


@pytest.mark.slow
def test_methods_that_somebody_reloaded_end_no_run(toy: ToyProject, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_running_job_is_not_touched_though_it_has_no_lock(projects: tuple[OnWorkdir, OnWorkdir]) -> None:
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
            every = b.workdir.glob("main-[0-9]*/setup.json")
            setups = [file for file in every if '"toy"' in file.read_text()]
            (held,) = {file.parent for file in setups if not file.with_name("post.json").exists()}
            before = {file.name for file in held.iterdir()}
            assert str(b.folder.resolve()) in a.shortloop("gc", "--delete").fails()
            assert "0 jobs built, 3 reused" in a.works("run", "chain")  # which needs no server
            kept = (a.folder / "chain.json").read_bytes()
            a.new_chain()
            assert "in use by another exax server" in a.shortloop("run", "chain").fails()
            (a.folder / "chain.json").write_bytes(kept)
            assert {file.name for file in held.iterdir()} == before
        assert running.wait(timeout=PATIENCE) == 0
        assert b.value(held.name) == 1
    finally:
        b.stop_server()
    built, said = a.go()
    assert (built, is_deleted(held)) == ([], False), said
