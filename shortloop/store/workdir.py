"""A workdir: the projects that share it, and its lock, as exax serves one client at a time."""

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
from shortloop.project.project import CONFIGURATION, cache_directory, configuration, project_directory
from shortloop.project.system_errors import FULL, READ_ONLY, if_writable

HIDDEN = ".shortloop"  # folder of a workdir; exax only looks at names of jobs


def hidden_folder(workdir: Path) -> Path:
    """Folder for the index and the lock of a workdir, created if needed."""
    folder = workdir / HIDDEN
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if error.errno in FULL:  # which has a message of its own
            raise
        if error.errno in READ_ONLY and workdir.is_dir():
            return folder
        hint = "mount its disk, or see that you may write there; `workdirs` in accelerator.conf names it"
        raise InputError(f"the workdir cannot be used ({error.strerror})", file=workdir, hint=hint) from None
    return folder


def project_name(workdir: Path) -> str:
    """Name of this project in a workdir: relative if both can be moved together."""
    inside, project = os.path.realpath(workdir), os.path.realpath(project_directory())
    return os.path.relpath(project, inside) if Path(inside).is_relative_to(project) else project


def project_at(workdir: Path, name: str) -> Path:
    """Folder of a project by its name in a workdir."""
    return Path(os.path.normpath(os.path.join(os.path.realpath(workdir), name)))


def is_gone(project: str) -> bool:
    """True if another project no longer uses any workdir of this one."""
    from accelerator.configfile import load_config

    file = os.path.join(project, CONFIGURATION)
    try:
        if not os.path.isfile(file):
            return True
        used = load_config(file).workdirs.values()
    except Exception:  # exax fails in many ways at what it cannot read
        return False
    return not set(used).intersection(configuration().workdirs.values())


HELD = "SHORTLOOP_RUN"  # variable that says to a child process that its parent holds the lock for it
LOCK = "run.lock"


@contextmanager
def only_run(what: str, wait: bool = True) -> Iterator[None]:
    """Lock the project and its workdirs until this process ends; wait for another one, of any project."""
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
        problem = "this command cannot write to the project"
        hint = "run the command as the project's owner, or in a copy"
        raise InputError(problem, file=file, found=error.strerror, hint=hint) from None


def _lock(stream: IO[str], wait: bool, project: str) -> None:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.seek(0)
        try:
            said = json.loads(stream.read())
            of = "" if said["project"] == project else f" of the project {said['project']}"
            holder = f"{said['what']}{of}, process {said['pid']}, since {said['since']}"
        except (ValueError, KeyError, TypeError):
            holder = "a process that does not say which"
        if not wait:
            raise InputError("a run is in progress", found=holder, hint="wait until it has ended") from None
        print(one_line(f"waiting for another run to end: {holder}"), flush=True)
        fcntl.flock(stream, fcntl.LOCK_EX)
