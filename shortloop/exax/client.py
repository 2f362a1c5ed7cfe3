"""Requests to the exax server: jobs, several at a time, errors and retries, and identification.

Made for exax 2025.11.11. Upstream: nothing; requests of exax's protocol are written here, which must stay as
they are.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager as ContextManager
from http.client import HTTPException, RemoteDisconnected
from pathlib import Path
from typing import Any, NotRequired, Protocol, TypedDict, Unpack, cast
from urllib.parse import urlencode

from shortloop.base.errors import InputError, JobFailed
from shortloop.base.plain import Plain
from shortloop.base.text import printable
from shortloop.exax.cost import TICKS, runner
from shortloop.exax.listener import ask, is_idle, socket_file
from shortloop.exax.patches.method_loading import forget_what_is_read
from shortloop.exax.patches.parallel_jobs import CLIENT, FOLLOWED, NUMBER, RESERVE
from shortloop.exax.tracebacks import of_user
from shortloop.keys.code import code_file, code_state, code_text, declares_code
from shortloop.keys.file_state import CHANGED, State, unless_changed
from shortloop.keys.installed import environment
from shortloop.keys.methods import find_method
from shortloop.project.project import configuration
from shortloop.project.system_errors import system_error_in

ABORTS, ABORT_EVERY = 50, 0.02  # s
SUBMIT = b"POST /submit HTTP/1.0\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: "
# States of libraries and declared files that are older than the methods that exax has loaded.
_older: list[list[tuple[str, State]]] = []
_loaded: dict[Path, tuple[list[int], bytes]] = {}  # files that exax has written
RETRIES = 5


class Request(TypedDict):
    """Arguments of a job's build, beside its method."""

    options: Mapping[str, Plain]
    jobs: Mapping[str, str | list[str]]
    datasets: Mapping[str, str | list[str]]
    caption: str
    force_build: bool
    number: NotRequired[int | None]  # which the job gets if no other job has it


class ExaxJob(Protocol):
    """A job as exax gives it, with its folder."""

    path: str


class Urd(Protocol):
    """The object that exax gives to a build script, as far as it is used here."""

    def build(self, method: str, **request: Unpack[Request]) -> ExaxJob:
        """Build or find a job."""


