"""Asking whoever listens on the server's socket; what is said of one that is silent, and of silent jobs."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from jobs_project import write_configuration

from shortloop.base.errors import InputError
from shortloop.exax import listener
from shortloop.exax.listener import StallDetector, answers, ask, socket_file
from shortloop.units.process_ends import process_of


@pytest.fixture(autouse=True)
def project(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # Not tmp_path: the path of a Unix socket must be short.
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        write_configuration(Path(folder))
        monkeypatch.chdir(folder)
        socket_file().parent.mkdir()
        yield


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(socket_file()))
        made.listen(1)
        yield made


def test_nobody_listens() -> None:
    assert ask("status") is None
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(socket_file()))
        killed.listen()
    assert socket_file().is_socket()  # as a server leaves it that was killed
    assert not answers()
    deep = Path.cwd().joinpath(*["a-long-folder-name"] * 6)  # a path that no socket can have
    deep.mkdir(parents=True)
    write_configuration(deep)
    os.chdir(deep)
    assert not answers()


def test_one_that_is_silent(
    listening: socket.socket, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(listener, "PATIENCE", 2.5)
    with pytest.raises(InputError, match="the exax server does not answer") as caught:
        ask("status")
    assert f"process {os.getpid()} (" in caught.value.message
    assert capsys.readouterr().err.count(f"waiting for the exax server, process {os.getpid()} (") == 1


def test_one_that_more_wait_for_than_it_lets(listening: socket.socket) -> None:
    waiting = [socket.socket(socket.AF_UNIX) for _ in range(4)]
    for each in waiting:
        each.setblocking(False)
    assert waiting[0].connect_ex(str(socket_file())) == 0
    assert [each.connect_ex(str(socket_file())) for each in waiting][-1] == errno.EAGAIN
    with pytest.raises(InputError, match="many processes wait for it already"):
        ask("status")
    for each in waiting:
        each.close()


JOB = """
import sys, threading, time
from shortloop.exax.listener import enable_tracebacks, note_units
enable_tracebacks()
note_units([4, 5], lambda unit: f"firm {unit}")
lock = threading.Lock()
lock.acquire()
def other():
    time.sleep(1000)
def unit():
    %s
print("ready", flush=True)
unit()
"""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "END_AFTER", 0.0)
    monkeypatch.setattr(listener, "engine_of_run", lambda: None)


def waiting(code: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", JOB % code], stdout=subprocess.PIPE) as made:
        assert made.stdout is not None
        made.stdout.readline()
        while process_of(made.pid).state != "S":
            time.sleep(0.01)
        yield made
        made.kill()


def said_of(job: subprocess.Popen[bytes], after: float) -> str:
    """What is said of a job that has been silent for some seconds."""
    found = StallDetector()
    assert [*found.lines({job.pid: process_of(job.pid)})] == []  # it has just begun
    found._since -= after
    return "\n".join(found.lines({job.pid: process_of(job.pid)}))


def test_what_waits_for_a_thread_that_is_not_there_is_ended() -> None:
    for job in waiting("lock.acquire()"):
        said = said_of(job, 0.1)
        assert "it waits at firm 4 … firm 5:" in said
        assert 'File "<string>", line 11 in unit' in said
        assert f"process {job.pid} is ended" in said
        assert job.wait(10) == -signal.SIGKILL


@pytest.mark.parametrize(
    "code",
    [
        "time.sleep(1000)",
        "lock.acquire(timeout=1000)",
        "(threading.Thread(target=other, daemon=True).start(), lock.acquire())",
        "__import__('subprocess').run(['sleep', '20'])",
    ],
)
def test_what_may_go_on_is_told_of_now_and_then_and_goes_on(code: str) -> None:
    before = {*Path("/proc/self/fd").iterdir()}
    for job in waiting(code):
        assert said_of(job, 1) == ""
        assert "firm 4 … firm 5" in said_of(job, 61)
        assert "ended" not in said_of(job, 500)
        assert job.poll() is None
    assert {each for each in Path("/proc/self/fd").iterdir() if each.exists()} <= before


def test_what_computes_is_not_told_of() -> None:
    job = os.getpid()
    found, one = StallDetector(), process_of(job)
    for ticks in range(0, 100, 20):
        found._since -= 100
        assert [*found.lines({job: one._replace(ticks=one.ticks + ticks)})] == []


def test_units_of_an_engine_on_this_machine_are_told_others_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "engine_of_run", dict)
    for job in waiting("time.sleep(1000)"):
        assert "it waits at firm 4 … firm 5" in said_of(job, 61)
    for job in waiting("note_units((), str); time.sleep(1000)"):  # it waits for its next units
        assert said_of(job, 61) == ""
