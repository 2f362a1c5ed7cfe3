"""Spares: forked before their job is known, they run it as a fork of its own would, or end."""

from __future__ import annotations

import json
import os
import select
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from shortloop.exax.patches import parallel_jobs
from shortloop.exax.patches.parallel_jobs import Spares

LANE = "methods.a_toy", ("extra",)
CODE = (
    "import threading, time; threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
    "import os; os.system('true')",
    "import subprocess; subprocess.Popen(['sleep', '9'])",
    "import os; os.fork() or os._exit(0)",
    "import os; os._exit(0)",
    "raise SystemExit(1)",
)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spares]:
    """Spares, whose jobs say what they were given and what was done before."""
    from accelerator import launch

    def run(prof_fd: int, **given: Any) -> None:
        os.write(prof_fd, json.dumps([given, done, os.getpgid(0)]).encode())

    done: list[object] = []
    monkeypatch.setattr(launch, "run", run)
    for name in ("BD_STATUS_FD", "BD_TERM_FD"):
        monkeypatch.setenv(name, "2")
    found = Spares()
    found.prepare = done.append
    yield found
    end(found)


def end(found: Spares) -> None:
    for spare in [*found._waiting.values()]:
        spare.connection.close()
        os.waitpid(spare.process, 0)


def spare(found: Spares) -> None:
    """Have a spare forked, as the process does that forks jobs."""
    assert found.start(LANE, True, {}) is None
    assert found.wanted
    found.fork()
    assert not found.wanted


def wait_until_readable(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    assert poll.poll(60_000)


def said_by(started: tuple[int, int] | None) -> list[Any]:
    assert started is not None
    process, pipe = started
    with open(pipe, "rb") as stream:
        said = stream.read()
    os.waitpid(process, 0)
    return [process, *json.loads(said)]


def test_runs_the_job_that_comes_with_what_was_done_before(made: Spares) -> None:
    """If it is of its method and modules."""
    spare(made)
    assert made.start(("methods.a_toy", ()), False, {}) is None
    assert made.start(("methods.a_other", ("extra",)), False, {}) is None
    assert len(made.connections) == 1
    process, given, done, group = said_by(made.start(LANE, False, {"jobid": "main-7", "slices": 2}))
    assert given == {"jobid": "main-7", "slices": 2}
    assert done == [["methods.a_toy", ["extra"]]]
    assert group == process != os.getpgid(0)
    assert not made.connections
    assert not made
    spare(made)
    assert said_by(made.start(LANE, True, {}))[1] == {}
    assert made.wanted


@pytest.mark.parametrize("code", CODE)
def test_none_waits_that_is_not_alone_or_could_not_begin(made: Spares, code: str) -> None:
    made.prepare = lambda lane: exec(code, {})
    spare(made)
    (connection,) = made.connections
    wait_until_readable(connection)
    assert made.ended(connection)
    assert not made.connections
    assert made.start(LANE, True, {}) is None
    ended_itself = code.endswith(("_exit(0)", "Exit(1)")) and "fork" not in code
    assert bool(made.wanted) is ended_itself, "one that was not alone is not forked again"


@pytest.mark.parametrize("killed", [True, False])
def test_one_that_ends_is_not_missed(made: Spares, monkeypatch: pytest.MonkeyPatch, killed: bool) -> None:
    """Killed, or as no job came."""
    monkeypatch.setattr(parallel_jobs, "PATIENCE", 60 if killed else 0.05)
    spare(made)
    (process,) = [each.process for each in made._waiting.values()]
    if killed:
        os.kill(process, signal.SIGKILL)
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    else:
        (connection,) = made.connections
        wait_until_readable(connection)
        assert made.ended(connection)
    assert made.start(LANE, not killed, {}) is None
    assert bool(made.wanted) != killed
    assert not made.connections