class Exax:
    """Has the server build jobs, several at a time."""

    def __init__(self, lists: object = None, workdir: str = "") -> None:
        self.workdir = workdir or str(configuration().target_workdir)
        # Context in which other threads of the run go on while this one waits for a job.
        self.released: Callable[[], ContextManager[None]] = contextlib.nullcontext
        # True if another job of a method follows, for which to prepare while this one runs.
        self.is_followed: Callable[[str], bool] = lambda method: False
        self._lists: Any = lists  # exax's lists of the jobs of a build script, kept up to date
        self.says_failures = lists is not None  # to whoever runs the script; a notebook shows the error
        self._has_ended = False
        self._lanes: list[str] = []  # cookies of no running job
        self._new_lanes = (f"{CLIENT}{os.getpid()}-{number}" for number in itertools.count(1))
        self._methods: set[str] = set()

    def end(self) -> None:
        """End all running jobs, and start no more."""
        self._has_ended, self.says_failures = True, False
        abort()

    def close(self) -> None:
        """Release unused job numbers; else ids of the next run would depend on the age of the server."""
        with contextlib.suppress(Exception):  # it may be gone, or stopped, and then it is not waited for
            ask(self._reservation(0))

    def reserve(self, count: int) -> int:
        """Reserve consecutive job numbers in place of all reserved before; return the first."""
        return int(call_server(self._reservation(count))["first"])

    def _reservation(self, count: int) -> str:
        return f"{RESERVE}?{urlencode({'count': count, 'workdir': self.workdir})}"

    def build(self, method: str, **request: Unpack[Request]) -> ExaxJob:
        from accelerator import g, setupfile
        from accelerator.error import BuildError, JobError, ServerError
        from accelerator.job import WORKDIRS, Job

        if self._has_ended:
            raise InterruptedError("the run has ended")
        if method not in self._methods:
            WORKDIRS.update(call_server("list_workdirs"))
            self._methods = {*call_server("methods")}
        if method not in self._methods:
            raise BuildError(f"Unknown method {method}")
        lane = self._lanes.pop() if self._lanes else next(self._new_lanes)
        # exax sorts dicts of other kinds.
        options = json.loads(json.dumps(request["options"]), object_pairs_hook=OrderedDict)
        parts = options, dict(request["datasets"]), dict(request["jobs"])
        how = {"force_build": request["force_build"], "parent": getattr(g, "job", None)}
        given = setupfile.generate(request["caption"], method, *parts, **how)
        given |= {"subjob_cookie": lane, "parent_pid": os.getpid(), "workdir": self.workdir}
        given |= {NUMBER: request.get("number"), FOLLOWED: self.is_followed(method)}
        data = urlencode({"json": setupfile.encode_setup(given)}).encode()
        try:
            with self.released():
                reply = _submitted(data)
                if "error" in reply:
                    raise ServerError(f"Submit failed: {reply['error']}")
                if not reply["done"]:
                    _wait_until_idle(f"&subjob_cookie={lane}")
                    errors = call_server(f"last_error?subjob_cookie={lane}").get("last_error", ())
                    for job, failed, status in errors:
                        raise JobError(Job(job, failed), failed, status)
        finally:
            self._lanes.append(lane)
        found = reply["jobs"][method]
        made = Job(found["link"], method)
        if self._lists is not None:
            self._lists.joblist.append(made)
            self._lists.joblist_all.append(made)
            self._lists._all_record.setdefault(made, bool(found["make"]))
        return cast("ExaxJob", made)


def of_server(urd: Urd) -> Urd:
    """Replace exax's own object, which builds one job at a time."""
    from accelerator.build import Urd as TheirUrd

    if not isinstance(urd, TheirUrd):
        return urd
    return Exax(lists=urd._a, workdir=urd.workdir or urd.default_workdir or "")


def abort() -> None:
    """End the running job; ask again, because the server does not know a job that has just been forked."""
    with contextlib.suppress(Exception):
        for _ in range(ABORTS):
            if json.loads(ask("abort") or b"{}").get("killed") or is_idle() is not False:
                return
            time.sleep(ABORT_EVERY)


def _submitted(data: bytes) -> Any:
    """Submit a job; exax's own client takes as long as half of a small job."""
    reply, missing = b"", (ConnectionRefusedError, FileNotFoundError)
    with contextlib.suppress(*missing), socket.socket(socket.AF_UNIX) as asking:
        asking.connect(str(socket_file()))
        asking.sendall(b"".join((SUBMIT, b"%d\r\n\r\n" % len(data), data)))
        while part := asking.recv(65536):
            reply += part
        if not reply:
            raise RemoteDisconnected("Remote end closed connection without response")
    head, _, body = reply.partition(b"\r\n\r\n")
    if head.split(maxsplit=2)[1:2] != [b"200"]:
        return call_server("submit", data)  # which knows what that means, and what to try again
    try:
        return json.loads(body)
    except ValueError:
        raise RemoteDisconnected("Remote end closed connection within its response") from None


def call_server(what: str, data: bytes | None = None) -> Any:
    """Ask the exax server of this project, with exax's own client."""
    from accelerator.error import ServerError
    from accelerator.unixhttp import call

    try:
        return call(f"{configuration().url}/{what}", data=data, quiet=True)
    except ValueError as error:  # it says ERROR, and why in its log
        raise ServerError(f"it failed: {error}") from None


