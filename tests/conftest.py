"""Fixtures of several test files: study files with one mistake, and projects with a live server."""

from __future__ import annotations

import fcntl
import gc
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import LEFT_OUT, lacking, started
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from shortloop.base.errors import InputError
from shortloop.eeg.study.load import read_study
from shortloop.stages import references

# Machine code of numba is kept by the code that it is made of, so copies of the project may share it.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "numba"))

# How long an example takes says how busy the machine is, and nothing of the code.
settings.register_profile("any", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples at every `make test`; `make soak` draws others, from a seed that it prints.
settings.register_profile("fixed", settings.get_profile("any"), derandomize=True)
settings.load_profile("any" if os.environ.get("SEED") else "fixed")

# All tests and their libraries are loaded before the first test, and stay: looking for garbage among them
# costs a process three seconds.
gc.disable()

# Hundreds of test files are imported here, whose variables no stage knows: to compare them takes long.
references.NOT_USERS += (f"{Path(__file__).parent}/",)

EEG = Path(__file__).parent / "eeg"

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As in the background of a script: all that tests start would not hear Ctrl-C either.
    signal.signal(signal.SIGINT, signal.default_int_handler)

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter
    from live_project import LiveProject
    from playwright.sync_api import Browser
    from toy_project import DagProject


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests in live/ are live, and come first: else one process has some left when the others are done."""
    for item in items:
        if item.path.parent.name == "live":
            item.add_marker(pytest.mark.live)
    items.sort(key=lambda item: item.get_closest_marker("live") is None)


def pytest_collection_finish() -> None:
    """One thread for each process of tests, as for jobs: several wait for each other, at twice the cost."""
    threadpool_limits(1)
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Tests that need a browser and have none are told of: a green run says nothing about pages then."""
    skipped = [report.longrepr for report in terminalreporter.stats.get("skipped", [])]
    said = [why[2] for why in skipped if isinstance(why, tuple) and LEFT_OUT in why[2]]
    if said:
        terminalreporter.write_line(f"{len(said)} tests were left out {said[0].removeprefix('Skipped: ')}")


@pytest.fixture(autouse=True)
def _read_here(request: pytest.FixtureRequest) -> None:
    """Tests of EEG read recordings in their own process, but for those marked `apart`."""
    if EEG in request.path.parents and not request.node.get_closest_marker("apart"):
        from reading_here import read_here

        read_here(request.getfixturevalue("monkeypatch"))


JARGON = ("tuple", "Tuple", "dict", "tag", "discriminator", "pydantic", "NoneType", "Value error")


@pytest.fixture
def mistake(tmp_path: Path) -> Callable[..., InputError]:
    """The error of a study file made of parts; `top` replaces keys of the same name."""

    def error_of(
        top: str = "",
        *,
        features: str = "[features.amplitude]\n",
        rest: str = '[input]\nformat = "simulated"\n',
    ) -> InputError:
        keys = {"name": '"s"', "participants": '["P1", "P2"]', "classes": '["a", "b"]'}
        for key in list(keys):
            if re.search(rf"^#?{key}\b", top, re.M):
                del keys[key]
        file = tmp_path / "study.toml"
        text = "".join(f"{key} = {value}\n" for key, value in keys.items()) + top + "\n" + features + rest
        file.write_text(text, encoding="utf-8")
        with pytest.raises(InputError) as caught:
            read_study(file)
        error = caught.value
        assert error.file == str(file)
        assert error.hint
        assert str(file) in str(error)
        said = str(error).replace(str(file), "")
        assert not [word for word in JARGON if word in said], said
        return error

    return error_of


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with methods, and a package of its own; it is the current folder."""
    from jobs_project import empty_project, own_package

    yield from own_package(empty_project(tmp_path, monkeypatch), monkeypatch)


@pytest.fixture(scope="module")
def project() -> Iterator[LiveProject]:
    """A copy of the project with a running server."""
    from live_project import LiveProject, served

    with served(LiveProject) as made:
        yield made


@pytest.fixture(scope="module")
def toy_server() -> Iterator[DagProject]:
    from live_project import served
    from toy_project import DagProject

    with served(DagProject) as made:
        yield made


@pytest.fixture
def toy(toy_server: DagProject) -> Iterator[DagProject]:
    """Toy jobs and a running server, whatever the test before did to it."""
    if toy_server.server is None:
        toy_server.start_server()
    yield toy_server
    toy_server.mend()  # a job that a failed test has left would keep the next one waiting


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium. Not for longer than a file: as long as it runs, asyncio cannot in this process."""
    if why := lacking():
        pytest.skip(why)
    with started() as made:
        yield made


@pytest.fixture(scope="session")
def report_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes the report of an analysis, once for all processes of a run, and gives its folder, to be read."""
    from report_pages import PAGES_OF

    above = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        above = above.parent  # that of one process is below

    @cache
    def made(name: str) -> Path:
        folder, done = above / f"report-{name}", above / f"report-{name}.done"
        with (above / f"report-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of one that failed
                folder.mkdir()
                PAGES_OF[name](folder)
                done.touch()
        return folder

    return made
