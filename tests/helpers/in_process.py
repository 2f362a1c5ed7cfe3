"""Stages without exax: whole pipelines in this process, and the work of one job in any way and place."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import multiprocessing
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from blake3 import blake3

from shortloop.keys.hashing import canonical
from shortloop.keys.methods import STAGE
from shortloop.keys.options import plain
from shortloop.plan.pipeline import Built, Call, Run
from shortloop.plan.request import options_of
from shortloop.stages.identity import digest_of_units
from shortloop.stages.inputs import File
from shortloop.stages.output import compute_row, compute_unit, keep_unit, lay_out, write_output
from shortloop.stages.records import create_array
from shortloop.stages.results import Result, Where, open_result
from shortloop.stages.rows import take_rows
from shortloop.stages.stage import CollectingStage, Stage
from shortloop.stages.task import REQUIRED, Task, costs_of, fields_of, open_stage
from shortloop.units.checkpoints import Checkpoint

PACKAGES = ("methods", "dev")
SETUP = "setup.json"


def stage_of(method: str) -> type[Stage]:
    """The stage that a method is made of."""
    for package in PACKAGES:
        with contextlib.suppress(ModuleNotFoundError):
            stage: type[Stage] = getattr(importlib.import_module(f"{package}.a_{method}"), STAGE)
            return stage
    raise AssertionError(f"no method {method}")


class InProcess(Run):
    """Builds jobs in folders, each once, and keeps what each was asked to do."""

    def __init__(self, folder: Path) -> None:
        super().__init__("in process")
        self.tasks: dict[str, Task] = {}
        self._where = Where({}, {"main": folder})
        self._made: dict[str, Built] = {}

    def files(self, paths: Sequence[Path]) -> list[File]:
        found = [File(blake3(path.read_bytes()).hexdigest(), path) for path in paths]
        self._where = Where(
            {**self._where.files, **{file.content: file.path for file in found}}, self._where.workdirs
        )
        return found

    def _note(self, given: object) -> None:
        """Where files are, by what options hold of them."""
        self._where = Where({**self._where.files, **dict(options_of(given))}, self._where.workdirs)

    def ask(self, stage: str, partition: str | None, call: Call) -> Built:
        arguments: dict[str, Any] = {**call.arguments}
        kind = stage_of(stage)
        fields = fields_of(kind)
        named = {*fields.jobs}
        defaults = {name: each for name, each in fields.options.items() if each is not REQUIRED}
        given = {name: each for name, each in arguments.items() if name not in named}
        options = json.loads(canonical(plain({**defaults, **given})))
        self._note(given)
        jobs = {name: _each(made, "path") for name, made in arguments.items() if name in named}
        key = canonical([stage, partition, options, jobs])
        if key not in self._made:
            task = Task(stage, kind.__module__, kind.__name__, partition, options, jobs, None, self._where)
            job = f"main-{len(self._made) + 1}"
            folder = self._where.workdirs["main"] / job
            folder.mkdir()
            setup = {
                "method": stage,
                "hash": "12ab",
                "starttime": 1_700_000_000.0,
                "exectime": {"total": 1.0},
                "options": {**options, "partition": partition},
                "jobs": {name: _each(made, "job") for name, made in arguments.items() if name in named},
            }
            (folder / SETUP).write_text(json.dumps(setup), encoding="utf-8")
            do_job(task, folder)
            content = str(len(self._made) + 1)
            self._made[key] = Built(job, stage, partition, folder, fresh=True, content=content)
            self.tasks[job] = task
        self.jobs.append(self._made[key])
        return self._made[key]


def _each(made: Any, what: str) -> Any:
    if made is None:
        return None
    return [str(getattr(each, what)) for each in made] if isinstance(made, list) else str(getattr(made, what))


def do_job(task: Task, folder: Path, fill: int = 0, earlier: Sequence[Path] = ()) -> Result:
    """Do a whole job in this process, unit by unit, on arrays whose bytes are all alike at first."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(folder):
        stage = open_stage(task)
        arrays = lay_out(stage, task, create_array)
        for array in arrays.values():
            array[stage.have :].reshape(-1).view(np.uint8)[...] = fill
        given: dict[str, bytes] = {}
        rows: dict[int, bytes] = {}
        units = range(len(costs_of(stage)))
        taken: dict[str, int] = {}
        if isinstance(stage, CollectingStage):
            taken = take_rows(stage, units, rows.__setitem__, {}, earlier)
            rows |= {unit: compute_row(stage, unit) for unit in units if unit not in rows}
        else:
            for unit in units:
                keep_unit(stage, unit, compute_unit(stage, unit), arrays, given.__setitem__)
        for name, content in given.items():
            keep_file(name, content)
        write_output(stage, task, arrays, [], sorted(given), [rows[unit] for unit in sorted(rows)], taken)
    return open_result(folder, task.where)


