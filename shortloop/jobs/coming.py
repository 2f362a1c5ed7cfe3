"""Jobs that come later in a run: its engine is told of them, so that it computes their units early."""

from __future__ import annotations

import contextlib
import io
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from shortloop.engines.messages import JobWork, Later, Work
from shortloop.errors import InputError
from shortloop.jobs.exax.for_workers import work_of_job
from shortloop.jobs.keys.code import at_one_moment, code_state
from shortloop.jobs.keys.methods import find_method
from shortloop.jobs.part import Part
from shortloop.jobs.pipeline import Built, BuiltDataset, Jobs, Made
from shortloop.jobs.planner import Planner
from shortloop.jobs.request import MODULES, Request
from shortloop.jobs.signature import signature_of
from shortloop.jobs.store.store import Store
from shortloop.worker.fields import fields_of
from shortloop.worker.stage import Stage
from shortloop.worker.task import Folders

__all__ = ["Coming", "has_units"]

PARTITION = "partition"
MOST = 200  # that an engine is told of at a time
LEAST, SHARE = 1.0, 0.05  # s, and share of the run, that planning anew may take


class Coming:
    """Finds jobs of which a run knows all that they are made from before it is their turn.

    What it finds may be wrong, as the pipeline may go another way than was planned: then their units were
    computed in vain.

    Parameters
    ----------
    plan : Planner
        Of the pipeline.
    plan_again : callable
        Plans it anew, when more is there than before.
    part : Part
        Which jobs are built.
    store : Store
        The finished jobs.
    slices : int
        As exax has them.
    """

    def __init__(
        self, plan: Planner, plan_again: Callable[[], Planner], part: Part, store: Store, slices: int
    ) -> None:
        self._plan = plan
        self._plan_again = plan_again
        self._part = part
        self._store = store
        self._slices = slices
        self._told: dict[int, str] = {}  # what it computes, by the number of the job
        self._bases: dict[int, str | None] = {}  # of jobs whose inputs are there, by their number
        self._is_off = False
        self._began, self._planning = time.monotonic(), 0.0

    def after(
        self,
        jobs: Sequence[Built],
        packed: Callable[[JobWork], Work],
        seconds: Callable[[Request], float | None],
    ) -> tuple[list[Later], list[str]]:
        """Jobs that the engine was not told of yet, and could begin with.

        Parameters
        ----------
        jobs : sequence of Built
            Those that are there, of all that were asked for; the next one begins now.
        packed : callable
            Makes ready to be sent what workers must know of a job.
        seconds : callable
            Says how long this machine would take for a job, as far as is known.

        Returns
        -------
        later : list of Later
        over : list of str
            What jobs compute that it was told of, and whose turn is over.
        """
        now = len(jobs)
        passed = [self._told.pop(number) for number in [*self._told] if number < now]
        over = [what for what in passed if what]
        if self._is_off:
            return [], over
        if self._plan.unread or (now >= len(self._plan.jobs) and self._plan.waits_for is not None):
            self._look_further()
        planned = [(each.stage, each.partition) for each in self._plan.jobs]
        if planned[:now] != [(each.stage, each.partition) for each in jobs]:
            self._is_off = True
            return [], over
        there = {id(each): made for each, made in zip(self._plan.jobs, jobs, strict=False)}
        found: list[Later] = []
        with at_one_moment():
            for number, wanted, base in self._ready(now, there):
                if len(found) == MOST:
                    break
                self._told[number] = ""
                with contextlib.suppress(InputError, OSError):  # the job will say so
                    if (work := self._work(wanted, base)) is not None:
                        found.append(_later(wanted, packed(work), seconds(wanted)))
                        self._told[number] = found[-1].work.what
        return found, over

    def _ready(self, now: int, there: Mapping[int, Built]) -> Iterator[tuple[int, Request, str]]:
        """Due jobs after the one that begins now, of which all inputs are there, and that can take over no
        units of an earlier job of this run; their numbers and bases.
        """
        bases: dict[str, set[str | None]] = defaultdict(set)  # of the jobs before, by stage
        for number, wanted in enumerate(self._plan.requests):
            if self._bases.get(number) is None and (real := _with(wanted, there)) is not None:
                self._bases[number] = _base(real)
            base = self._bases.get(number)
            takes_over = base != "" and not bases[wanted.stage].isdisjoint((base, None))
            bases[wanted.stage].add(base)
            if number > now and base is not None and not takes_over and self._is_due(number):
                ready = _with(wanted, there)
                assert ready is not None
                yield number, ready, base

    def _look_further(self) -> None:
        """Plan anew, unless the pipeline asks for results so often that this takes too long."""
        began = time.monotonic()
        if self._planning > LEAST + SHARE * (began - self._began):
            return
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # it has said it already
                self._plan = self._plan_again()
            self._bases.clear()
        except Exception:  # which the run itself will meet
            self._is_off = True
        self._planning += time.monotonic() - began

    def _is_due(self, number: int) -> bool:
        part = self._part
        is_built = part.is_whole or number in part.chosen
        return is_built and number not in part.forced and number not in self._told

    def _work(self, wanted: Request, base: str) -> JobWork | None:
        """What workers must know of a job; None if they cannot compute it early, or it is there."""
        stage = signature_of(wanted.stage).stage
        if stage is None or not has_units(wanted.stage) or wanted.files or wanted.paths:
            return None
        if self._store.find(wanted.parts().key()) or (base and self._store.find_alike(base, most=1)):
            return None
        _, method = find_method(wanted.stage)
        fields = fields_of(stage)
        options = {name: each for name, each in wanted.sent.items() if name not in (MODULES, PARTITION)}
        return work_of_job(
            stage,
            method.resolve(),
            code_state(method, wanted.modules),
            partition=wanted.partition,
            options=options,
            modules=[*wanted.modules],
            jobs=_names(wanted.jobs, [*fields.jobs, *fields.perhaps], fields.lists),
            before=None,
            datasets=_names(
                wanted.datasets, [*fields.datasets, *fields.perhaps_datasets], fields.dataset_lists
            ),
            slices=self._slices,
        )


