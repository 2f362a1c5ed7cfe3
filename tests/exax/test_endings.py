"""The process that forks jobs tells the server of their ends itself, however they end."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shortloop.exax.listener import BEGUN
from shortloop.exax.patches.job_monitor import watch_job_ends
from shortloop.exax.patches.parallel_jobs import Spares
from shortloop.exax.tracebacks import MOST, of_user


class Runner:
    """exax's runner, as far as it waits: told ends are in `told`."""

    def __init__(self) -> None:
        self.server, self.sock = socket.socketpair()
        self.told: list[tuple[int, Any]] = []
        self.archives = {"toy": b"code"}
        self.SimplifiedProcess: Any = None

    def recvall(self, sock: socket.socket, size: int, fatal: bool = False) -> bytes:
        return sock.recv(size, socket.MSG_WAITALL)

    def respond(self, cookie: int, said: Any) -> None:
        self.told.append((cookie, said))
        self.server.sendall(b"next!")  # what the server asks for when it knows


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    made = Runner()
    monkeypatch.setitem(sys.modules, "__main__", made)
    watch_job_ends(Spares())
    yield made
    made.server.close()
    made.sock.close()


def begin(runner: Runner, folder: Path, cookie: int, process: int = 0) -> int:
    """Begin to wait for a job, as exax's loop does; the end of the pipe that the job has."""
    folder.joinpath(f"main-{cookie}").mkdir(parents=True)
    pipe, job = os.pipe()
    runner.SimplifiedProcess(
        target=None, args=(cookie, (process, pipe, str(folder), f"main-{cookie}", "toy")), name="main-1"
    )
    os.close(pipe)
    return job


def test_says_what_the_job_said_when_nobody_holds_its_pipe_any_more(runner: Runner, tmp_path: Path) -> None:
    said: list[Any] = [None, [{"synthesis": 1.5}, {"x" * 200: False}, {}]]
    job = begin(runner, tmp_path, 1)
    os.write(job, json.dumps(said).encode())
    helper = subprocess.Popen(["sleep", "0.3"], pass_fds=[job])  # the job goes on in a process of its own
    os.close(job)
    started = time.monotonic()
    assert runner.recvall(runner.sock, 5) == b"next!"
    assert time.monotonic() - started > 0.2
    helper.wait()
    assert runner.told == [(1, (said[0], said[1]))]
    assert (tmp_path / "main-1" / "method.tar.gz").read_bytes() == b"code"


def test_reads_more_than_a_pipe_holds(runner: Runner, tmp_path: Path) -> None:
    job = begin(runner, tmp_path, 1)
    files = {f"file {number}": False for number in range(20_000)}

    def write() -> None:
        with open(job, "w", encoding="utf-8") as stream:
            stream.write(json.dumps([None, [{}, files, {}]]))

    writer = threading.Thread(target=write)
    writer.start()
    runner.recvall(runner.sock, 5)
    writer.join()
    assert runner.told == [(1, (None, [{}, files, {}]))]


@pytest.mark.parametrize("said", [b"", b'[null, [{"prep', b"null", b"\xff"])
@pytest.mark.parametrize(
    ("end", "found"),
    [("os.kill(os.getpid(), 11)", "signal 11 (SIGSEGV)"), ("os._exit(3)", "exit with status 3")],
)
def test_a_job_that_ends_says_how_and_at_which_unit(
    runner: Runner, tmp_path: Path, said: bytes, end: str, found: str
) -> None:
    process = subprocess.Popen([sys.executable, "-c", f"import os; {end}"])
    job = begin(runner, tmp_path, 1, process.pid)
    (tmp_path / "main-1" / BEGUN).write_text("firm 3 of fit", encoding="utf-8")
    os.write(job, said)
    os.close(job)
    runner.recvall(runner.sock, 5)
    assert_lost(runner, 1, found, "unit:         firm 3 of fit")
    assert process.wait() in (-11, 3)  # its end is left to whoever waits for it


def assert_lost(runner: Runner, number: int, *words: str) -> None:
    ((told, (status, result)),) = runner.told
    assert (told, result) == (number, None)
    assert status["launcher"].startswith("shortloop.base.errors.TransientError: ")
    assert all(word in status["launcher"] for word in (f"main-{number} (toy)", *words))


def test_a_job_without_room_for_its_code_is_lost_and_the_others_go_on(runner: Runner, tmp_path: Path) -> None:
    first = begin(runner, tmp_path, 1)
    (tmp_path / "main-2").mkdir()
    (tmp_path / "main-2" / "method.tar.gz").mkdir()  # cannot be written
    pipe, second = os.pipe()
    runner.SimplifiedProcess(target=None, args=(2, (0, pipe, str(tmp_path), "main-2", "toy")), name="main-2")
    os.close(pipe)
    runner.recvall(runner.sock, 5)
    assert_lost(runner, 2, "no result")
    os.write(first, b"[null, [{}, {}, {}]]")
    os.close(first)
    runner.recvall(runner.sock, 5)
    assert runner.told[1:] == [(1, (None, [{}, {}, {}]))]
    os.close(second)


def test_the_server_is_heard_while_a_job_runs(runner: Runner, tmp_path: Path) -> None:
    job = begin(runner, tmp_path, 1)
    runner.server.sendall(b"start")  # a job of the job
    assert runner.recvall(runner.sock, 5) == b"start"
    assert runner.told == []
    os.close(job)


def test_the_middle_of_a_long_traceback_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Callable[[int], int]] = [lambda left: calls[left % 2](left - 1)]
    calls.append(lambda left: calls[0](left - 1) if left else 1 // left)
    with pytest.raises(ZeroDivisionError) as caught:
        calls[0](300)
    whole = "".join(traceback.format_exception(caught.value))
    shown = of_user(whole)
    assert shown.count('File "') == 2 * MOST
    assert f"… {whole.count('File ') - 2 * MOST} calls left out" in shown
    assert shown.startswith(whole[:200])
    assert shown.endswith(whole[-200:])
    monkeypatch.setenv("SHORTLOOP_TRACEBACK", "full")
    assert of_user(whole) == whole
