"""``shortloop compare``: what differs between two jobs, in what they were made of and in what came out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from shortloop.cli.analyses import Analysis, Comparison
from shortloop.cli.tables import print_lines, print_table
from shortloop.cli.why import print_causes
from shortloop.errors import InputError
from shortloop.jobs.project import configuration
from shortloop.jobs.store.job_files import NOTES
from shortloop.jobs.store.lookup import look_up
from shortloop.jobs.store.manifest import read_manifest
from shortloop.jobs.store.store import Store
from shortloop.jobs.system_errors import if_writable
from shortloop.worker.results import Result

__all__ = ["compare_jobs"]


def compare_jobs(first: str, second: str, figure: Path | None, analyses: Sequence[Analysis]) -> None:
    """Print what differs between two jobs, and draw what their analysis can draw.

    Parameters
    ----------
    first, second : str
        Job ids.
    figure : Path or None
        Where to write the figure. Default: into the results folder.
    analyses : sequence of Analysis
        Those that may know how to draw them.

    Raises
    ------
    InputError
        If there are no such jobs, or they are of different stages.
    """
    one, other = look_up(first), look_up(second)
    if one.stage != other.stage:
        raise InputError(
            "jobs of different stages cannot be compared",
            found=f"{first}: {one.stage}, {second}: {other.stage}",
            expected="two jobs of one stage",
            hint="`shortloop jobs --stage …` lists them",
        )
    rows = [
        (each.job, each.stage, each.partition or "", f"{each.made:%Y-%m-%d %H:%M}", f"{each.seconds:.1f}")
        for each in (one, other)
    ]
    print_table(("job", "stage", "partition", "made", "seconds"), rows, right=("seconds",))
    _print_parts(one, other)
    _print_arrays(one, other)
    if not one.arrays and not other.arrays:
        _print_files(one, other)
    comparison = _comparison(one, other, analyses)
    if comparison is not None:
        _print_numbers(one, other, comparison)
        where = figure or _place(one, other)
        if where is not None:
            print_lines("", f"figure: {_draw(comparison, where)}")
        else:
            print_lines("", "figure: none, as the results may not be written; --figure says where else")


def _comparison(one: Result, other: Result, analyses: Sequence[Analysis]) -> Comparison | None:
    """Of the first analysis that knows how to compare them."""
    found = (analysis.compare(one, other) for analysis in analyses if analysis.compare is not None)
    return next((each for each in found if each is not None), None)


def _print_parts(one: Result, other: Result) -> None:
    from shortloop.jobs.explain.causes import explain

    print_lines("")
    with Store() as store:
        if store.manifest_of(one.job) is None or store.manifest_of(other.job) is None:
            print_lines("what they were made of is not known, as one of them is not recorded")
            return
        causes = explain(store, other.job, against=one.job).causes
    print_lines("made of the same" if not causes else f"from {one.job} to {other.job}:")
    print_causes(causes)


def _print_arrays(one: Result, other: Result) -> None:
    from shortloop.jobs.explain.arrays import array_differences

    rows = []
    for each in array_differences(one, other):
        if each.differ is None:
            what = "shapes differ" if each.first and each.second else "only in one"
        else:
            what = f"{each.differ:,} values differ" if each.differ else "the same"
        largest = "" if each.largest is None else f"{each.largest:.3g}"
        rows.append((each.name, each.first, each.second, what, largest))
    if rows:
        print_lines("")
        columns = ("array", one.job, other.job, "", "largest difference")
        print_table(columns, rows, right=columns[-1:])


def _print_files(one: Result, other: Result) -> None:
    first, second = read_manifest(one.path), read_manifest(other.path)
    if first is None or second is None:
        return
    if first.content == second.content:
        print_lines("", "left the same")
        return
    names = sorted({*first.files, *second.files}.difference(NOTES))
    differ = [name for name in names if first.files.get(name) != second.files.get(name)]
    print_lines("", f"files that differ: {', '.join(differ) or 'none'}")


def _print_numbers(one: Result, other: Result, comparison: Comparison) -> None:
    rows = [
        (*each[:3], *(f"{value:.3f}" for value in (each.first, each.second, each.second - each.first)))
        for each in comparison.numbers
    ]
    print_lines("")
    columns = (one.job, other.job, "difference")
    print_table((comparison.title, "", "", *columns), rows, right=columns)


def _place(one: Result, other: Result) -> Path | None:
    folder = Path(configuration().result_directory) / "compare"
    with if_writable():
        folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{one.job}_{other.job}.png" if os.access(folder, os.W_OK) else None


def _draw(comparison: Comparison, file: Path) -> Path:
    from shortloop.report.style import styled

    with styled():
        figure = comparison.draw()
        try:
            figure.savefig(file)
        except (OSError, ValueError) as error:
            raise InputError("the figure cannot be written", file=file, found=error) from None
    return file
