"""Arrays that a job leaves where they lie, in a file of the input: read there as long as it is the same."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from jobs_project import ROOT, empty_project, fresh_python, make_job
from refusal import refusal

from shortloop.base.types import Span
from shortloop.keys import file_state as filestate
from shortloop.stages.records import Outside, save_array, write_record
from shortloop.stages.stage import Values
from shortloop.store.inputs import check_located, register
from shortloop.store.loaded import load
from shortloop.store.loaded import open_job as open_result

project = pytest.fixture(empty_project)
VALUES = np.random.default_rng(1).standard_normal((3, 4, 5))
SPAN = Span(offset=24, shape=(3, 4, 5), strides=(176, 8, 32), dtype="<f8")


def write(file: Path, values: np.ndarray = VALUES) -> None:
    """Matrices by columns, each after 16 bytes of something else."""
    file.write_bytes(b"before! " + b"".join(b"8 bytes " * 2 + each.T.tobytes() for each in values))


@pytest.fixture
def recording(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(filestate, "SETTLED_NS", -1)
    file = project / "data" / "a.mat"
    file.parent.mkdir()
    write(file)
    return file


@pytest.fixture
def job(project: Path, recording: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job whose values lie in the recording."""
    (content,) = register([recording])
    folder = make_job(project, "main-3", method="read")
    with monkeypatch.context() as inside:
        inside.chdir(folder)
        save_array("labels", np.array([0, 1, 1, 0]))
        arrays = {
            "values": Values(Outside("a.mat", content, SPAN), "x × y × z", "values", "V"),
            "labels": Values(None, "y", "labels"),
        }
        write_record("read", "S01", arrays)
    return folder


def test_the_array_is_in_the_file_as_the_record_says(job: Path, project: Path, recording: Path) -> None:
    result = load("main-3")
    values = result.arrays["values"]
    np.testing.assert_array_equal(values, VALUES)
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 1
    assert set(result.arrays) == {"values", "labels"}
    assert not (job / "values.npy").exists()
    described = open_result(job).record["arrays"]
    assert (described["values"]["shape"], described["values"]["dtype"]) == ([3, 4, 5], "float64")
    outside = described["values"]["outside"]
    assert (outside["name"], outside["span"]["offset"]) == ("a.mat", 24)
    assert outside["content"] == register([recording])[0]
    assert "outside" not in described["labels"]
    assert not [name for name in described if str(recording.parent) in str(described[name])]
    said = fresh_python(
        "from shortloop.cli.lookup.show import show_job; show_job('main-3')", project, COLUMNS="200"
    )
    assert "in a.mat, from byte 24 on; no copy is kept" in said


def test_a_file_that_moved_is_found_when_the_study_ran_again(job: Path, recording: Path) -> None:
    moved = recording.rename(recording.with_name("b.mat"))
    with refusal("is gone, or not what it was"):
        open_result(job).arrays["values"]
    register([moved])
    np.testing.assert_array_equal(open_result(job).arrays["values"], VALUES)


@pytest.mark.parametrize("damage", ["gone", "changed", "touched up", "cut short", "folder", "forgotten"])
def test_a_file_that_is_not_the_same_is_named(job: Path, project: Path, recording: Path, damage: str) -> None:
    stat = recording.stat()
    time.sleep(0.02)  # a tick of the file system's clock
    if damage in ("gone", "folder"):
        recording.unlink()
    if damage == "folder":
        recording.mkdir()
    if damage in ("changed", "touched up"):
        write(recording, -VALUES)
    if damage == "touched up":  # the same size and time of change
        os.utime(recording, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    if damage == "cut short":
        recording.write_bytes(recording.read_bytes()[:-8])
    if damage == "forgotten":
        for note in (project / "workdirs/.cache/inputs").iterdir():
            note.unlink()
    with refusal("is gone, or not what it was") as caught:
        load("main-3").arrays["values"]
    error = caught.value
    assert error.file == ("a.mat" if damage == "forgotten" else str(recording))
    assert error.field == "main-3, values"
    assert error.hint is not None
    assert error.hint.startswith("put the file back")
    assert "a.mat" in str(error.expected)
    if damage not in ("folder", "forgotten"):
        write(recording)
        np.testing.assert_array_equal(load("main-3").arrays["values"], VALUES)
    np.testing.assert_array_equal(load("main-3").arrays["labels"], [0, 1, 1, 0])


def test_a_file_that_changes_while_a_job_reads_it_spoils_the_job(
    job: Path, project: Path, recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_job(project, "main-4", finished=False))
    load("main-3").arrays["values"]
    check_located()
    time.sleep(0.02)
    write(recording, -VALUES)
    with refusal("changed while"):
        check_located()
    (tmp_path / "other").mkdir()  # a job of another project is none of its business
    (tmp_path / "other" / "accelerator.conf").write_text((ROOT / "accelerator.conf").read_text())
    monkeypatch.chdir(tmp_path / "other")
    check_located()
