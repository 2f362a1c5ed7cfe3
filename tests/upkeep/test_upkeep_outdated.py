"""Jobs that another version of Shortloop kept in another format: every command tells them from others."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_jobs import ToyJobs, make_outdated, toy_project

from shortloop.base.errors import InputError
from shortloop.cli.gc import collect_garbage
from shortloop.cli.jobs import Filter, print_jobs
from shortloop.cli.show import show_job
from shortloop.cli.verify import verify_jobs
from shortloop.cli.why import print_why
from shortloop.project.project import DELETED
from shortloop.store.manifest import MANIFEST
from shortloop.store.store import Store
from shortloop.upkeep.inventory import STATES, check_all, inventory


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyJobs:
    """Two jobs of another format, which no index knows, and one of this."""
    monkeypatch.chdir(toy_project(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    made = ToyJobs(tmp_path)
    for number in range(2):
        made.make()
        make_outdated(made.folder(f"main-{number}"), "manifest")
    for file in (tmp_path / "workdirs/main/.shortloop").iterdir():
        file.unlink()
    made.places.clear()
    made.make("B")
    made.ended()
    return made


def states() -> dict[str, str]:
    with Store() as store:
        return {each.job: each.state for each in inventory(store)}


def test_lists_say_so(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    assert states() == {"main-0": "outdated", "main-1": "outdated", "main-2": "current"}
    print_jobs(Filter(state="outdated"), "id", False)
    assert capsys.readouterr().out.splitlines()[-1].startswith("2 jobs, ")


def test_it_is_not_verified_and_not_damaged(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    for set_aside in (False, True):
        assert verify_jobs(set_aside) == 0
        said = capsys.readouterr().out
        assert said.startswith("1 job, ")
        assert "skipped: 2 jobs in the format of another version" in said
    assert states()["main-0"] == "outdated"


def test_a_record_of_another_format_is_not_damaged(jobs: ToyJobs) -> None:
    make_outdated(jobs.folder("main-2"), "record")
    with Store() as store:
        (found,) = check_all(inventory(store))
    assert (found.job, found.what, found.damaged) == (
        "main-2",
        "its record is kept in another format",
        False,
    )


def test_it_is_deleted_as_one_that_nothing_rests_on(
    jobs: ToyJobs, capsys: pytest.CaptureFixture[str]
) -> None:
    collect_garbage(False, None, None, None)
    said = capsys.readouterr().out
    assert said.splitlines()[1].split()[:3] == ["outdated", "scores", "2"]
    assert f"outdated: {STATES['outdated']}" in said
    collect_garbage(True, None, None, None)
    assert states() == {"main-0": "deleted", "main-1": "deleted", "main-2": "current"}
    assert {file.name for file in jobs.folder("main-0").iterdir()} == {"setup.json", MANIFEST, DELETED}
    capsys.readouterr()
    collect_garbage(True, None, None, None)
    assert "deleted 0 jobs" in capsys.readouterr().out


def test_one_that_is_still_needed_is_kept(jobs: ToyJobs) -> None:
    """By a job that nobody recorded, and that may have been made by hand."""
    setup = jobs.folder(jobs.unrecorded(finished=True)) / "setup.json"
    setup.write_text(setup.read_text(encoding="utf-8").replace("{}}", '{"x": "main-0"}}'), encoding="utf-8")
    assert states()["main-0"] == "needed"
    with Store() as store:
        found = {each.job: each for each in check_all(inventory(store))}
    assert (found["main-0"].what, found["main-0"].damaged) == ("is kept in another format", False)


def test_what_exax_knows_of_it_is_shown(jobs: ToyJobs, capsys: pytest.CaptureFixture[str]) -> None:
    for job in ("main-0", "main-1"):
        show_job(job)
        said = capsys.readouterr().out
        assert f"outdated: {STATES['outdated']}" in said
        assert "option partition  A" in said


def test_why_it_was_built_is_not_told(jobs: ToyJobs) -> None:
    with pytest.raises(InputError, match="format of another version"):
        print_why("main-0", None, False)
