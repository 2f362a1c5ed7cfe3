"""Plan every combination before any runs, and report all errors at once.

A fork does it, because imported build scripts stay loaded: a run must import them as they are then.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shortloop.base.errors import InputError, place_of
from shortloop.exax.forked import Forked
from shortloop.plan.settings_files import SettingsFile
from shortloop.sweep.grid import Combination
from shortloop.sweep.progress import Progress

SHOWN = 3  # combinations listed for each error
PREFIX = "shortloop: "


class Checked(NamedTuple):
    """A combination that was planned."""

    name: str  # of its settings
    problem: str  # why it cannot run


def check_combinations(
    script: str,
    combinations: Sequence[Combination],
    environ: Mapping[str, str],
    progress: Progress,
) -> list[Checked]:
    """Plan all combinations without a run."""
    reading, writing = os.pipe()

    def work() -> None:
        os.environ.update(environ)
        with open(writing, "w", encoding="utf-8") as stream:
            for combination in combinations:
                combination.changes.into(os.environ)
                json.dump(_check(script, combination), stream)
                stream.write("\n")
                stream.flush()

    fork = Forked(work, [writing])
    os.close(writing)
    found = []
    with open(reading, encoding="utf-8") as stream, progress.checking() as show:
        for line in stream:
            found.append(Checked(*json.loads(line)))
            show()
    status = fork.wait()
    if status or len(found) < len(combinations):
        raise SystemExit(status if status > 0 else 128 - status)
    return found


def refusal(
    combinations: Sequence[Combination],
    checked: Sequence[Checked],
    steps: Sequence[Combination],
    checked_steps: Sequence[Checked],
) -> InputError:
    """The error of combinations that cannot run: each problem once, for all steps that have it."""
    wrong = [each for each, plan in zip(combinations, checked, strict=True) if plan.problem]
    faulty = {
        step: plan.problem
        for step, plan in zip(steps, checked_steps, strict=True)
        if plan.problem and all(each in wrong for each in combinations if _has(each, step))
    }
    problems: dict[str, list[Combination]] = {}
    for step, problem in faulty.items():
        problems.setdefault(problem, []).append(step)
    for each, plan in zip(combinations, checked, strict=True):
        if plan.problem and not any(_has(each, step) for step in faulty):
            problems.setdefault(plan.problem, []).append(each)
    lines = [f"{len(wrong)} of {len(checked)} combinations cannot run, so none is run"]
    for problem, those in problems.items():
        everywhere = len(those) in (len(steps), len(combinations)) and len(those) > 1
        more = f" and {len(those) - SHOWN} more" if len(those) > SHOWN else ""
        words = "all" if everywhere else "; ".join(each.label for each in those[:SHOWN]) + more
        lines += [f"{words}:", *(f"  {line}" for line in problem.splitlines())]
    return InputError("\n".join(lines))


def _has(combination: Combination, step: Combination) -> bool:
    return step.places.items() <= combination.places.items()


def _check(script: str, combination: Combination) -> Checked:
    from shortloop.plan.dry_run import dry_run

    output = io.StringIO()
    try:
        with contextlib.redirect_stderr(output), contextlib.redirect_stdout(output):
            planned = dry_run(script)
    except InputError as error:
        return Checked("", error.message)
    except SystemExit:
        return Checked("", output.getvalue().strip().removeprefix(PREFIX) or "the build script ended")
    except Exception as error:
        return Checked("", f"{type(error).__name__}: {error}\n  file:         {place_of(error)}")
    return _named(script, combination, [each for each in planned.settings if each is not None])


def _named(script: str, combination: Combination, files: Sequence[SettingsFile]) -> Checked:
    """Check that the script reads a settings file that a sweep can change."""
    suffix = f"-{combination.changes.suffix}"
    if files and all(each.name.endswith(suffix) for each in files):
        return Checked(files[0].name, "")
    problem = "does not read its settings file with @pipeline" if files else "reads no settings file"
    error = InputError(
        f"the build script cannot be swept because it {problem}",
        found=script,
        expected='a script of an analysis, or one of your own with @pipeline(settings="FILE.toml")',
        hint="give main a second argument, e.g. `settings: Analysis`, with a class Analysis of "
        "shortloop.Settings, and use its fields where values are written in the script now",
    )
    return Checked("", error.message)
