"""A cluster that grows, freezes, has nobody or no such resource: the run goes on, or says what is wrong."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from cases import first_cases
from deploy_compose import free_port, listens
from live_project import fixture_of, script, wait_for
from waiting_project import HIDDEN, HOST, Cluster, Waiting

from shortloop.base.extras import is_installed

pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="distributed is not installed")
project = fixture_of(Waiting, server=False)


@pytest.fixture
def cluster(project: Waiting) -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        started = Cluster(Path(folder), project.seen)
        yield started
        started.end()


def test_workers_that_come_later_compute(project: Waiting, cluster: Cluster) -> None:
    """Units that ask for a GPU where one is."""
    for stage, lacking, options in (
        ("wait", "has no workers: start some; waiting", []),
        (
            "gpu",
            f"no worker of Dask's scheduler at {cluster.address} has 1 GPU: start some",
            ["--resources", "GPU=1"],
        ),
    ):
        run = project.begin(cluster.address, number=4, stage=stage, when_silent="wait")
        assert run.stdout is not None
        while lacking not in (line := run.stdout.readline()):
            assert line, "it has ended"
        cluster.worker(stage, *options, threads=2)
        said, _ = run.communicate(timeout=60)
        assert run.returncode == 0, said
    assert project.at_a_time() == (1, {"gpu"})


@pytest.mark.slow
def test_a_worker_that_is_stopped_holds_up_nobody(project: Waiting, cluster: Cluster) -> None:
    """Neither what it has to compute, nor what it has computed and not given yet."""
    cluster.workers("one", "two")
    run = project.begin(cluster.address, stage="noted", silence=60)
    wait_for(project.has_begun)
    os.kill(engine := project.engine(), signal.SIGSTOP)
    before = project.computed_by("one")
    wait_for(lambda: project.computed_by("one") >= min(before + 3, 6))
    cluster.signal(signal.SIGSTOP, "one")
    os.kill(engine, signal.SIGCONT)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert "nothing was computed since" not in said


@pytest.mark.slow
def test_what_ended_workers_had_given_is_not_computed_again(project: Waiting, cluster: Cluster) -> None:
    cluster.workers("one")
    run = project.begin(cluster.address, number=8, seconds=0.7, stage="noted", when_silent="wait", silence=60)
    wait_for(project.has_begun)
    cluster.signal(signal.SIGKILL, "one")
    cluster.workers("two")
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert project.computed_by() <= 8 + 2  # one whose result was on its way, one that was computed


@first_cases(
    1,
    ("when", "how", "status", "expected"),
    [
        ("end", signal.SIGSTOP, 1, "Dask's scheduler at {} does not answer; the job ends"),
        ("here", signal.SIGSTOP, 0, "{} does not answer; the rest is computed on this machine"),
        ("end", signal.SIGKILL, 1, "the connection to Dask's scheduler is lost"),
    ],
)
def test_a_scheduler_that_is_stopped_or_killed_is_told(
    project: Waiting, cluster: Cluster, when: str, how: signal.Signals, status: int, expected: str
) -> None:
    cluster.workers("one")
    run = project.begin(cluster.address, number=20, when_silent=when)
    wait_for(project.has_begun)
    cluster.signal(how, "scheduler")
    said, _ = run.communicate(timeout=90)
    assert run.returncode == status, said
    assert expected.format(cluster.address) in said
    if status:
        assert "Traceback" not in said
        assert "run again: units that are done are kept" in said


@pytest.mark.slow
def test_no_worker_is_heard_of_and_long_units_are_no_silence(project: Waiting, cluster: Cluster) -> None:
    cluster.workers("one", "two")
    run = project.begin(cluster.address, number=2, seconds=12)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert "nothing was computed" not in said
    run = project.begin(cluster.address, number=20)
    wait_for(project.has_begun)
    cluster.signal(signal.SIGSTOP, "one", "two")
    said, _ = run.communicate(timeout=90)
    assert run.returncode == 1
    assert f"no worker of Dask's scheduler at {cluster.address} is heard of" in said


@pytest.mark.slow
def test_a_cluster_that_adapts_grows_from_nobody(project: Waiting, tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "workers"
    code = f"""
import distributed, time
if __name__ == "__main__":
    given = dict(n_workers=0, threads_per_worker=1, dashboard_address=None)
    cluster = distributed.LocalCluster(scheduler_port={port}, host={HOST!r}, **given)
    cluster.adapt(minimum=0, maximum=3, interval="500ms", wait_count=20)
    most = 0
    while True:
        most = max(most, len(cluster.scheduler.workers))
        open({str(log)!r}, "w").write(str(most))
        time.sleep(0.2)
