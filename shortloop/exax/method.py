"""Turn a stage into an exax method.

``prepare`` opens the stage and creates its arrays. exax then forks slices, whose ``analysis`` draws units
until none is left. ``synthesis`` finishes the stage and writes the record. The distribution of units cannot
change a result, so nothing of this file is in a key.
"""

from __future__ import annotations

import inspect
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from shortloop.base.errors import InputError
from shortloop.base.plain import Plain
from shortloop.exax.cost import WORK
from shortloop.exax.datasets import open_dataset
from shortloop.exax.evidence import evidence_of
from shortloop.exax.libraries import HERE
from shortloop.exax.listener import BEGUN, note_units
from shortloop.exax.patches.preload import client
from shortloop.exax.unit_processes import (
    code_digest,
    computed_in_processes,
    folders_of,
    names_of,
    states_above,
    threads_lost_by_fork,
    work_of_job,
)
from shortloop.keys.code import code_of, code_state
from shortloop.keys.hashing import digest
from shortloop.keys.key import Parts
from shortloop.keys.methods import STAGE, module_of
from shortloop.keys.options import annotations_of, plain_of
from shortloop.stages.content import SIZE
from shortloop.stages.failures import Failures, Tried, check_without_units, text_of
from shortloop.stages.identity import digest_of_units, ids_of_units
from shortloop.stages.needs import KEEP, needs_of
from shortloop.stages.output import computed, counts_of, keep_nothing, keep_unit, lay_out, write_output
from shortloop.stages.records import EARLIER, RETRIED, Work, create_array, reject
from shortloop.stages.rows import FOR_THIS_JOB, take_rows
from shortloop.stages.stage import CollectingStage, Stage
from shortloop.stages.task import BEFORE, MANY, REQUIRED, Task, costs_of, fields_of, open_stage
from shortloop.stages.threads import Pool, check_single_thread, distinct
from shortloop.store.inputs import check_located
from shortloop.store.loaded import here
from shortloop.store.process_notes import in_job_process, note
from shortloop.units.checkpoints import Checkpoint, take_good_units, values_of
from shortloop.units.messages import SLICES, EngineNote, engine_of_run
from shortloop.units.process_ends import CurrentUnits, queued_seconds
from shortloop.units.unit_output import UnitOutput, keep_printed

Pools = list[Pool]  # of a process, as `check_single_thread` finds them


def exax_method(stage: type[Stage], file: str) -> dict[str, object]:
    """Make the variables and functions that exax looks for in the module of a method from a stage."""
    taken = fields_of(stage)
    # Without defaults: exax would make values of the types of these.
    frame = ["partition", "modules", *([EARLIER] if issubclass(stage, CollectingStage) else [])]
    frame += [RETRIED] if needs_of(stage).on_error == KEEP else []
    options = dict.fromkeys([*frame, *taken.options])
    jobs, datasets = (
        [[name] if number == MANY else name for name, number in each.items()]
        for each in (taken.jobs, taken.datasets)
    )
    made = {
        STAGE: stage,
        "description": inspect.getdoc(stage) or stage.__name__,
        "depend_extra": [] if in_job_process() else _declared(file),  # exax asks before it forks a job
        "options": options,
        "jobs": (*jobs, *([BEFORE] if stage.grows else [])),
        "datasets": (*datasets,),
    }
    if not _has_units(stage):
        check_without_units(stage, file)
        return made | {"synthesis": _all_at_once(stage, file)}
    return made | {"prepare": _prepare(stage, file), "analysis": _analysis, "synthesis": _synthesis}


def _declared(file: str) -> object:
    """Files in ``depend_extra``, with those that the method has declared above its stage."""
    given = getattr(sys.modules.get(module_of(Path(file).resolve())), "depend_extra", ())
    return given if isinstance(given, str) else [*code_of(file), *given]  # a text is refused elsewhere


