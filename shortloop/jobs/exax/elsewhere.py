"""A process that computes units of a job, and that exax has not started, made like those that it starts."""

from __future__ import annotations

import contextlib
import importlib
import os
import socket
import sys
from pathlib import Path

from shortloop.engines.messages import JobWork
from shortloop.engines.node_cache import INSIDE
from shortloop.engines.refusing import refuse_what_is_not_here
from shortloop.jobs.exax.datasets import refuse_other_slices
from shortloop.jobs.exax.libraries import note_libraries_of
from shortloop.jobs.exax.loading import forget_modules, loaded_modules
from shortloop.jobs.exax.watch import watch_units
from shortloop.jobs.project import project_directory
from shortloop.jobs.store.lookup import here
from shortloop.jobs.store.notes import note, take_notes

__all__ = ["be_of_job"]


def be_of_job(work: JobWork, folder: Path) -> None:
    """From now on, this process is one of a job. It has loaded nothing of other jobs; what it loads and reads
    is noted.

    Parameters
    ----------
    work : JobWork
        The job.
    folder : Path
        Of this process alone, where it notes.
    """
    from accelerator import g, job

    os.chdir(folder)
    mirrored = work.get("mirrored")
    if mirrored is not None:  # jobs and inputs lie in a folder of their own, which is the project from now on
        sys.path.insert(0, f"{mirrored['data']}/{INSIDE}")
    g.running, g.slices = "analysis", work["slices"]
    # Where exax's parts say what they do; nobody listens, which is not wrong.
    os.environ["BD_STATUS_FD"] = str(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).detach())
    refuse_other_slices()
    job.WORKDIRS.update({name: str(each) for name, each in here().workdirs.items()})
    take_notes(folder)
    above = {work["package"].rsplit(".", depth)[0] for depth in range(work["package"].count(".") + 1)}
    forget_modules(set(loaded_modules()) - {*work["closure"]} - above)
    note(loaded={name: found for name, found in loaded_modules().items() if name in work["closure"]})
    note_libraries_of(work["closure"])
    watch_units()
    if mirrored is not None:
        refuse_what_is_not_here(mirrored)
    os.chdir(project_directory())  # as where exax's jobs import their methods
    with contextlib.suppress(Exception):  # a unit says why, if it cannot be imported
        importlib.import_module(f"{work['package']}.a_{work['task']['name']}")
    os.chdir(folder)
