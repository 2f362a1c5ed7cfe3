"""One run at a time, of a project and of each workdir.

exax serves one client at a time, and a second run would end the job of the first.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from shortloop.base.errors import InputError
from shortloop.base.text import one_line
from shortloop.project.project import cache_directory, configuration, project_directory
from shortloop.project.system_errors import READ_ONLY, if_writable
from shortloop.store.workdir import hidden_folder

__all__ = ["HELD", "only_run"]

HELD = "SHORTLOOP_RUN"
"""Variable that says to a child process that its parent holds the lock for it."""
LOCK = "run.lock"


@contextmanager
def only_run(what: str, wait: bool = True) -> Iterator[None]:
    """Hold the project's run and its workdirs; while another process does, perhaps of another project that
    uses one of these, say so and wait for it to end.

    The system lets go of it when the process ends, however it ends.
    """
    if os.environ.get(HELD) == str(os.getppid()):
        yield
        return
    project = os.path.realpath(project_directory())
    # Everybody takes workdirs in the same order, so that no two wait for each other.
    workdirs = sorted({os.path.realpath(workdir) for workdir in configuration().workdirs.values()})
    mine = {"what": what, "project": project, "pid": os.getpid(), "since": time.strftime("%H:%M:%S")}
    with ExitStack() as held:
        for folder in (cache_directory("jobs"), *(hidden_folder(Path(each)) for each in workdirs)):
            stream = held.enter_context(_open(folder / LOCK))
            _lock(stream, wait, project)
            with if_writable():  # on a full disk, jobs can still be deleted
                stream.truncate(0)
                os.write(stream.fileno(), json.dumps(mine).encode())
        yield


def _open(file: Path) -> IO[str]:
    try:
        return file.open("a+", encoding="utf-8")
    except OSError as error:
        if error.errno not in (*READ_ONLY, errno.ENOENT):  # its folder is not there as it may not be made
            raise
        raise InputError(
            "this command cannot write to the project",
            file=file,
            found=error.strerror,
            hint="run the command as the project's owner, or in a copy",
        ) from None


def _lock(stream: IO[str], wait: bool, project: str) -> None:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.seek(0)
        holder = _told(stream.read(), project)
        if not wait:
            hint = "wait until it has ended"
            raise InputError("a run is in progress", found=holder, hint=hint) from None
        print(one_line(f"waiting for another run to end: {holder}"), flush=True)
        fcntl.flock(stream, fcntl.LOCK_EX)


def _told(text: str, project: str) -> str:
    try:
        holder = json.loads(text)
        of = "" if holder["project"] == project else f" of the project {holder['project']}"
        return f"{holder['what']}{of}, process {holder['pid']}, since {holder['since']}"
    except (ValueError, KeyError, TypeError):
        return "a process that does not say which"
