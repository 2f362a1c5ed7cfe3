"""The process beside a notebook that has its jobs built; it ends with the notebook, however that ends.

It keeps the exax server, if none answered, for as long as the notebook goes on. Each job is asked for by a
fork, so that code which was edited is loaded anew. It reads requests from standard input, and writes replies
to standard output.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import ExitStack

from shortloop.errors import InputError
from shortloop.jobs.exax.listener import answers
from shortloop.jobs.exax.parent_death import ends_with_this
from shortloop.jobs.exax.server import running_server
from shortloop.jobs.notebook.building import build, look
from shortloop.jobs.notebook.messages import Reply, Request, unpacked
from shortloop.jobs.store.locks import HELD, only_run
from shortloop.jobs.system_errors import system_error
from shortloop.jobs.termination import need_room
from shortloop.text import one_line, printable

__all__ = ["serve"]

INPUT = 0  # descriptor


class _Driver:
    def __init__(self) -> None:
        self._server = ExitStack()
        self._child = 0
        signal.signal(signal.SIGINT, self._interrupt)

    def serve(self) -> None:
        """Answer requests until there are no more."""
        try:
            while True:
                try:
                    line = sys.stdin.buffer.readline()
                except KeyboardInterrupt:  # between two requests
                    continue
                if not line:
                    return
                reply = _answered(lambda line=line: self._answer(unpacked(line)))  # type: ignore[misc]
                sys.stdout.buffer.write(reply.line())
                sys.stdout.buffer.flush()
        except BrokenPipeError:  # the notebook is gone
            pass
        finally:
            self._end()

    def _answer(self, request: Request) -> Reply:
        found = self._forked(request, False)
        if found != Reply():
            return found
        need_room()
        with only_run(request.notebook):
            self._have_server()
            return self._forked(request, True)

    def _have_server(self) -> None:
        """One that was there before may be gone by now."""
        if not answers():
            self._server.close()
            self._server.enter_context(running_server())

    def _forked(self, request: Request, building: bool) -> Reply:
        reading, writing = os.pipe()
        end_with_this = ends_with_this()
        sys.stdout.flush()
        self._child = os.fork()
        if not self._child:
            end_with_this()
            os.close(reading)
            _as_child(request, building, writing)
        os.close(writing)
        ended = os.pidfd_open(self._child)
        try:
            while ended not in (ready := select.select([INPUT, ended], [], [])[0]):
                if INPUT in ready:  # nothing is asked for meanwhile: the notebook has ended
                    os.kill(self._child, signal.SIGTERM)
                    select.select([ended], [], [])
            with os.fdopen(reading, "rb") as stream:
                said = stream.read()
        finally:
            os.close(ended)
            _, status = os.waitpid(self._child, 0)
            self._child = 0
        if not said:
            return Reply(
                wrong=f"the process that asks for jobs ended with {os.waitstatus_to_exitcode(status)}"
            )
        return Reply(**json.loads(said[1:]))

    def _interrupt(self, number: int, frame: object) -> None:
        if self._child:
            os.kill(self._child, signal.SIGINT)
        else:
            raise KeyboardInterrupt

    def _end(self) -> None:
        """End the server, if it is ours, and nobody else's run uses it now."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        with only_run("the end of a notebook"):
            self._server.close()


def serve() -> None:
    """Serve a notebook."""
    _Driver().serve()


def _as_child(request: Request, building: bool, writing: int) -> None:
    """Never returns."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ[HELD] = str(os.getppid()) if building else ""
        os.dup2(os.open(os.devnull, os.O_RDONLY), INPUT)
        os.write(writing, _answered(lambda: _made(request, building)).line())
        status = 0
    finally:
        sys.stdout.flush()
        os._exit(status)


def _made(request: Request, building: bool) -> Reply:
    made = build(request) if building else look(request)
    return Reply() if made is None else Reply(job=made.job, fresh=made.fresh)


def _answered(answer: Callable[[], Reply]) -> Reply:
    """Whatever happens, as a reply."""
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
        return Reply(wrong=f"ended with {error.code}")
    except Exception as error:
        fault = system_error(error)
        said = one_line("".join(traceback.format_exception_only(error)).strip())
        if fault is None:
            traceback.print_exc(file=sys.stdout)
        return Reply(wrong=said if fault is None else fault.message)


if __name__ == "__main__":
    serve()