"""
    file = tmp_path / "adaptive.py"
    file.write_text(code)
    process = subprocess.Popen([sys.executable, str(file)], start_new_session=True)
    try:
        wait_for(lambda: listens(HOST, port))
        run = project.begin(f"tcp://{HOST}:{port}", number=100, seconds=0.4, silence=60)
        said, _ = run.communicate(timeout=120)
        assert run.returncode == 0, said
        assert int(log.read_text()) == 3
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_unit_that_needs_more_memory_than_its_worker_has_is_named(
    project: Waiting, cluster: Cluster
) -> None:
    project.write("build_scripts/build_hungry.py", script('return run.build("hungry", megabytes=700)'))
    cluster.workers("one", options=["--memory-limit", "500MiB"])
    said = project.shortloop("run", "hungry", SHORTLOOP_ENGINE=f"dask:{cluster.address}").fails()
    assert "u1 of hungry" in said
    assert "and its worker has 524 MB, each time that it was tried" in said


@pytest.mark.slow
def test_units_that_use_several_cores_have_several_threads(project: Waiting, cluster: Cluster) -> None:
    for name in ("one", "two"):
        cluster.worker(name, threads=2)
    cluster.workers()
    for stage, most in (("wide", 2), ("large", 1)):  # no worker has that much: each has them all
        run = project.begin(cluster.address, number=8, stage=stage)
        said, _ = run.communicate(timeout=60)
        assert run.returncode == 0, said
        assert project.at_a_time()[0] == most


@pytest.mark.slow
@pytest.mark.skipif(not is_installed("ray"), reason="ray is not installed")
def test_ray_counts_what_units_ask_for(project: Waiting) -> None:
    run = project.begin("", number=4, stage="wide", name="ray", workers=2)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert project.at_a_time()[0] == 1
    for stage, lacking in (("gpu", "1 GPU"), ("large", "900,000 GB of memory")):
        run = project.begin("", number=4, stage=stage, name="ray", workers=2)
        said, _ = run.communicate(timeout=60)
        assert run.returncode == 1
        assert f"no node of Ray at this machine has {lacking}, as the stage asks for; the job ends" in said


@first_cases(
    1,
    ("address", "expected"),
    [
        (f"tls://{HOST}:1", "set ca, certificate, key in the table [engine]"),
        (f"tcp://{HOST}:1", f"{HOST}:1: refused: that machine answers, and nothing listens on this port"),
        ("tcp://nobody.invalid:8786", "tcp://nobody.invalid:8786: unknown host"),
    ],
)
def test_why_a_cluster_is_not_reached(project: Waiting, address: str, expected: str) -> None:
    run = project.begin(address)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert expected in said


@pytest.fixture
def lacking(tmp_path: Path) -> dict[str, str]:
    """Environment of a process that finds no Shortloop."""
    (tmp_path / "sitecustomize.py").write_text(HIDDEN, encoding="utf-8")
    return {"PYTHONPATH": str(tmp_path), "PYTHONSAFEPATH": "1"}


@first_cases(1, "version", ["none (ModuleNotFoundError: No module named 'shortloop')", "0.0.9"])
def test_a_worker_without_this_version_is_named(
    project: Waiting, cluster: Cluster, lacking: dict[str, str], version: str
) -> None:
    if "none" not in version:
        folder = Path(lacking["PYTHONPATH"])
        (folder / "sitecustomize.py").unlink()
        (folder / "shortloop").mkdir()
        (folder / "shortloop/__init__.py").write_text(f"__version__ = {version!r}\n", encoding="utf-8")
    cluster.worker("one", environment=lacking)
    cluster.workers("two")
    wait_for(lambda: b"Registered to" in (cluster.folder / "one.log").read_bytes())
    said = project.begin(cluster.address, silence=60).communicate(timeout=60)[0]
    assert "a worker cannot compute units of this run" in said
    assert f"Shortloop {version}, in {sys.executable} on " in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_such_a_worker_that_comes_later_is_named(
    project: Waiting, cluster: Cluster, lacking: dict[str, str]
) -> None:
    """Its nanny starts it again and again."""
    cluster.workers("one")
    run = project.begin(cluster.address, number=400)
    wait_for(project.has_begun)
    cluster.worker("two", "--nanny", environment=lacking)
    said = run.communicate(timeout=60)[0]
    assert run.returncode == 1
    assert "a worker cannot compute units of this run" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cpus", "token", "status", "expected"),
    [
        (0, "", 1, "has no CPUs: start a node with some"),
        (1, "ab" * 32, 1, "it asks for another token"),
        (1, "", 0, "1 job built"),
        (1, "", 1, "Shortloop none (ModuleNotFoundError"),
    ],
)
def test_a_head_of_ray(
    project: Waiting, lacking: dict[str, str], cpus: int, token: str, status: int, expected: str
) -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    own = {name: each for name, each in os.environ.items() if not name.startswith("RAY_")}
    own |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token} if token else {"RAY_AUTH_MODE": "disabled"}
    own |= lacking if "Shortloop none" in expected else {}
    ray, port = Path(sys.executable).with_name("ray"), free_port()
    folder = tempfile.mkdtemp(prefix="sl-")
    command = [str(ray), "start", "--head", "--block", f"--num-cpus={cpus}", f"--port={port}"]
    command += ["--include-dashboard=false", "--disable-usage-stats", f"--temp-dir={folder}"]
    head = subprocess.Popen(command, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: listens(HOST, port))
        run = project.begin(f"{HOST}:{port}", name="ray", number=3, seconds=0.1, silence=10)
        said, _ = run.communicate(timeout=120)
        assert run.returncode == status, said
        assert expected in said
        assert "Traceback" not in said
    finally:
        head.send_signal(signal.SIGTERM)
        head.wait()
        shutil.rmtree(folder, ignore_errors=True)
