"""A project in which nothing may be written: whoever may read it can look at all of it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from toy_jobs import ToyJobs, toy_project
from without_root import commands, only_readable, read_only_disk, shortloop

METHOD = '''\
"""A toy."""

from shortloop.keys.code import code_of

depend_extra = code_of(__file__)
options = {"number": 0}


def synthesis():
    pass
'''
SCRIPT = """\
from shortloop.run.executor import run_pipeline


def main(urd):
    return run_pipeline(urd, lambda run: run.build("scores", partition="A"), name="build_toy small")
"""
LOOKING = [
    ("plan", "toy"),
    ("why", "main-1"),
    ("why", "scores"),
    ("show", "main-1"),
    ("jobs",),
    ("compare", "main-0", "main-1"),
    ("verify",),
    ("gc",),
]
Guard = Callable[[Path], AbstractContextManager[None]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two jobs, of which the second is in use."""
    made = toy_project(tmp_path / "project")
    monkeypatch.chdir(made)
    conf = made / "accelerator.conf"
    text = conf.read_text(encoding="utf-8")
    conf.write_text(text.replace("\tmethods auto", "\tbuild_scripts auto-discover\n\tmethods auto"), "utf-8")
    for name, content in (("methods/a_scores", METHOD), ("build_scripts/build_toy", SCRIPT)):
        (made / name).parent.mkdir()
        (made / name).with_name("__init__.py").touch()
        (made / f"{name}.py").write_text(content, encoding="utf-8")
    jobs = ToyJobs(made)
    for left in (0.0, 1.0):
        jobs.make("A", options={"number": left}, left=left)
    jobs.ended()
    return made


