"""Submit jobs to the exax server, several at a time.

Made for exax 2025.11.11. Upstream: nothing; it writes requests of exax's protocol itself, which must stay
as they are.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager as ContextManager
from http.client import RemoteDisconnected
from typing import Any, NotRequired, Protocol, TypedDict, Unpack, cast
from urllib.parse import urlencode

from shortloop.base.plain import Plain
from shortloop.exax.listener import ask, socket_file
from shortloop.exax.patches.parallel_jobs import CLIENT, FOLLOWED, NUMBER, RESERVE
from shortloop.project.project import configuration

ABORTS, ABORT_EVERY = 50, 0.02  # s

SUBMIT = b"POST /submit HTTP/1.0\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: "

JobIds = str | list[str]  # of a job or dataset, or of each of some


class Request(TypedDict):
    """Arguments of a job's build, beside its method."""

    options: Mapping[str, Plain]
    jobs: Mapping[str, JobIds]
    datasets: Mapping[str, JobIds]
    caption: str
    force_build: NotRequired[bool]
    number: NotRequired[int | None]  # which the job gets if no other job has it


class ExaxJob(Protocol):
    """A job as exax gives it, with its folder."""

    path: str


class Urd(Protocol):
    """The object that exax gives to a build script, as far as it is used here."""

    def build(self, method: str, **request: Unpack[Request]) -> ExaxJob:
        """Build or find a job."""


class Exax:
    """Has the server build jobs, several at a time.

    `load` is called with each method before a job of it is submitted; `lists`, exax's lists of the jobs of a
    build script, are kept up to date.
    """

    def __init__(
        self,
        load: Callable[[str], None] = lambda method: None,
        says_failures: bool = True,
        lists: object = None,
        workdir: str = "",
    ) -> None:
        self.workdir = workdir or str(configuration().target_workdir)
        self.released: Callable[[], ContextManager[None]] = contextlib.nullcontext
        """Context in which other threads of the run go on while this one waits for a job."""
        self.is_followed: Callable[[str], bool] = lambda method: False
        """True if another job of a method follows, for which to prepare while this one runs."""
        self._lists: Any = lists
        self.says_failures = says_failures
        self._has_ended = False
        self._load = load
        self._lanes: list[str] = []
        self._made = 0
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
        """Build or find a job."""
        from accelerator import g, setupfile
        from accelerator.error import BuildError, JobError, ServerError
        from accelerator.job import WORKDIRS, Job

        if self._has_ended:
            raise InterruptedError("the run has ended")
        self._load(method)
        if method not in self._methods:
            WORKDIRS.update(call_server("list_workdirs"))
            self._methods = {*call_server("methods")}
        if method not in self._methods:
            raise BuildError(f"Unknown method {method}")
        if not self._lanes:
            self._made += 1
            self._lanes.append(f"{CLIENT}{os.getpid()}-{self._made}")
        lane = self._lanes.pop()
        parts = _in_order(request["options"]), dict(request["datasets"]), dict(request["jobs"])
        force, made_by = request.get("force_build", False), getattr(g, "job", None)
        given = setupfile.generate(request["caption"], method, *parts, force_build=force, parent=made_by)
        given |= {"subjob_cookie": lane, "parent_pid": os.getpid(), "workdir": self.workdir}
        given |= {NUMBER: request.get("number"), FOLLOWED: self.is_followed(method)}
        data = urlencode({"json": setupfile.encode_setup(given)}).encode()
        try:
            with self.released():
                reply = _submitted(data)
                if "error" in reply:
                    raise ServerError(f"Submit failed: {reply['error']}")
                if not reply["done"]:
                    while not call_server(f"status?subjob_cookie={lane}&timeout=60")["idle"]:
                        pass
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
            ended = json.loads(ask("abort") or b"{}").get("killed")
            if ended or json.loads(ask("status") or b'{"idle": true}')["idle"]:
                return
            time.sleep(ABORT_EVERY)


def _in_order(value: Plain) -> Any:
    """Put options into dicts that exax does not sort."""
    if isinstance(value, Mapping):
        return OrderedDict((name, _in_order(each)) for name, each in value.items())
    return [*map(_in_order, value)] if isinstance(value, list | tuple) else value


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
