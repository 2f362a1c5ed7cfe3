"""Nobody else reaches the exax server: whoever does can run anything."""

from __future__ import annotations

import os
import socket
import stat
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from live_project import fixture_of, wait_for
from toy_project import DagProject, chains

from shortloop.base.errors import InputError
from shortloop.exax.listener import answers

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
NAMES = {"server", "urd", "board", "multiprocessing"}


class OpenProject(DagProject):
    """In a folder that others may read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        folder.chmod(0o755)
        self.write_dag(chains(1, 1))

    def prepare(self) -> None:
        wait_for(lambda: set(os.listdir(self.folder / ".socket.dir")) >= NAMES)


stopped = fixture_of(OpenProject, "function", server=False)
toy = fixture_of(OpenProject)


def open_to_others(folder: Path) -> dict[str, str]:
    """What others may do with a folder and all that is in it."""
    modes = {str(file): file.lstat().st_mode for file in (folder, *folder.rglob("*"))}
    return {name: stat.filemode(mode) for name, mode in modes.items() if mode & 0o077}


def of_another(call: Callable[[], object]) -> str:
    """What comes of a call in a process of another user, but of the same group."""
    end, other = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(os.getgid())
            os.setuid(NOBODY)
            said = str(call())
        except InputError as error:
            said = error.message
        except BaseException as error:
            said = type(error).__name__
        os.write(other, said.encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(other)
    with os.fdopen(end) as stream:
        return stream.read()


def reached(place: Path) -> bytes:
    """What a server replies."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(5)
        probe.connect(str(place))
        probe.sendall(b"GET /abort HTTP/1.0\r\n\r\n")
        return probe.recv(100)


def test_a_server_started_by_hand_is_closed_to_others(stopped: DagProject) -> None:
    folder = stopped.folder / ".socket.dir"
    (folder / "multiprocessing").mkdir(parents=True)
    for file in (folder, folder / "multiprocessing"):  # as an earlier version, or exax, made them
        file.chmod(0o777)
    (folder / "server.log").touch()
    stopped.start_server()
    wait_for(lambda: set(os.listdir(folder)) >= NAMES)
    assert (folder / "multiprocessing").is_dir()
    wait_for(lambda: not open_to_others(folder))
    stopped.ax("status").ok()
    stopped.go()


def test_so_is_one_that_a_run_starts(stopped: DagProject) -> None:
    folder = stopped.folder / ".socket.dir"
    stopped.break_at("analysis", 10, "hold")
    running = stopped.start_command()
    stopped.wait_until_reached()
    wait_for(lambda: set(os.listdir(folder)) >= NAMES | {"server.log"})
    wait_for(lambda: not open_to_others(folder))
    stopped.mend()
    assert stopped.end(running).status == 0
    assert open_to_others(folder) == {}


@as_root
@pytest.mark.parametrize("name", ["server", "urd", "board"])
def test_another_user_of_the_group_cannot_reach_it(toy: DagProject, name: str) -> None:
    folder = toy.folder / ".socket.dir"
    wait_for(lambda: not open_to_others(folder))
    assert of_another(lambda: reached(folder / name)) == "PermissionError"
    folder.chmod(0o755)
    try:
        assert of_another(lambda: reached(folder / name)) == "PermissionError"
    finally:
        folder.chmod(0o700)


@as_root
def test_the_server_refuses_another_user_who_reaches_it(toy: DagProject) -> None:
    """It may be reached in the moment between exax's opening the socket to all and its being closed."""
    folder = toy.folder / ".socket.dir"
    assert toy.server is not None
    place = folder / "server"
    over = threading.Event()

    def keep_open() -> None:
        while not over.wait(0.001):  # it is closed again and again
            folder.chmod(0o755)
            place.chmod(0o777)

    opening = threading.Thread(target=keep_open)
    opening.start()
    try:
        for _ in range(20):  # it may be closed in that moment
            found = of_another(lambda: reached(place))
            if found != "PermissionError":
                break
        assert found in ("b''", "ConnectionResetError", "BrokenPipeError")
    finally:
        over.set()
        opening.join()
        folder.chmod(0o700)
        place.chmod(0o600)
    toy.ax("status").ok()


@as_root
def test_sockets_in_a_folder_of_everybody_are_closed_by_their_own_mode(stopped: DagProject) -> None:
    with tempfile.TemporaryDirectory(prefix="sl-all-") as name:
        everybody = Path(name)
        everybody.chmod(0o1777)
        settings = stopped.folder / "accelerator.conf"
        text = settings.read_text(encoding="utf-8")
        assert text.count(" .socket.dir/") == 3
        settings.write_text(text.replace(" .socket.dir/", f" {everybody}/"), encoding="utf-8")
        stopped.start_server()
        places = [everybody / each for each in ("server", "urd", "board")]
        wait_for(lambda: all(place.exists() for place in places))
        wait_for(lambda: not any(place.stat().st_mode & 0o077 for place in places))
        assert [of_another(partial(reached, place)) for place in places] == ["PermissionError"] * 3
        assert set(os.listdir(everybody)) == {"server", "urd", "board"}
        assert everybody.stat().st_mode & 0o7777 == 0o1777
        stopped.go()
        assert open_to_others(stopped.folder / ".socket.dir") == {}


@as_root
def test_another_user_is_told_whose_server_it_is(toy: DagProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(toy.folder)
    assert answers()
    said = of_another(answers)
    assert said.startswith("the exax server of this project belongs to another user\n")
