"""What bounds a job: its phases, the balance of its workers, and the functions that take its time."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from pstats import Stats
from typing import Any

from shortloop.base.text import duration
from shortloop.exax.tracebacks import MACHINERY
from shortloop.keys.own_code import is_own
from shortloop.project.project import project_directory
from shortloop.units.recording import UNIT, Timed

Function = tuple[str, int, str]  # file, line and name, as cProfile has them
PREPARE, UNITS, FINISH = "prepare", "units", "finish"
PHASES = {"prepare": PREPARE, "analysis": UNITS, "synthesis": FINISH}
THREADS = 1.25  # of the time of cores: all threads against the first, from which on it is worth a word
WORTH = 0.1  # s; shorter jobs have no bottleneck that is worth a word
MANY = 5  # longest units that are shown


@dataclass(frozen=True)
class JobTimes:
    """Times of a job that was repeated."""

    times: list[Timed]

    @cached_property
    def units(self) -> list[Timed]:
        """Units; of a method that exax alone knows, what its slices did."""
        return [each for each in self.times if each.phase == UNIT] or self._of("analysis")

    @cached_property
    def workers(self) -> dict[int, list[float]]:
        """Seconds of each unit, by the process that computed it."""
        found: defaultdict[int, list[float]] = defaultdict(list)
        for each in self.units:
            found[each.process].append(each.seconds)
        return found

    @cached_property
    def phases(self) -> dict[str, float]:
        """Seconds of each phase, without the units that `prepare` computes or waits for."""
        times = {PREPARE: self._of("prepare"), UNITS: self.units, FINISH: self._of("synthesis")}
        phases = {name: _span(each) for name, each in times.items()}
        if self.is_within_prepare:
            phases[PREPARE] = max(phases[PREPARE] - phases[UNITS], 0.0)
        return {name: seconds for name, seconds in phases.items() if seconds}

    @property
    def is_within_prepare(self) -> bool:
        """True if `prepare` computed the units, or waited for workers that did."""
        prepare, units = self._of("prepare"), self.units
        return bool(prepare and units) and units[0].began < _end(prepare[0])

    @property
    def has_workers(self) -> bool:
        """True if processes beside those of the job computed the units, as those of an engine do."""
        prepare = self._of("prepare")
        return self.is_within_prepare and prepare[0].process not in self.workers

    def _of(self, phase: str) -> list[Timed]:
        return [each for each in self.times if each.phase == phase]

    @property
    def seconds(self) -> float:
        return sum(self.phases.values())

    def share(self, what: str) -> float:
        """Share of the time of processes that compute units: "cpu", "thread" or "queued"."""
        phases = self._of("analysis") or self._of("prepare")
        busy = sum(each.seconds for each in phases)
        return sum(getattr(each, what) for each in phases) / busy if busy else 0.0

    def longest_units(self) -> list[Timed]:
        units = [each for each in self.units if each.name]
        longest = sorted(units, key=lambda each: -each.seconds)[:MANY]
        return [each for each in longest if each.seconds >= longest[0].seconds / 10]

    def bottleneck(self, calls: Callable[[str], str]) -> str:
        """Name in one sentence what bounds the job; `calls` describes the main function of a phase."""
        if self.seconds < WORTH:
            return f"nothing: the job takes {duration(self.seconds)}"
        phases, number = self.phases, len(self.workers)
        mean = sum(map(sum, self.workers.values())) / number if number else 0.0
        computes, cpu = self.share("thread"), self.share("cpu")
        if cpu > THREADS * computes and phases.get(UNITS, 0.0) > self.seconds / 4:
            more = f"{cpu / computes - 1:.1f} times as much processor time as the one that computes"
            advice = "Leave libraries at one thread: each core has a process"
            return f"threads of libraries, which use {more}. {advice}; {calls(UNITS)}"
        lost = {
            PREPARE: phases.get(PREPARE, 0.0),
            FINISH: phases.get(FINISH, 0.0),
            "idle": phases.get(UNITS, 0.0) - mean if number > 1 else 0.0,
            "queue": mean * self.share("queued"),
            "waiting": mean * max(1 - computes - self.share("queued"), 0.0),
            UNITS: mean * computes,
        }
        most = max(lost, key=lambda each: lost[each])
        share = f"{lost[most] / self.seconds:.0%} of the time"
        if most == "idle":
            first = self.longest_units()[:1]
            unit = f"; the longest unit, {first[0].name}, takes {duration(first[0].seconds)}" if first else ""
            return f"idle workers, {share}: their units end at different times{unit}"
        if most == "queue":
            return f"the machine, {share}: other processes take its cores. Repeat it when they have ended"
        if most == "waiting":
            return f"waiting, {share}: processes of units do not compute; {calls(UNITS)}"
        if most == UNITS:
            return f"computing units, {share}: {calls(most)}"
        if most == PREPARE and self.has_workers:
            return f"the start of workers, {share}: until the first of them computes a unit"
        return f"{most}, {share}, which one process does alone: {calls(most)}"


def _span(times: Iterable[Timed]) -> float:
    each = [*times]
    return max(map(_end, each)) - min(one.began for one in each) if each else 0.0


def _end(each: Timed) -> float:
    return each.began + each.seconds


class Calls:
    """Calls of functions in each phase, merged over processes, as cProfile has recorded them."""

    def __init__(self, files: Iterable[Path]) -> None:
        self.stats: dict[str, Any] = {}  # of cProfile, by phase
        for file in sorted(files):
            phase = PHASES[file.name.partition("-")[0]]
            self.stats[phase] = self.stats.get(phase, Stats()).add(str(file))

    def merged(self) -> Stats:
        whole = Stats()
        return whole.add(*self.stats.values()) if self.stats else whole

    def main(self, phase: str) -> str:
        """Describe the function of the user's own that takes most of a phase, and what it calls most."""
        found: Any = self.stats.get(phase) or self.stats.get(PREPARE)
        stats: Mapping[Function, Any] = found.stats if found else {}
        if not stats:
            return "functions that were not recorded"
        total = sum(each[2] for each in stats.values()) or 1.0
        users = {each: stats[each][3] for each in stats if is_users(each)}
        most = max(users.values(), default=0.0)
        if most < total / 4:
            function = max(stats, key=lambda each: stats[each][2])
            return f"most in {place_of(function)}, {stats[function][2] / total:.0%} of it"
        # The innermost of those that take more than half of the time of the outermost.
        function = min((each for each in users if users[each] > most / 2), key=lambda each: users[each])
        own, whole = stats[function][2:4]
        called = {each: stats[each][4][function][3] for each in stats if function in stats[each][4]}
        first = max(called, key=lambda each: called[each], default=None)
        if first is None or own >= called[first]:
            return f"{own / whole:.0%} in lines of {place_of(function)}, which `--lines` tells apart"
        return f"{called[first] / whole:.0%} in {place_of(first)}, called by {place_of(function)}"


def is_users(function: Function) -> bool:
    """True if a function is in the user's own files."""
    file = function[0]
    return file.startswith("/") and file.endswith(".py") and is_own(file) and not MACHINERY.match(file)


def is_file(function: Function) -> bool:
    return function[0] not in ("~", "") and not function[0].startswith("<")


def place_of(function: Function) -> str:
    """Name a function with its file, below the project if it is there, and its line."""
    file, line, name = function
    if name == "_find_and_load":
        return "imports of modules"
    if not is_file(function):
        return name.strip("<>{}").removeprefix("built-in method ")
    parts = Path(file).parts
    if "site-packages" in parts:
        file = os.path.join(*parts[parts.index("site-packages") + 1 :])
    elif is_users(function):
        file = os.path.relpath(file, project_directory())
    else:
        file = os.path.join(*parts[-2:])
    return f"{name} ({file}:{line})"
