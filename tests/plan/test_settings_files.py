"""A name of settings belongs to one file, until that is gone, has another name, or is told to give way."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
from jobs_project import empty_project, write
from refusal import refusal

from shortloop.plan.settings_files import TAKE_OVER, SettingsFile
from shortloop.settings.changes import CHANGES_VARIABLE, Changes
from shortloop.store.store import Store

project = pytest.fixture(empty_project)
NAME = "rivers"
TEXT = f'name = "{NAME}"\nyears = 30\n'


def run(file: Path, embedded: Path = Path("embedded.toml"), *, take_over: bool = False) -> str | None:
    """What a run says of its file."""
    settings = SettingsFile(tomllib.loads(file.read_text(encoding="utf-8"))["name"], file, "survey", embedded)
    with Store() as store:
        said = settings.take_over(store.index, {TAKE_OVER: "1"} if take_over else {})
        settings.note(store.index)
        return said


@pytest.fixture
def file(project: Path) -> Path:
    made = write(project, "surveys/first.toml", TEXT)
    assert run(made) is None
    return made


def test_the_same_file_again(file: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(file) is None
    assert run(project / "surveys/../surveys/first.toml") is None
    (project / "link.toml").symlink_to("surveys/first.toml")
    assert run(project / "link.toml") is None
    os.link(file, project / "hard.toml")
    assert run(project / "hard.toml") is None
    (project / "copy.toml").write_bytes(file.read_bytes())
    with refusal("another survey file"):
        run(project / "copy.toml")  # whose changes would be made in one of them
    outside = write(project.parent, "elsewhere/survey.toml", TEXT.replace(NAME, "outside"))
    assert run(outside) is run(outside) is None
    project.rename(project.with_name("renamed"))
    monkeypatch.chdir(project.with_name("renamed"))
    assert run(Path.cwd() / "surveys/first.toml") is None


def test_another_file_of_the_same_name_is_refused(file: Path, project: Path) -> None:
    second = write(project, "second.toml", TEXT)
    for _ in range(2):
        with refusal(
            "another survey file is also named", str(file), str(second), NAME, "--take-over", TAKE_OVER
        ):
            run(second)
    assert run(file) is None


def test_a_sweep_of_another_file_of_that_name(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = write(project, "first.toml", TEXT), write(project, "second.toml", TEXT)
    environ: dict[str, str] = {}
    Changes("years-50", (("years", "50"),)).into(environ)
    monkeypatch.setenv(CHANGES_VARIABLE, environ[CHANGES_VARIABLE])
    with Store() as store:
        swept = SettingsFile(f"{NAME}-years-50", first, "survey", Path("embedded.toml"))
        assert tomllib.loads(swept.text) == {"name": f"{NAME}-years-50", "years": 50}
        assert swept.take_over(store.index, {}) is None
        swept.note(store.index)
        assert swept.take_over(store.index, {}) is None
        with refusal("another survey file is also named"):
            SettingsFile(swept.name, second, "survey", Path("embedded.toml")).take_over(store.index, {})


def test_a_file_can_be_told_to_take_over(file: Path, project: Path) -> None:
    second = write(project, "second.toml", TEXT)
    said = run(second, take_over=True)
    assert said == f"the survey {NAME} was run from {file} before; it is that of {second} from now on"
    assert run(second) is None
    with refusal("another survey file"):
        run(file)


def test_a_file_that_was_moved(file: Path, project: Path) -> None:
    moved = project / "moved.toml"
    file.rename(moved)
    assert f"before; it is that of {moved} from now on" in str(run(moved))
    assert run(moved) is None
    moved.write_text(TEXT.replace(f'name = "{NAME}"', 'name = "other"'), encoding="utf-8")
    assert run(write(project, "second.toml", TEXT))  # the first has another name now


@pytest.mark.parametrize("content", [b"name = ", b"\xff\xfe"])
def test_a_file_that_cannot_be_read_now_keeps_its_name(file: Path, project: Path, content: bytes) -> None:
    file.write_bytes(content)
    with refusal("another survey file"):
        run(write(project, "second.toml", TEXT))


def test_the_embedded_file_has_a_name_too(file: Path, tmp_path: Path) -> None:
    embedded = write(tmp_path, "package/default.toml", TEXT)
    with refusal("another survey file", "the embedded survey"):
        run(embedded, embedded)
    assert run(embedded, embedded, take_over=True)
    assert run(embedded, embedded) is None
    moved = write(tmp_path, "site-packages/default.toml", TEXT)  # the package is installed elsewhere
    assert run(moved, moved) is None
    with refusal("the embedded survey"):
        run(file, embedded)


def test_projects_on_one_workdir_differ(file: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has its own folder of results."""
    text = (project / "accelerator.conf").read_text(encoding="utf-8")
    shared = text.replace("./workdirs/main", str(project / "workdirs/main"))
    other = write(project.parent, "other/accelerator.conf", shared).parent
    monkeypatch.chdir(other)
    assert run(write(other, "mine.toml", TEXT)) is None
    monkeypatch.chdir(project)
    assert run(file) is None
