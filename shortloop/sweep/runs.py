"""Check and execute the runs of a sweep, all with the same code, and show their progress."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from shortloop.base.errors import InputError, place_of
from shortloop.base.terminal import StatusLine
from shortloop.base.text import counted, duration, one_line, short_list
from shortloop.exax.forked import Forked, fork_ax, noting_interrupts
from shortloop.exax.server import running_server
from shortloop.plan.pipeline import REUSE
from shortloop.plan.settings_files import SettingsFile
from shortloop.project.project import configuration_file
from shortloop.report.deliver import SUMMARY_VARIABLE
from shortloop.run.runs import RunRecord, read_runs, run_numbers
from shortloop.store.workdir import HELD
from shortloop.sweep.findings import Finding, FindingsOf, Outcome, findings_of
from shortloop.sweep.grid import Combination

INTERRUPTED = 130
SHOWN = 3  # combinations listed for each error
PREFIX = "shortloop: "
SHOW_EVERY = 0.25  # s
OUTPUT_LINES = 20  # of a run that failed without an error message
TAIL = 4096  # bytes at the end of a run's output that contain its last line
DONE = re.compile(rb"^\[(\d+)/(\d+)\] ", re.M)  # progress of a run without a terminal


@dataclass
class Runner:
    """Runs combinations of a build script on a server."""

    script: str
    environ: Mapping[str, str]
    analyses: Sequence[FindingsOf]
    output: Path  # of the last run
    summary: Path
    # A server that was just started has just loaded the methods and listed the workdirs, and so has one that
    # has run a combination.
    quick: bool

    def run(self, combination: Combination, name: str, progress: Progress) -> Outcome:
        for file in (self.output, self.summary):
            file.unlink(missing_ok=True)
        before, began = set(run_numbers()), time.monotonic()
        with noting_interrupts() as interrupted:
            run = self._start(combination)
            with run.passing_signals_on():
                while not run.ends_within(SHOW_EVERY):
                    progress.running(combination.label, _jobs(self.output), time.monotonic() - began)
                status = run.wait()
            progress.show()
        if interrupted or status == INTERRUPTED:
            raise KeyboardInterrupt
        seconds = time.monotonic() - began
        runs = [(number, run) for number, run, _ in read_runs([n for n in run_numbers() if n not in before])]
        jobs = [job for _, run in runs for job in run.jobs]
        built = sum(job.built for job in jobs)
        problem = self._problem(status, [run for _, run in runs]) if status else ""
        number, findings = runs[-1][0] if runs else None, {} if status else self._findings()
        reused = len(jobs) - built
        return Outcome(combination, name, seconds, problem, number, built, reused, findings)

    def _start(self, combination: Combination) -> Forked:
        environ = dict(self.environ)
        combination.changes.into(environ)
        quick, self.quick = ["--quick"] if self.quick else [], True
        with self.output.open("wb") as stream:
            number = stream.fileno()

            def before() -> None:
                os.dup2(number, 1)
                os.dup2(number, 2)

            command = ["--config", str(configuration_file()), "run", *quick, self.script]
            return fork_ax(command, environ, before, [number])

    def _problem(self, status: int, runs: Sequence[RunRecord]) -> str:
        if message := next((run.error for run in runs if run.error), ""):
            return message
        lines = self.output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        ended = f"signal {-status} ended it" if status < 0 else f"it ended with status {status}"
        return "\n".join([ended, *lines[-OUTPUT_LINES:]])

    def _findings(self) -> dict[str, Finding]:
        try:
            summary = json.loads(self.summary.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # a build script need not write a summary
            return {}
        return findings_of(summary, self.analyses)


@contextlib.contextmanager
def runner(script: str, environ: Mapping[str, str], analyses: Sequence[FindingsOf]) -> Iterator[Runner]:
    """A runner with a running server. No other run of the project may be in progress."""
    with TemporaryDirectory(prefix="shortloop-") as folder, running_server() as server:
        server.wait()
        summary = Path(folder, "summary.json")
        environ = {**environ, HELD: str(os.getpid()), SUMMARY_VARIABLE: str(summary)}
        yield Runner(script, environ, analyses, Path(folder, "output"), summary, server.is_fresh)


class Progress:
    """Progress of a sweep of `total` combinations."""

    def __init__(self, total: int) -> None:
        self._total, self._line = total, StatusLine(sys.stdout)
        self._seconds: list[float] = []

    def show(self, text: str = "") -> None:
        self._line.draw(one_line(text))

    def running(self, label: str, jobs: str, seconds: float) -> None:
        place = f"{len(self._seconds) + 1} of {self._total}: {label}"
        self.show("  ".join(filter(None, (place, jobs, duration(seconds), self.left(seconds)))))

    def done(self, outcome: Outcome) -> str:
        self._seconds.append(outcome.seconds)
        what = f"{counted(outcome.built, 'job')} built, {outcome.reused} reused, {duration(outcome.seconds)}"
        if outcome.problem:
            what = f"failed after {duration(outcome.seconds)}: {first_line(outcome.problem)}"
        line = f"{len(self._seconds)} of {self._total}: {outcome.combination.label}: {what}"
        return one_line("; ".join(filter(None, (line, self.left()))))

    def left(self, running: float = 0.0) -> str:
        """Estimated remaining time, from finished runs without the first, which builds what all share."""
        known = self._seconds[1:] or self._seconds
        number = self._total - len(self._seconds)
        if not known or not number:
            return ""
        mean = sum(known) / len(known)
        seconds = max(0.0, mean - running) + mean * (number - 1)
        return f"about {duration(seconds)} left" if seconds >= 1 else ""


def first_line(problem: str) -> str:
    """One line of an error: its first, or the exception of a traceback and its unit."""
    lines = [line for line in problem.splitlines() if line.strip()] or [""]
    titles = [place for place, line in enumerate(lines) if line.lstrip().startswith("Traceback")]
    if not titles:
        return lines[0].strip()
    margin = lines[titles[-1]].partition("Traceback")[0]
    below = [line.strip() for line in lines[titles[-1] + 1 :] if not line.startswith(f"{margin} ")]
    unit = next((f", {line}" for line in below[1:] if line.startswith("in unit ")), "")
    return f"{below[0]}{unit}" if below else lines[-1].strip()


def _jobs(output: Path) -> str:
    try:
        with output.open("rb") as stream:
            stream.seek(max(0, output.stat().st_size - TAIL))
            found = DONE.findall(stream.read())
    except OSError:
        return ""
    return f"{int(found[-1][0])} of {int(found[-1][1])} jobs" if found else ""


class Checked(NamedTuple):
    name: str  # of the settings of a combination
    problem: str  # why it cannot run
    builds: str = ""  # why a run would build its first job that is not there; empty: all are there


def check_combinations(
    script: str, combinations: Sequence[Combination], environ: Mapping[str, str], progress: Progress
) -> dict[Combination, Checked]:
    """Plan every combination before any runs, in a fork: a run must import build scripts anew."""
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
    with open(reading, encoding="utf-8") as stream:
        for line in stream:
            found.append(Checked(*json.loads(line)))
            progress.show(f"checking combinations: {len(found)} of {len(combinations)}")
    progress.show()
    if (status := fork.wait()) or len(found) < len(combinations):
        raise SystemExit(status if status > 0 else 128 - status)
    return dict(zip(combinations, found))


def refusal(checked: Mapping[Combination, Checked], steps: Mapping[Combination, Checked]) -> InputError:
    wrong = {each: plan.problem for each, plan in checked.items() if plan.problem}
    faulty = {
        step: plan.problem
        for step, plan in steps.items()
        if plan.problem and all(each in wrong for each in checked if _has(each, step))
    }
    others = {each: wrong[each] for each in wrong if not any(_has(each, step) for step in faulty)}
    problems: dict[str, list[Combination]] = {}
    for each, problem in {**faulty, **others}.items():
        problems.setdefault(problem, []).append(each)
    lines = [f"{len(wrong)} of {len(checked)} combinations cannot run, so none is run"]
    for problem, those in problems.items():
        everywhere = len(those) in (len(steps), len(checked)) and len(those) > 1
        words = "all" if everywhere else short_list([each.label for each in those], SHOWN, "; ")
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
        jobs = [job for plan in planned.plans for job in plan.jobs if job.plan != REUSE]
        name = _settings_name(script, combination, planned.settings)
        return Checked(name, "", jobs[0].reason or jobs[0].stage if jobs else "")
    except InputError as error:
        return Checked("", error.message)
    except SystemExit:
        return Checked("", output.getvalue().strip().removeprefix(PREFIX) or "the build script ended")
    except Exception as error:
        return Checked("", f"{type(error).__name__}: {error}\n  file:         {place_of(error)}")


def _settings_name(script: str, combination: Combination, read: Iterable[SettingsFile | None]) -> str:
    """Name of the settings file that the script reads, if a sweep can change it."""
    files = [each for each in read if each is not None]
    if files and all(each.name.endswith(f"-{combination.changes.suffix}") for each in files):
        return files[0].name
    problem = "does not read its settings file with @pipeline" if files else "reads no settings file"
    raise InputError(
        f"the build script cannot be swept because it {problem}",
        found=script,
        expected='a script of an analysis, or one of your own with @pipeline(settings="FILE.toml")',
        hint="give main a second argument, e.g. `settings: Analysis`, with a class Analysis of "
        "shortloop.Settings, and use its fields where values are written in the script now",
    )
