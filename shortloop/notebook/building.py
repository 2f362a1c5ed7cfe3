"""Build one notebook job in a fresh process with the current code."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.engines.running import running_engine
from shortloop.exax import client
from shortloop.exax.client import Exax
from shortloop.exax.cost import Meter
from shortloop.exax.listener import slices_now
from shortloop.exax.live_output import VERBOSE, LiveOutput
from shortloop.exax.notebook_methods import announced, are_loaded, find_cells, write_cells
from shortloop.exax.patches import preload
from shortloop.exax.patches.loading import load_from_source
from shortloop.keys.methods import find_method, packages
from shortloop.notebook.client import GivenFile, GivenJob, Request
from shortloop.plan.pipeline import REUSE, Built, Call, Run
from shortloop.plan.planner import Lookup, Planner
from shortloop.plan.request import Request as Wanted
from shortloop.project.project import CELLS
from shortloop.run.build_jobs import Executor
from shortloop.run.executor import begin_run
from shortloop.run.progress import Progress
from shortloop.settings.engine import engine_settings
from shortloop.store.loaded import open_any
from shortloop.store.store import Store


def look(request: Request) -> Built | None:
    """The job if it is cached, without a server."""
    own = {name: text for name, text in request.modules.items() if name == request.stage}
    _find(request, own)  # other stages need not be importable
    with Store(slices_now) as store:
        lookup = _Cell(store, request)
        found = _ask(Planner(lookup), store, request)
        if found.plan != REUSE or found.incomplete:  # failed units are computed again
            return None
        store.index.put_in_places(lookup.places)
    if found.rejected:
        raise InputError(str(open_any(found.path).problem))
    return found


def build(request: Request) -> Built:
    """Build the job, as a run of its own, on the running server."""
    folder = _find(request, _fit(request))
    with begin_run(request.notebook) as (store, record), announced(folder):
        lookup, meter = _Cell(store, request), Meter()
        plan = Planner(_Cell(store, request))
        _ask(plan, store, request)
        with (
            running_engine(engine_settings(None), slices_now()) as engine,
            Progress(plan.jobs, store.index.seconds(), meter.fraction) as progress,
            LiveOutput(progress.say, VERBOSE in os.environ) as output,
            Executor(lookup, _exax(folder), progress, meter, engine=engine, output=output) as run,
        ):
            record.jobs = run.done
            try:
                return _ask(run, store, request)
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


def _exax(folder: Path) -> Exax:
    """Submission of jobs whose method exax may not have loaded yet."""
    from accelerator import g

    g.job = None  # no build script requests the job

    def load(method: str) -> None:
        if find_method(method)[0] == CELLS and not are_loaded(folder):
            client.reload_methods()

    return Exax(load=load, says_failures=False)  # the error does


def _find(request: Request, modules: Mapping[str, str]) -> Path:
    """Write stages of the notebook as methods, and return their folder."""
    load_from_source()
    folder = write_cells(modules)
    find_cells(folder)
    file = _file_of(request.stage)
    if request.stage in modules and file is not None:
        raise InputError(
            "the project has a stage of this name in a file",
            file=file,
            found=f"a function {request.stage} of the notebook",
            hint=f'build that one with `ax.build("{request.stage}", …)`, or give the function another name',
        )
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
    return Built(
        found.job,
        manifest.parts.method.rpartition(".")[2],
        manifest.partition,
        found.path,
        seconds=found.seconds,
        content=found.content,
        rejected=found.rejected,
        has_tables=found.has_tables,
        modules=found.modules,
        plan=REUSE,
    )
