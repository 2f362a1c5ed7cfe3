"""Run a kept job again in a scratch folder, without a server: ``python -m shortloop.exax.repeated_job``.

This process stands in for exax's runner: it imports the method and forks the job. The job reads its inputs
where they are and writes into the scratch folder alone, so the cache stays as it is.

Made for exax 2025.11.11. Upstream: `launch.run` could be called without a server, as it is here.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from shortloop.keys.code import declares_code
from shortloop.keys.methods import find_method
from shortloop.project.project import configuration, import_from_project, project_directory
from shortloop.stages.records import EARLIER, RETRIED
from shortloop.stages.threads import set_single_thread
from shortloop.store.process_notes import keep_logs
from shortloop.store.setup import setup_of
from shortloop.units.messages import JobWork
from shortloop.units.process_ends import forks_end_with_this
from shortloop.units.recording import recorder_of, time_units, timed

SCRATCH = "scratch"  # workdir of the repeated job, in the scratch folder
PHASES = ("prepare", "analysis", "synthesis")
PIPE = 65536


def lay_out_scratch(job: Path, folder: Path) -> Path:
    """Make the folder of a job that is to be repeated; it takes no results of others over."""
    setup: Any = setup_of(job)
    made = folder / SCRATCH / f"{SCRATCH}-1"
    made.mkdir(parents=True)
    options = {name: None if name in (EARLIER, RETRIED) else each for name, each in setup["options"].items()}
    (folder / "kept").symlink_to(job.resolve())
    setup |= {"jobid": made.name, "options": options}
    (made / "setup.json").write_text(json.dumps(setup), encoding="utf-8")
    return made


def main(folder: Path) -> int:
    """Repeat the job of a scratch folder; 0 if it succeeds. Its errors are printed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: who has started this ends it
    set_single_thread()
    os.chdir(project_directory())
    order = json.loads((folder / "recorder.json").read_text(encoding="utf-8"))
    setup: Any = setup_of(folder / SCRATCH / f"{SCRATCH}-1")
    from accelerator import iowrapper, launch

    from shortloop.exax import datasets, tracebacks
    from shortloop.exax.notebook_methods import find_method_of
    from shortloop.exax.patches import patch
    from shortloop.exax.patches.job_monitor import name_lost_units
    from shortloop.exax.patches.preload import import_all, imports_of
    from shortloop.exax.patches.processes import keep_line_ends, refuse_unknown_version
    from shortloop.exax.unit_processes import UnitForks

    refuse_unknown_version()
    keep_line_ends()

    @patch(iowrapper, "reader")
    def read_output(original: Any, *arguments: Any, **more: Any) -> None:
        with suppress(OSError):  # it deletes its folder, in which units have files, or which is gone
            original(*arguments, **more)

    tracebacks.keep_causes()
    name_lost_units()
    datasets.refuse_other_slices()
    keep_logs()
    forks_end_with_this()
    import_from_project()
    find_method_of(setup, folder / "kept")
    forks = UnitForks()
    if declares_code(find_method(setup["method"])[1]):  # then this is what exax's runner has loaded as well
        import_all(imports_of(setup["method"], setup["options"]["modules"] or ()))
    os.environ["BD_STATUS_FD"] = str(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).detach())
    os.environ["BD_TERM_FD"] = str(os.dup(1))
    reader, writer = os.pipe()
    data = {
        "workdir": str(folder / SCRATCH),
        "jobid": f"{SCRATCH}-1",
        "slices": setup["slices"],
        "concurrency": -1,
        "workdirs": {**configuration().workdirs, SCRATCH: str(folder / SCRATCH)},
        "prof_fd": writer,
    }
    process = os.fork()
    if not process:
        try:
            os.setpgid(0, 0)
            os.close(reader)
            method = importlib.import_module(f"{setup['package']}.a_{setup['method']}")
            _record_phases(method, folder, order)
            launch.run(**data)
        finally:
            os._exit(1)
    os.close(writer)
    said = _served(reader, forks)
    os.waitpid(process, 0)
    status, result = json.loads(said) if said else ({"launch": "the job was killed"}, None)
    return 0 if result and not status else 1


def _served(reader: int, forks: Any) -> bytes:
    """Fork processes for units while the job runs; return what it says at its end."""
    said = b""
    while True:
        ready, _, _ = select.select([reader, forks.pipe], [], [])
        if forks.pipe in ready:
            forks.answer()
        if reader in ready:
            part = os.read(reader, PIPE)
            if not part:
                return said
            said += part


def _record_phases(method: Any, folder: Path, order: list[str]) -> None:
    """Have the functions that exax calls, and what computes their units elsewhere, recorded."""
    from shortloop.exax import method as of_stages

    recorder, space = recorder_of(order, folder), vars(of_stages)

    def recorded(phase: str) -> Callable[..., Any]:
        original = getattr(method, phase)

        @functools.wraps(original)
        def call(*arguments: Any, **more: Any) -> Any:
            with timed(folder, phase), recorder(phase):
                return original(*arguments, **more)

        call.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
        return call

    def work_with_recorder(*arguments: Any) -> JobWork:
        work: JobWork = original_work(*arguments)
        work["recorder"] = order
        return work

    for phase in PHASES:
        if hasattr(method, phase):
            setattr(method, phase, recorded(phase))
    original_work, space["work_of_job"] = space["work_of_job"], work_with_recorder
    time_units(space, folder)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
