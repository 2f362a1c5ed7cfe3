"""Finding finished jobs by key or id: only whole ones, wherever they came from, and of which format."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from jobs_project import empty_project, make_job
from jobs_recorded import finished_job, manifest_for, parts_with, recorded_job

import shortloop
from shortloop.base.errors import InputError
from shortloop.project.project import FINISHED, SET_ASIDE
from shortloop.stages.records import create_array, reject, save_array, write_record
from shortloop.stages.stage import Values
from shortloop.store.loaded import load
from shortloop.store.manifest import MANIFEST
from shortloop.store.store import Store

project = pytest.fixture(empty_project)
ONE, TWO = parts_with(options={"number": 1}), parts_with(options={"number": 2})
KEY = ONE.key()


def find(key: str = KEY) -> str | None:
    """Id of the job that a new process finds."""
    with Store() as store:
        found = store.find(key)
    return None if found is None else found.job


@pytest.fixture
def folder(project: Path) -> Path:
    """A job that was found before, so that the index knows the states of its files."""
    recorded_job(project, "main-1", ONE)
    assert find() == "main-1"
    return project / "workdirs/main/main-1"


def test_the_newest_of_many_is_found(project: Path) -> None:
    for number in (3, 10, 2):
        recorded_job(project, f"main-{number}", ONE)
    recorded_job(project, "other-4", TWO)
    assert find() == "main-10"
    assert find(TWO.key()) == "other-4"  # jobs of every workdir are found
    with Store() as store:
        assert store.folder("other-4") == project / "elsewhere/other/other-4"
        assert store.folder("third-4") is None
        assert store.manifest_of("") is None
    (project / "workdirs/main/main-10/x.npy").write_bytes(b"damaged")
    assert find() == "main-3"


def test_jobs_alike_but_for_one_option(project: Path) -> None:
    for number, count in enumerate([100, 1000, 500]):
        parts = parts_with(options={"count": count, "seed": 1})
        recorded_job(project, f"main-{number}", parts, base=parts.key(without="count"))
    other = parts_with(options={"count": 100, "seed": 2})
    recorded_job(project, "main-7", other, base=other.key(without="count"))
    base = parts.key(without="count")
    with Store() as store:
        assert [each.job for each in store.find_alike(base)] == ["main-2", "main-1", "main-0"]
    (project / "workdirs/main/main-1/x.npy").unlink()
    with Store() as store:
        assert [each.job for each in store.find_alike(base)] == ["main-2", "main-0"]


def failing(name: str) -> Callable[[int], None]:
    """`os.fsync` that fails for one file."""
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if os.readlink(f"/proc/self/fd/{descriptor}").rpartition("/")[2].startswith(name):
            raise OSError(errno.EIO, "Input/output error")
        real(descriptor)

    return fsync


@pytest.mark.parametrize("what", ["result", "manifest", "folder"])
def test_a_job_that_is_not_on_disk_is_set_aside_or_has_no_manifest(
    project: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    folder = finished_job(project, "main-1")
    store = Store()
    manifest = manifest_for(folder)
    if what == "folder":
        (folder / MANIFEST).mkdir()
    else:
        monkeypatch.setattr(os, "fsync", failing("x.npy" if what == "result" else f".{MANIFEST}"))
    store.add(folder, manifest)
    with pytest.raises(OSError, match=MANIFEST if what == "folder" else "Input/output error"):
        store.close()
    assert not (folder / MANIFEST).is_file()
    assert (folder / FINISHED).exists() == (what != "result")
    assert (folder / SET_ASIDE).exists() == (what == "result")


def test_arrays_have_their_space_from_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    create_array("x", (1000, 1000), "f8")
    assert Path("x.npy").stat().st_blocks * 512 >= 8_000_000


@pytest.fixture
def job(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished job of two arrays."""
    made = make_job(
        project,
        "main-3",
        options={"partition": "S01", "decoding": {"folds": 3}},
        jobs={"features": "main-2", "applied": None, "permuted": ["main-1", "other-7"], "none": []},
    )
    with monkeypatch.context() as inside:
        inside.chdir(made)
        save_array("weights", np.arange(6.0).reshape(2, 3))
        save_array("labels", np.array([0, 1]))
        arrays = {"weights": Values(None, "a × b", "weights", "V"), "labels": Values(None, "a", "class")}
        write_record("train", "S01", arrays, facts={"classes": ["x", "y"]})
    return made


