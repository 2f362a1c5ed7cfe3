"""Process beside a notebook that builds its jobs and ends with it.

It starts the exax server if none is running, and keeps it until the notebook ends. A fork requests each job,
so that edited code is loaded anew. Requests come from standard input, replies go to standard output.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import NoReturn

from shortloop.base.errors import InputError
from shortloop.base.text import one_line, printable
from shortloop.exax.listener import answers
from shortloop.exax.server import running_server
from shortloop.notebook.building import build, look
from shortloop.notebook.client import Reply, Request, unpacked
from shortloop.project.system_errors import system_error
from shortloop.run.termination import check_disk_space
from shortloop.store.workdir import HELD, only_run
from shortloop.units.process_ends import ends_with_this

INPUT = 0  # descriptor


class _Driver:
    def __init__(self) -> None:
        self._server = ExitStack()
        self._child = 0
        self._waits = False
        self._interrupted = False
        signal.signal(signal.SIGINT, self._interrupt)

    def serve(self) -> None:
        """Answer requests until the input ends."""
        try:
            for line in sys.stdin.buffer:
                self._interrupted = False
                reply = _answered(partial(self._answer, line))
                sys.stdout.buffer.write(reply.line())
                sys.stdout.buffer.flush()
        except BrokenPipeError:  # the notebook is gone
            pass
        finally:
            self._end()

    def _answer(self, line: bytes) -> Reply:
        request = unpacked(line)
        found = self._forked(request, False)
        if found != Reply():
            return found
        check_disk_space()
        with ExitStack() as run:
            self._waits = True  # perhaps for hours, for another run
            try:
                run.enter_context(only_run(request.notebook))
            finally:
                self._waits = False
            if not answers():  # an earlier server may have ended
                self._server.close()
                self._server.enter_context(running_server()).wait()
            return self._forked(request, True)

    def _forked(self, request: Request, building: bool) -> Reply:
        reading, writing = os.pipe()
        end_with_this = ends_with_this()
        sys.stdout.flush()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self._child = os.fork()
        if not self._child:
            end_with_this()
            os.close(reading)
            _as_child(request, building, writing)
        if self._interrupted:  # before the fork
            os.kill(self._child, signal.SIGINT)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        os.close(writing)
        received, watched = b"", [reading, INPUT]
        try:
            while part := self._part(watched):
                received += part
        finally:
            os.close(reading)
            _, status = os.waitpid(self._child, 0)
            self._child = 0
        if not received:
            code = os.waitstatus_to_exitcode(status)
            return Reply(wrong=f"the process that requests jobs ended with status {code}")
        return Reply(**json.loads(received[1:]))

    def _part(self, watched: list[int]) -> bytes:
        """A part of the child's reply; empty at its end."""
        while watched[0] not in select.select(watched, [], [])[0]:
            watched.remove(INPUT)  # no request comes meanwhile: the notebook has ended
            os.kill(self._child, signal.SIGTERM)
        return os.read(watched[0], 65536)

    def _interrupt(self, number: int, frame: object) -> None:
        self._interrupted = True
        if self._child:
            os.kill(self._child, signal.SIGINT)
        elif self._waits:
            raise KeyboardInterrupt

    def _end(self) -> None:
        """End our server, when no other run uses it."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        with only_run("the end of a notebook"):
            self._server.close()


def _as_child(request: Request, building: bool, writing: int) -> NoReturn:
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ[HELD] = str(os.getppid()) if building else ""
        os.dup2(os.open(os.devnull, os.O_RDONLY), INPUT)
        reply = _answered(lambda: _made(request, building))
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with os.fdopen(writing, "wb") as stream:
            stream.write(reply.line())
        status = 0
    finally:
        with suppress(Exception):  # the notebook may be gone
            sys.stdout.flush()
        os._exit(status)


def _made(request: Request, building: bool) -> Reply:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    made = build(request) if building else look(request)
    return Reply() if made is None else Reply(job=made.job, fresh=made.fresh)


def _answered(answer: Callable[[], Reply]) -> Reply:
    """The reply, or any exception as a reply."""
    from accelerator.error import JobError

    try:
        return answer()
    except KeyboardInterrupt:
        return Reply(interrupted=True)
    except InputError as error:
        return Reply(wrong=error.message)
    except JobError as error:
        return Reply(failed=printable(error.format_msg()))
    except BrokenPipeError:
        raise
    except SystemExit as error:
        return Reply(wrong=f"ended with status {error.code}")
    except Exception as error:
        fault = system_error(error)
        if fault is not None:
            return Reply(wrong=fault.message)
        traceback.print_exc(file=sys.stdout)
        return Reply(wrong=one_line("".join(traceback.format_exception_only(error)).strip()))


if __name__ == "__main__":
    _Driver().serve()
