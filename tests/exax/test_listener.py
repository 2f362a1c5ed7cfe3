"""Asking whoever listens on the server's socket; what is said of one that is silent, and of silent jobs."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
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


@pytest.mark.parametrize("parts", [[b""], [b"HTTP/1.0 200 OK\r\n", b"A: b\r\n\r\nwo", b"rds"]])
def test_a_reply_is_read_to_its_end(listening: socket.socket, parts: list[bytes]) -> None:
    asked = []

    def reply() -> None:
        connection, _ = listening.accept()
        with connection:
            asked.append(connection.recv(1000))
            for part in parts:
                time.sleep(0.05)
                connection.sendall(part)

    thread = threading.Thread(target=reply)
    thread.start()
    assert ask("what?now=1") == (b"words" if parts[0] else None)
    thread.join()
    assert asked == [b"GET /what?now=1 HTTP/1.0\r\n\r\n"]


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


def test_one_that_is_stopped_while_it_is_asked() -> None:
    code = (
        "import socket, sys, time\ns = socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen()\n"
        "print('there', flush=True)\nc, _ = s.accept()\ntime.sleep(600)"
    )
    silent = subprocess.Popen([sys.executable, "-c", code, str(socket_file())], stdout=subprocess.PIPE)
    assert silent.stdout is not None
    try:
        silent.stdout.readline()
        threading.Timer(0.3, silent.send_signal, [signal.SIGSTOP]).start()
        started = time.monotonic()
        with pytest.raises(InputError, match="the exax server is stopped") as caught:
            ask("status")
        assert time.monotonic() - started < 5
        assert f"kill -CONT {silent.pid}" in caught.value.message
        assert "\n" not in str(caught.value.found)  # though its command has many lines
    finally:
        silent.kill()
        silent.wait()
        silent.stdout.close()


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