class _Work:
    """Opened stage and arrays of a job, inherited by its slices when they are forked."""

    def __init__(self, kind: type[Stage], file: str) -> None:
        from accelerator import g

        options, self.slices = json.loads(json.dumps(g.options)), g.slices  # no dicts of exax
        self.file = method = Path(file).resolve()
        modules, earlier = options.pop("modules"), options.pop(EARLIER, None)
        retried = options.pop(RETRIED, None)
        if modules is None:  # a run gives all options; others leave out some
            hints = annotations_of(kind)
            for name, each in fields_of(kind).options.items():
                if options[name] is None and each is not REQUIRED:
                    options[name] = plain_of(hints.get(name, Any), each)
        self.modules = modules or []
        self.code = code_state(method, self.modules)
        package, _, stem = module_of(method).rpartition(".")
        self.method = f"{package}.{stem.removeprefix('a_')}"
        jobs = {name: folders_of(each) for name, each in g.jobs.items()}
        self.task = Task(
            self.method.rpartition(".")[2],
            kind.__module__,
            kind.__name__,
            options.pop("partition"),
            options,
            {name: each for name, each in jobs.items() if name != BEFORE},
            jobs.get(BEFORE),
            here(),
            {**self.code.versions, **self.code.libraries},
            {name: names_of(each) for name, each in g.datasets.items()},
            open_dataset,
        )
        self.what = " ".join(filter(None, (self.task.name, self.task.partition)))
        self.refused = True  # it cannot be computed; the job says why
        self.at_once = True  # not worth distributing
        workdirs = self.task.where.workdirs
        # Jobs that may have rows of the same units, of which some may be gone, and how many units each gave.
        self.earlier = [Path(workdirs[job.rpartition("-")[0]], job) for job in earlier or ()]
        self.taken: dict[str, int] = {}
        self.units: Any = None  # a checkpoint, if the stage has units
        self.engine: dict[str, Plain] | None = None  # what has computed distributed units
        self.work: Work = {}
        self.needs = needs_of(kind)
        self.known: bytes | None = None
        # The job of the same key whose failed units are computed again.
        self.retried = retried and Path(workdirs[retried.rpartition("-")[0]], retried)
        self._or_refuse(self._begin)

    def _begin(self) -> None:
        self.stage = stage = open_stage(self.task)
        self.work = counts_of(stage)
        if _has_units(type(stage)):
            code = digest([code_digest(self.code), states_above(self.task)])
            costs = costs_of(stage)
            self.known = None if isinstance(stage, CollectingStage) else digest_of_units(stage, costs)
            self.units = Checkpoint(costs, code, self._trusted, self.known)
            self.failures = Failures(stage, len(costs))
            self.arrays = lay_out(stage, self.task, self.units.create_array)
            if isinstance(stage, CollectingStage):
                given = self.units.rows_before(), self.earlier, self.retried
                self.taken = take_rows(stage, self.units.left(), self.units.take, *given)
                resumed = len(costs) - len(self.units.left()) - sum(self.taken.values())
            else:
                self.units.prove(partial(values_of, stage, self.arrays))
                resumed = len(costs) - len(self.units.left())
                if self.retried:
                    take_good_units(stage, self.retried, self.known, self.arrays, self.units)
            left = len(self.units.left())
            self.work |= {"units": left, "of": len(costs), "resumed": resumed}
            self.at_once = left <= 1 or stage.is_small()
            self.units.start()
            self.now = CurrentUnits(self.what, stage.unit_name, self.slices)
        else:
            self.arrays = lay_out(stage, self.task, create_array)
            self.failures = Failures(stage, 0)
        self.refused = False

    def _trusted(self, job: Path) -> bool:
        """True if an interrupted job loaded the code and read the files that this one would."""
        evidence = evidence_of(job, Parts(self.method, self.code.code, self.code.versions, {}, {}), self.code)
        if evidence.changed or evidence.unseen or evidence.opened:
            return False
        note(versions=evidence.libraries, where=HERE)  # what it loaded has made what is taken over
        return True

    def _or_refuse(self, step: Callable[[], Any]) -> Any:
        try:
            return step()
        except InputError as error:
            check_located()  # of a file that changed, nothing is kept
            task = self.task
            reject(task.name, task.partition, error, task.versions, task.where.files)
            return None

    def compute(self, slice_: int = 0) -> Pools | None:
        """Compute units until none is left; return the thread pools of this process if it computed any."""
        any_drawn = False
        with UnitOutput(slice_, self.stage) as output:
            for units in self.units.batches():
                any_drawn = True
                names = note_units(units, self.stage.unit_name)
                if self.at_once:  # no other process of the job could say what this one computed
                    Path(BEGUN).write_text(names, encoding="utf-8", errors="replace")
                given: list[Any] = []
                try:
                    for unit in output.each(units):
                        self.now.begin(slice_, unit)
                        given.append(computed(self.stage, unit))
                finally:  # those before one that raises are kept
                    self._keep(dict(zip(units, given)))
        self.now.end(slice_)
        if self.at_once:
            Path(BEGUN).unlink(missing_ok=True)
        return check_single_thread() if any_drawn else None

    def compute_elsewhere(self, engine: EngineNote | None, threads: list[str]) -> Pools:
        """Have an engine, or processes without some threads of this one, compute the units that are left."""
        stage, units = self.stage, self.units
        numbers = {each: number for number, each in enumerate(ids_of_units(stage, units.costs))}

        def is_of(unit: bytes, given: Any) -> bool:
            given = given.values if isinstance(given, Tried) else given
            if given is None or not isinstance(stage, CollectingStage):
                return True
            return bool(given[:SIZE] == stage.unit_key(numbers[unit]))

        def given_up(unit: bytes, how: str) -> Tried | None:
            return self.failures.given_up(numbers[unit], how, computing.lost(unit, how), again=engine is None)

        began = time.monotonic()
        work = work_of_job(self.task, self.file, self.code, self.modules, self.slices)
        left = {*units.left()}
        costs = {each: units.costs[number] for each, number in numbers.items() if number in left}
        computing = client().Computing(
            engine,
            work,
            costs,
            self.what,
            lambda unit: stage.unit_name(numbers[unit]),
            is_of,
            given_up,
            self.code,
            partial(keep_printed, stage, numbers),
        )

        def given() -> Iterator[tuple[bytes, object]]:
            if engine is not None:
                try:
                    yield from computing.units()
                    return
                except client().EngineSilent:
                    if engine["when_silent"] != "here":
                        raise
            here = computed_in_processes(work, computing.left, self.slices, computing.given_up)
            yield from computing.done(here)

        for each, values in given():
            self._keep({numbers[each]: values})
            units.mark(numbers[each], failed=numbers[each] in self.failures.errors)
        self.work["seconds"] = round(time.monotonic() - began, 3)
        self.engine = computing.described()
        if engine is None:
            self.engine = {"workers": self.slices, **self.engine, "threads": [*threads]}
        return list(computing.threads)

    def _keep(self, given: Mapping[int, Any]) -> None:
        found = dict(given)
        for unit, each in given.items():
            if isinstance(each, Tried):
                self.failures.note(unit, each)
                found[unit] = each.values
        if isinstance(self.stage, CollectingStage):
            key = self.stage.unit_key
            self.units.keep_rows({unit: each or key(unit) + FOR_THIS_JOB for unit, each in found.items()})
            return
        for unit, values in found.items():
            self._fill(unit, values)

    def _fill(self, unit: int, values: Any) -> None:
        try:
            if values is not None:
                keep_unit(self.stage, unit, values, self.arrays, self.units.keep_file)
                return
        except ValueError as error:
            if self.needs.on_error != KEEP:
                raise
            self.failures.note(unit, Tried(None, [text_of(error)]))
        keep_nothing(self.stage, unit, self.arrays)

    def finish(self, pools: Iterable[Pools | None]) -> list[str]:
        """Write the rest of the results; return the files beside the arrays."""
        if self.engine is None and not self.at_once:
            pools = list(pools)
            self.engine = {"name": SLICES, "workers": len(pools)}
        files = [] if self.units is None else self.units.finish()
        self.failures.check()
        noted = self.failures.write(self.known, files)
        rows = self.units.rows() if self.units is not None and isinstance(self.stage, CollectingStage) else []
        threads = distinct([pool for found in pools for pool in found or ()]) or check_single_thread()
        more = threads, files, rows, self.taken, self.engine, self.failures
        WORK.update(self.work)
        written = self._or_refuse(lambda: write_output(self.stage, self.task, self.arrays, *more))
        if written is None:
            for file in [*files, *noted]:
                Path(file).unlink()
            return []
        check_located()
        return [*files, *noted, *written]


