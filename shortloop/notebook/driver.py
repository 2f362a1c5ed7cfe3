"""Process beside a notebook that builds its jobs and ends with it.

It starts the exax server if none is running, and keeps it until the notebook ends. A fork requests each job,
so that edited code is loaded anew. Requests come from standard input, replies go to standard output.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import pickle
import select
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.base.text import one_line, printable
from shortloop.engines.engine_lifetime import RunningEngine
from shortloop.exax import client
from shortloop.exax.client import Exax
from shortloop.exax.forked import Forked
from shortloop.exax.listener import answers, slices_now
from shortloop.exax.live_output import VERBOSE, LiveOutput
from shortloop.exax.notebook_methods import announced, are_loaded, find_cells, write_cells
from shortloop.exax.patches import preload
from shortloop.exax.patches.loading import load_from_source
from shortloop.exax.server import running_server
from shortloop.keys.methods import find_method, packages
from shortloop.notebook.client import GivenFile, GivenJob, Reply, Request
from shortloop.plan.pipeline import REUSE, Built, Call, Run
from shortloop.plan.planner import Lookup, Planner, existing
from shortloop.plan.request import Request as Wanted
from shortloop.project.project import CELLS
from shortloop.project.system_errors import system_error
from shortloop.run.build_jobs import Executor
from shortloop.run.executor import begin_run
from shortloop.run.progress import Progress
from shortloop.run.termination import check_disk_space
from shortloop.settings.engine import engine_settings
from shortloop.store.loaded import open_any
from shortloop.store.store import Store
from shortloop.store.workdir import HELD, only_run

INPUT = 0  # descriptor


class _Driver:
    def __init__(self) -> None:
        self._server = ExitStack()
        self._child: Forked | None = None
        self._waits = False
        self._interrupted = False
        signal.signal(signal.SIGINT, self._interrupt)

    def serve(self) -> None:
        try:
            for line in sys.stdin.buffer:
                self._interrupted = False
                reply = _answered(partial(self._answer, line))
                sys.stdout.buffer.write(reply.line())
                sys.stdout.buffer.flush()
        except BrokenPipeError:  # the notebook is gone
            pass
        finally:  # our server ends when no other run uses it
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            with only_run("the end of a notebook"):
                self._server.close()

    def _answer(self, line: bytes) -> Reply:
        request: Request = pickle.loads(base64.b64decode(line))
        if (found := self._forked(request, False)) != Reply():
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
        self._child = child = Forked(partial(_as_child, request, building, writing), [writing])
        if self._interrupted:  # before the fork
            self._interrupt()
        os.close(writing)
        received, watched = b"", [reading, INPUT]
        try:
            while part := self._part(watched):
                received += part
        finally:
            os.close(reading)
            status = child.wait()
            self._child = None
        if received:
            return Reply(**json.loads(received[1:]))
        if self._interrupted:
            return Reply(interrupted=True)
        return Reply(wrong=f"the process that requests jobs ended with status {status}")

    def _part(self, watched: list[int]) -> bytes:
        """A part of the child's reply; empty at its end."""
        while watched[0] not in select.select(watched, [], [])[0]:
            watched.remove(INPUT)  # no request comes meanwhile: the notebook has ended
            self._send(signal.SIGTERM)
        return os.read(watched[0], 65536)

    def _interrupt(self, *_: object) -> None:
        self._interrupted = True
        self._send(signal.SIGINT)
        if self._child is None and self._waits:
            raise KeyboardInterrupt

    def _send(self, number: int) -> None:
        if self._child is not None:
            with suppress(ProcessLookupError):  # `poll` might take the status from a wait that goes on
                os.kill(self._child.pid, number)


def _as_child(request: Request, building: bool, writing: int) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ[HELD] = str(os.getppid()) if building else ""
    os.dup2(os.open(os.devnull, os.O_RDONLY), INPUT)
    reply = _answered(partial(_build if building else _look, request))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with os.fdopen(writing, "wb") as stream:
        stream.write(reply.line())


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
        if (fault := system_error(error)) is not None:
            return Reply(wrong=fault.message)
        traceback.print_exc(file=sys.stdout)
        return Reply(wrong=one_line("".join(traceback.format_exception_only(error)).strip()))


