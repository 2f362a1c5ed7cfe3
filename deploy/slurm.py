"""An example for Slurm: a Dask cluster of jobs, and a run of a pipeline on it.

    python deploy/slurm.py --jobs 10 --cores 16 --memory 60GB -- shortloop run analysis

The scheduler is this process, so start it where it may stay, as in a job of its own or in tmux. Without a
command it says how to reach the cluster, and keeps it until Ctrl+C. It needs dask-jobqueue, and certificates
as deploy/certificates.sh makes them, in a folder that all machines see.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import dask
from dask_jobqueue import SLURMCluster
from distributed import Client, Security

from shortloop.stages.threads import VARIABLES

SETTINGS = Path(__file__).with_name("dask.yaml")


def main(arguments: list[str] | None = None) -> int:
    """Start a cluster, and run the command if there is one; its exit status."""
    options = options_of(sys.argv[1:] if arguments is None else arguments)
    dask.config.refresh(paths=[*dask.config.paths, str(SETTINGS)])
    # Ended in any way, it takes its jobs along.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with cluster_of(options) as cluster:
        if options.print_job:
            print(cluster.job_script())
            return 0
        # Slurm ends jobs at their time limit. This asks for new ones in their place.
        cluster.adapt(minimum_jobs=options.jobs, maximum_jobs=options.jobs)
        reached = how_to_reach(cluster.scheduler_address, options.certificates)
        for name, value in reached.items():
            print(f"export {name}={shlex.quote(value)}", flush=True)
        if not options.command:
            with contextlib.suppress(KeyboardInterrupt):
                threading.Event().wait()
            return 0
        with Client(cluster) as client:
            client.wait_for_workers(1)
        return subprocess.run(options.command, env={**os.environ, **reached}, check=False).returncode


def options_of(arguments: list[str]) -> argparse.Namespace:
    """What the command line says; after `--` is the command to run."""
    parser = argparse.ArgumentParser(prog="slurm.py", description="a Dask cluster of Slurm's jobs")
    parser.add_argument("--jobs", type=int, required=True, help="how many jobs of Slurm")
    parser.add_argument("--cores", type=int, required=True, help="of each job: so many workers are in it")
    parser.add_argument("--memory", required=True, help="of each job, such as 60GB; shared by its workers")
    parser.add_argument("--walltime", default="08:00:00", help="of each job; a new one follows (%(default)s)")
    parser.add_argument("--queue", help="the partition")
    parser.add_argument("--account", help="who pays")
    parser.add_argument(
        "--interface", help="network between the machines, such as ib0; default: Dask's choice"
    )
    parser.add_argument("--port", type=int, default=0, help="of the scheduler; default: any that is free")
    parser.add_argument("--certificates", type=Path, default=Path("certificates"), help="folder; %(default)s")
    parser.add_argument("--logs", type=Path, default=Path("logs"), help="folder of Slurm's logs; %(default)s")
    parser.add_argument("--print-job", action="store_true", help="only print the script of one job")
    parser.add_argument("command", nargs="*", help="after --: what to run on the cluster")
    options = parser.parse_args(arguments)
    for folder in (options.certificates, options.logs):
        if any(sign.isspace() for sign in str(folder.resolve())):
            parser.error(f"{folder.resolve()} has a blank: dask-jobqueue cannot write that into its scripts")
    if not (options.certificates / "ca.pem").is_file():
        parser.error(f"no certificates in {options.certificates.resolve()}: make them with certificates.sh")
    return options


def cluster_of(options: argparse.Namespace) -> Any:
    """A cluster whose scheduler is in this process, and that has no jobs yet."""
    files = options.certificates.resolve()
    security = Security(
        require_encryption=True,
        tls_ca_file=str(files / "ca.pem"),
        **{
            f"tls_{role}_{kind}": str(files / f"{role}.{ending}")
            for role in ("scheduler", "worker", "client")
            for kind, ending in (("cert", "pem"), ("key", "key"))
        },
    )
    return SLURMCluster(
        queue=options.queue,
        account=options.account,
        cores=options.cores,
        processes=options.cores,  # units of work are Python, which runs one thread at a time
        memory=options.memory,
        walltime=options.walltime,
        interface=options.interface,
        security=security,
        # The page asks nobody for a certificate: it is for this machine alone, as are those of the workers.
        scheduler_options={"port": options.port, "dashboard_address": "127.0.0.1:0"},
        worker_extra_args=["--dashboard-address", "127.0.0.1:0"],
        death_timeout=300,
        python=shlex.quote(sys.executable),
        log_directory=str(options.logs.resolve()),
        job_script_prologue=[
            "ulimit -n $(ulimit -H -n)",
            f"cd {shlex.quote(str(Path.cwd()))}",
            f"export DASK_CONFIG={shlex.quote(str(SETTINGS.resolve()))}",
            *(f"export {name}=1" for name in VARIABLES),
        ],
    )


def how_to_reach(address: str, certificates: Path) -> dict[str, str]:
    """Variables with which Shortloop finds the cluster, and Dask the certificates of the client."""
    files = certificates.resolve()
    return {
        "SHORTLOOP_ENGINE": f"dask:{address}",
        "DASK_CONFIG": str(SETTINGS.resolve()),
        "DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(files / "ca.pem"),
        "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT": str(files / "client.pem"),
        "DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY": str(files / "client.key"),
    }


if __name__ == "__main__":
    raise SystemExit(main())