def _prepare(kind: type[Stage], file: str) -> Callable[..., Any]:
    def prepare(job: Any) -> Any:
        work = _Work(kind, file)
        if not work.refused:
            engine, guards = None if work.at_once else engine_of_run(), work.needs.guards
            is_alone = work.at_once and not guards  # else a process that ends must not end the job
            threads = [] if engine or is_alone else threads_lost_by_fork()
            if not (engine or is_alone or guards or threads):
                return work
            pools = work.compute() if is_alone else work.compute_elsewhere(engine, threads)
            _register(job, work.finish([pools]))
        return job.finish_early()

    return prepare


def _analysis(sliceno: int, prepare_res: _Work) -> tuple[Pools | None, float, float]:
    return prepare_res.compute(sliceno), round(time.process_time(), 3), round(queued_seconds(), 3)


def _synthesis(
    job: Any, prepare_res: _Work, analysis_res: Iterable[tuple[Pools | None, float, float]]
) -> None:
    pools, computed, queued = zip(*analysis_res, strict=True)
    prepare_res.work |= {"cpu_seconds": [*computed], "queued_seconds": [*queued]}
    _register(job, prepare_res.finish(pools))


def _all_at_once(kind: type[Stage], file: str) -> Callable[..., Any]:
    def synthesis(job: Any) -> None:
        work = _Work(kind, file)
        if not work.refused:
            _register(job, work.finish([]))

    return synthesis


def _has_units(stage: type[Stage]) -> bool:
    return stage.units is not Stage.units


def _register(job: Any, files: list[str]) -> None:
    for file in files:
        job.register_file(file)
