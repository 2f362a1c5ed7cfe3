"""The index is only a cache: lost, damaged, out of date, held by another program, what is found is right."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from jobs_project import empty_project
from jobs_recorded import finished_job, manifest_for, parts_with, recorded_job
from python_process import python
from toy_jobs import ToyJobs, toy_project
from without_root import commands, shortloop

from shortloop.project.system_errors import system_error
from shortloop.store import database
from shortloop.store.index import Index, Place, Purpose
from shortloop.store.store import Store

project = pytest.fixture(empty_project)
INDEX = Path("workdirs/main/.shortloop/main.sqlite")
PARTS = [parts_with(options={"number": number}) for number in range(12)]


def found() -> list[str | None]:
    """Which job is found for each of some keys, by a new process."""
    with Store() as store:
        jobs = [store.find(parts.key()) for parts in PARTS]
    return [None if each is None else each.job for each in jobs]


@pytest.fixture
def jobs(project: Path) -> list[str | None]:
    """Ids of recorded jobs, one for each key."""
    for number, parts in enumerate(PARTS):
        recorded_job(project, f"main-{number}", parts, left=b"%d" % number)
    made: list[str | None] = [f"main-{number}" for number in range(len(PARTS))]
    assert found() == made
    return made


def fill(file: Path, content: bytes) -> None:
    file.write_bytes(content)


def zero(file: Path) -> None:
    """As after a power cut: of its full length, and empty."""
    content = file.read_bytes()
    fill(file, content[:4096] + bytes(len(content) - 4096))


def of_another_layout(file: Path) -> None:
    file.unlink()
    with sqlite3.connect(file) as connection:
        connection.execute("create table slots (slot text)")
        connection.execute("create table jobs (job text)")


def of_another_format(file: Path) -> None:
    """Of a version whose index has the same tables, and whose manifests have another format."""
    with sqlite3.connect(file) as connection:
        connection.execute("pragma user_version = 1")
        connection.execute("update jobs set content = 'of another format'")


@pytest.mark.parametrize(
    "change",
    [
        Path.unlink,
        lambda file: fill(file, b""),
        lambda file: fill(file, b"text" * 999),
        lambda file: fill(file, file.read_bytes()[:6000]),
        zero,
        of_another_layout,
        of_another_format,
    ],
)
def test_a_lost_or_damaged_index_is_made_anew(jobs: list[str | None], change: Callable[[Path], None]) -> None:
    change(INDEX)
    assert found() == jobs
    assert found() == jobs
    with Store() as store:  # damaged while it is open
        zero(INDEX)
        assert [job.job for parts in PARTS if (job := store.find(parts.key()))] == jobs
    assert found() == jobs


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(places=[(0.09375, 128)])  # SQLite's own words for it cannot be decoded
@given(places=st.lists(st.tuples(st.floats(0, 0.9999), st.integers(1, 255)), min_size=1, max_size=6))
def test_flipped_bits_make_no_job_another(jobs: list[str | None], places: list[tuple[float, int]]) -> None:
    """A job may not be found, and is then made again or taken over, but never one for another."""
    whole = INDEX.read_bytes()
    content = bytearray(whole)
    for place, bits in places:
        content[int(place * len(content))] ^= bits
    for part in INDEX.parent.glob(f"{INDEX.name}-*"):
        part.unlink()
    try:
        INDEX.write_bytes(content)
        assert all(job in (None, right) for job, right in zip(found(), jobs))
    finally:
        for part in INDEX.parent.glob(f"{INDEX.name}*"):
            part.unlink()
        INDEX.write_bytes(whole)


def test_a_stale_index_knows_neither_too_much_nor_too_little(project: Path, jobs: list[str | None]) -> None:
    """An index that was put back from an older copy."""
    old = INDEX.read_bytes()
    recorded_job(project, "main-99", PARTS[0], left=b"newer")
    for name in ("x.npy", "record.json", "manifest.json", "setup.json", "post.json"):
        (project / "workdirs/main/main-7" / name).unlink()
    (project / "workdirs/main/main-7").rmdir()
    INDEX.unlink()
    assert found()[:8] == ["main-99", *jobs[1:7], None]
    INDEX.write_bytes(old)
    assert found()[:8] == ["main-0", *jobs[1:7], None]  # as whole as the newer


OPEN_MANY = """
from shortloop.store.index import Place
from shortloop.store.store import Store
for _ in range(20):
    Store().close()
with Store() as store:
    store.index.put_in_places({Place("chain", "toy", None, str(NUMBER)): f"main-{NUMBER}"})