def has_units(stage: str) -> bool:
    """Whether jobs of a stage have units that can be shared out.

    Parameters
    ----------
    stage : str
        Its name.

    Returns
    -------
    bool
    """
    kind = signature_of(stage).stage
    return kind is not None and kind.units is not Stage.units


def _base(wanted: Request) -> str | None:
    """What it has in common with jobs that it can take units over from; empty: with none, None: not known."""
    if not wanted.grows and wanted.units is None:
        return ""
    with contextlib.suppress(InputError, OSError):
        return wanted.base(wanted.parts())
    return None


def _later(wanted: Request, work: Work, seconds: float | None) -> Later:
    name = " ".join(filter(None, (wanted.stage, wanted.partition)))
    return Later(work, name, find_method(wanted.stage)[1], [*wanted.modules], seconds)


def _names(given: Jobs, single: Sequence[str], lists: Sequence[str]) -> dict[str, Folders]:
    """What a stage is made from, as a job of it finds it: folders of jobs, and names of datasets."""
    found: dict[str, Folders] = {name: [_name(one) for one in _list(given.get(name))] for name in lists}
    return found | {name: _name(*_list(given[name])) if name in given else None for name in single}


def _list(of: Made | Sequence[Made] | None) -> Sequence[Made]:
    return of if isinstance(of, Sequence) else [of] if of is not None else []


def _name(made: Made) -> str:
    return made.id if isinstance(made, BuiltDataset) else str(made.path)


def _with(wanted: Request, there: Mapping[int, Built]) -> Request | None:
    """The same with jobs that are there in place of planned ones; None if one is not there yet."""

    def real(made: Made) -> Made:
        if isinstance(made, BuiltDataset):
            return replace(made, made=cast("Built", real(made.made)))
        return made if made.content and id(made) not in there else there[id(made)]

    def all_of(jobs: Jobs) -> Jobs:
        return {
            name: [real(each) for each in of] if isinstance(of, Sequence) else real(of)
            for name, of in jobs.items()
        }

    try:
        return replace(wanted, jobs=all_of(wanted.jobs), datasets=all_of(wanted.datasets))
    except KeyError:
        return None
