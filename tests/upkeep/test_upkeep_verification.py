"""Reading all jobs: every damage is found and named; the format of another version is none."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from refusal import refusal
from toy_jobs import ToyJobs, jobs_here, make_outdated

from shortloop.cli.gc import collect_garbage
from shortloop.cli.lookup.jobs import Filter, print_jobs
from shortloop.cli.lookup.show import show_job
from shortloop.cli.lookup.why import print_why
from shortloop.cli.verify import verify_jobs
from shortloop.project.project import DELETED
from shortloop.store.inputs import register
from shortloop.store.manifest import MANIFEST
from shortloop.store.store import Store
from shortloop.upkeep.inventory import STATES, Problem, check_all, inventory, missing


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyJobs:
    made = jobs_here(tmp_path, monkeypatch)
    for name in "AB":
        made.make(name)
    made.ended()
    return made


def problems() -> list[Problem]:
    with Store() as store:
        entries = inventory(store)
        return missing(store, entries) + check_all(entries)


def remove(folder: Path) -> None:
    shutil.rmtree(folder)


def alter_manifest(folder: Path) -> None:
    manifest = folder / MANIFEST
    manifest.write_text(manifest.read_text(encoding="utf-8").replace("scores", "scared", 1), encoding="utf-8")


def put_another(folder: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(folder.with_name("main-0"), folder)


def add_files(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    (folder / "below").mkdir()
    (folder / "below/more.txt").touch()


@pytest.mark.parametrize(
    ("damage", "what", "damaged"),
    [
        (
            lambda folder: (folder / "scores.npy").write_bytes(b"cut"),
            "scores.npy is cut short: 3 of 160 bytes",
            True,
        ),
        (lambda folder: (folder / "scores.npy").unlink(), "scores.npy is missing", True),
        (lambda folder: (folder / MANIFEST).unlink(), "is not recorded", False),
        (alter_manifest, f"{MANIFEST} is damaged", True),
        (put_another, f"{MANIFEST} is that of main-0", True),
        (lambda folder: (folder / "notes.txt").touch(), "has a file that it did not write: notes.txt", False),
        (add_files, "has files that it did not write: below/more.txt, notes.txt", False),
        (
            lambda folder: (folder / "weights.npy").write_bytes(b"x"),
            "has a result file that it did not write: weights.npy",
            True,
        ),
        (remove, "its folder is gone", True),
        (lambda folder: make_outdated(folder, "record"), "its record is kept in another format", False),
    ],
)
def test_damage_is_found(jobs: ToyJobs, damage: Callable[[Path], object], what: str, damaged: bool) -> None:
    jobs.unrecorded(finished=True, script=True)
    assert problems() == []
    damage(jobs.folder("main-1"))
    (found,) = problems()
    assert (found.job, found.stage, found.what, found.damaged) == ("main-1", "scores", what, damaged)


def test_a_changed_byte_is_found_and_what_did_not_finish_is_no_damage(jobs: ToyJobs) -> None:
    jobs.damage("main-1")
    (altered,) = problems()
    assert altered.what == "scores.npy was altered"
    jobs.unrecorded(finished=False)
    jobs.unrecorded(finished=True)
    found = [(each.job, each.partition, each.damaged) for each in problems()]
    assert found == [("main-1", "B", True), ("main-2", "", False), ("main-3", "", False)]


def test_a_job_whose_data_lies_in_a_file_that_changed_is_found(jobs: ToyJobs) -> None:
    file = jobs.project / "recording.mat"
    file.write_bytes(bytes(48))
    (content,) = register([file])
    span = {"offset": 0, "shape": [6], "strides": [8], "dtype": "<f8"}
    jobs.make("C", arrays={"data": {"outside": {"name": file.name, "content": content, "span": span}}})
    assert problems() == []
    file.write_bytes(bytes(56))
    (found,) = problems()
    assert (found.job, found.damaged) == ("main-2", True)
    assert "recording.mat, which holds its data" in found.what


@pytest.fixture
def outdated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: ToyJobs) -> ToyJobs:
    """Two jobs that another version kept in another format, which no index knows, and one of this."""
    for number in range(2):
        make_outdated(jobs.folder(f"main-{number}"), "manifest")
    for file in (tmp_path / "workdirs/main/.shortloop").iterdir():
        file.unlink()
    jobs.places.clear()
    jobs.make("C")
    jobs.ended()
    return jobs


def states() -> dict[str, str]:
    with Store() as store:
        return {each.job: each.state for each in inventory(store)}


def test_another_format_is_told_from_others(outdated: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    """It is listed and shown, not verified and not damaged; and deleted as one that nothing rests on."""
    assert states() == {"main-0": "outdated", "main-1": "outdated", "main-2": "current"}
    print_jobs(Filter(state="outdated"), "id", False)
    assert capsys.readouterr().out.splitlines()[-1].startswith("2 jobs, ")
    for job, partition in (("main-0", "A"), ("main-1", "B")):
        show_job(job)
        said = capsys.readouterr().out
        assert f"outdated: {STATES['outdated']}" in said
        assert f"option partition  {partition}" in said
    with refusal("format of another version"):
        print_why("main-0", None, False)
    for set_aside in (False, True):
        assert verify_jobs(set_aside) == 0
        said = capsys.readouterr().out
        assert said.startswith("1 job, ")
        assert "skipped: 2 jobs in the format of another version" in said
    assert states()["main-0"] == "outdated"
    collect_garbage(False, None, None, None)
    said = capsys.readouterr().out
    assert said.splitlines()[1].split()[:3] == ["outdated", "scores", "2"]
    assert f"outdated: {STATES['outdated']}" in said
    collect_garbage(True, None, None, None)
    assert states() == {"main-0": "deleted", "main-1": "deleted", "main-2": "current"}
    assert {file.name for file in outdated.folder("main-0").iterdir()} == {"setup.json", MANIFEST, DELETED}
    capsys.readouterr()
    collect_garbage(True, None, None, None)
    assert "deleted 0 jobs" in capsys.readouterr().out


def test_one_that_is_still_needed_is_kept(outdated: ToyJobs) -> None:
    """By a job that nobody recorded, and that may have been made by hand."""
    setup = outdated.folder(outdated.unrecorded(finished=True)) / "setup.json"
    setup.write_text(setup.read_text(encoding="utf-8").replace("{}}", '{"x": "main-0"}}'), encoding="utf-8")
    assert states()["main-0"] == "needed"
    with Store() as store:
        found = {each.job: each for each in check_all(inventory(store))}
    assert (found["main-0"].what, found["main-0"].damaged) == ("is kept in another format", False)
