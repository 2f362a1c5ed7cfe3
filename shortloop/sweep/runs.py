"""Execute the runs of a sweep, all with the same code."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from shortloop.base.errors import InputError
from shortloop.exax.forked import Forked, fork_ax
from shortloop.exax.server import Server, running_server
from shortloop.keys.code import code_state
from shortloop.keys.file_state import at_one_moment
from shortloop.keys.methods import find_method, find_script, module_of
from shortloop.plan.planner import DECLARED
from shortloop.plan.request import MODULES
from shortloop.project.project import configuration_file, job_directory
from shortloop.report.deliver import SUMMARY_VARIABLE
from shortloop.run.runs import JobOfRun, RunRecord, read_runs, run_numbers
from shortloop.store.manifest import read_manifest
from shortloop.store.workdir import HELD
from shortloop.sweep.findings import Finding, FindingsOf, Outcome, findings_of
from shortloop.sweep.grid import Combination
from shortloop.sweep.progress import Progress

INTERRUPTED = 130
SHOW_EVERY = 0.25  # s
OUTPUT_LINES = 20  # of a run that failed without an error message


class Runner:
    """Runs combinations of a build script on a server; outputs and summaries go to `folder`."""

    def __init__(
        self,
        script: str,
        environ: Mapping[str, str],
        analyses: Sequence[FindingsOf],
        server: Server,
        folder: Path,
    ) -> None:
        self._output = folder / "output"
        self._summary = folder / "summary.json"
        self._script = script
        self._environ = {**environ, HELD: str(os.getpid()), SUMMARY_VARIABLE: str(self._summary)}
        self._analyses = analyses
        # A server that was just started has just loaded the methods and listed the workdirs, and so has one
        # that has run a combination.
        self._quick = server.is_fresh

    def run(self, combination: Combination, name: str, progress: Progress) -> Outcome:
        """Run one combination."""
        for file in (self._output, self._summary):
            file.unlink(missing_ok=True)
        before, began = set(run_numbers()), time.monotonic()
        code = _code_of_script(self._script)
        with _noted_interrupts() as interrupted:
            run = self._start(combination)
            with progress.running(combination.label, self._output) as show:
                status = _wait(run, show)
        if interrupted or status == INTERRUPTED:
            raise KeyboardInterrupt
        seconds = time.monotonic() - began
        runs = [(number, run) for number, run, _ in read_runs([n for n in run_numbers() if n not in before])]
        jobs = [job for _, run in runs for job in run.jobs]
        built = sum(job.built for job in jobs)
        problem = self._problem(status, [run for _, run in runs]) if status else ""
        number, findings = runs[-1][0] if runs else None, {} if status else self._findings()
        reused = len(jobs) - built
        return Outcome(combination, name, seconds, problem, number, built, reused, findings, jobs, code)

    def _start(self, combination: Combination) -> Forked:
        environ = dict(self._environ)
        combination.changes.into(environ)
        quick, self._quick = ["--quick"] if self._quick else [], True
        with self._output.open("wb") as stream:
            number = stream.fileno()

            def before() -> None:
                os.dup2(number, 1)
                os.dup2(number, 2)

            command = ["--config", str(configuration_file()), "run", *quick, self._script]
            return fork_ax(command, environ, before, [number])

    def _problem(self, status: int, runs: Sequence[RunRecord]) -> str:
        message = next((run.error for run in runs if run.error), "")
        if message:
            return message
        lines = self._output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        ended = f"signal {-status} ended it" if status < 0 else f"it ended with status {status}"
        return "\n".join([ended, *lines[-OUTPUT_LINES:]])

    def _findings(self) -> dict[str, Finding]:
        try:
            summary = json.loads(self._summary.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # a build script need not write a summary
            return {}
        return findings_of(summary, self._analyses)


@contextmanager
def runner(script: str, environ: Mapping[str, str], analyses: Sequence[FindingsOf]) -> Iterator[Runner]:
    """A runner with a running server. No other run of the project may be in progress."""
    with TemporaryDirectory(prefix="shortloop-") as folder, running_server() as server:
        server.wait()
        yield Runner(script, environ, analyses, server, Path(folder))


@contextmanager
def _noted_interrupts() -> Iterator[list[int]]:
    """Ctrl-C also reaches the run, which ends its job and itself; the sweep waits for that."""
    noted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: noted.append(number))
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


def _wait(run: Forked, show: Callable[[], None]) -> int:
    with run.passing_signals_on():
        while not run.ends_within(SHOW_EVERY):
            show()
        return run.wait()


def _code_of_script(script: str) -> Mapping[str, str]:
    """Code of a build script, by module."""
    file = find_script(script)
    if file is None:
        return {}
    try:
        return code_state(file).code
    except InputError:  # invalid Python while it is being edited
        return {module_of(file): ""}


def edited_since(script: str, code: Mapping[str, str], jobs: Iterable[JobOfRun]) -> set[str]:
    """Modules that were edited since a combination ran."""
    with at_one_moment():
        found = _differing(code, _code_of_script(script))
        for job in jobs:
            if not job.reason.startswith(DECLARED):
                found |= _edited(job)
    return found


def _edited(job: JobOfRun) -> set[str]:
    try:
        manifest = read_manifest(job_directory(job.job))
    except InputError:  # deleted meanwhile
        return set()
    if manifest is None:
        return set()
    parts, modules = manifest.parts, manifest.parts.options.get(MODULES)
    try:
        now = code_state(find_method(job.stage)[1], modules if isinstance(modules, list) else ())
    except InputError:  # invalid Python, or deleted
        return {parts.method}
    versions = parts.installed(parts.libraries).libraries | now.versions
    return _differing({**parts.code, **parts.versions}, {**now.code, **versions})


def _differing(then: Mapping[str, str], now: Mapping[str, str]) -> set[str]:
    return {name for name in {*then, *now} if then.get(name) != now.get(name)}
