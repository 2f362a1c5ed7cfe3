"""How fast a stage was in past runs, and since which run it has been slower by more than noise."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

from shortloop.base.errors import InputError
from shortloop.profile.job_speed import JobSpeed, speed_of
from shortloop.project.project import job_directory
from shortloop.run.runs import RunRecord, read_runs, run_numbers
from shortloop.store.setup import setup_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEFORE, WINDOW = 3, 10  # runs, at least and at most, with which later ones are compared
LEAST = 0.1  # of the rate: no smaller loss is told
NOISE = 3.0  # times the spread of the runs before
GAUSSIAN = 1.4826  # standard deviation by median absolute deviation (Rousseeuw and Croux 1993)
LASTING = 0.8  # of the runs since a loss are slower than noise explains
AS_BEFORE = 0.05  # processor time of a unit that differs by less has not changed
EXPLAINS = 1 / 3  # share of a loss that its processor time has to be, if computing is the reason
SLOWER = "slower by more than noise"


class Past(NamedTuple):
    """A job of the stage that a run built."""

    job: str
    partition: str
    speed: JobSpeed

    @property
    def like(self) -> tuple[object, ...]:
        """Jobs whose times can be compared have this in common."""
        return self.partition, self.speed.units, self.speed.workers


class Point(NamedTuple):
    """The stage in one run; rates are units a second, or jobs a second of a stage without units."""

    run: int
    began: float  # seconds since 1970
    jobs: tuple[str, ...]
    rate: float
    seconds: float  # of all these jobs
    relative: float | None  # rate by what is usual for such jobs; None: there are no others
    cpu: float | None  # the same for processor time of a unit


class Loss(NamedTuple):
    """A run from which on the stage is slower, and how much."""

    since: Point
    last: Point  # before
    factor: float  # times as long as before
    noise: float  # spread of the runs before, as a share
    cpu: float | None  # the factor by which more processor time for a unit would have made it longer


@dataclass(frozen=True)
class History:
    """A stage in past runs, the earliest first."""

    stage: str
    has_units: bool
    points: Sequence[Point]

    @cached_property
    def loss(self) -> Loss | None:
        """The earliest loss that lasts until the latest run, and is more than noise."""
        points = [each for each in self.points if each.relative is not None]
        for at in range(BEFORE, len(points)):
            before, after = points[max(at - WINDOW, 0) : at], points[at:]
            logs = [math.log(each.relative or 1.0) for each in before]
            usual = median(logs)
            spread = GAUSSIAN * median(abs(each - usual) for each in logs)
            limit = usual - max(NOISE * spread, -math.log(1 - LEAST))
            later = [math.log(each.relative or 1.0) for each in after]
            below = [each < limit for each in later]
            if below[0] and below[-1] and fmean(below) >= LASTING:
                factor = math.exp(usual - median(later))
                return Loss(after[0], before[-1], factor, math.expm1(spread), _cpu(before, after))
        return None


def _cpu(before: Sequence[Point], after: Sequence[Point]) -> float | None:
    known = [[each.cpu for each in points if each.cpu is not None] for points in (before, after)]
    return median(known[1]) / median(known[0]) if all(known) else None


def history_of(stage: str, partition: str | None = None) -> History:
    """Read how fast a stage was in each run that built jobs of it, and from the records that are left."""
    runs = {number: record for number, record, _ in read_runs(run_numbers())}
    found: dict[int, list[Past]] = {}
    for number, record in runs.items():
        built = [job for job in record.jobs if job.built and job.stage == stage]
        wanted = [job for job in built if partition in (None, job.partition)]
        if pasts := [*_pasts(record, ((job.job, job.partition or "") for job in wanted))]:
            found[number] = pasts
    if not found:
        known = sorted({job.stage for record in runs.values() for job in record.jobs if job.built})
        hint = "`shortloop runs` lists the runs; a job whose record was deleted is not counted"
        expected = f"one of {', '.join(known)}" if known else "no run has built a job yet"
        raise InputError("no run has built a job of this stage", found=stage, expected=expected, hint=hint)
    has_units = any(past.speed.units for pasts in found.values() for past in pasts)
    if has_units:  # a job that took over all units tells nothing, nor does one whose record was deleted
        counted = {number: [past for past in pasts if past.speed.units] for number, pasts in found.items()}
        found = {number: pasts for number, pasts in counted.items() if pasts}
    usual = _usual(past for pasts in found.values() for past in pasts)
    points = [_point(number, runs[number].began, pasts, usual) for number, pasts in found.items()]
    return History(stage, has_units, points)


def _pasts(run: RunRecord, jobs: Iterator[tuple[str, str]]) -> Iterator[Past]:
    for job, partition in jobs:
        with suppress(InputError):  # its folder is gone
            folder = job_directory(job)
            speed, began = speed_of(folder), setup_of(folder).get("starttime", 0.0)
            # Of a workdir that was emptied, jobs of later runs have the same ids.
            is_of_run = run.began - 1 <= began <= run.began + run.seconds + 1
            if speed is not None and speed.seconds > 0 and is_of_run:
                yield Past(job, partition, speed)


Usual = Mapping[tuple[object, ...], tuple[float, float | None, float]]
"""Median seconds, processor seconds and seconds of all processes of comparable jobs."""


def _usual(pasts: Iterator[Past]) -> Usual:
    alike: defaultdict[tuple[object, ...], list[JobSpeed]] = defaultdict(list)
    for past in pasts:
        alike[past.like].append(past.speed)
    return {
        like: (
            median(each.seconds for each in speeds),
            _median([each.cpu for each in speeds]),
            median(each.core_seconds for each in speeds),
        )
        for like, speeds in alike.items()
        if len(speeds) > 1
    }


def _median(values: Sequence[float | None]) -> float | None:
    known = [each for each in values if each]
    return median(known) if known else None


def _point(run: int, began: float, pasts: Sequence[Past], usual: Usual) -> Point:
    units = sum(max(past.speed.units, 1) for past in pasts)
    seconds = sum(past.speed.seconds for past in pasts)
    relative, cpu = [], []
    for past in pasts:
        if past.like in usual:
            long, computes, whole = usual[past.like]
            relative.append(math.log(long / past.speed.seconds))
            if computes and past.speed.cpu:  # against all of the time: of units that wait, it is hardly any
                cpu.append(math.log(max(1.0 + (past.speed.cpu - computes) / max(whole, computes), 0.01)))
    means = [math.exp(fmean(each)) if each else None for each in (relative, cpu)]
    return Point(run, began, tuple(past.job for past in pasts), units / seconds, seconds, *means)


def loss_in_words(history: History) -> str:
    """Say where the stage became slower, and what that says; or that it did not."""
    loss, known = history.loss, sum(each.relative is not None for each in history.points)
    if loss is None and known <= BEFORE:
        return f"{BEFORE + 1} runs with jobs that are alike are needed to tell a loss from noise"
    if loss is None:
        return "not slower than before by more than noise"
    cause = ""
    if loss.cpu is not None:
        cause = ", and so is the processor time of a unit: the computation itself"
        if loss.cpu - 1 < max(AS_BEFORE, EXPLAINS * (loss.factor - 1)):
            cause = ", its processor time hardly is: the machine was busy, or workers wait or idle"
    longer = f"{loss.factor:.2f} × as long as before (noise ±{loss.noise:.0%})"
    hint = f"`shortloop compare {loss.last.jobs[0]} {loss.since.jobs[0]}` says what differs"
    return f"slower since run {loss.since.run}: {longer}{cause}; {hint}"


def draw(history: History) -> Figure:
    """Draw the rate in each run; runs from which on the stage is slower stand out."""
    from shortloop.report.style import BLUE, GREY, VERMILION, new_figure

    what = "units" if history.has_units else "jobs"
    figure = new_figure(3.2, f"{history.stage}: {what} a second, by run")
    axes = figure.add_subplot()
    points, loss = history.points, history.loss
    places, rates = range(len(points)), [each.rate for each in points]
    axes.plot(places, rates, color=GREY, linewidth=0.8, zorder=1)
    since = len(points) if loss is None else points.index(loss.since)
    for name, colour, marker, of in (
        ("_", BLUE, "o", slice(since)),
        (SLOWER, VERMILION, "s", slice(since, None)),
    ):
        axes.plot(places[of], rates[of], marker, color=colour, label=name, markersize=5)
    step = max(len(points) // 10, 1)
    axes.set_xticks([*places][::step], [str(points[place].run) for place in places][::step])
    axes.set_xlabel("run")
    axes.set_ylabel(f"{what} a second")
    axes.set_ylim(0, 1.08 * max(rates))
    if loss is not None:
        axes.legend(loc="best")
    return figure
