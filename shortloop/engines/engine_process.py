"""Process that runs the engine, to which the jobs of a run send units.

It has a session of its own, so that what its library starts ends with it, holds no file of a job or the run,
and is not interrupted before.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import sys
import threading
import traceback
from concurrent.futures import Future
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener
from typing import Any, NoReturn, cast

from shortloop.base.errors import InputError
from shortloop.engines.engine import Engine, open_engine
from shortloop.engines.send_files import Sent, Supplies
from shortloop.settings.engine import EngineSettings
from shortloop.units.messages import Needs
from shortloop.units.queue import Batches

BACKLOG = 64
PATIENCE = 10.0  # s that an engine may take to end


class _Host:
    def __init__(self, say: int) -> None:
        self._say = say  # file descriptor for lines to the one who has started the run
        self._engine: Future[Engine] = Future()
        self._sent = Sent()

    def serve(self, job: Connection) -> None:
        with job:
            try:
                self._compute(job)
            except InputError as error:
                with contextlib.suppress(OSError):
                    _say(job, wrong=error.message)
            except BaseException:
                with contextlib.suppress(OSError):  # the job may have ended
                    _say(job, broken=traceback.format_exc())

    def _compute(self, job: Connection) -> None:
        # Costs of units by their identity, as of `shortloop.stages.identity`; asked for by the pipeline.
        work, costs, asked = pickle.loads(job.recv_bytes())
        engine = self._engine.result()
        workers = engine.workers(asked)
        _say(job, engine=engine.described(), workers=workers)
        batches = Batches(costs, workers, engine.message)

        def needs() -> Needs:
            _say(job, needs=True)
            return cast("Needs", pickle.loads(job.recv_bytes()))

        supplies = Supplies(work, self._sent, needs, self._tell)
        with (
            contextlib.closing(supplies),
            contextlib.closing(engine.compute(supplies, batches, asked)) as computed,  # type: ignore[type-var]
        ):
            for units, reply in computed:
                if reply.lost:
                    if failed := batches.put_back(units):
                        _say(job, failed=failed, how=reply.lost)
                        return
                else:
                    batches.done(units, reply.seconds)
                    _say(job, computed=units)
                    job.send_bytes(reply.data)
        _say(job, end=True, sent=supplies.bytes)

    def _tell(self, line: str) -> None:
        with contextlib.suppress(OSError):  # the run has ended
            os.write(self._say, f"{line}\n".encode("utf-8", "replace"))

    def open(self, settings: EngineSettings, workers: int) -> None:
        """Start the engine, in the main thread: libraries end what they started when its thread ends."""
        try:
            self._engine.set_result(open_engine(settings, workers))
        except BaseException as error:
            traceback.print_exc()
            self._engine.set_exception(error)

    def end(self) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        last = threading.Timer(PATIENCE, os.killpg, (0, signal.SIGKILL))
        last.daemon = True
        last.start()
        with contextlib.suppress(BaseException):
            if self._engine.done():
                self._engine.result().close()
        os.killpg(0, signal.SIGKILL)
        os._exit(0)


def serve_run() -> None:
    settings, workers, address, secret, say = json.loads(sys.stdin.readline())
    host = _Host(say)
    try:
        signal.signal(signal.SIGTERM, lambda number, frame: host.end())
        threading.Thread(target=_listen, args=(host, address, secret), daemon=True).start()
        host.open(EngineSettings.validated(settings), workers)
        signal.signal(signal.SIGTERM, lambda number, frame: host.end())  # Ray has put its own there
        sys.stdin.read()
    finally:
        host.end()


def _listen(host: _Host, address: str, secret: str) -> None:
    with Listener(address, "AF_UNIX", BACKLOG, bytes.fromhex(secret)) as listener:
        while True:
            try:
                job = listener.accept()
            except (OSError, EOFError, AuthenticationError):  # somebody who does not know the secret
                continue
            threading.Thread(target=host.serve, args=(job,), daemon=True).start()


def _say(job: Connection, **what: Any) -> None:
    job.send_bytes(pickle.dumps(what))


if __name__ == "__main__":
    serve_run()
