"""Asking exax to build a job, and what to do when it can't."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any, Protocol

from shortloop.errors import InputError
from shortloop.jobs.exax.as_loaded import forget_what_is_read
from shortloop.jobs.exax.cost import TICKS, runner
from shortloop.jobs.exax.listener import ask
from shortloop.jobs.exax.tracebacks import of_user
from shortloop.jobs.keys.code import code_file, code_state, code_text, says_code
from shortloop.jobs.keys.file_state import CHANGED, State
from shortloop.jobs.keys.installed import environment
from shortloop.jobs.keys.methods import find_method
from shortloop.jobs.project import configuration, project_directory
from shortloop.jobs.system_errors import system_error_in
from shortloop.plain import Plain
from shortloop.text import printable

__all__ = [
    "ExaxJob",
    "JobIds",
    "Urd",
    "abort",
    "build",
    "is_idle",
    "load_as_now",
    "made_since_boot",
    "reload_methods",
]

# States of libraries and declared files that are older than the methods that exax has loaded.
_older: list[list[tuple[str, State]]] = []

ABORTS, ABORT_EVERY = 50, 0.02  # s
RETRIES = 5


JobIds = str | list[str]
"""Id of a job or dataset, or of each of some."""


class ExaxJob(Protocol):
    """A job as exax gives it."""

    @property
    def path(self) -> str:
        """Its folder."""


class Urd(Protocol):
    """What exax gives to a build script, as far as it is used here."""

    def build(
        self,
        method: str,
        *,
        options: Mapping[str, Plain],
        jobs: Mapping[str, JobIds],
        datasets: Mapping[str, JobIds],
        caption: str,
        **more: bool,
    ) -> ExaxJob:
        """Build a job, or find one."""


def build(
    urd: Urd,
    method: str,
    *,
    options: Mapping[str, Plain],
    jobs: Mapping[str, JobIds],
    datasets: Mapping[str, JobIds],
    caption: str,
    force: bool = False,
) -> Path:
    """Build a job, or find one that exax thinks is the same.

    Another client that has exax load the methods anew kills the job that runs; it is then started again.
    Whatever ends this process on the way ends the job too.

    Parameters
    ----------
    urd : Urd
        As exax gives it to a build script.
    method : str
        Name of the method.
    options : mapping
        Its options.
    jobs, datasets : mapping of str to (str or list of str)
        Ids of the jobs and datasets that it is made from.
    caption : str
        What exax's lists say of it.
    force : bool, default False
        Build it even if exax has one.

    Returns
    -------
    Path
        The job's folder.

    Raises
    ------
    InputError
        If the methods can't be imported, the server is gone, or the job failed with one, or for lack of
        files or memory.
    accelerator.error.JobError
        If the job failed; exax has said why.
    """
    from accelerator.error import BuildError, JobError, ServerError

    for attempt in range(RETRIES):
        since = time.clock_gettime(time.CLOCK_BOOTTIME)
        printed = io.StringIO()
        try:
            # exax says a line for each job as well; ours say the partition.
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(printed):
                more = {"force_build": True} if force else {}
                job = urd.build(
                    method,
                    options=_in_order(dict(options)),
                    jobs=dict(jobs),
                    datasets=dict(datasets),
                    caption=caption,
                    **more,
                )
            return Path(job.path)
        except JobError as error:
            if attempt + 1 == RETRIES or not _was_cut_off(error, since):
                for fault in filter(None, map(system_error_in, error.status.values())):
                    printed.truncate(0)  # it is a traceback
                    raise fault from None
                printed = io.StringIO(of_user(printable(printed.getvalue())))
                raise
            print(f"{error.job} was cut off from outside; it starts again", flush=True)
            if attempt:  # else somebody had the methods loaded anew, and exax has a new process for them
                reload_methods()
        except ServerError as error:
            said = str(error)
            if "Busy" not in said:
                raise InputError(
                    "the exax server does not answer",
                    found=said,
                    hint="run again: finished jobs are kept",
                ) from None
            _wait_until_idle()
        except BuildError as error:
            if "Unknown method" not in str(error):
                raise
            raise _broken(method) from None
        except (OSError, HTTPException) as error:
            found = f"{type(error).__name__}: {error}"
            raise system_error_in(found) or InputError(
                "the exax server went away while a job ran",
                found=found,
                hint="start it again and run again: finished jobs are kept",
            ) from None
        except (KeyboardInterrupt, SystemExit):
            abort()
            raise
        finally:
            print(printed.getvalue(), file=sys.stderr, end="", flush=True)
    raise InputError("the exax server is busy with somebody else's jobs", hint="run again later")


def _in_order(value: Plain) -> Any:
    """Options in dicts that exax does not sort."""
    if isinstance(value, Mapping):
        return OrderedDict((name, _in_order(each)) for name, each in value.items())
    return [*map(_in_order, value)] if isinstance(value, list | tuple) else value


def abort() -> None:
    """End the job that runs, if the server is not stopped.

    A job that has just been forked is not known to the server yet, which then ends nothing: it is asked
    again.
    """
    with contextlib.suppress(Exception):
        for _ in range(ABORTS):
            ended = json.loads(ask("abort") or b"{}").get("killed")
            if ended or json.loads(ask("status") or b'{"idle": true}')["idle"]:
                return
            time.sleep(ABORT_EVERY)


def is_idle() -> bool:
    """Whether the server builds no job now.

    Returns
    -------
    bool
    """
    return bool(_call("status")["idle"])


def load_as_now(method: str) -> None:
    """Have exax load the methods anew if the code of one, or a library, changed since it did. No job may be
    running.

    Parameters
    ----------
    method : str
        Name of the method.
    """
    file = find_method(method)[1]
    loaded = code_file(file)
    if says_code(file) and loaded.is_file() and loaded.read_text(encoding="utf-8") != code_text(file):
        reload_methods()
        return
    watched = [*code_state(file).watched, *environment()]
    if watched not in _older:
        since = _started()
        if any(state[CHANGED] > since for _, state in watched):
            reload_methods()
        _older.append(watched)


def reload_methods() -> None:
    """Have exax load the methods as they are now. No job may be running."""
    forget_what_is_read()
    _call("update_methods")


def made_since_boot(folder: Path) -> bool:
    """Whether a job was made since the machine started, so that no power cut can have cut its files short.

    Parameters
    ----------
    folder : Path
        The job's folder.

    Returns
    -------
    bool
    """
    uptime = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    post = json.loads((folder / "post.json").read_text(encoding="utf-8"))
    return bool(post["starttime"] > time.time() - uptime)


def _was_cut_off(error: Any, since: float) -> bool:
    """Whether a job failed as the process that forks jobs was killed, and not by an error of its own."""
    if "INTERNAL" in error.status or "Runner exited" in str(error.status):
        return True
    if "launcher" not in error.status:
        return False
    found = runner()  # killed with its job, it is another one now
    return found is None or found[1] / TICKS > since


def _started() -> float:
    """When the process began that has loaded the methods, nanoseconds since 1970; never, if there is none."""
    found = runner()
    if found is None:
        return math.inf
    return time.time_ns() - 1e9 * (time.clock_gettime(time.CLOCK_BOOTTIME) - found[1] / TICKS)


def _wait_until_idle() -> None:
    while not _call("status?timeout=60")["idle"]:
        pass


def _broken(method: str) -> InputError:
    """What keeps a method from being imported by exax's server, which says so in its log only."""
    package, file = find_method(method)
    done = subprocess.run(
        [sys.executable, "-c", f"import {package}.a_{method}"],
        cwd=project_directory(),
        env={**os.environ, "PYTHONPATH": str(project_directory())},
        capture_output=True,
        text=True,
        check=False,
    )
    said = of_user(done.stderr).strip() or "the exax server cannot import it; its log says why"
    return InputError(
        f"the method {method} cannot be imported",
        file=file,
        found="\n".join(["", *said.splitlines()]).replace("\n", "\n    "),
        hint="mend it and run again; if it can be imported here, start the server again",
    )


def _call(what: str) -> Any:
    from accelerator.unixhttp import call

    return call(f"{configuration().url}/{what}")