def keep_file(name: str, content: bytes) -> None:
    """In the current folder."""
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_bytes(content)


def cut_off_and_resumed(task: Task, like: Path, above: Path, done: int, workers: int) -> Path:
    """A job that was cut off when some units were done, the last ones first, and done by several workers."""
    for number in (1, 2):
        folder = above / f"main-{number}"
        folder.mkdir(parents=True)
        shutil.copy(like / SETUP, folder)
        with contextlib.chdir(folder):
            stage = open_stage(task)
            costs = costs_of(stage)
            found = None if isinstance(stage, CollectingStage) else digest_of_units(stage, costs)
            units = Checkpoint(costs if number == 2 else list(range(len(costs))), units=found)
            arrays = lay_out(stage, task, units.create_array)
            if isinstance(stage, CollectingStage):
                take_rows(stage, units.left(), units.take, units.rows_before())
            units.start()
            if number == 1:
                _work(stage, units, arrays, done)
            else:
                _fork(stage, units, arrays, workers)
                files = units.finish()
                rows = units.rows() if isinstance(stage, CollectingStage) else []
                written = write_output(stage, task, arrays, [], files, rows)
                assert {*files, *written} <= {*files_of(Path())}
    return folder


def _work(stage: Stage, units: Checkpoint, arrays: Mapping[str, np.ndarray], most: int | None = None) -> None:
    for ran, unit in enumerate(chain.from_iterable(units.batches())):
        if ran == most:
            return
        if isinstance(stage, CollectingStage):
            units.keep_rows({unit: compute_row(stage, unit)})
            continue
        keep_unit(stage, unit, compute_unit(stage, unit), arrays, units.keep_file)


def _fork(stage: Stage, units: Checkpoint, arrays: Mapping[str, np.ndarray], workers: int) -> None:
    children = []
    for _ in range(workers):
        child = os.fork()
        if not child:
            status = 1
            try:
                _work(stage, units, arrays)
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * workers


def unit_of(task: Task, unit: int) -> dict[str, Any]:
    """What one unit gives, in whatever process this is."""
    given = open_stage(task).compute(unit)
    return {name: each if isinstance(each, bytes) else np.asarray(each) for name, each in given.items()}


def files_of(folder: Path) -> dict[str, bytes]:
    """All that a job left."""
    found = sorted(file for file in folder.rglob("*") if file.is_file() and file.name != SETUP)
    return {str(file.relative_to(folder)): file.read_bytes() for file in found}


def load_libraries() -> None:
    """Load what stages import and takes its time: forks of this process have it at once."""
    for name in ("matplotlib.figure", "mne", "numba", "pandas", "scipy.stats", "sklearn", "statsmodels.api"):
        importlib.import_module(name)


def unit_in_a_fork(task: Task, unit: int) -> tuple[dict[str, Any], set[str]]:
    """What a unit gives in a fork of this process, and what numba compiles, or loads, to compute it."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        return pool.submit(_unit_and_compiled, task, unit).result()


def _unit_and_compiled(task: Task, unit: int) -> tuple[dict[str, Any], set[str]]:
    open_stage(task)
    before = _signatures()
    given = unit_of(task, unit)
    return given, _signatures() - before


def _signatures() -> set[str]:
    numba = sys.modules.get("numba.core.dispatcher")
    found = [] if numba is None else [each for each in gc.get_objects() if isinstance(each, numba.Dispatcher)]
    return {f"{each.__name__}{signature}" for each in found for signature in each.signatures}
