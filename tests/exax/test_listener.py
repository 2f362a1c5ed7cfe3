"""Asking whoever listens on the server's socket, and what is said of one that does not answer."""

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
from shortloop.exax.listener import answers, ask, socket_file


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


def test_a_path_that_no_socket_can_have() -> None:
    deep = Path.cwd().joinpath(*["a-long-folder-name"] * 6)
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
