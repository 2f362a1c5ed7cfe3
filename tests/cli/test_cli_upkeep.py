"""`shortloop gc` and `shortloop verify` say what they would do, and do it only when they are told to."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from toy_jobs import ToyJobs, is_deleted, jobs_here

from shortloop.base.errors import InputError
from shortloop.cli.gc import collect_garbage
from shortloop.cli.verify import verify_jobs
from shortloop.keys import file_state as filestate
from shortloop.project.project import FINISHED, SET_ASIDE
from shortloop.store.inputs import keep_hashes, register

DAY = 86_400


jobs = pytest.fixture(jobs_here)


@pytest.fixture
def three(jobs: ToyJobs) -> ToyJobs:
    for name in "ABC":
        jobs.make(name, large=100_000)
    jobs.ended()
    return jobs


def test_gc_deletes_when_it_is_told_to(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    """Of three jobs in one place, the last is current."""

    def said(really: bool = False, settings: str | None = None) -> str:
        collect_garbage(really, None, None, settings)
        return capsys.readouterr().out

    def deleted() -> list[int]:
        return [number for number in range(3) if is_deleted(jobs.folder(f"main-{number}"))]

    for age in (40, 20, 10):
        jobs.make(options={"age": age}, age=age * DAY, large=1_000_000)
    jobs.ended()
    text = said()
    assert text.splitlines()[1].split() == ["superseded", "scores", "2", "2.0", "MB", "20", "d", "40", "d"]
    assert "2 of 3 jobs would be deleted: 2.0 MB of 3.0 MB" in text
    assert "3 of 3 jobs would be deleted" in said(settings="small")  # a study that is not needed any more
    assert deleted() == []
    assert "deleted 2 jobs: 2.0 MB freed, 1.0 MB left" in said(really=True)
    assert deleted() == [0, 1]
    assert "0 of 3 jobs would be deleted" in said()
    said(really=True, settings="small")
    assert deleted() == [0, 1, 2]
    with pytest.raises(InputError, match="no run with settings of this name"):
        said(settings="large")


def test_a_damaged_job_is_named_and_set_aside(three: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify_jobs(False) == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert re.match("3 jobs, 3.*KB.*all are as they were recorded", first)
    assert "OUTPUT/" in last  # what is left out
    three.damage("main-1")
    for _ in range(2):
        assert verify_jobs(False) == 1
        lines = capsys.readouterr().out.splitlines()
        assert lines[1].split() == ["main-1", "scores", "B", "scores.npy", "was", "altered"]
        assert "1 damaged or missing" in lines[2]
        assert "--set-aside" in lines[3]
    assert (three.folder("main-1") / FINISHED).is_file()
    assert verify_jobs(True) == 1
    assert {file.name for file in three.folder("main-1").iterdir()} >= {SET_ASIDE, "scores.npy"}
    capsys.readouterr()
    assert verify_jobs(False) == 0
    assert "main-1  scores  B          found damaged, and set aside" in capsys.readouterr().out
    shutil.rmtree(three.folder("main-2"))  # it is named until it is known
    assert (verify_jobs(False), verify_jobs(True)) == (1, 1)
    assert "its folder is gone" in capsys.readouterr().out
    assert verify_jobs(False) == 0


def test_an_input_file_that_changed_unnoticed_is_named(
    three: ToyJobs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filestate, "SETTLED_NS", -1)  # what is known of it is kept at once
    file = three.project / "recording.mat"
    file.write_bytes(b"data")
    register([file])
    keep_hashes()
    store = three.project / "workdirs/.cache/inputs/blake3.json"
    (entry,) = json.loads(store.read_text(encoding="utf-8")).values()
    store.write_text(json.dumps({str(file): [*entry[:-1], "0" * 64]}), encoding="utf-8")
    assert verify_jobs(False) == 1
    said = capsys.readouterr().out
    assert f"{file} changed since it was read" in said
    assert "1 input file changed unnoticed: the next run reads" in said
    assert "all are as they were recorded" in said
    assert verify_jobs(False) == 0
