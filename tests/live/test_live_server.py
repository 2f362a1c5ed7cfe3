"""The exax server starts with a run and ends with it, and nobody else reaches it, who could run anything.

Links of a report lead to jobs on exax's board, with the servers running that they say.
"""

from __future__ import annotations

import os
import re
import socket
import stat
import subprocess
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import opened
from live_project import AX, PATIENCE, SHORTLOOP, fixture_of, processes, script, stages, wait_for
from toy_project import DagProject, chains

from shortloop.base.errors import InputError
from shortloop.exax.listener import answers
from shortloop.report.page import ADDRESS, BOARD_NOTE

if TYPE_CHECKING:
    from playwright.sync_api import Browser
NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
NAMES = {"server", "urd", "board", "multiprocessing"}


class OpenProject(DagProject):
    """In a folder that others may read."""

    forks = False

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
    # As after the project was moved while the server ran.
    stopped.edit("accelerator.conf", "result directory: ./results", "result directory: ./elsewhere")
    assert "another result directory than the project" in stopped.shortloop("run", "dag").fails()


def test_so_is_one_that_a_run_starts_and_leaves_nothing(stopped: DagProject, tmp_path: Path) -> None:
    folder = stopped.folder / ".socket.dir"
    stopped.break_at("analysis", 10, "hold")
    running = stopped.popen(SHORTLOOP, "run", "dag", TMPDIR=str(tmp_path))
    stopped.wait_until_reached()
    wait_for(lambda: set(os.listdir(folder)) >= NAMES | {"server.log"})
    wait_for(lambda: not open_to_others(folder))
    stopped.mend()
    said, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, said
    assert open_to_others(folder) == {}
    wait_for(lambda: not processes(stopped.folder))
    assert stopped.ax("status").returncode != 0
    # again, with another number of slices: no job has files per slice
    said = stopped.shortloop("run", "dag", SHORTLOOP_SLICES="1", TMPDIR=str(tmp_path)).ok().stdout
    assert "0 jobs built" in said
    assert list(tmp_path.iterdir()) == []
    assert list((folder / "multiprocessing").iterdir()) == []


@as_root
def test_another_user_of_the_group_cannot_reach_it(toy: DagProject, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is told whose it is."""
    folder = toy.folder / ".socket.dir"
    wait_for(lambda: not open_to_others(folder))
    places = [folder / name for name in ("server", "urd", "board")]
    assert [of_another(partial(reached, place)) for place in places] == ["PermissionError"] * 3
    folder.chmod(0o755)
    try:
        assert [of_another(partial(reached, place)) for place in places] == ["PermissionError"] * 3
    finally:
        folder.chmod(0o700)
    monkeypatch.chdir(toy.folder)
    assert answers()
    assert of_another(answers).startswith("the exax server of this project belongs to another user\n")


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


def test_a_socket_path_that_is_too_long_is_explained(stopped: DagProject) -> None:
    deep = stopped.folder.joinpath(*["a-long-folder-name"] * 6)
    deep.mkdir(parents=True)
    for name in ("methods", "build_scripts", "dev", "accelerator.conf"):
        (deep / name).symlink_to(stopped.folder / name)
    said = stopped.shell(SHORTLOOP, "run", "dag", below="/".join(["a-long-folder-name"] * 6)).fails()
    assert "too long" in said


LOUD = stages("""\
# loud
@stage
def loud(number: int):
    print("größe ☃")
    if number:
        raise ValueError("größe \\udcff")
    return {"größe": "☃"}
""")
ASK = script("""
import os
return run.build("loud", number=int(os.environ["NUMBER"]))
""")


@pytest.mark.slow
def test_a_server_that_knows_ascii_alone(stopped: DagProject) -> None:
    """exax prints the error of a job, and kills the job if that cannot be written."""
    stopped.write("methods/a_loud.py", LOUD["methods/a_loud.py"])
    stopped.write("build_scripts/build_ask.py", ASK)
    ascii_alone = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    said = stopped.shortloop("run", "ask", NUMBER="1", **ascii_alone).fails()
    assert r"ValueError: gr\xf6\xdfe \udcff" in said
    stopped.shortloop("run", "ask", NUMBER="0", **ascii_alone).ok()


@pytest.fixture(scope="module")
def job(toy: OpenProject) -> str:
    """One that was made from others."""
    return toy.go().jobs[-1]


@pytest.fixture(scope="module")
def board(toy: OpenProject, job: str) -> Iterator[str]:
    """Address of the job on a board that is started as the text of the link says."""
    commands = re.findall(r"“ax ([\w-]+)”", BOARD_NOTE)
    assert commands == ["server", "board-server"]
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]

    def listens() -> bool:
        with suppress(ConnectionRefusedError):
            socket.create_connection(("localhost", port), timeout=30).close()
            return True
        return False

    running = toy.popen(AX, commands[-1], f"localhost:{port}")
    wait_for(listens)
    yield f"http://localhost:{port}/job/{job}"
    running.terminate()
    running.communicate(timeout=60)


def test_a_link_leads_to_its_job(board: str, job: str) -> None:
    asked = urllib.request.Request(board, headers={"Accept": "text/html"})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        assert re.search(rf"<h1>\s*{job}\b", answer.read().decode())


def test_a_browser_shows_the_job_and_what_it_was_made_from(board: str, job: str, browser: Browser) -> None:
    with opened(browser, board) as view:
        assert view.page.inner_text("h1").split()[0] == job
        before = view.page.get_attribute("a[href*='/job/']", "href")
        view.page.click("a[href*='/job/']")
        assert view.page.url.endswith(str(before))
        # It asks what each part of a job has printed, and most have printed nothing.
        assert [each for each in view.complaints if not re.match("404: .*/OUTPUT/", each)] == []


def test_it_is_where_the_board_listens_of_itself() -> None:
    done = subprocess.run([str(AX), "board-server", "--help"], capture_output=True, text=True, timeout=60)
    assert f"default {ADDRESS.removeprefix('http://')}" in " ".join((done.stdout + done.stderr).split())
