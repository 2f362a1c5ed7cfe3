"""Process that runs the engine, to which the jobs of a run send units.

It has a session of its own, so that what its library starts ends with it, holds no file of a job or the run,
and is not interrupted before.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener
from typing import Any, NoReturn, Self, cast

from shortloop.base.errors import InputError, TransientError
from shortloop.engines.engine import BUSY, CONNECT, Asked, Engine, open_engine
from shortloop.engines.send_files import Sent, Supplies
from shortloop.settings.engine import EngineSettings
from shortloop.units.messages import Needs, Work
from shortloop.units.queue import Batches

BACKLOG = 64
PATIENCE = 10.0  # s that an engine may take to end
ANSWER = 15.0  # s that it may take to say who does not answer
THEN = {
    "end": "the job ends, and units that are done are kept",
    "wait": "waiting",
    "here": "the rest is computed on this machine",
}


class _Host:
    def __init__(self, say: int) -> None:
        self._say = say  # file descriptor for lines to the one who has started the run
        self._engine: Future[Engine] = Future()
        self._settings = EngineSettings()
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
        silent = functools.partial(engine.silent, asked)
        with _Watch(silent, self._settings, job, self._tell) as watch:
            self._compute_on(engine, job, watch, work, costs, asked)

    def _compute_on(
        self,
        engine: Engine,
        job: Connection,
        watch: _Watch,
        work: Work,
        costs: Mapping[bytes, float],
        asked: Asked,
    ) -> None:
        workers = engine.workers(asked)
        watch.say(engine=engine.described(), workers=workers)
        batches = Batches(costs, workers, engine.message)

        def needs() -> Needs:
            watch.say(needs=True)
            return cast("Needs", pickle.loads(job.recv_bytes()))

        supplies = Supplies(work, self._sent, needs, self._tell)
        with (
            contextlib.closing(supplies),
            contextlib.closing(engine.compute(supplies, batches, asked)) as computed,  # type: ignore[type-var]
        ):
            for units, reply in computed:
                if reply.missing is not None:
                    problem = f"the project is not on a node of {self._settings.name}"
                    hint = "put it on a file system that this machine and all nodes have at the same path"
                    raise TransientError(problem, found=reply.worker or None, hint=hint)
                if reply.lost:
                    if failed := batches.put_back(units):
                        watch.say(failed=failed, how=reply.lost)
                        return
                else:
                    batches.done(units, reply.seconds)
                    watch.say(reply.data, computed=units)
        watch.say(end=True, sent=supplies.bytes)

    def _tell(self, line: str) -> None:
        with contextlib.suppress(OSError):  # the run has ended
            os.write(self._say, f"{line}\n".encode("utf-8", "replace"))

    def open(self, settings: EngineSettings, workers: int) -> None:
        """Start the engine, in the main thread: libraries end what they started when its thread ends."""
        self._settings = settings
        waiting = f"waiting for {settings.name} at {settings.address}, for {BUSY:g} s at most"
        late = threading.Timer(CONNECT, self._tell, [waiting])
        late.daemon = True
        try:
            if settings.address is not None:
                late.start()
            self._engine.set_result(open_engine(settings, workers))
        except BaseException as error:
            traceback.print_exc()
            self._engine.set_exception(error)
        finally:
            late.cancel()

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


class _Watch:
    """Talks to a job, and tells it of an engine that computes nothing and does not answer."""

    def __init__(
        self,
        silent: Callable[[], str],
        settings: EngineSettings,
        job: Connection,
        tell: Callable[[str], None],
    ) -> None:
        self._silent, self._settings, self._job, self._tell = silent, settings, job, tell
        self._lock = threading.Lock()
        self._heard, self._since = time.monotonic(), time.time()
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._look, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()

    def say(self, data: bytes | None = None, **what: Any) -> None:
        """Say something to the job, with data that follow it; something was heard from the engine."""
        with self._lock:
            if self._ended.is_set():  # the job was told that the engine is silent, and does without it
                raise EOFError
            self._heard, self._since = time.monotonic(), time.time()
            _say(self._job, **what)
            if data is not None:
                self._job.send_bytes(data)

    def _look(self) -> None:
        silence, checked = self._settings.silence, time.monotonic()
        while not self._ended.wait(min(silence / 4, 5.0)):
            before = self._heard
            if time.monotonic() - max(before, checked) < silence:
                continue
            who, checked = self._who(), time.monotonic()
            with self._lock:
                if not who or self._heard != before or self._ended.is_set():
                    continue
                when = time.strftime("%H:%M:%S", time.localtime(self._since))
                then = THEN[self._settings.when_silent]
                self._tell(f"nothing was computed since {when}: {who}; {then}")
                if self._settings.when_silent != "wait":
                    self._ended.set()
                    with contextlib.suppress(OSError):
                        _say(self._job, silent=who)

    def _who(self) -> str:
        """Name who does not answer; empty if all do."""
        answer: Future[str] = Future()

        def ask() -> None:
            try:
                answer.set_result(self._silent())
            except InputError as error:
                answer.set_result(error.message)
            except Exception as error:
                answer.set_result(f"{self._settings.name} does not answer: {type(error).__name__} {error}")

        threading.Thread(target=ask, daemon=True).start()
        if wait([answer], ANSWER).not_done:
            where = f" at {self._settings.address}" if self._settings.address else ""
            return f"{self._settings.name}{where} does not answer"
        return answer.result()


def serve_run() -> None:
    if os.getsid(0) != os.getpid():  # a profiler has begun it, which goes on when it has ended
        os.setsid()
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
