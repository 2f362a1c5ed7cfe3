"""Starting, using and ending the exax server."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from live_project import PATIENCE, SHORTLOOP, fixture_of, processes, wait_for
from toy_project import DagProject, chains


class StoppedProject(DagProject):
    forks = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.write_dag(chains(1, 1))


stopped = fixture_of(StoppedProject, "function", server=False)


def wait_until_alone(folder: Path) -> None:
    wait_for(lambda: not processes(folder))


def test_run_starts_a_server_and_leaves_none(stopped: DagProject, tmp_path: Path) -> None:
    stopped.shortloop("run", "dag", TMPDIR=str(tmp_path)).ok()
    wait_until_alone(stopped.folder)
    assert stopped.ax("status").returncode != 0
    # again, with another number of slices: no job has files per slice
    said = stopped.shortloop("run", "dag", SHORTLOOP_SLICES="1", TMPDIR=str(tmp_path)).ok().stdout
    assert "0 jobs built" in said
    assert list(tmp_path.iterdir()) == []
    assert list((stopped.folder / ".socket.dir" / "multiprocessing").iterdir()) == []


def test_run_uses_the_server_that_answers_and_leaves_it(stopped: DagProject) -> None:
    stopped.start_server()
    stopped.shortloop("run", "dag").ok()
    stopped.ax("status").ok()
    assert stopped.server is not None
    assert stopped.server.poll() is None


def test_a_killed_run_takes_its_server_with_it(stopped: DagProject) -> None:
    run = stopped.popen(SHORTLOOP, "run", "dag")
    wait_for(stopped.answers)
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=PATIENCE)
    assert run.returncode not in (0, None)
    wait_until_alone(stopped.folder)


def test_a_socket_path_that_is_too_long_is_explained(stopped: DagProject) -> None:
    deep = stopped.folder.joinpath(*["a-long-folder-name"] * 6)
    deep.mkdir(parents=True)
    for name in ("methods", "build_scripts", "dev", "accelerator.conf"):
        (deep / name).symlink_to(stopped.folder / name)
    said = stopped.shell(SHORTLOOP, "run", "dag", below="/".join(["a-long-folder-name"] * 6)).fails()
    assert "too long" in said


LOUD = """
from shortloop import pipeline, stage


@stage
def loud(number: int):
    print("größe ☃")
    if number:
        raise ValueError("größe \\udcff")
    return {"größe": "☃"}
"""
ASK = """
import os

from shortloop import pipeline


@pipeline
def main(run):
    return run.build("loud", number=int(os.environ["NUMBER"]))
"""


@pytest.mark.slow
def test_a_server_that_knows_ascii_alone(stopped: DagProject) -> None:
    """exax prints the error of a job, and kills the job if that cannot be written."""
    stopped.write("methods/a_loud.py", LOUD)
    stopped.write("build_scripts/build_ask.py", ASK)
    ascii_alone = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    said = stopped.shortloop("run", "ask", NUMBER="1", **ascii_alone).fails()
    assert r"ValueError: gr\xf6\xdfe \udcff" in said
    stopped.shortloop("run", "ask", NUMBER="0", **ascii_alone).ok()


@pytest.mark.slow
def test_first_results_load_no_method_anew(stopped: DagProject) -> None:
    """A new folder in the project, such as that of the results, may be a package."""
    time.sleep(3)  # files that changed a moment ago are loaded again in any case
    stopped.start_server()
    ran = stopped.go()
    assert ran.status == 0, ran.said
    (stopped.folder / "results").mkdir(exist_ok=True)
    before = stopped.processes()["runner"]
    assert stopped.go().status == 0
    assert stopped.processes()["runner"] == before
