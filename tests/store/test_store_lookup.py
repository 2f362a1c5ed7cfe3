"""Looking a job up by its id, from anywhere in the project, and what is said when that cannot be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from jobs_project import empty_project, make_job

import shortloop
from shortloop.base.errors import InputError
from shortloop.stages.records import reject, save_array, write_record
from shortloop.stages.stage import Values
from shortloop.store.loaded import load

project = pytest.fixture(empty_project)


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
