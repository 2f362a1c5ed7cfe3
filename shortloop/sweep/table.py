"""Table of a sweep: settings, outcome and numbers of each combination."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence

from shortloop.base.plain import Plain
from shortloop.sweep.findings import Finding, Outcome, differing
from shortloop.sweep.grid import Grid

__all__ = ["csv_text", "shown_number"]


def csv_text(grid: Grid, outcomes: Sequence[Outcome]) -> str:
    """The whole table: findings that differ first, the most different before others."""
    found = [outcome.findings for outcome in outcomes if not outcome.problem]
    names = dict.fromkeys([*differing(found), *(name for each in found for name in each)])
    columns: dict[str, list[Plain]] = {field: [] for field in grid.fields}
    for outcome in outcomes:
        for field, value in zip(grid.fields, outcome.combination.values(), strict=True):
            columns[field].append(value)
    columns["settings"] = [outcome.name for outcome in outcomes]
    columns["run"] = [outcome.run for outcome in outcomes]
    columns["built"] = [outcome.built for outcome in outcomes]
    columns["reused"] = [outcome.reused for outcome in outcomes]
    columns["seconds"] = [round(outcome.seconds, 3) for outcome in outcomes]
    columns["problem"] = [outcome.problem for outcome in outcomes]
    for name in names:
        of_runs = [outcome.finding(name) for outcome in outcomes]
        columns |= dict(_columns(name, of_runs))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def shown_number(value: float | None) -> str:
    """A number in a table for readers."""
    if value is None or not math.isfinite(value):
        return "–" if value is None else str(value)
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.4g}"


def _columns(name: str, of_runs: Sequence[Finding]) -> Iterator[tuple[str, list[Plain]]]:
    yield name, [each.value for each in of_runs]
    interval = next((each.interval or "interval" for each in of_runs if each.lower is not None), "")
    if interval:
        yield f"{name}: {interval}, lower", [each.lower for each in of_runs]
        yield f"{name}: {interval}, upper", [each.upper for each in of_runs]
