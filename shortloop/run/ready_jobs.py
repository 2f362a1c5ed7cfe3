"""Planned jobs that can start, longest critical path first."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from shortloop.plan.pipeline import REUSE, Built, BuiltDataset, flat
from shortloop.plan.planner import Planner
from shortloop.plan.request import Request, request
from shortloop.plan.selected_part import Part
from shortloop.store.index import Place

LEAST, SHARE = 1.0, 0.05  # s, and share of the run, that planning anew may take
UNKNOWN = 1.0  # s that a job takes if nothing is known of it


class Schedule:
    """Planned jobs of a run, which may start before the pipeline asks for them, some perhaps in vain."""

    def __init__(
        self,
        plan: Planner,
        plan_again: Callable[[], Planner],  # plans when more is known than before
        part: Part,
        history: Mapping[str, float],  # seconds of earlier jobs, by stage
    ) -> None:
        self._plan_again, self._part, self._history = plan_again, part, history
        self._finished: dict[Place, Built] = {}
        self._started: set[Place] = set()  # started, or found
        self._waiting: list[int] = []
        self._urgency: list[float] = []
        self._numbers: dict[Place, int] = {}
        self._is_stale = False
        self._began, self._planning = time.monotonic(), 0.0
        self._adopt(plan)

    @property
    def count(self) -> int:
        return len(self._numbers)

    @property
    def is_open(self) -> bool:
        """True if results decide which jobs follow those that are planned."""
        return self._plan.waits_for is not None

    def number(self, place: Place) -> int:
        return self._numbers.setdefault(place, len(self._numbers))

    def note_started(self, place: Place) -> None:
        self._started.add(place)

    def note_finished(self, place: Place, built: Built) -> None:
        """Note a finished job, and free the jobs that wait for it."""
        self._started.add(place)
        self._finished[place] = built
        number = self._indices.get(place)
        planned = None if number is None else self._plan.jobs[number]
        is_awaited = self._places.get(id(self._plan.waits_for)) == place
        if is_awaited or (planned and planned.incomplete and planned.content != built.content):
            self._is_stale = True
        for dependent in () if number is None or built.rejected else self._dependents[number]:
            self._missing[dependent].discard(number)

    def look_again(self) -> None:
        """Note that more may be known of jobs below one that was built: a shared cache may have them."""
        self._is_stale = True

    def files_read(self) -> None:
        """Note that the content of another input file is known."""
        self._is_stale |= bool(self._plan.unread)

    def ready(self) -> Iterator[tuple[int, Request]]:
        """Give jobs that can start, the most urgent first: their numbers, and what was planned."""
        if self._is_stale:
            self._look_further()
        requests = self._plan.requests
        self._waiting = [each for each in self._waiting if requests[each].place not in self._started]
        due = [each for each in self._waiting if not self._missing[each] and each not in self._unread]
        for number in sorted(due, key=lambda each: (-self._urgency[each], each)):
            wanted = requests[number]
            # An option may be a path in the folder of a job that was missing when it was planned.
            names_planned = any(not each.content for each in flat(wanted.files))
            if not names_planned and not self._may_take_over(number):
                yield number, wanted

    def resolve(self, number: int) -> tuple[Request, bool]:
        """Return a job with finished jobs in place of planned ones, and if it is forced."""
        wanted = self._plan.requests[number]
        arguments, datasets = self._replaced(wanted.call.arguments), self._replaced(wanted.call.datasets)
        call = wanted.call._replace(arguments=arguments, datasets=datasets)
        found = request(wanted.place.pipeline, wanted.stage, wanted.partition, call, {})
        return replace(found, place=wanted.place), number in self._part.forced

    def left(self) -> list[Request]:
        requests = self._plan.requests
        return [requests[each] for each in self._waiting if requests[each].place not in self._started]

    def _adopt(self, plan: Planner) -> None:
        self._plan = plan
        requests = plan.requests
        numbers = {id(job): number for number, job in enumerate(plan.jobs)}
        self._places = {id(job): each.place for job, each in zip(plan.jobs, requests, strict=True)}
        self._indices = {each.place: number for number, each in enumerate(requests)}
        self._unread = {number for number, wanted in enumerate(requests) if wanted.is_unread}
        forced, chosen = self._part.forced, range(len(requests)) if self._part.is_whole else self._part.chosen
        self._open = [n for n, job in enumerate(plan.jobs) if n in chosen and (_is_open(job) or n in forced)]
        self._waiting = self._open
        self._missing: list[set[int]] = []
        self._dependents: list[list[int]] = [[] for _ in requests]
        for number, wanted in enumerate(requests):
            above = {numbers[id(each)] for each in wanted.above() if id(each) in numbers}
            for each in above:
                self._dependents[each].append(number)
            self._missing.append({each for each in above if not self._is_there(each)})
        self._urgency = [0.0] * len(requests)
        for number in reversed(range(len(requests))):
            job = plan.jobs[number]
            own = 0.0 if job.plan == REUSE else job.seconds or self._history.get(job.stage, UNKNOWN)
            below = (self._urgency[each] for each in self._dependents[number])
            self._urgency[number] = own + max(below, default=0.0)
        for number in self._open:
            self.number(requests[number].place)

    def _is_there(self, number: int) -> bool:
        job, place = self._plan.jobs[number], self._plan.requests[number].place
        if (made := self._finished.get(place)) is not None:
            return not made.rejected
        return not _is_open(job) and not job.rejected and number not in self._part.forced

    def _may_take_over(self, number: int) -> bool:
        """True if an unfinished earlier job in the plan may have units of this job."""
        wanted = self._plan.requests[number]
        if not wanted.grows and wanted.units is None:
            return False
        return any(
            (before.stage, before.partition) == (wanted.stage, wanted.partition)
            and before.place not in self._finished
            for before in (self._plan.requests[each] for each in self._open if each < number)
        )

    def _look_further(self) -> None:
        """Plan again, unless the pipeline asks for results so often that this takes too long."""
        self._is_stale = False
        began = time.monotonic()
        if self._planning > LEAST + SHARE * (began - self._began):
            return
        with contextlib.suppress(Exception):  # the run itself will meet it
            with contextlib.redirect_stdout(io.StringIO()):  # printed already
                again = self._plan_again()
            self._adopt(again)
        self._planning += time.monotonic() - began

    def _replaced(self, value: Any) -> Any:
        if isinstance(value, BuiltDataset):
            return replace(value, made=self._replaced(value.made))
        if isinstance(value, Built):
            place = self._places.get(id(value))
            return value if place is None else self._finished.get(place, value)
        if isinstance(value, Mapping):
            return {name: self._replaced(each) for name, each in value.items()}
        if type(value) in (list, tuple):
            return type(value)(map(self._replaced, value))
        return value


def _is_open(job: Built) -> bool:
    """True if a job, or units of it that failed, are still to be computed."""
    return job.plan != REUSE or job.incomplete
