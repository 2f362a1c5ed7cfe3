"""The loop of a user at HEAD and at an older commit, in one run: ``make bench PARTS=loop AGAINST=…``."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from benchmarks.loop_cases import COLD, EXAX, GROUPS, MANY, Step, Subject, toys_of, warm_up
from benchmarks.loop_sides import Side, sides
from benchmarks.loop_tables import tables_of
from benchmarks.measure import ratio, spread
from benchmarks.options import Options, cores

QUICK = ("workload", "toys", "independent")
"""Groups of cases at tiny sizes: the others compile machine code, or need memory."""

Found = dict[str, dict[str, list[dict[str, Any]]]]


def run(options: Options) -> dict[str, Any]:
    """Measure all cases at HEAD and at the commit to compare with, in turn, run after run."""
    chosen = options.cases or (QUICK if options.quick else tuple(GROUPS))
    if unknown := sorted(set(chosen) - set(GROUPS)):
        raise SystemExit(f"CASES: no {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    with sides(options) as (folder, compared):
        subject = Subject(options, folder)
        steps: list[Step] = []
        if {"new", "workload", "slices"} & set(chosen):
            subject.simulate()
            steps += [] if options.quick else warm_up(subject, compared)
        steps += [
            step
            for number in range(options.runs)
            for group in GROUPS
            if group in chosen
            for step in GROUPS[group](subject, compared if number % 2 == 0 else compared[::-1])
        ]
        try:
            found, failed = _perform(steps)
        finally:
            _stop(subject, compared)
    result = {
        "sides": [side.name for side in compared],
        "participants": subject.participants,
        "toys": dict(zip(("chain", "independent", "seconds"), toys_of(options.quick), strict=True)),
        "cores": cores(),
        "cases": {case: _of_case(each, [side.name for side in compared]) for case, each in found.items()},
        "stages": {side: runs[-1]["stages"] for side, runs in found.get(COLD, {}).items()},
        "failed": failed,
    }
    return {**result, "tables": tables_of(result, COLD, MANY, EXAX)}


def _perform(steps: Sequence[Step]) -> tuple[Found, list[str]]:
    """Do one step after the other, and say how far it is."""
    found: Found = defaultdict(lambda: defaultdict(list))
    failed: list[str] = []
    taken: dict[tuple[str, str], float] = {}
    for number, step in enumerate(steps, 1):
        began = time.monotonic()
        said = ""
        try:
            measured = step.work()
        except (RuntimeError, OSError, ValueError) as error:  # what else is measured is not lost
            lines = str(error).strip().splitlines() or [type(error).__name__]
            failed.append(f"{step.case or 'preparing'}, {step.side}: {lines[-1]}")
            said = f"failed: {error}"
        else:
            if measured and step.case:
                found[step.case][step.side].append(measured)
                jobs = measured["jobs"]
                said = f"{measured['seconds']:.2f} s, {jobs} job{'' if jobs == 1 else 's'}"
        taken[step.case, step.side] = time.monotonic() - began
        if said:
            case = step.case or "preparing"
            left = _left(steps[number:], taken)
            print(f"  {number}/{len(steps)}  {case}, {step.side}: {said}{left}", flush=True)
    return {case: dict(each) for case, each in found.items()}, failed


def _left(steps: Sequence[Step], taken: dict[tuple[str, str], float]) -> str:
    """How long the other steps will take, as far as it is known."""
    if not steps:
        return ""
    known = [_expected(step, taken) for step in steps]
    minutes = sum(each for each in known if each is not None) / 60
    least = "at least" if None in known else "about"
    return f"; {least} {minutes:.1f} min left" if minutes >= 0.1 else f"; {len(steps)} steps left"


def _expected(step: Step, taken: dict[tuple[str, str], float]) -> float | None:
    """Seconds of such a step of this commit, else of the other, if there was one."""
    if not step.case:
        return 0.0  # what prepares is short, and each different
    others = [seconds for (case, _), seconds in taken.items() if case == step.case]
    return taken.get((step.case, step.side), max(others, default=None))


def _of_case(measured: dict[str, list[dict[str, Any]]], names: list[str]) -> dict[str, Any]:
    """Spreads of each commit, and of the ratios within runs; of plain exax too, if it was measured."""
    found: dict[str, Any] = {
        side: {
            what: spread([run[what] for run in runs])
            for what, first in runs[0].items()
            if isinstance(first, int | float)
        }
        for side, runs in measured.items()
    }
    if all(name in measured for name in names) and len(names) == 2:
        old, new = ([run["seconds"] for run in measured[name]] for name in names)
        if len(old) == len(new):
            found["ratio"] = ratio(new, old)
    return found


def _stop(subject: Subject, compared: Sequence[Side]) -> None:
    for chain in subject.toys.values():
        chain.stop()
    for side in compared:
        side.project.stop()
