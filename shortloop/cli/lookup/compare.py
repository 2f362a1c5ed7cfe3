"""``shortloop compare``: differences between two jobs in inputs and results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from shortloop.analyses import Analysis, Comparison
from shortloop.base.errors import InputError
from shortloop.cli.lookup.why import cause_fields, print_causes
from shortloop.cli.output import moment, print_json, print_lines, print_table
from shortloop.plan.explain.causes import ArrayDifference, Cause, array_differences, explain
from shortloop.project.project import configuration
from shortloop.project.system_errors import if_writable
from shortloop.stages.results import Result
from shortloop.store.integrity import NOTES
from shortloop.store.loaded import look_up
from shortloop.store.manifest import read_manifest
from shortloop.store.store import Store

COLUMNS = ("job", "stage", "partition", "made", "seconds")


def compare_jobs(
    first: str, second: str, figure: Path | None, analyses: Sequence[Analysis], as_json: bool = False
) -> None:
    one, other = look_up(first), look_up(second)
    if one.stage != other.stage:
        stages = f"{first}: {one.stage}, {second}: {other.stage}"
        hint = "find ids of one stage with `shortloop jobs --stage STAGE`"
        raise InputError("jobs of different stages cannot be compared", found=stages, hint=hint)
    arrays, recorded = [*array_differences(one, other)], _recorded(one, other)
    causes, same, files = recorded or ([], None, [])
    found = (analysis.compare(one, other) for analysis in analyses if analysis.compare is not None)
    comparison = next(filter(None, found), None)
    where = (figure or _default_file(one, other)) if comparison is not None else None
    if as_json:
        print_json(
            jobs=[_fields(each) for each in (one, other)],
            recorded=recorded is not None,
            causes=cause_fields(causes),
            arrays=[each._asdict() for each in arrays],
            same=same,
            files=files,
            numbers=[] if comparison is None else [each._asdict() for each in comparison.numbers],
            figure=_draw(comparison, where) if comparison is not None and where is not None else None,
        )
        return
    rows = [
        (each.job, each.stage, each.partition or "", f"{each.made:%Y-%m-%d %H:%M}", f"{each.seconds:.1f}")
        for each in (one, other)
    ]
    print_table(COLUMNS, rows, right=("seconds",), below=("made",))
    if recorded is None:
        print_lines("", "unknown how they were made, because one job is not recorded")
    else:
        print_lines("", f"from {one.job} to {other.job}:" if causes else "same code, options and inputs")
        print_causes(causes)
    _print_arrays(one, other, arrays)
    if not arrays and recorded is not None:
        print_lines("", "same results" if same else f"files that differ: {', '.join(files) or 'none'}")
    if comparison is not None:
        numbers = [
            (*each[:3], *(f"{value:.3f}" for value in (each.first, each.second, each.second - each.first)))
            for each in comparison.numbers
        ]
        columns = (one.job, other.job, "difference")
        print_lines("")
        print_table((comparison.title, "", "", *columns), numbers, right=columns)
        none = "none, because the results folder is read-only; choose a file with --figure"
        print_lines("", f"figure: {none if where is None else _draw(comparison, where)}")


def _fields(each: Result) -> dict[str, object]:
    names = ("job", "stage", "partition", "seconds")
    return {**{name: getattr(each, name) for name in names}, "made": moment(each.made.timestamp())}


def _recorded(one: Result, other: Result) -> tuple[list[Cause], bool, list[str]] | None:
    """Causes, True if the results are equal, and the files that differ; None if a job is not recorded."""
    first, second = read_manifest(one.path), read_manifest(other.path)
    if first is None or second is None:
        return None
    with Store() as store:
        causes = explain(store, other.job, against=one.job).causes
    names = sorted({*first.files, *second.files}.difference(NOTES))
    differ = [name for name in names if first.files.get(name) != second.files.get(name)]
    return causes, first.content == second.content, differ


def _print_arrays(one: Result, other: Result, arrays: Sequence[ArrayDifference]) -> None:
    rows = []
    for each in arrays:
        if each.differ is None:
            what = "shapes differ" if each.first and each.second else "only in one"
        else:
            what = f"{each.differ:,} values differ" if each.differ else "the same"
        largest = "" if each.largest is None else f"{each.largest:.3g}"
        rows.append((each.name, each.first, each.second, what, largest))
    if rows:
        print_lines("")
        columns = ("array", one.job, other.job, "", "largest difference")
        print_table(columns, rows, right=columns[-1:], below=(other.job, one.job))


def _default_file(one: Result, other: Result) -> Path | None:
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
            hint = "choose another file with --figure"
            raise InputError("the figure cannot be written", file=file, found=error, hint=hint) from None
    return file