def _look(request: Request) -> Reply:
    """The job if it is cached, without a server; else an empty reply."""
    own = {name: text for name, text in request.modules.items() if name == request.stage}
    _find(request, own)  # other stages need not be importable
    with Store(slices_now) as store:
        lookup = _Cell(store, request)
        found = _ask(Planner(lookup), store, request)
        if found.plan != REUSE or found.incomplete:  # failed units are computed again
            return Reply()
        store.index.put_in_places(lookup.places)
    if found.rejected:
        raise InputError(str(open_any(found.path).problem))
    return Reply(job=found.job, fresh=found.fresh)


def _build(request: Request) -> Reply:
    folder = _find(request, _fit(request))
    with begin_run(request.notebook) as (store, record), announced(folder):
        lookup, plan = _Cell(store, request), Planner(_Cell(store, request))
        _ask(plan, store, request)
        with (
            RunningEngine(engine_settings(None), slices_now()) as engine,
            Progress(plan.jobs, store.index.seconds()) as progress,
            LiveOutput(progress.say, VERBOSE in os.environ) as output,
            Executor(lookup, _exax(folder, request.stage), progress, engine=engine, output=output) as run,
        ):
            record.jobs = run.done
            try:
                made = _ask(run, store, request)
                return Reply(job=made.job, fresh=made.fresh)
            finally:
                preload.forget()
                store.index.put_in_places(lookup.places)
                others = {place for place in store.index.places() if place.pipeline == request.notebook}
                store.index.finish_pipeline(request.notebook, others)


class _Cell(Lookup):
    """Look-up of jobs of one cell, which have the same places when the cell is run again."""

    def __init__(self, store: Store, request: Request) -> None:
        super().__init__(store, request.notebook)
        self._cell = request.cell

    def request(self, stage: str, partition: str | None, call: Call) -> Wanted:
        wanted = super().request(stage, partition, call)
        sibling = f"{wanted.place.sibling} {self._cell}".strip()
        return replace(wanted, place=wanted.place._replace(sibling=sibling))


def _exax(folder: Path, stage: str) -> Exax:
    """Submission of jobs of a stage whose method exax may not have loaded yet."""
    from accelerator import g

    g.job = None  # no build script requests the job
    if find_method(stage)[0] == CELLS and not are_loaded(folder):
        client.reload_methods()
    return Exax()


def _find(request: Request, modules: Mapping[str, str]) -> Path:
    """Write stages of the notebook as methods, and return their folder."""
    load_from_source()
    folder = write_cells(modules)
    find_cells(folder)
    file = _file_of(request.stage)
    if request.stage in modules and file is not None:
        problem = "the project has a stage of this name in a file"
        hint = f'build that one with `ax.build("{request.stage}", …)`, or give the function another name'
        raise InputError(problem, file=file, found=f"a function {request.stage} of the notebook", hint=hint)
    return folder


def _file_of(method: str) -> Path | None:
    """The file of a method outside notebooks."""
    files = (folder / f"a_{method}.py" for package, folder in packages() if package != CELLS)
    return next((file for file in files if file.is_file()), None)


def _fit(request: Request) -> dict[str, str]:
    """The notebook's stages that exax can load: one that it cannot would stop it from loading any."""
    _find(request, request.modules)

    def is_fit(name: str) -> bool:
        try:
            return _file_of(name) is None and bool(importlib.import_module(f"{CELLS}.a_{name}"))
        except Exception:
            return False

    return {name: text for name, text in request.modules.items() if name == request.stage or is_fit(name)}


def _ask(run: Run, store: Store, request: Request) -> Built:
    arguments = {name: _given(run, store, each) for name, each in request.arguments.items()}
    return run.build(request.stage, partition=request.partition, **arguments)  # type: ignore[arg-type]


def _given(run: Run, store: Store, value: object) -> object:
    if isinstance(value, dict):
        return {name: _given(run, store, each) for name, each in value.items()}
    if isinstance(value, list):
        return [_given(run, store, each) for each in value]
    if isinstance(value, GivenFile):
        return run.file(value.path)
    return _built(store, value.job) if isinstance(value, GivenJob) else value


def _built(store: Store, job: str) -> Built:
    """A job of the notebook, if it is unchanged."""
    manifest = store.manifest_of(job)
    found = None if manifest is None else store.find(manifest.key)
    if manifest is None or found is None or found.content != manifest.content:
        hint = "run the cell that builds it again"
        raise InputError("an input job is gone or has changed", found=job, hint=hint)
    return existing(found, manifest.parts.method.rpartition(".")[2], manifest.partition)


if __name__ == "__main__":
    _Driver().serve()