@pytest.fixture(params=[only_readable, read_only_disk], ids=["permissions", "disk"])
def closed(folder: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The same, as a process that may write nothing sees it."""
    with request.param(folder):
        yield folder


def state_of(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.lstat().st_size, path.lstat().st_mtime_ns)
        for path in folder.rglob("*")
    }


def test_all_that_looks_works(closed: Path) -> None:
    before = state_of(closed)
    said = {}
    for command, done in zip(LOOKING, commands(closed, *LOOKING), strict=True):
        assert done.status == 0, (command, done)
        said[command[0]] = done.out
    # The index says which is in use.
    assert [line.split()[-1] for line in said["jobs"].splitlines()[1:3]] == ["superseded", "current"]
    assert "1 of 2 jobs would be deleted" in said["gc"]
    assert "figure: none" in said["compare"]
    loaded = shortloop(closed, "-c", "import shortloop; print(shortloop.load('main-1').arrays['scores'][0])")
    assert loaded.stdout == "51.0\n", loaded.stderr
    assert state_of(closed) == before


@pytest.mark.parametrize(
    "state",
    [
        "no cache",
        "damaged",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("cut off", "not for all")),
    ],
)
def test_whatever_state_the_index_is_in(folder: Path, state: str) -> None:
    cache = folder / "workdirs/.cache"
    index = folder / "workdirs/main/.shortloop/main.sqlite"
    if state == "no cache":
        shutil.rmtree(cache, ignore_errors=True)
        shutil.rmtree(index.parent)
    elif state == "cut off":  # the process that wrote it was killed, so that some is not in it yet
        code = (
            "import os; from shortloop.store.store import Store; s = Store();"
            "from shortloop.store.index import Place;"
            "s.index.put_in_places({Place('x small', 'a', 'A', '1'): 'main-1'}); os._exit(0)"
        )
        assert shortloop(folder, "-c", code).returncode == 0
        assert index.with_name(f"{index.name}-wal").stat().st_size > 0
    elif state == "damaged":
        index.write_bytes(index.read_bytes()[:5000])
    else:
        index.chmod(0)
    with only_readable(folder):
        for command, done in zip(LOOKING, commands(folder, *LOOKING), strict=True):
            lost = command == ("why", "scores") and state != "cut off"  # what the last run used
            assert done.status == int(lost), (command, done)
            assert "Traceback" not in done.err
        code = "from shortloop.store.store import Store; print(Store().index.places())"
        places = shortloop(folder, "-c", code).stdout
    assert ("pipeline='x small', stage='a'" in places) == (state == "cut off"), places


def test_a_damaged_job_is_planned_anew(closed_with_damage: Path) -> None:
    done = shortloop(closed_with_damage, "plan", "toy")
    assert done.returncode == 0, done.stdout + done.stderr
    found = shortloop(closed_with_damage, "verify")
    assert found.returncode == 1
    assert "scores.npy" in found.stdout
    assert (closed_with_damage / "workdirs/main/main-1/post.json").is_file()


@pytest.fixture
def closed_with_damage(folder: Path) -> Iterator[Path]:
    (folder / "workdirs/main/main-1/scores.npy").write_bytes(b"cut")
    code = (
        "from shortloop.store.store import Store; s = Store();"
        "s.index.insert(s.manifest_of('main-1'), [['scores.npy', 0, 0, 0, 0, 0]]); s.close()"
    )
    assert shortloop(folder, "-c", code).returncode == 0
    with only_readable(folder):
        yield folder


@pytest.mark.parametrize(
    "command", [("run", "toy"), ("gc", "--delete"), ("verify", "--set-aside")], ids=" ".join
)
def test_what_needs_to_write_says_so(closed: Path, command: tuple[str, ...]) -> None:
    done = shortloop(closed, *command)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("shortloop: ")
    assert "Traceback" not in done.stderr
    assert "write" in done.stderr or "read-only" in done.stderr
    assert "project's owner" in done.stderr


def test_a_job_whose_folder_may_not_be_read(folder: Path) -> None:
    job = folder / "workdirs/main/main-0"
    job.chmod(0)
    try:
        listed = shortloop(folder, "jobs")
        assert listed.returncode == 0, listed.stderr
        assert "unreadable" in listed.stdout.splitlines()[1]
        for done in commands(folder, ("plan", "toy"), ("gc",), ("why", "main-1"), ("show", "main-1")):
            assert done.status == 0, done
        asked = (("show", "main-0"), ("why", "main-0"), ("compare", "main-0", "main-1"), ("gc", "--delete"))
        for done in commands(folder, *asked):
            assert done.status == 1
            assert "some jobs cannot be read" in done.err or "cannot be read (Permission denied)" in done.err
            assert "Traceback" not in done.err
        loaded = shortloop(folder, "-c", "import shortloop; shortloop.load('main-0')")
        assert "InputError: the folder of the job cannot be read" in loaded.stderr
        found = shortloop(folder, "verify")
        assert found.returncode == 1
        assert "you cannot read its folder" in found.stdout
    finally:
        job.chmod(0o755)
    assert len(list((folder / "workdirs/main").glob("main-*"))) == 2


@pytest.mark.parametrize(
    "name",
    [
        "manifest.json",
        "scores.npy",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("record.json", "setup.json", "post.json")),
    ],
)
def test_a_file_of_a_job_that_may_not_be_read(folder: Path, name: str) -> None:
    file = folder / "workdirs/main/main-1" / name
    file.chmod(0)
    *_, found = said = commands(folder, *LOOKING, ("verify",))
    assert not [done for done in said if "Traceback" in done.err]
    assert found.status == 1


def test_a_workdir_that_may_not_be_read(folder: Path) -> None:
    (folder / "workdirs/main").chmod(0)
    try:
        for command, done in zip(LOOKING, commands(folder, *LOOKING), strict=True):
            assert "Traceback" not in done.err, done.err
            assert done.status == 1 or command[0] == "plan"
    finally:
        (folder / "workdirs/main").chmod(0o755)


def test_the_index_is_kept_where_that_is_allowed(folder: Path) -> None:
    code = "from shortloop.store.store import Store; import json; print(json.dumps(Store().index.kept))"
    assert json.loads(shortloop(folder, "-c", code).stdout) is True
    with only_readable(folder):
        assert json.loads(shortloop(folder, "-c", code).stdout) is False
    os.chmod(folder / "workdirs/main/.shortloop/main.sqlite", 0o444)
    assert json.loads(shortloop(folder, "-c", code).stdout) is False
