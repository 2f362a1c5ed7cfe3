"""Running a pipeline: the same function is first given a `Plan`, which only looks what is there, and then a
`Run`, which has exax build what is not."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.errors import InputError
from shortloop.jobs.build import Order, make
from shortloop.jobs.dry_run import DryRun
from shortloop.jobs.exax import client, preload
from shortloop.jobs.exax.cost import Meter
from shortloop.jobs.exax.listener import answers, watched
from shortloop.jobs.keys.key import Parts, find_method, parts_of
from shortloop.jobs.planner import Built, Plan, contents, reused
from shortloop.jobs.progress import Progress
from shortloop.jobs.project import configuration
from shortloop.jobs.settings_files import note_study_file, take_over_study
from shortloop.jobs.store.locks import only_run
from shortloop.jobs.store.store import Store
from shortloop.jobs.system_errors import system_error
from shortloop.jobs.termination import explained, say_why, signals_raise
from shortloop.text import one_line

if TYPE_CHECKING:  # a run without a study needs none of it
    from shortloop.eeg.study.schema import Study

__all__ = ["Built", "Pipeline", "Plan", "Run", "run_pipeline", "run_study"]

Pipeline = Callable[[Plan], Built]
ATTEMPTS = 3


class Run(Plan):
    """Builds the jobs of a pipeline, one after the other, and reports progress."""

    def __init__(
        self,
        urd: Any,
        study: Study | None,
        study_file: Path,
        progress: Progress,
        store: Store,
        name: str = "",
        meter: Meter | None = None,
    ) -> None:
        super().__init__(study, study_file, store, name, planning=False)
        self._urd = urd
        self.progress = progress
        self._meter = meter or Meter()

    def build(
        self,
        method: str,
        partition: str | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        jobs: Mapping[str, Any] | None = None,
        grows: str = "",
        modules: Sequence[str] = (),
    ) -> Built:
        """Build a job, or find that it is already there.

        Parameters
        ----------
        method : str
            Name of the exax method.
        partition : str, optional
            Whose data; becomes the option ``partition``. Default: everybody's.
        options : mapping, optional
            The method's options, plain data: None, bool, int, finite float, str, and lists, tuples and dicts
            (whose keys are str) of these; a tuple is a list to the job. A path is refused, as a job must
            depend on what is in a file: `shortloop.jobs.store.inputs.register` gives its content, and
            `shortloop.jobs.store.inputs.locate` finds the file of a content within the job.
        jobs : mapping of str to Built, or to a list of them, optional
            Jobs it is made from. The method may read what they left, and not with which options.
        grows : str, optional
            An option, such as a number of permutations, that a job can grow in: the method is given the
            job with the most of it, and else the same key, as ``jobs.before``. What comes of it must be
            the same as without.
        modules : sequence of str, optional
            Modules that the method imports by a name which its code does not say, as it is an option.

        Returns
        -------
        Built

        Raises
        ------
        InputError
            If the job rejected its input, or an option is not plain data.
        """
        self.progress.begin(method, partition)
        built = super().build(method, partition, options=options, jobs=jobs, grows=grows, modules=modules)
        who = partition or ""
        line = f"built {method:<19} {who:<12} {built.job:<10} {built.seconds:6.1f} s" if built.fresh else None
        if line is not None and built.reason:
            line += f"  {built.reason}"
        self.progress.end(line)
        if built.rejected:
            raise InputError(str(built.result().problem))
        return built

    def _get(
        self,
        method: str,
        partition: str | None,
        options: dict[str, Any],
        jobs: Mapping[str, Any],
        grows: str,
        modules: tuple[str, ...],
    ) -> Built:
        assert self.store is not None
        slot = self._slot(method, partition)
        for _ in range(ATTEMPTS):
            parts = parts_of(method, options, contents(jobs), modules)
            found = self._find(parts, slot)
            if found is not None:
                return reused(found, method, partition)
            preload.announce(method)
            order = self._order(method, partition, options, jobs, parts, slot, grows)
            order = replace(order, modules=modules)
            made = make(self._urd, self.store, order, self._meter)
            if made is not None and parts_of(method, options, contents(jobs), modules) != parts:
                job = made[0].job
                print(f"the code of {method} was edited while {job} ran, so it is built again", flush=True)
            elif made is not None:
                self.slots[slot] = made[0].job
                reason = order.reason if made[1] else ""
                return replace(reused(made[0], method, partition), fresh=made[1], plan="", reason=reason)
        raise InputError(
            "the code goes on changing while a job runs",
            file=find_method(method)[1],
            hint="run again when it is as it should be; if nobody edits it, see that `__init__.py` of its "
            "package prepares the server and its processes, as that of `methods` does",
        )

    def _order(
        self,
        method: str,
        partition: str | None,
        options: dict[str, Any],
        jobs: Mapping[str, Any],
        parts: Parts,
        slot: str,
        grows: str,
    ) -> Order:
        assert self.store is not None
        ids = {name: _ids(made) for name, made in jobs.items()}
        base = parts.key(without=grows) if grows else ""
        alike = [each for each in self.store.find_alike(base) if not each.rejected] if grows else []
        if alike:
            ids["before"] = max(alike, key=lambda each: self._amount(each.job, grows)).job
        previous = self.store.manifest_of(self.store.index.in_slot(slot))
        return Order(
            method=method,
            options=options,
            jobs=ids,
            caption=one_line(f"{method} {partition}" if partition else method),
            parts=parts,
            base=base,
            partition=partition,
            pipeline=self.name,
            reason=self.store.why(parts, previous, jobs),
            previous="" if previous is None else previous.job,
        )

    def _amount(self, job: str, grows: str) -> float:
        assert self.store is not None
        manifest = self.store.manifest_of(job)
        return -1 if manifest is None else float(manifest.parts.options[grows])


def run_pipeline(
    urd: Any,
    pipeline: Pipeline,
    finish: Callable[[Run, Built, float], None] | None = None,
    *,
    name: str,
    study: Study | None = None,
    study_file: Path | None = None,
) -> int:
    """Run a pipeline; the ``main`` of a build script.

    Parameters
    ----------
    urd : accelerator.build.Urd
        As exax gives it to a build script.
    pipeline : callable
        Takes a `Plan` or a `Run`, builds the jobs, returns the last one.
    finish : callable, optional
        Takes the run, the last job and the seconds it all took, when all is built.
    name : str
        What the jobs are for: a job is compared with the one in its place when the same name was last run.
    study : Study, optional
        The study, if it is of one.
    study_file : Path, optional
        Where that was read from.

    Returns
    -------
    int
        Exit status: 0; 1 after a message if something is not as it must be; 130 when interrupted.
    """
    started = time.time()
    file = study_file or Path()
    if isinstance(urd, DryRun):
        return urd.plan(pipeline, study, file, name)
    try:
        with explained(), signals_raise(), only_run(name), watched(), Store() as store:
            if not store.index.kept:
                raise InputError(
                    "this run may not write the project's index of jobs",
                    file=", ".join(configuration().workdirs.values()),
                    hint="run as the owner of the project, or in a copy of it",
                )
            answers()  # exax itself would wait for ever for one that is stopped
            if client.is_idle():  # else somebody's job, that is not ours, is not finished yet
                for line in store.tidy():
                    print(one_line(line))
            if study is not None and (taken := take_over_study(store.index, study, file)):
                print(one_line(taken))
            plan = Plan(study, file, store, name)
            pipeline(plan)
            if study is not None:
                note_study_file(store.index, study, file)
            meter = Meter()
            with Progress(plan.jobs, store.index.seconds(), meter.fraction) as progress:
                run = Run(urd, study, file, progress, store, name, meter)
                try:
                    last = pipeline(run)
                finally:
                    preload.forget()
                    store.index.put_in_slots(run.slots)
                store.index.ended(name, run.slots)
            seconds = time.time() - started
            if finish is not None:
                finish(run, last, seconds)
            fresh = sum(job.fresh for job in run.jobs)
        print(f"{fresh} jobs built, {len(run.jobs) - fresh} reused, {seconds:.1f} s")
    except InputError as error:
        say_why(error)
        return 1
    except KeyboardInterrupt:
        print("interrupted: finished jobs are kept; run again to go on", file=sys.stderr, flush=True)
        return 130
    return 0


def run_study(urd: Any, pipeline: Pipeline, finish: Callable[[Run, Built, float], None] | None = None) -> int:
    """Run a pipeline on the study that the variable STUDY names; the ``main`` of a build script.

    Parameters
    ----------
    urd, pipeline, finish
        As of `run_pipeline`.

    Returns
    -------
    int
        As of `run_pipeline`.
    """
    try:
        from accelerator.shell import cfg

        from shortloop.eeg.study.load import read_study, study_path

        file = study_path(base=Path.cwd() if isinstance(urd, DryRun) else Path(cfg.user_cwd))
        study = read_study(file)
    except Exception as error:
        known = error if isinstance(error, InputError) else system_error(error)
        if known is None:
            raise
        say_why(known)
        return 1
    name = f"{pipeline.__module__.rpartition('.')[2]} {study.name}"
    return run_pipeline(urd, pipeline, finish, name=name, study=study, study_file=file)


def _ids(built: Any) -> Any:
    return [each.job for each in built] if isinstance(built, list | tuple) else built.job
