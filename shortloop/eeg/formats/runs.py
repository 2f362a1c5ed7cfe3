"""Runs of a phase, the files that it is joined of, and what they alone tell of classes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shortloop.eeg.checks.summary import RecordingSummary

__all__ = ["in_one_run", "runs_said", "table_of", "told_by_runs"]

CLEAR = 0.1  # of the way from chance to all trials: what a run tells of the class of its trials
SHOWN = 4  # runs in a message
DEVIATIONS = 4  # of a chi-square from its mean: more than trials that were drawn in any order would give


def told_by_runs(summary: RecordingSummary, *, by_run: bool = False) -> str:
    """Say that the run of a trial tells its class; empty if it does not, or if folds are by run."""
    table = table_of(summary)
    if by_run or len(table) < 2 or not _beyond_chance(table):
        return ""
    sizes = [sum(column) for column in zip(*table, strict=True)]
    shares = [[count / size for count, size in zip(row, sizes, strict=True)] for row in table]
    told, chance = sum(max(row) for row in shares) / len(sizes), 1 / len(sizes)
    if (told - chance) < CLEAR * (1 - chance):
        return ""
    alone = in_one_run(summary)
    remedy = (
        f"no folds can tell class from run, as there is one run alone with {' or '.join(alone)}: record each "
        "class in several runs"
        if alone
        else "hold out whole runs: decoding.fold_by = 'run'"
    )
    return (
        f"classes depend on the run ({runs_said(summary)}): the run alone tells the class of "
        f"{100 * told:.0f} % of the trials (chance: {100 * chance:.0f} %), so that drift of the electrodes "
        f"passes for an effect of class; {remedy}"
    )


def in_one_run(summary: RecordingSummary) -> list[str]:
    """Classes all of whose trials are in one run."""
    columns = zip(*table_of(summary), strict=True)
    return [name for name, column in zip(summary.trials, columns, strict=True) if sum(map(bool, column)) == 1]


def table_of(summary: RecordingSummary) -> list[list[int]]:
    """Number of trials of each class (columns) in each run that has any (rows)."""
    rows = [[run["trials"].get(name, 0) for name in summary.trials] for run in summary.runs]
    return [row for row in rows if any(row)]


def runs_said(summary: RecordingSummary) -> str:
    """Name runs with their numbers of trials."""
    said = [
        f"{run['file']}: {', '.join(f'{count} {name}' for name, count in run['trials'].items() if count)}"
        for run in summary.runs
        if any(run["trials"].values())
    ]
    more = f"; and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
    return "; ".join(said[:SHOWN]) + more


def _beyond_chance(table: Sequence[Sequence[int]]) -> bool:
    """True if classes depend on runs by a chi-square test of a table without empty rows or columns."""
    rows = [sum(row) for row in table]
    columns = [sum(column) for column in zip(*table, strict=True)]
    total = sum(rows)
    chi2 = sum(
        (count - rows[i] * columns[j] / total) ** 2 / (rows[i] * columns[j] / total)
        for i, row in enumerate(table)
        for j, count in enumerate(row)
        if rows[i] and columns[j]
    )
    freedom = (len(rows) - 1) * (len(columns) - 1)
    return bool(chi2 > freedom + DEVIATIONS * math.sqrt(2 * freedom))
