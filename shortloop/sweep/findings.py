"""Named numbers found by a run, and which of them differ between runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from shortloop.base.plain import Plain
from shortloop.run.runs import JobOfRun
from shortloop.sweep.grid import Combination

__all__ = ["Finding", "FindingsOf", "Outcome", "differing", "findings_of", "leaves"]

OF_THE_RUN = ("seconds", "built", "reused", "report", "files", "jobs")
"""What a summary says of the run, and not of what it found."""
LONGEST = 20  # lists of more numbers are curves, and no findings
NAMES = ("name", "kind", "term", "label", "specification")
"""Keys of what a table in a list is called by."""
SAME = 1e-9  # relative: numbers that differ by less do not differ


@dataclass(frozen=True)
class Finding:
    """A number that a run has found.

    value: None: there is none, e.g. as no group was fitted.
    unit: E.g. ``"ms"``, ``"%"``; empty of a number without one.
    lower, upper: an interval around it.
    interval: what that is, e.g. ``"quartiles over groups"``.
    """

    value: float | None
    unit: str = ""
    lower: float | None = None
    upper: float | None = None
    interval: str = ""


FindingsOf = Callable[[Mapping[str, Plain]], Mapping[str, Finding] | None]
"""Takes the summary of a run, and gives what it found, by name; None: it is of another analysis."""


def findings_of(summary: Mapping[str, Plain], analyses: Sequence[FindingsOf]) -> dict[str, Finding]:
    """What a run has found."""
    found = next((found for known in analyses if (found := known(summary)) is not None), None)
    if found is None:
        found = leaves({key: value for key, value in summary.items() if key not in OF_THE_RUN})
    return {f"{name} ({each.unit})" if each.unit else name: each for name, each in found.items()}


def leaves(summary: Plain) -> dict[str, Finding]:
    """All numbers in plain data, but those of long lists."""
    return {".".join(keys): Finding(value) for keys, value in _leaves(summary, ())}


def differing(runs: Sequence[Mapping[str, Finding]]) -> list[str]:
    """Names of findings that differ between runs."""
    names = dict.fromkeys(name for run in runs for name in run)
    differences = {name: _difference([run.get(name, Finding(None)).value for run in runs]) for name in names}
    some = [name for name in names if differences[name] is not None]
    return sorted(
        some, key=lambda name: -(differences[name] or 0.0)
    )  # stable: else in the order of the analysis


def _difference(values: Sequence[float | None]) -> float | None:
    """None where they are the same."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
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
    """What became of a combination.

    name: of its settings.
    seconds: that it took.
    problem: why it failed; empty: it did not.
    run: its number, as `shortloop runs` has it.
    built, reused: Jobs.
    findings: what it found.
    jobs: what it built and reused.
    code: of the build script, as of `shortloop.sweep.runs.code_of_script`, before it ran.
    """

    combination: Combination
    name: str
    seconds: float
    problem: str = ""
    run: int | None = None
    built: int = 0
    reused: int = 0
    findings: Mapping[str, Finding] = field(default_factory=dict)
    jobs: Sequence[JobOfRun] = ()
    code: Mapping[str, str] = field(default_factory=dict)

    def finding(self, name: str) -> Finding:
        """One of them; of no value if it found nothing of this name."""
        return self.findings.get(name, Finding(None))