def build(
    urd: Urd, method: str, request: Request, number: Callable[[], int | None], reload: Callable[[], None]
) -> Path:
    """Build a job, or find one that exax takes for the same; return its folder."""
    from accelerator.error import BuildError, JobError, ServerError

    for attempt in range(RETRIES):
        since = time.clock_gettime(time.CLOCK_BOOTTIME)
        request["number"] = number()
        try:
            return Path(urd.build(method, **request).path)
        except JobError as error:
            if attempt + 1 == RETRIES or not _was_cut_off(error, since):
                raise _failure(urd, request["caption"], error) from None
            print(f"{error.job} was cut off from outside; it starts again", flush=True)
            if attempt:  # else somebody had the methods loaded anew, and exax has a new process for them
                reload()
        except ServerError as error:
            text = str(error)
            if "Busy" not in text:
                hint = "run again: finished jobs are kept"
                raise InputError("the exax server does not answer", found=text, hint=hint) from None
            with getattr(urd, "released", contextlib.nullcontext)():  # others, and Ctrl-C, do not wait for it
                _wait_until_idle()
        except BuildError as error:
            if "Unknown method" not in str(error):
                raise
            raise InputError(  # although this process has imported it
                f"the method {method} cannot be imported by the exax server, whose log says why",
                file=find_method(method)[1],
                hint="correct it and run again; if it can be imported here, start the server again",
            ) from None
        except (OSError, HTTPException) as error:
            found = f"{type(error).__name__}: {error}"
            raise system_error_in(found) or InputError(
                "the exax server ended while a job was running",
                found=found,
                hint="start it again and run again: finished jobs are kept",
            ) from None
    raise InputError("the exax server is busy with another user's jobs", hint="run again later")


def _failure(urd: Urd, caption: str, error: Any) -> Exception:
    """Return what to raise for a failed job; its traceback is printed if nothing else says what it was."""
    fault = next(filter(None, map(system_error_in, error.status.values())), None)
    if not isinstance(fault, JobFailed) and getattr(urd, "says_failures", False):
        text = of_user(printable(error.format_msg())).rstrip("\n")
        logs = f"what it printed: shortloop logs {error.job}"
        print(f"{caption} failed:\n{text}\n{logs}", file=sys.stderr, flush=True)
    return fault or error


def is_loaded_as_now(method: str) -> bool:
    """True if exax has loaded the method's code, and the libraries, as they are now."""
    file = find_method(method)[1]
    loaded = code_file(file)
    if declares_code(file) and not _is_as_loaded(loaded, code_text(file)):
        return False
    watched = [*code_state(file).watched, *environment()]
    if watched not in _older:
        if (found := runner()) is not None:  # else they are yet to be loaded
            age = time.clock_gettime(time.CLOCK_BOOTTIME) - found[1] / TICKS
            since = time.time_ns() - 1e9 * age
            if any(state[CHANGED] > since for _, state in watched):
                return False
        _older.append(watched)
    return True


def _is_as_loaded(loaded: Path, text: str) -> bool:
    """True if a file that exax wrote when it loaded a method holds a text, or is missing."""
    with contextlib.suppress(FileNotFoundError):
        return unless_changed(_loaded, loaded, Path.read_bytes) == text.encode()
    return True


def reload_methods() -> None:
    """Have exax reload the methods. No job may be running."""
    forget_what_is_read()
    call_server("update_methods")


def _was_cut_off(error: Any, since: float) -> bool:
    """True if a job failed because the process that forks jobs was killed."""
    if "INTERNAL" in error.status or "Runner exited" in str(error.status):
        return True
    if "launcher" not in error.status:
        return False
    found = runner()  # killed with its job, it is another one now
    return found is None or found[1] / TICKS > since


def _wait_until_idle(of: str = "") -> None:
    while not call_server(f"status?timeout=60{of}")["idle"]:
        pass


def user() -> str:
    """Return the user's name as in exax's lists of jobs."""
    import getpass

    try:
        return os.environ.get("USER") or getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
