"""slurm.py writes jobs that start workers, and runs a command on them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from deploy_compose import DEPLOY, Machines, machines, make_certificates
from python_process import finished

pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")

# Both do what Slurm does with them, on this machine. The script is gone as soon as it is handed in.
SBATCH = """#!/bin/sh
cp "$1" "$FAKE_SLURM/script"
setsid bash "$FAKE_SLURM/script" >"$FAKE_SLURM/job.log" 2>&1 &
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
for job in "$@"; do kill -TERM -- "-$job"; done
"""
COMPUTES = """
import os
from distributed import Client
with Client(os.environ["SHORTLOOP_ENGINE"].removeprefix("dask:"), timeout="30s") as client:
    client.wait_for_workers(2)
    print(client.gather(client.map(pow, range(5), [2] * 5)), sorted(client.nthreads().values()))
    print(set(client.run(os.getenv, "NUMBA_NUM_THREADS").values()), set(client.run(os.getcwd).values()))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    make_certificates(tmp_path / "certificates", "127.0.0.1")
    return tmp_path


def options(*more: str) -> list[str]:
    return [
        *("--jobs", "1", "--cores", "2", "--memory", "1GB", "--interface", "lo", "--queue", "short"),
        *("--account", "lab", "--walltime", "01:30:00", *more),
    ]


def run(
    project: Path, *more: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    alone = environment or {**os.environ, "PYTHONPATH": str(DEPLOY.parent)}
    return finished([sys.executable, DEPLOY / "slurm.py", *options(*more)], project, alone)


def test_the_job_has_what_was_asked_for(project: Path) -> None:
    done = run(project, "--print-job")
    assert done.returncode == 0, done.stderr
    asked = set(re.findall(r"^#SBATCH (.*)$", done.stdout, flags=re.M))
    assert asked >= {"-p short", "-A lab", "-t 01:30:00", "--cpus-per-task=2", "--mem=954M"}
    assert f"cd {project}\n" in done.stdout
    assert "export OMP_NUM_THREADS=1\n" in done.stdout
    command = done.stdout.strip().splitlines()[-1]
    assert re.search(r"distributed\.cli\.dask_worker tls://127\.0\.0\.1:\d+ ", command)
    assert "--nthreads 1 " in command
    assert "--nworkers 2 " in command
    for option, name in (("ca-file", "ca.pem"), ("cert", "worker.pem"), ("key", "worker.key")):
        assert f"--tls-{option} {project}/certificates/{name}" in command


def test_it_says_what_is_missing(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 2
    assert "certificates.sh" in done.stderr


@pytest.fixture
def slurm(project: Path) -> Iterator[Machines]:
    folder = project / "slurm"
    folder.mkdir()
    for name, script in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    with machines(folder) as made:
        yield made


@pytest.mark.live
def test_a_command_runs_on_its_workers(project: Path, slurm: Machines) -> None:
    own = slurm.environment({"FAKE_SLURM": str(slurm.folder), "PYTHONPATH": str(DEPLOY.parent)})
    own["PATH"] = f"{slurm.folder}{os.pathsep}{own['PATH']}"
    done = run(project, "--", sys.executable, "-c", COMPUTES, environment=own)
    assert done.returncode == 0, done.stderr + slurm.said()
    assert done.stdout.splitlines()[-2:] == ["[0, 1, 4, 9, 16] [1, 1]", f"{{'1'}} {{'{project}'}}"]
    assert "export SHORTLOOP_ENGINE=dask:tls://127.0.0.1:" in done.stdout
