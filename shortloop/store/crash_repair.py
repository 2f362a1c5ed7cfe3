"""Clean up after a crash, for the exax server and the next run; no finished job is lost."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from shortloop.base.errors import InputError
from shortloop.project.project import (
    DELETED,
    FINISHED,
    SET_ASIDE,
    cache_directory,
    job_folders,
    project_directory,
    write_atomically,
)
from shortloop.store.process_notes import NOTED
from shortloop.store.setup import json_object, setup_of

OWNER = ".owner"
BROKEN = "post.broken.json"  # new name of an unreadable post.json
UNFINISHED = "unfinished"  # empty file that marks an unfinished job
CHECKPOINTS = ".checkpoints"
"""Folder of a workdir with a folder for each job that was not finished, and keeps what its units gave."""
LISTS = "urd.db"  # exax has no setting for that
KEPT = {"setup.json", "method.tar.gz", "OUTPUT", NOTED}
PATIENCE = 1.0  # seconds to wait for a workdir that is only being inspected, or a killed job that ends
PROJECT = ", project "

_owned: list[IO[str]] = []


def own(workdirs: Mapping[str, Path]) -> None:
    """Lock workdirs for this process's lifetime; exit if another server holds one."""
    for name, workdir in workdirs.items():
        stream = (workdir / OWNER).open("a+", encoding="utf-8")
        if not locked_soon(stream):
            stream.seek(0)
            problem = f"the workdir {name} is in use by another exax server"
            hint = "end that server, or name another workdir in accelerator.conf"
            owner = stream.read().strip() or "an unknown server"
            error = InputError(problem, file=workdir, found=owner, hint=hint)
            print(f"shortloop: {error.message}", file=sys.stderr, flush=True)
            raise SystemExit(1)
        stream.truncate(0)
        stream.write(f"process {os.getpid()} on {os.uname().nodename}{PROJECT}{Path.cwd()}\n")
        stream.flush()
        _owned.append(stream)  # closing it would let go of the lock


def foreign_server(workdir: Path) -> str:
    """Describe the exax server of another project that holds a workdir and may run a job in it."""
    try:
        stream = (workdir / OWNER).open(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return ""
        except OSError:
            owner = stream.read().strip()
    project = os.path.realpath(owner.partition(PROJECT)[2])
    return "" if project == os.path.realpath(project_directory()) else owner or "an unknown server"


def mend(workdirs: Mapping[str, Path]) -> None:
    """Take jobs out of use whose files a power cut truncated: the server would not start with them."""
    found = []
    for folder in job_folders(workdirs):
        post = folder / FINISHED
        if not post.exists():
            continue
        broken = [file.name for file in (post, folder / "setup.json") if not json_object(file)]
        if broken:
            post.replace(folder / BROKEN)
            found.append(f"{folder.name} was truncated ({', '.join(broken)}) and is not used any more")
    if found:
        print("\n".join(found), flush=True)
        write_atomically(_messages(), "\n".join(found) + "\n")


def repair_lists(project: Path) -> list[str]:
    """Drop lines of exax's build lists that a power cut or a full disk truncated: its server would exit."""
    found = []
    for file in (project / LISTS).glob("*/*.urd"):
        lines = file.read_bytes().splitlines(keepends=True)
        whole = [line for line in lines if _is_entry(line)]
        if len(whole) < len(lines):
            found.append(f"{file}: {len(lines) - len(whole)} truncated lines are dropped")
            write_atomically(file, b"".join(whole).decode())
    return found


def tidy(workdirs: Mapping[str, Path]) -> list[str]:
    """Delete the files of unfinished jobs, except settings and output."""
    found = []
    if _messages().is_file():
        found = _messages().read_text(encoding="utf-8").splitlines()
        _messages().unlink()
    own_alone = {name: workdir for name, workdir in workdirs.items() if not foreign_server(workdir)}
    for folder in job_folders(own_alone):
        if os.path.exists(folder / FINISHED):
            continue
        names = set(os.listdir(folder))
        setup = setup_of(folder)
        # A build script has no files of its own, and may be running.
        if names & {SET_ASIDE, BROKEN, UNFINISHED, DELETED} or setup.get("is_build"):
            continue
        (folder / UNFINISHED).touch()
        for name in names - KEPT:
            file = folder / name
            if file.is_dir() and not file.is_symlink():
                shutil.rmtree(file, ignore_errors=True)
            else:
                file.unlink(missing_ok=True)
        what = setup.get("caption") or setup.get("method") or "a job"
        done, units = kept_units(folder.parent).get(folder.name, (0, 0))
        left = f"{done:,} of {units:,} units are kept" if done else "what it left is deleted"
        found.append(f"{folder.name} ({what}) did not finish; {left}")
    return found


def kept_units(workdir: Path) -> dict[str, tuple[int, int]]:
    """Count finished and all units of interrupted jobs."""
    found = {}
    for job in workdir.glob(f"{CHECKPOINTS}/*/job"):
        with contextlib.suppress(OSError):
            done = job.with_name("done").read_bytes()
            found[job.read_text(encoding="utf-8")] = done.count(1), len(done)
    return found


def locked_soon(stream: IO[str]) -> bool:
    """Take a lock that somebody may hold for a moment; False if it is held for longer."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)


def _messages() -> Path:
    """File with messages of the server for the next run."""
    return cache_directory("jobs") / "mended.txt"


def _is_entry(line: bytes) -> bool:
    """True if exax can read a line: of the old format, an addition, or a truncation."""
    fields = line.split(b"\t")
    length = {b"add": (9, 10), b"truncate": (5,)}.get(fields[2], ()) if len(fields) > 2 else ()
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return False
    return text.endswith("\n") and "\0" not in text and (len(fields) in length or text.startswith("3|"))
