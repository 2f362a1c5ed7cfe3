"""Deleting jobs: what may go, in which order, and what stays."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from refusal import refusal
from toy_jobs import ToyJobs, is_deleted, toy_project

from shortloop.base.text import amount
from shortloop.cli.gc import collect_garbage
from shortloop.project.project import DELETED, FINISHED
from shortloop.store.crash_repair import tidy
from shortloop.store.index import Purpose
from shortloop.store.manifest import read_manifest
from shortloop.store.store import Store
from shortloop.store.workdir import only_run
from shortloop.upkeep import deletion
from shortloop.upkeep.deletion import (
    delete,
    idle_project,
    old_parts,
    pipelines_of,
    recent_checkpoints,
    to_delete,
)
from shortloop.upkeep.inventory import Entry, inventory

DAY = 86_400


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyJobs:
    """Four superseded jobs, the first the youngest, and a current one."""
    monkeypatch.chdir(toy_project(tmp_path))
    made = ToyJobs(tmp_path)
    for age in (10, 40, 20, 30):
        made.make(age=age * DAY, options={"age": age}, large=10_000)
    made.make(age=50 * DAY, large=10_000)
    made.ended()
    return made


def entries() -> list[Entry]:
    with Store() as store:
        return inventory(store)


def chosen(older: float | None = None, total: int | None = None) -> list[str]:
    return [each.job for each in to_delete(entries(), older, total)]


def delete_all() -> int:
    with Store() as store:
        return delete(store, to_delete(inventory(store)))


def test_superseded_jobs_go_the_oldest_first_and_only_as_many_as_it_takes(jobs: ToyJobs) -> None:
    every = ["main-1", "main-3", "main-2", "main-0"]
    total = sum(each.size for each in entries())
    assert chosen() == chosen(total=0) == every
    assert chosen(older=25 * DAY) == chosen(total=total - 15_000) == every[:2]
    assert chosen(total=total - 1) == chosen(older=35 * DAY, total=0) == every[:1]
    assert chosen(older=60 * DAY) == chosen(total=total) == []


def test_leftovers_go_and_jobs_that_are_not_superseded_stay(jobs: ToyJobs) -> None:
    assert "main-4" not in chosen()
    jobs.unrecorded(finished=True)  # of somebody who does not use Shortloop
    jobs.unrecorded(finished=False, script=True)  # which may be running
    jobs.unrecorded(finished=False)
    jobs.damage("main-4")
    with Store() as store:
        manifest = read_manifest(jobs.folder("main-4"))
        assert manifest is not None
        assert store.find(manifest.key) is None  # which sets it aside
    assert {"main-4", "main-7"} <= set(chosen())
    assert not {"main-5", "main-6"} & set(chosen())
    delete_all()
    assert is_deleted(jobs.folder("main-4"))
    assert {each.job: each.state for each in entries()}["main-7"] == "deleted"


def test_a_deleted_job_leaves_its_id_and_what_it_was_made_of(jobs: ToyJobs) -> None:
    folder = jobs.folder("main-1")
    (folder / "OUTPUT").mkdir()
    (folder / "OUTPUT" / "synthesis").write_text("said", encoding="utf-8")
    (folder / "link").symlink_to(jobs.project / "accelerator.conf")
    manifest = read_manifest(folder)
    before = sum(each.size for each in entries())
    freed = delete_all()
    assert is_deleted(folder)
    assert read_manifest(folder) == manifest
    assert (jobs.project / "accelerator.conf").is_file()
    assert freed > 40_000
    after = sum(file.stat().st_size for each in entries() for file in each.folder.iterdir())
    assert freed == pytest.approx(before - after, abs=200)


def test_a_deleted_job_is_never_found_again_nor_called_unfinished(jobs: ToyJobs) -> None:
    keys = [manifest.key for job in chosen() if (manifest := read_manifest(jobs.folder(job)))]
    assert len(keys) == 4
    delete_all()
    assert tidy({"main": jobs.project / "workdirs" / "main"}) == []
    assert chosen() == []
    for _ in range(2):
        with Store() as store:
            assert not any(map(store.find, keys))
            assert store.damaged == {}
        for file in (jobs.project / "workdirs/main/.shortloop").iterdir():  # also from a new index
            file.unlink()


def test_it_is_out_of_use_before_any_file_is_gone(jobs: ToyJobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever it is interrupted, no job is used of which a part is gone."""
    folder = jobs.folder("main-1")

    def interrupted(file: Path, missing_ok: bool = False) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", interrupted)
        with pytest.raises(KeyboardInterrupt):
            delete_all()
    assert not (folder / FINISHED).exists()
    assert json.loads((folder / DELETED).read_text(encoding="utf-8"))["starttime"] > 0
    assert not is_deleted(folder)
    delete_all()
    assert is_deleted(folder)


def test_files_and_checkpoints_that_were_begun_long_ago_go_too(
    jobs: ToyJobs, capsys: pytest.CaptureFixture[str]
) -> None:
    cache, blocks = jobs.project / "workdirs/.cache/inputs", jobs.project / "workdirs/main/.checkpoints"
    ages = {cache / ".hashes.json.17": 2, cache / ".hashes.json.18": 0, cache / "hashes.json": 2}
    arrays = {
        blocks / "old/lock": 3,
        blocks / "old/files/page.pdf": 2,  # larger than all jobs
        blocks / "new/lock": 3,
        blocks / "new/x.npy": 0,
    }
    for file, age in (ages | arrays).items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}", encoding="utf-8")
        os.truncate(file, 200_000 if file.suffix == ".pdf" else 2)
        os.utime(file, (0, time.time() - age * DAY))
    assert {part.name: size for part, size in old_parts(30 * DAY)} == {".hashes.json.17": 2, "old": 200_002}
    assert {part.name for part, _ in old_parts(0)} == {".hashes.json.17", "old", "new"}
    assert recent_checkpoints() == 4
    collect_garbage(really=True, older=None, to=None, settings=None)
    jobs_left = sum(each.size for each in entries())
    assert f", {amount(jobs_left)} left" in capsys.readouterr().out
    assert {file.name for file in cache.iterdir()} == {".hashes.json.18", "hashes.json"}
    assert {str(file.relative_to(blocks)) for file in blocks.rglob("*")} == {"new", "new/lock", "new/x.npy"}


def test_nothing_is_deleted_while_jobs_may_be_built(jobs: ToyJobs, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        only_run("build_pipeline live"),
        refusal("a run is in progress", "build_pipeline live"),
        idle_project(),
    ):
        pass
    with idle_project():
        pass
    monkeypatch.setattr(deletion, "is_idle", lambda: False)  # the server of a project
    with refusal("building a job"), idle_project():
        pass


def test_a_study_is_meant_by_its_name_or_its_pipelines(jobs: ToyJobs) -> None:
    with Store() as store:
        store.index.start_pipeline("ridge small", "small")
        store.index.finish_pipeline("ridge small", [])
        assert pipelines_of(store, "small") == [Purpose("build_toy small"), Purpose("ridge small")]
        assert pipelines_of(store, "ridge small") == [Purpose("ridge small")]
        with refusal("build_toy small or ridge small"):
            pipelines_of(store, "big")
