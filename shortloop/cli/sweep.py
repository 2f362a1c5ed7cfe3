"""``shortloop sweep``: run a build script with every combination of settings and compare."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from shortloop.analyses import find_analyses
from shortloop.base.extras import REPORT_LIBRARIES, is_installed
from shortloop.base.text import counted, one_line, short_list
from shortloop.cli.output import print_lines
from shortloop.exax.client import user
from shortloop.plan.selection import Selection
from shortloop.project.project import configuration, write_atomically
from shortloop.report.deliver import results_folder
from shortloop.run.progress import terminal_width
from shortloop.run.termination import check_disk_space, print_error
from shortloop.store.workdir import only_run
from shortloop.sweep.findings import Outcome, csv_text, differing, shown_number
from shortloop.sweep.grid import Combination, Grid, parse_grid
from shortloop.sweep.runs import (
    INTERRUPTED,
    Checked,
    Progress,
    Runner,
    check_combinations,
    first_line,
    refusal,
    runner,
)

WIDTH = 120  # characters of a table without a terminal
GAP = 1  # characters between columns
NARROW = 12  # least characters of a column, whose name is wrapped
RERUNS = 2  # of combinations whose code was edited
LONGEST = 100  # characters of a file name


def run_sweep(script: str, file: Path | None, vary: Sequence[str], together: Sequence[str]) -> int:
    grid = parse_grid(vary, together)
    combinations = grid.combinations()
    check_disk_space()
    environ = {"USER": user()}
    Selection().into(environ, file)
    progress = Progress(len(combinations))
    checked = check_combinations(script, combinations, environ, progress)
    if any(each.problem for each in checked.values()):
        steps = grid.steps()  # to name each error, and not each combination that has it
        print_error(refusal(checked, check_combinations(script, steps, environ, Progress(len(steps)))))
        return 1
    outcomes, stale = _run_all(script, environ, checked, progress)
    if len(outcomes) < len(combinations):
        print_lines(
            f"interrupted: {len(outcomes)} of {counted(len(combinations), 'combination')} are done; all "
            "finished jobs are kept: repeat the sweep to continue"
        )
        return INTERRUPTED
    _conclude(grid, outcomes)
    if stale:
        print_lines(
            f"not all rows are of the current code, which was edited again and again ({short_list(stale)}): "
            "repeat the sweep when editing is finished"
        )
    return 1 if stale or any(outcome.problem for outcome in outcomes) else 0


def _run_all(
    script: str, environ: dict[str, str], checked: Mapping[Combination, Checked], progress: Progress
) -> tuple[list[Outcome], list[str]]:
    """Run all combinations, again if code was edited; return those finished, and why rows are of old code."""
    analyses = [each.findings for each in find_analyses().values() if each.findings is not None]
    outcomes: list[Outcome] = []
    edited: list[str] = []
    with suppress(KeyboardInterrupt), only_run(f"{script} sweep"), runner(script, environ, analyses) as runs:
        for combination, known in checked.items():
            outcomes.append(_run(runs, combination, known.name, progress))
        for again in range(RERUNS, -1, -1):
            stale, edited = _stale(script, environ, outcomes)
            if not edited or not again:
                break
            print_lines(
                f"edited during the sweep ({short_list(edited)}): {counted(len(stale), 'combination')} run "
                "again, so that all are of the same code"
            )
            before, outcomes[stale[0] :] = outcomes[stale[0] :], []  # an interrupt keeps those before
            progress = Progress(len(stale))
            for place, one in enumerate(before, stale[0]):
                outcomes.append(_run(runs, one.combination, one.name, progress) if place in stale else one)
    return outcomes, edited


def _run(runs: Runner, combination: Combination, name: str, progress: Progress) -> Outcome:
    outcome = runs.run(combination, name, progress)
    print_lines(progress.done(outcome))
    return outcome


def _stale(script: str, environ: dict[str, str], outcomes: Sequence[Outcome]) -> tuple[list[int], list[str]]:
    """Combinations that would be built again by now, and those that failed; and why the first are built."""
    combinations = [each.combination for each in outcomes]
    now = check_combinations(script, combinations, environ, Progress(len(outcomes))).values()
    why = [first_line(each.problem) or each.builds for each in now]
    stale = [place for place, each in enumerate(outcomes) if why[place] or each.problem]
    known = (said for said, each in zip(why, outcomes, strict=True) if said and not each.problem)
    return stale, [*dict.fromkeys(known)]


def _conclude(grid: Grid, outcomes: Sequence[Outcome]) -> None:
    """Write table and figure to the results folder, and print the table."""
    first = outcomes[0]
    base = first.name.removesuffix(f"-{first.combination.changes.suffix}")
    folder = results_folder(f"{base}-sweep")
    stem = re.sub(r"[^A-Za-z0-9_.+-]+", "_", "+".join(sorted(grid.fields)))[:LONGEST]
    table = folder / f"{stem}.csv"
    write_atomically(table, csv_text(grid, outcomes))
    files = [table, *_figure(base, grid, outcomes, folder, stem)]
    print_lines("")
    _print_table(grid, outcomes)
    for outcome in outcomes:
        if outcome.problem:
            more = f" (details: `shortloop runs {outcome.run}`)" if outcome.run else ""
            print_lines(f"failed: {outcome.combination.label}: {first_line(outcome.problem)}{more}")
    where = os.path.relpath(folder, configuration().project_directory)
    print_lines(f"what changed: {where}: {', '.join(each.name for each in files)}")


def _figure(base: str, grid: Grid, outcomes: Sequence[Outcome], folder: Path, stem: str) -> list[Path]:
    if not all(map(is_installed, REPORT_LIBRARIES)):
        print_lines("there is no figure: matplotlib is not installed; pip install 'shortloop[report]'")
        return []
    from shortloop.report.files import FORMATS
    from shortloop.report.style import save
    from shortloop.sweep.figure import draw

    if (figure := draw(f"{base}: what changed", grid, outcomes)) is None:
        for ending in FORMATS:  # of an earlier sweep
            (folder / f"{stem}.{ending}").unlink(missing_ok=True)
        return []
    return save(figure, folder, stem)


def _print_table(grid: Grid, outcomes: Sequence[Outcome]) -> None:
    """Print varied fields, and as many of the findings that differ as fit."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    short = grid.short()
    varied = list(zip(*(outcome.combination.values() for outcome in outcomes), strict=True))
    columns = [([short[field], *cells], "left") for field, cells in zip(grid.fields, varied, strict=True)]
    names = differing([outcome.findings for outcome in outcomes if not outcome.problem])
    width = terminal_width()
    room = (width or WIDTH) - sum(max(map(len, cells)) + GAP for cells, _ in columns)
    shown = 0
    for name in names:
        cells = [shown_number(outcome.finding(name).value) for outcome in outcomes]
        room -= max(NARROW, *map(len, [*name.split(), *cells])) + GAP
        if room >= 0 or not shown:
            columns.append(([name, *cells], "right"))
            shown += 1
    table = Table(box=None, pad_edge=False)
    for (head, *_), side in columns:
        table.add_column(Text(one_line(head)), justify="right" if side == "right" else "left")
    for row in list(zip(*(cells for cells, _ in columns), strict=True))[1:]:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    Console(highlight=False, width=width or WIDTH).print(table)
    if not names:
        print_lines("no number differs between the combinations")
    if shown < len(names):
        print_lines(f"{len(names) - shown} more numbers differ: see the CSV")
