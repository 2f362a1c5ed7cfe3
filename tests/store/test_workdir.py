"""What a workdir calls its projects, and that exax does not mind what is kept there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from jobs_project import empty_project, make_job
from jobs_recorded import manifest_for, parts_with, recorded_job

from shortloop.base.errors import InputError
from shortloop.plan.explain.reasons import reason_to_build
from shortloop.project.project import DELETED, FINISHED, job_folders
from shortloop.store.index import Place, Purpose
from shortloop.store.store import Store
from shortloop.store.workdir import HIDDEN, hidden_folder, project_at, project_name

project = pytest.fixture(empty_project)

MAIN = Path("workdirs/main", HIDDEN)


@pytest.mark.parametrize(
    ("workdir", "name"), [("workdirs/main", "../.."), ("w", ".."), ("../elsewhere/main", "{project}")]
)
def test_a_project_has_a_name_in_its_workdir(project: Path, workdir: str, name: str) -> None:
    folder = project / workdir
    assert project_name(folder) == name.format(project=project)
    assert project_at(folder, project_name(folder)) == project


def test_links_make_no_other_project(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = project_name(project / "workdirs/main")
    (tmp_path / "link").symlink_to(project)
    monkeypatch.chdir(tmp_path / "link")
    assert project_name(project / "workdirs/main") == name
    assert project_name(tmp_path / "link/workdirs/main") == name


def test_a_workdir_that_is_a_link_out_of_the_project_is_not_inside(project: Path, tmp_path: Path) -> None:
    (tmp_path / "large-disk").mkdir()
    (project / "workdirs").symlink_to(tmp_path / "large-disk")
    assert project_name(project / "workdirs/main") == str(project)


def test_what_is_kept_there_is_no_job(project: Path) -> None:
    from accelerator.job import dirnamematcher

    make_job(project, "main-1")
    workdir = project / "workdirs/main"
    hidden_folder(workdir)
    assert [each.name for each in job_folders({"main": workdir})] == ["main-1"]
    assert list(filter(dirnamematcher("main"), [HIDDEN, "main-1"])) == ["main-1"]


def test_a_workdir_that_cannot_be_made_is_explained(project: Path) -> None:
    (project / "elsewhere").write_text("no folder", encoding="utf-8")
    with pytest.raises(InputError, match="the workdir cannot be used") as caught:
        Store()
    assert str(project / "elsewhere/other") in caught.value.message


def test_who_may_write_to_a_workdir_may_write_to_its_index(project: Path) -> None:
    """A group that shares it, say, and works with such a mask."""
    before = os.umask(0o002)
    try:
        with Store():
            modes = {each.name: each.stat().st_mode & 0o777 for each in (project / MAIN).iterdir()}
    finally:
        os.umask(before)
    assert modes["main.sqlite"] == 0o664
    assert set(modes.values()) == {0o664}


def test_places_of_several_workdirs(project: Path) -> None:
    """A place is with the job that is in it, and a job in another workdir takes it over."""
    first, second = Place("chain", "toy", None, "1"), Place("chain", "toy", None, "2")
    with Store() as store:
        store.index.put_in_places({first: "main-1", second: "other-1"})
        assert store.index.places() == {first: "main-1", second: "other-1"}
        store.index.put_in_places({first: "other-2"})
        assert store.index.in_place(first) == "other-2"
        assert store.index.places() == {first: "other-2", second: "other-1"}
        assert len(store.index.all_places()) == 2
        store.index.finish_pipeline("chain", [first])
        assert store.index.places() == {first: "other-2"}
        assert store.index.ended_pipelines() == {Purpose("chain")}
        store.index.put_settings_file("s", "s.toml")
        assert (store.index.settings_file("s"), store.index.settings_file("t")) == ("s.toml", None)


def test_a_job_says_which_project_it_was_built_for(project: Path) -> None:
    folder = project / "workdirs/main/main-1"
    with Store() as store:
        recorded_job(project, "main-1")
        store.add(folder, manifest_for(folder))
    with Store() as store:
        manifest = store.manifest_of("main-1")
        assert manifest is not None
        assert manifest.project == "../.."


@pytest.mark.parametrize("noticed", [True, False])
def test_a_deleted_job_is_not_called_damaged(project: Path, noticed: bool) -> None:
    """Perhaps the index still knows it, as whoever deleted it was cut off."""
    manifest = recorded_job(project, "main-1", parts_with())
    folder = project / "workdirs/main/main-1"
    with Store() as store:
        store.note(folder, manifest)
    (folder / FINISHED).rename(folder / DELETED)
    (folder / "x.npy").unlink()
    with Store() as store:
        if noticed:
            store.index.forget("main-1")
        assert store.find(manifest.key) is None
        assert store.damaged == {}
        assert reason_to_build(store, manifest.parts, store.manifest_of("main-1"), {}) == "main-1 was deleted"
    assert (folder / DELETED).exists()
