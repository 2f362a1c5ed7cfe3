"""An exax method made of a stage.

``prepare`` opens the stage and makes its arrays. exax then forks slices, whose ``analysis`` draws units until
none is left. ``synthesis`` finishes the stage and writes the record. How units are handed out cannot change a
result, so nothing of this file is in a key.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from shortloop.engines.checkpoints import Checkpoint
from shortloop.engines.ended import Computed
from shortloop.engines.messages import SLICES, EngineNote, JobWork
from shortloop.engines.note import early_results, engine_of_run
from shortloop.errors import InputError
from shortloop.jobs.exax.datasets import open_dataset
from shortloop.jobs.exax.evidence import evidence_of
from shortloop.jobs.exax.for_workers import code_digest, name_of_stage, states_of_jobs, work_of_job
from shortloop.jobs.exax.fork_safety import threads_lost_by_fork
from shortloop.jobs.exax.libraries import note_versions
from shortloop.jobs.exax.silence import BEGUN, note_units
from shortloop.jobs.exax.unit_processes import computed_in_processes
from shortloop.jobs.keys.code import Code, code_of, code_state
from shortloop.jobs.keys.digest import digest
from shortloop.jobs.keys.file_state import State, states_of_files
from shortloop.jobs.keys.key import Parts
from shortloop.jobs.keys.methods import module_of
from shortloop.jobs.keys.own_code import PACKAGE
from shortloop.jobs.keys.typed_options import annotations_of, settled
from shortloop.jobs.store.inputs import check_located
from shortloop.jobs.store.lookup import here
from shortloop.jobs.store.notes import are_taken
from shortloop.plain import Plain
from shortloop.worker.content import SIZE
from shortloop.worker.fields import BEFORE, REQUIRED, fields_of
from shortloop.worker.identity import digest_of_units, ids_of_units
from shortloop.worker.output import computed, keep_unit, lay_out, write_output
from shortloop.worker.records import EARLIER, create_array, reject
from shortloop.worker.rows import take_rows
from shortloop.worker.stage import CollectingStage, Stage
from shortloop.worker.task import Task, costs_of, open_stage
from shortloop.worker.threads import Pool, check_single_thread

__all__ = ["STAGE", "exax_method", "load_client"]

STAGE = "STAGE"
"""The name that a method has for the class of its stage."""
ENGINES = f"{PACKAGE}.engines."
_loaded: tuple[dict[str, ModuleType], list[str], list[State]] | None = None
Pools = list[Pool]  # of a process, as `check_single_thread` finds them


def exax_method(stage: type[Stage], file: str) -> dict[str, object]:
    """What exax looks for in a method, made of a stage.

    Parameters
    ----------
    stage : type of Stage
        Class of the stage.
    file : str
        ``__file__`` of the method.

    Returns
    -------
    dict of str to object
        ``description``, ``depend_extra``, ``options``, ``jobs``, ``datasets``, and the functions ``prepare``,
        ``analysis`` and ``synthesis``; of a stage without units only the last.

    Examples
    --------
    >>> globals().update(exax_method(Fit, __file__))
    """
    taken = fields_of(stage)
    # Without defaults: exax would make values of the types of these.
    frame = ["partition", "modules", *([EARLIER] if issubclass(stage, CollectingStage) else [])]
    options = dict.fromkeys([*frame, *taken.options])
    jobs: list[Any] = [*taken.jobs, *taken.perhaps, *([name] for name in taken.lists)]
    datasets = [*taken.datasets, *taken.perhaps_datasets, *([name] for name in taken.dataset_lists)]
    made = {
        STAGE: stage,
        "description": inspect.getdoc(stage) or stage.__name__,
        "depend_extra": [] if are_taken() else code_of(file),  # exax has asked for it before it forks a job
        "options": options,
        "jobs": (*jobs, *([BEFORE] if stage.grows else [])),
        "datasets": (*datasets,),
    }
    if not _has_units(stage):
        return made | {"synthesis": _all_at_once(stage, file)}
    return made | {"prepare": _prepare(stage, file), "analysis": _analysis, "synthesis": _synthesis}


class _Work:
    """The work of one job: its stage, opened, and its arrays. Slices inherit it when they are forked."""

    def __init__(self, kind: type[Stage], file: str) -> None:
        from accelerator import g

        options, self.slices = json.loads(json.dumps(g.options)), g.slices  # no dicts of exax
        self.file = method = Path(file).resolve()
        modules, earlier = options.pop("modules"), options.pop(EARLIER, None)
        if modules is None:  # a run gives all options; others leave out some
            options |= {name: each for name, each in _defaults(kind).items() if options[name] is None}
        self.modules = modules or []
        self.code = code_state(method, self.modules)
        package, _, stem = module_of(method).rpartition(".")
        self.method = f"{package}.{stem.removeprefix('a_')}"
        jobs = {name: _folders(each) for name, each in g.jobs.items()}
        self.task = Task(
            name_of_stage(method),
            kind.__module__,
            kind.__name__,
            options.pop("partition"),
            options,
            {name: each for name, each in jobs.items() if name != BEFORE},
            jobs.get(BEFORE),
            here(),
            {**self.code.versions, **self.code.libraries},
            {name: _names(each) for name, each in g.datasets.items()},
            open_dataset,
        )
        self.refused = True
        """Whether what is to be computed was found not to be computable; the job says why."""
        self.at_once = True
        """Whether it is not worth to share it out."""
        workdirs = self.task.where.workdirs
        self.earlier = [Path(workdirs[job.rpartition("-")[0]], job) for job in earlier or ()]
        """Folders of jobs that may have rows of the same units; some may be gone."""
        self.taken: dict[str, int] = {}
        """How many units each of them gave."""
        self.early: tuple[dict[str, Plain], Pools] = {}, []
        """What has computed units for a run that was cut off before this job began; its thread pools."""
        self.units: Checkpoint | None = None
        self.engine: dict[str, Plain] | None = None
        """What has computed the units, if they were shared out."""
        self._or_refuse(self._begin)

    def _begin(self) -> None:
        self.stage = open_stage(self.task)
        if _has_units(type(self.stage)):
            above = [*self.task.jobs.values(), self.task.before, *self.task.datasets.values()]
            code = digest([code_digest(self.code), states_of_jobs(above)])
            costs = costs_of(self.stage)
            found = None if isinstance(self.stage, CollectingStage) else digest_of_units(self.stage, costs)
            self.units = Checkpoint(costs, code, self._trusted, found)
            self.arrays = lay_out(self.stage, self.task, self.units.create_array)
            if isinstance(self.stage, CollectingStage):
                given = self.units.rows_before(), self.earlier
                self.taken = take_rows(self.stage, self.units.left(), self.units.take_row, *given)
            self.at_once = len(self.units.left()) <= 1 or self.stage.is_small()
            self.units.start()
            self.now = Computed(self.what, self.stage.unit_name, self.slices)
        else:
            self.arrays = lay_out(self.stage, self.task, create_array)
        self.refused = False

    def _trusted(self, job: Path) -> bool:
        """Whether a job that was cut off had loaded the code, and read the files, that this one would."""
        parts = Parts(self.method, self.code.code, self.code.versions, {}, {})
        evidence = evidence_of(job, parts, self.code)
        if evidence.is_as_keyed:  # what it loaded has made what is taken over
            note_versions(evidence.libraries)
        return evidence.is_as_keyed

    def _or_refuse(self, step: Callable[[], Any]) -> Any:
        try:
            return step()
        except InputError as error:
            check_located()  # of a file that changed, nothing is kept
            task = self.task
            reject(task.name, task.partition, error, task.versions, task.where.files)
            return None

    def compute(self, slice_: int = 0) -> Pools | None:
        """Compute units until none is left; the thread pools of this process, if it computed any."""
        assert self.units is not None
        any_drawn = False
        for units in self.units.batches():
            any_drawn = True
            names = note_units(units, self.stage.unit_name)
            if self.at_once:  # no other process of the job could say what this one computed
                Path(BEGUN).write_text(names, encoding="utf-8", errors="replace")
            given: list[Any] = []
            try:
                for unit in units:
                    self.now.begin(slice_, unit)
                    given.append(computed(self.stage, unit))
            finally:  # those before one that raises are kept
                for unit, values in zip(units, given):
                    self._keep(unit, values)
        self.now.end(slice_)
        if self.at_once:
            Path(BEGUN).unlink(missing_ok=True)
        return check_single_thread() if any_drawn else None

    @property
    def what(self) -> str:
        """What messages call the job."""
        return " ".join(filter(None, (self.task.name, self.task.partition)))

    def compute_elsewhere(self, engine: EngineNote) -> Pools:
        """Have an engine compute all units that are left; the thread pools of its workers."""
        computing, numbers = self._computing(engine, self.what, self.code)
        self._keep_all(computing.units(self._left(numbers), self._for_workers()), numbers)
        self.engine = computing.described()
        threads: Pools = computing.threads
        return threads

    def compute_in_processes(self, threads: list[str]) -> Pools:
        """Have processes compute the units that have none of the threads of this one."""
        computing, numbers = self._computing(None, self.what, self.code)
        work, left, count = self._for_workers(), self._left(numbers), self.slices
        batches = computed_in_processes(work, left, count, computing.lost)
        self._keep_all(computing.done(batches, left, work), numbers)
        early, pools = self.early
        self.engine = {**early, "workers": count, **computing.described(), "threads": [*threads]}
        return [*computing.threads, *pools]

    def take_early(self) -> None:
        """Take over what an engine has computed of this job for a run that was cut off before it began."""
        if self.units is None or self.refused or not os.path.isdir(early_results()):
            return
        computing, numbers = self._computing(None, self.task.name)
        self._keep_all(computing.early(self._left(numbers), self._for_workers()), numbers)
        described = computing.described()
        if "early" in described:
            self.early = {name: each for name, each in described.items() if name != "name"}, computing.threads
            self.units.start()

    def _computing(
        self, engine: EngineNote | None, what: str, code: Code | None = None
    ) -> tuple[Any, dict[bytes, int]]:
        """What has units computed, and the number that each unit has in this process."""
        assert self.units is not None
        stage, ids = self.stage, ids_of_units(self.stage, self.units.costs)
        numbers = {each: number for number, each in enumerate(ids)}

        def is_of(unit: bytes, given: Any) -> bool:
            if not isinstance(stage, CollectingStage):
                return True
            return bool(given[:SIZE] == stage.unit_key(numbers[unit]))

        def name(unit: bytes) -> str:
            return stage.unit_name(numbers[unit])

        return _client().Computing(engine, what, name, is_of, code), numbers

    def _left(self, numbers: Mapping[bytes, int]) -> dict[bytes, float]:
        assert self.units is not None
        left, costs = {*self.units.left()}, self.units.costs
        return {each: costs[number] for each, number in numbers.items() if number in left}

    def _keep_all(self, given: Iterable[tuple[bytes, Any]], numbers: Mapping[bytes, int]) -> None:
        """Keep units that were computed elsewhere."""
        assert self.units is not None
        for each, values in given:
            self._keep(numbers[each], values)
            self.units.mark(numbers[each])

    def _keep(self, unit: int, given: Any) -> None:
        assert self.units is not None
        if isinstance(self.stage, CollectingStage):
            self.units.keep_row(unit, given)
        else:
            keep_unit(self.stage, unit, given, self.arrays, self.units.keep_file)

    def _for_workers(self) -> JobWork:
        return work_of_job(
            type(self.stage),
            self.file,
            self.code,
            partition=self.task.partition,
            options=self.task.options,
            modules=self.modules,
            jobs=self.task.jobs,
            before=self.task.before,
            datasets=self.task.datasets,
            slices=self.slices,
        )

    def finish(self, pools: Iterable[Pools | None]) -> list[str]:
        """Write what is left; the files beside the arrays."""
        described, early = self.early
        if self.engine is None and not self.at_once:
            pools = list(pools)
            self.engine = {"name": SLICES, "workers": len(pools), **described}
            pools.append(early)
        files = [] if self.units is None else self.units.finish()
        rows = self.units.rows() if self.units is not None and isinstance(self.stage, CollectingStage) else []
        threads = _distinct([pool for found in pools for pool in found or ()]) or check_single_thread()
        written = self._or_refuse(
            lambda: write_output(
                self.stage, self.task, self.arrays, threads, files, rows, self.taken, self.engine
            )
        )
        if written is None:
            for file in files:
                Path(file).unlink()
            return []
        check_located()
        return [*files, *written]


def load_client() -> None:
    """Load what talks to engines, for all jobs that this process forks.

    A job forgets all modules that its method does not import, and would load it anew. It is in no key, but
    is used only as long as the files of the package are as they were.
    """
    global _loaded
    import shortloop.engines.client  # noqa: F401

    ours = {name: module for name, module in sys.modules.items() if name.startswith(f"{PACKAGE}.")}
    files = [file for module in ours.values() if (file := getattr(module, "__file__", None))]
    engines = {name: module for name, module in ours.items() if name.startswith(ENGINES)}
    _loaded = engines, files, states_of_files(files)


def _client() -> Any:
    if _loaded is not None and states_of_files(_loaded[1]) == _loaded[2]:
        for name, module in _loaded[0].items():
            sys.modules.setdefault(name, module)
    from shortloop.engines import client

    return client


def _prepare(kind: type[Stage], file: str) -> Callable[..., Any]:
    def prepare(job: Any) -> Any:
        work = _Work(kind, file)
        engine = None if work.at_once else engine_of_run()
        if not work.at_once and engine is None:
            work.take_early()
            threads = threads_lost_by_fork()
            if not threads:
                return work
            _register(job, work.finish([work.compute_in_processes(threads)]))
        elif not work.refused:
            pools = work.compute() if engine is None else work.compute_elsewhere(engine)
            _register(job, work.finish([pools]))
        return job.finish_early()

    return prepare


def _analysis(sliceno: int, prepare_res: _Work) -> Pools | None:
    return prepare_res.compute(sliceno)


def _synthesis(job: Any, prepare_res: _Work, analysis_res: Iterable[Pools | None]) -> None:
    _register(job, prepare_res.finish(analysis_res))


def _all_at_once(kind: type[Stage], file: str) -> Callable[..., Any]:
    def synthesis(job: Any) -> None:
        work = _Work(kind, file)
        if not work.refused:
            _register(job, work.finish([]))

    return synthesis


def _defaults(kind: type[Stage]) -> dict[str, Plain]:
    hints = annotations_of(kind)
    defaults = {name: each for name, each in fields_of(kind).options.items() if each is not REQUIRED}
    return {name: settled(hints.get(name, Any), each) for name, each in defaults.items()}


def _has_units(stage: type[Stage]) -> bool:
    return stage.units is not Stage.units


def _register(job: Any, files: list[str]) -> None:
    for file in files:
        job.register_file(file)


def _folders(jobs: Any) -> Any:
    if isinstance(jobs, list):
        return [str(each.path) for each in jobs]
    return str(jobs.path) if jobs else None


def _names(datasets: Any) -> Any:
    if isinstance(datasets, list):
        return [_names(each) for each in datasets]
    return f"{datasets.job}/{datasets.name}" if datasets else None  # exax leaves out the name "default"


def _distinct(pools: Pools) -> Pools:
    """Each thread pool that a worker found, once."""
    return list({json.dumps(pool, sort_keys=True): pool for pool in pools}.values())
