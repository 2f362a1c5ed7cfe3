"""Numbers that runs found, which of them differ between runs, and their table."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from shortloop.base.plain import Plain
from shortloop.sweep.grid import Combination, Grid

OF_THE_RUN = ("seconds", "built", "reused", "report", "files", "jobs")  # of a summary, not findings
LONGEST = 20  # longer lists of numbers are curves, not findings
NAMES = ("name", "kind", "term", "label", "specification")  # keys that name a table in a list
SAME = 1e-9  # relative difference below which numbers are equal


@dataclass(frozen=True)
class Finding:
    value: float | None  # None: e.g. no group was fitted
    unit: str = ""  # e.g. "ms", "%"
    lower: float | None = None  # bounds of an interval
    upper: float | None = None
    interval: str = ""  # its kind, e.g. "quartiles over groups"


FindingsOf = Callable[[Mapping[str, Plain]], Mapping[str, Finding] | None]
"""Function from the summary of a run to its findings by name; None for another analysis."""


def findings_of(summary: Mapping[str, Plain], analyses: Sequence[FindingsOf]) -> dict[str, Finding]:
    """Findings of a run, by name with unit."""
    found = next((found for known in analyses if (found := known(summary)) is not None), None)
    if found is None:
        found = leaves({key: value for key, value in summary.items() if key not in OF_THE_RUN})
    return {f"{name} ({each.unit})" if each.unit else name: each for name, each in found.items()}


def leaves(summary: Plain) -> dict[str, Finding]:
    """All numbers in plain data, without those of long lists."""
    return {".".join(keys): Finding(value) for keys, value in _leaves(summary, ())}


def differing(runs: Sequence[Mapping[str, Finding]]) -> list[str]:
    """Names of findings that differ between runs, the largest relative difference first."""
    names = dict.fromkeys(name for run in runs for name in run)
    differences = {name: _difference([run.get(name, Finding(None)).value for run in runs]) for name in names}
    some = [name for name in names if differences[name] is not None]
    return sorted(some, key=lambda name: -(differences[name] or 0.0))  # stable: keeps the analysis's order


def _difference(values: Sequence[float | None]) -> float | None:
    """Relative difference of values; None if they are equal."""
    if not (known := [value for value in values if value is not None and math.isfinite(value)]):
        return None
    largest = max(map(abs, known))
    relative = (max(known) - min(known)) / largest if largest else 0.0
    if relative > SAME:
        return relative
    return 0.0 if len(known) < len(values) else None


def _leaves(value: Plain, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], float]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _leaves(each, (*keys, key))
    elif isinstance(value, Sequence) and not isinstance(value, str) and len(value) <= LONGEST:
        words = [_called(each) or str(place) for place, each in enumerate(value, 1)]
        for place, each in enumerate(value):
            word = words[place] if words.count(words[place]) == 1 else str(place + 1)
            yield from _leaves(each, (*keys, word))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        with suppress(OverflowError):  # of hundreds of digits
            yield keys, float(value)


def _called(value: Plain) -> str:
    if not isinstance(value, Mapping):
        return ""
    return next((str(value[key]) for key in NAMES if isinstance(value.get(key), str)), "")


@dataclass(frozen=True)
class Outcome:
    combination: Combination
    name: str  # of its settings
    seconds: float
    problem: str = ""  # why it failed
    run: int | None = None  # number in `shortloop runs`
    built: int = 0  # jobs
    reused: int = 0
    findings: Mapping[str, Finding] = field(default_factory=dict)

    def finding(self, name: str) -> Finding:
        return self.findings.get(name, Finding(None))


def csv_text(grid: Grid, outcomes: Sequence[Outcome]) -> str:
    """CSV table of settings, outcomes and findings, the most different findings first."""
    found = [outcome.findings for outcome in outcomes if not outcome.problem]
    names = dict.fromkeys([*differing(found), *(name for each in found for name in each)])
    heads = (*grid.fields, "settings", "run", "built", "reused", "seconds", "problem")
    rows = [
        (*of.combination.values(), of.name, of.run, of.built, of.reused, round(of.seconds, 3), of.problem)
        for of in outcomes
    ]
    columns: dict[str, Sequence[Plain]] = dict(zip(heads, zip(*rows, strict=True), strict=True))
    for name in names:
        every = [outcome.finding(name) for outcome in outcomes]
        columns[name] = [each.value for each in every]
        if kind := next((each.interval or "interval" for each in every if each.lower is not None), ""):
            columns[f"{name}: {kind}, lower"] = [each.lower for each in every]
            columns[f"{name}: {kind}, upper"] = [each.upper for each in every]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def shown_number(value: float | None) -> str:
    """A number for display, with four digits."""
    if value is None or not math.isfinite(value):
        return "–" if value is None else str(value)
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.4g}"
