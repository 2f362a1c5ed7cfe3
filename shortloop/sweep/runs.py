"""The runs of a sweep, one after the other: each as `shortloop run` makes it, all on one server."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from shortloop.jobs.exax.forked import Forked, fork_ax
from shortloop.jobs.exax.server import Server, running_server
from shortloop.jobs.project import configuration_file
from shortloop.jobs.runs import JobOfRun, RunRecord, read_runs, run_numbers
from shortloop.jobs.store.locks import HELD
from shortloop.report.deliver import SUMMARY_VARIABLE
from shortloop.sweep.code import code_of_script
from shortloop.sweep.findings import Finding, FindingsOf, findings_of
from shortloop.sweep.grid import Combination
from shortloop.sweep.progress import Progress

__all__ = ["INTERRUPTED", "Outcome", "Runner", "runner"]

INTERRUPTED = 130
SHOW_EVERY = 0.25  # s
SAID = 20  # lines of what a run printed that are kept if nothing else says why it failed


@dataclass(frozen=True)
class Outcome:
    """What became of a combination.

    Parameters
    ----------
    combination : Combination
    name : str
        Of its settings.
    seconds : float
        That it took.
    problem : str, default ""
        Why it failed; empty: it did not.
    run : int, optional
        Its number, as `shortloop runs` has it.
    built, reused : int, default 0
        Jobs.
    findings : mapping of str to Finding
        What it found.
    jobs : sequence of JobOfRun
        What it built and reused.
    code : mapping of str to str
        Of the build script, as of `shortloop.sweep.code.code_of_script`, before it ran.
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


class Runner:
    """Runs combinations of a build script.

    Parameters
    ----------
    script : str
        The script.
    environ : mapping of str to str
        Variables that each run gets.
    analyses : sequence of FindingsOf
        What knows summaries.
    server : Server
        That runs them, and answers.
    folder : Path
        For what runs print, and for their summaries.
    """

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
        # A server that was just started has just loaded the methods and looked through the workdirs, and one
        # that has run a combination has, too. It keeps what it loaded for the next one.
        self._quick = server.is_fresh

    def run(self, combination: Combination, name: str, progress: Progress) -> Outcome:
        """Run a combination.

        Parameters
        ----------
        combination : Combination
        name : str
            Of its settings.
        progress : Progress
            Shows that it runs.

        Returns
        -------
        Outcome

        Raises
        ------
        KeyboardInterrupt
            If it was interrupted; it has ended then.
        """
        for file in (self._output, self._summary):
            file.unlink(missing_ok=True)
        before, began = set(run_numbers()), time.monotonic()
        code = code_of_script(self._script)
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
        return Outcome(
            combination,
            name,
            seconds,
            self._problem(status, [run for _, run in runs]) if status else "",
            runs[-1][0] if runs else None,
            built,
            len(jobs) - built,
            {} if status else self._findings(),
            jobs,
            code,
        )

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
        said = next((run.error for run in runs if run.error), "")
        if said:
            return said
        lines = self._output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        ended = f"signal {-status} ended it" if status < 0 else f"it ended with status {status}"
        return "\n".join([ended, *lines[-SAID:]])

    def _findings(self) -> dict[str, Finding]:
        try:
            summary = json.loads(self._summary.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # a build script may leave none
            return {}
        return findings_of(summary, self._analyses)


@contextmanager
def runner(script: str, environ: Mapping[str, str], analyses: Sequence[FindingsOf]) -> Iterator[Runner]:
    """A runner with a server that answers. No other run of the project may be in progress.

    Parameters
    ----------
    script, environ, analyses
        As of `Runner`.

    Yields
    ------
    Runner
    """
    with TemporaryDirectory(prefix="shortloop-") as folder, running_server() as server:
        server.wait()
        yield Runner(script, environ, analyses, server, Path(folder))


@contextmanager
def _noted_interrupts() -> Iterator[list[int]]:
    """Ctrl-C reaches the run too, which ends its job and itself; that is waited for."""
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