"""


def test_many_processes_may_make_it_at_once(jobs: list[str | None]) -> None:
    for part in INDEX.parent.glob(f"{INDEX.name}*"):
        part.unlink()
    running = [python(f"NUMBER = {number}\n{OPEN_MANY}") for number in range(4)]
    assert [process.communicate(timeout=300)[1] for process in running] == [""] * 4
    assert found() == jobs
    with Store() as store:
        places = {Place("chain", "toy", None, str(number)): f"main-{number}" for number in range(4)}
        assert store.index.places() == places


def test_how_long_jobs_take_is_known_by_method(project: Path) -> None:
    for number, seconds in enumerate([1.0, 2.0, 6.0]):
        manifest = recorded_job(project, f"main-{number}", PARTS[number])
        manifest.cost["seconds"] = seconds
        with Store() as store:
            store.index.insert(manifest, [])
            assert store.index.seconds() == {"toy": pytest.approx([1.0, 1.5, 3.0][number])}


NAMES = ("", "a", "a|b", "b", "a b", "a%", "a'", "ä\n", "None", "null")


def test_places_of_pipelines(project: Path) -> None:
    first, second, other = (Place(name, "toy", None, n) for name, n in [("p", "1"), ("p", "2"), ("q", "1")])
    with Store() as store:
        index = store.index
        assert index.in_place(first) == ""
        index.put_in_places({first: "main-1", second: "main-2", other: "main-3"})
        index.put_in_places({second: "main-4"})
        index.finish_pipeline("p", [second])
        assert index.places() == {second: "main-4", other: "main-3"}
        assert index.in_place(first) == ""
        assert index.ended_pipelines() == {Purpose("p")}
        for name in "pq":
            index.finish_pipeline(name, [])
        assert index.places() == {}
    places = [Place(*each) for each in product(NAMES[:5], NAMES[:5], (None, *NAMES), NAMES[:3])]
    jobs = {place: f"main-{number}" for number, place in enumerate(places)}
    with Store() as store:
        for _ in range(2):  # put again, each is still there once
            store.index.put_in_places(jobs)
            assert store.index.places() == jobs
        assert len(store.index.all_places()) == len(jobs)
        assert all(store.index.in_place(place) == job for place, job in list(jobs.items())[::37])


def test_the_study_of_a_pipeline_is_noted_beside_it(project: Path) -> None:
    name, study = Purpose("build my small study"), "my small study"
    folder = finished_job(project, "main-1")
    with Store() as store:
        store.index.start_pipeline(name.pipeline, study)
        store.index.start_pipeline("chain", "")
        assert store.index.settings_names() == {name: study}
        store.index.finish_pipeline(name.pipeline, [])
        store.index.start_pipeline(name.pipeline, study)
        assert store.index.ended_pipelines() == {name}
        assert store.index.settings_names() == {name: study}
        store.add(folder, replace(manifest_for(folder), pipeline=name.pipeline))
    for file in project.rglob("*.sqlite*"):
        file.unlink()
    with Store() as store:  # from the manifests
        assert store.index.settings_names() == {name: study}
        assert store.index.ended_pipelines() == set()


LOOKING = [("jobs",), ("show", "main-0"), ("why", "main-0"), ("verify",), ("gc",)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one job."""
    made = toy_project(tmp_path / "project")
    monkeypatch.chdir(made)
    jobs = ToyJobs(made)
    jobs.make("A")
    jobs.ended()
    return made


def index_of(folder: Path) -> Path:
    return folder / "workdirs/main/.shortloop/main.sqlite"


def as_folder(file: Path) -> None:
    file.mkdir()
    (file / "mine").touch()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("make", [as_folder, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file(folder: Path, make: Callable[[Path], object]) -> None:
    index_of(folder).unlink()
    make(index_of(folder))
    for done in commands(folder, *LOOKING):
        assert done.status == 1
        assert "Traceback" not in done.err
        assert "not a file" in done.err
        assert str(index_of(folder)) in done.err
    assert index_of(folder).exists()  # it is somebody's


@pytest.fixture
def holder(folder: Path) -> Iterator[sqlite3.Connection]:
    """Another program, which holds the index for itself."""
    connection = sqlite3.connect(index_of(folder), isolation_level=None, check_same_thread=False)
    connection.execute("pragma locking_mode = exclusive")
    connection.execute("begin exclusive")
    connection.execute("update jobs set seconds = 1")
    yield connection
    connection.close()


def test_one_that_is_held(folder: Path, holder: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    workdirs = {"main": folder / "workdirs" / "main"}
    with monkeypatch.context() as patch:
        patch.setattr(database, "PATIENCE", 0.2)
        with pytest.raises(sqlite3.OperationalError) as caught:
            Index(workdirs, lambda name: [])
    found = system_error(caught.value)
    assert found is not None
    assert "held by another program" in found.problem
    code = (
        "import sys; from shortloop.store import database; from shortloop.cli.entry import main;"
        "database.PATIENCE = 0.2; sys.argv = ['shortloop', 'jobs']; main()"
    )
    done = shortloop(folder, "-c", code)
    assert done.returncode == 1
    assert done.stderr.startswith("shortloop: the index of jobs is held by another program")
    assert "Traceback" not in done.stderr
    timer = threading.Timer(0.5, holder.close)  # one that writes for a moment is waited for
    timer.start()
    index = Index(workdirs, lambda name: [])
    index.forget("main-0")
    assert index.sizes() == {}
    index.close()
    timer.join()


def test_links(folder: Path) -> None:
    file = index_of(folder)
    file.rename(folder / "elsewhere.sqlite")
    file.symlink_to(folder / "elsewhere.sqlite")
    for done in commands(folder, *LOOKING):
        assert done.status == 0, done
    file.unlink()
    file.symlink_to(folder / "nowhere" / "x")
    nowhere = commands(folder, *LOOKING)
    file.unlink()
    file.symlink_to(file.name)
    for done in (*nowhere, *commands(folder, *LOOKING)):
        assert done.status == 0 or "shortloop: " in done.err, done
        assert "Traceback" not in done.err
