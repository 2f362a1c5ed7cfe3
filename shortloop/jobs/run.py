"""Running a pipeline: the same function is first given a `Plan`, which only counts its jobs, and then a
`Run`, which builds them through exax."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shortloop.errors import InputError
from shortloop.jobs.progress import Progress
from shortloop.jobs.project import configuration
from shortloop.jobs.results import Result, open_result
from shortloop.jobs.warm import WORTH_IT, forget_warm, load_warm
from shortloop.study.load import read_study, study_path
from shortloop.study.schema import Study

__all__ = ["Built", "Pipeline", "Plan", "Run", "run_study"]

NO_RESULT = Path()


@dataclass(frozen=True)
class Built:
    """A job as a pipeline sees it.

    Parameters
    ----------
    job : str
        Job id; empty in a plan.
    stage : str
        The stage's name.
    participant : str or None
        Whose data; None: everybody's.
    path : Path
        Folder of the job.
    fresh : bool
        Whether this run built it.
    seconds : float
        How long it took to build, now or then.
    """

    job: str
    stage: str
    participant: str | None
    path: Path = NO_RESULT
    fresh: bool = False
    seconds: float = 0.0

    def result(self) -> Result:
        """Its arrays and record.

        Returns
        -------
        Result
        """
        return open_result(self.path)


@dataclass
class Plan:
    """Counts the jobs of a pipeline without running anything."""

    study: Study
    study_file: Path
    jobs: list[Built] = field(default_factory=list)
    planning: bool = True

    def build(
        self,
        method: str,
        participant: str | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        jobs: Mapping[str, Any] | None = None,
    ) -> Built:
        """Note a job.

        Parameters
        ----------
        method, participant, options, jobs
            As of `Run.build`.

        Returns
        -------
        Built
            Without a job id.
        """
        self.jobs.append(Built("", method, participant))
        return self.jobs[-1]


class Run(Plan):
    """Builds the jobs of a pipeline, one after the other, and reports progress."""

    def __init__(self, urd: Any, study: Study, study_file: Path, progress: Progress) -> None:
        super().__init__(study, study_file, planning=False)
        self._urd = urd
        self._progress = progress
        self._started = time.time()
        self._to_come: list[str] = []

    def expect(self, plan: Plan) -> None:
        """Say which jobs are to come, so that what many of them need is loaded once.

        Parameters
        ----------
        plan : Plan
            The plan of the same pipeline.
        """
        self._to_come = [job.stage for job in plan.jobs]

    def build(
        self,
        method: str,
        participant: str | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        jobs: Mapping[str, Any] | None = None,
    ) -> Built:
        """Build a job, or find that it is already there.

        Parameters
        ----------
        method : str
            Name of the exax method.
        participant : str, optional
            Whose data; becomes the option ``participant``. Default: everybody's.
        options : mapping, optional
            The method's options, plain data.
        jobs : mapping of str to Built, or to a list of them, optional
            Jobs it is made from.

        Returns
        -------
        Built

        Raises
        ------
        InputError
            If the job rejected its input.
        """
        self._progress.begin(method, participant)
        everything = dict(options or {})
        if participant is not None:
            everything["participant"] = participant
        before = time.time()
        # exax says a line for each job as well; ours say the participant.
        with contextlib.redirect_stdout(io.StringIO()):
            job = self._urd.build(
                method,
                options=everything,
                jobs={name: _ids(built) for name, built in (jobs or {}).items()},
                caption=f"{method} {participant}" if participant else method,
            )
        built = self._describe(job, method, participant)
        self._warm_up(built)
        who = participant or ""
        line = f"built {method:<19} {who:<12} {built.job:<10} {built.seconds:6.1f} s" if built.fresh else None
        self._progress.end(method, time.time() - before, line)
        self.jobs.append(built)
        problem = built.result().problem
        if problem is not None:
            raise InputError(problem)
        return built

    def _warm_up(self, built: Built) -> None:
        """After the first job that is really built, if many may follow."""
        if built.stage in self._to_come:
            self._to_come.remove(built.stage)
            if built.fresh:
                if len(self._to_come) >= WORTH_IT:
                    load_warm(self._to_come)
                self._to_come = []

    def _describe(self, job: Any, method: str, participant: str | None) -> Built:
        post = json.loads((Path(job.path) / "post.json").read_text(encoding="utf-8"))
        fresh = post["starttime"] >= self._started
        return Built(str(job), method, participant, Path(job.path), fresh, post["exectime"]["total"])


Pipeline = Callable[[Plan], Built]


def run_study(urd: Any, pipeline: Pipeline, finish: Callable[[Run, Built, float], None] | None = None) -> int:
    """Run a pipeline on the study that the variable STUDY names, as the main function of a build script.

    Parameters
    ----------
    urd : accelerator.build.Urd
        As exax gives it to a build script.
    pipeline : callable
        Takes a `Plan` or a `Run`, builds the jobs, returns the last one.
    finish : callable, optional
        Takes the run, the last job and the seconds it all took, when all is built.

    Returns
    -------
    int
        Exit status: 0, or 1 after a message if the study or its data are not as they must be.
    """
    from accelerator.shell import cfg

    started = time.time()
    try:
        file = study_path(base=Path(cfg.user_cwd))
        study = read_study(file)
        plan = Plan(study, file)
        pipeline(plan)
        with Progress([job.stage for job in plan.jobs], _history(study)) as progress:
            run = Run(urd, study, file, progress)
            run.expect(plan)
            try:
                last = pipeline(run)
            finally:
                forget_warm()
        seconds = time.time() - started
        if finish is not None:
            finish(run, last, seconds)
        fresh = sum(job.fresh for job in run.jobs)
        print(f"{fresh} jobs built, {len(run.jobs) - fresh} reused, {seconds:.1f} s")
    except InputError as error:
        print(f"shortloop: {error.message}", file=sys.stderr, flush=True)
        return 1
    return 0


def _history(study: Study) -> dict[str, float]:
    """Mean seconds of each stage when it was last built, from the study's summary."""
    file = Path(configuration().result_directory) / study.name / "summary.json"
    try:
        jobs = json.loads(file.read_text(encoding="utf-8"))["jobs"]
        seconds: dict[str, list[float]] = defaultdict(list)
        for job in jobs:
            seconds[job["stage"]].append(job["seconds"])
        return {stage: sum(each) / len(each) for stage, each in seconds.items()}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _ids(built: Any) -> Any:
    return [each.job for each in built] if isinstance(built, list | tuple) else built.job