def test_load_gives_what_was_written_by_us_and_by_exax(job: Path) -> None:
    assert shortloop.load is load
    result = load("main-3")
    assert (result.job, result.path, result.stage, result.partition) == ("main-3", job, "train", "S01")
    assert set(result.arrays) == {"weights", "labels"}
    np.testing.assert_array_equal(result.arrays["weights"], np.arange(6.0).reshape(2, 3))
    assert isinstance(result.arrays["weights"], np.memmap)
    assert result.facts == {"classes": ["x", "y"]}
    assert result.problem is None
    assert result.job in repr(result)
    assert result.method == "train"
    assert result.options == {"partition": "S01", "decoding": {"folds": 3}}
    assert result.inputs == {"features": "main-2", "permuted": ["main-1", "other-7"]}
    assert result.sources() == [("features", "main-2"), ("permuted", "main-1"), ("permuted", "other-7")]
    assert result.seconds == 1.5
    assert result.made.timestamp() == 1_700_000_000.0
    assert result.made.tzinfo is not None
    result.facts["new"] = result.options["new"] = 1  # which are copies
    assert "new" not in result.facts
    assert "new" not in result.options
    with pytest.raises(AttributeError, match="no_such"):
        getattr(shortloop, "no_such")  # noqa: B009


@pytest.mark.parametrize("below", ["workdirs/main/main-3", "studies/deep/er"])
def test_load_works_from_below_the_project(job: Path, monkeypatch: pytest.MonkeyPatch, below: str) -> None:
    folder = job.parents[2] / below
    folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(folder)
    assert load("main-3").path == job


@pytest.mark.parametrize(
    "wrong", ["", "main", "3", "main-", "main-x", "third-3", "main-3/", "../main-3", "main-3-3", "main--3"]
)
def test_what_is_no_job_id_is_said_so(job: Path, wrong: str) -> None:
    with pytest.raises(InputError) as caught:
        load(wrong)
    assert (caught.value.found, caught.value.problem) == (wrong, "invalid job id")
    assert caught.value.expected == "main-NUMBER or other-NUMBER"


@pytest.mark.parametrize("left", [(), ("record.json",)])
def test_unfinished_jobs_are_refused(
    job: Path, monkeypatch: pytest.MonkeyPatch, left: tuple[str, ...]
) -> None:
    """Killed before its record, or after it: its arrays may be half-written either way."""
    folder = make_job(job.parents[2], "main-5", finished=False)
    for name in left:
        (folder / name).write_bytes((job / name).read_bytes())
    with pytest.raises(InputError, match="did not finish") as caught:
        load("main-5")
    assert caught.value.found == "main-5"


def test_jobs_without_a_record_or_whose_files_are_cut_short(job: Path) -> None:
    make_job(job.parents[2], "main-6")
    with pytest.raises(InputError, match="left no record") as caught:
        load("main-6")
    assert "ax job main-6" in caught.value.message
    file, record = job / "weights.npy", job / "record.json"
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises((ValueError, OSError)):
        load("main-3").arrays["weights"]
    record.write_bytes(record.read_bytes()[:40])
    with pytest.raises(InputError, match="damaged") as caught:
        load("main-3")
    assert caught.value.file == str(record)


def test_a_rejected_job_says_why(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_job(project, "main-8"))
    reject("import_epochs", "S02", InputError("no labels", file="b.npz", partition="S02"))
    result = load("main-8")
    assert result.problem is not None
    assert result.problem.splitlines()[0] == "no labels"
    assert "b.npz" in result.problem
    assert "nothing>" in repr(result)


@pytest.mark.parametrize("text", ["slices: many\n", "slices: 2\n", "nonsense: 3\n"])
def test_a_configuration_that_exax_cannot_use_is_named(project: Path, text: str) -> None:
    (project / "accelerator.conf").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="cannot use its configuration") as caught:
        load("main-3")
    assert caught.value.file == str(project / "accelerator.conf")
