"""A project in which nothing may be written, or no byte is left: whoever may read it can look at it."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from cases import first_cases
from toy_jobs import ToyJobs, toy_project
from without_root import commands, mounted, only_readable, read_only_disk, shortloop

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
LOOKING = [("plan", "toy"), ("why", "main-1"), ("why", "scores"), ("show", "main-1"), ("jobs",)]
LOOKING += [("compare", "main-0", "main-1"), ("verify",), ("gc",)]
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


@pytest.fixture(
    params=[only_readable, pytest.param(read_only_disk, marks=pytest.mark.slow)], ids=["permissions", "disk"]
)
def closed(folder: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The same, as a process that may write nothing sees it."""
    with request.param(folder):
        yield folder


def state_of(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.lstat().st_size, path.lstat().st_mtime_ns)
        for path in folder.rglob("*")
    }


WRITING = ("run", "toy"), ("gc", "--delete"), ("verify", "--set-aside")
INDEX = "from shortloop.store.store import Store; import json; print(json.dumps(Store().index.kept))"


def test_all_that_looks_works_and_what_needs_to_write_says_so(closed: Path) -> None:
    before, said = state_of(closed), {}
    looked = commands(closed, *LOOKING, *WRITING)
    for command, done in zip(LOOKING, looked):
        assert done.status == 0, (command, done)
        said[command[0]] = done.out
    # The index says which is in use.
    assert [line.split()[-1] for line in said["jobs"].splitlines()[1:3]] == ["superseded", "current"]
    assert "1 of 2 jobs would be deleted" in said["gc"]
    assert "figure: none" in said["compare"]
    for done in looked[len(LOOKING) :]:
        assert (done.status, done.out) == (1, "")
        assert done.err.startswith("shortloop: ")
        assert "Traceback" not in done.err
        assert "write" in done.err or "read-only" in done.err
        assert "project's owner" in done.err
    code = f"import shortloop; print(shortloop.load('main-1').arrays['scores'][0]); {INDEX}"
    loaded = shortloop(closed, "-c", code)
    assert loaded.stdout == "51.0\nfalse\n", loaded.stderr
    assert state_of(closed) == before


def test_a_damaged_job_is_planned_anew(folder: Path) -> None:
    """And the index is kept where that is allowed."""
    (folder / "workdirs/main/main-1/scores.npy").write_bytes(b"cut")
    code = (
        "from shortloop.store.store import Store; s = Store(); print(s.index.kept);"
        "s.index.insert(s.manifest_of('main-1'), [['scores.npy', 0, 0, 0, 0, 0]]); s.close()"
    )
    assert shortloop(folder, "-c", code).stdout == "True\n"
    with only_readable(folder):
        planned, found = commands(folder, ("plan", "toy"), ("verify",))
        assert planned.status == 0, planned
        assert found.status == 1
        assert "scores.npy" in found.out
        assert (folder / "workdirs/main/main-1/post.json").is_file()
    os.chmod(folder / "workdirs/main/.shortloop/main.sqlite", 0o444)
    assert shortloop(folder, "-c", INDEX).stdout == "false\n"


@first_cases(1, "state", ["damaged", "no cache", "cut off", "not for all"])
def test_whatever_state_the_index_is_in(folder: Path, state: str) -> None:
    index = folder / "workdirs/main/.shortloop/main.sqlite"
    if state == "no cache":
        shutil.rmtree(folder / "workdirs/.cache", ignore_errors=True)
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


def test_a_job_whose_folder_may_not_be_read(folder: Path) -> None:
    job = folder / "workdirs/main/main-0"
    looking = ("jobs",), ("plan", "toy"), ("gc",), ("why", "main-1"), ("show", "main-1")
    asking = (("show", "main-0"), ("why", "main-0"), ("compare", "main-0", "main-1"), ("gc", "--delete"))
    job.chmod(0)
    try:
        said = commands(folder, *looking, *asking, ("verify",))
        loaded = shortloop(folder, "-c", "import shortloop; shortloop.load('main-0')")
    finally:
        job.chmod(0o755)
    assert [done.status for done in said] == [0] * len(looking) + [1] * len(asking) + [1], said
    assert not [done for done in said if "Traceback" in done.err]
    assert "unreadable" in said[0].out.splitlines()[1]
    for done in said[len(looking) : -1]:
        assert "some jobs cannot be read" in done.err or "cannot be read (Permission denied)" in done.err
    assert "you cannot read its folder" in said[-1].out
    assert "InputError: the folder of the job cannot be read" in loaded.stderr
    assert len(list((folder / "workdirs/main").glob("main-*"))) == 2


@first_cases(1, "name", ["manifest.json", "scores.npy", "record.json", "setup.json", "post.json"])
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


def test_looking_and_deleting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with mounted(tmp_path, "-t", "tmpfs", "-o", "size=6M", "tmpfs"):
        folder = toy_project(tmp_path)
        monkeypatch.chdir(folder)
        jobs = ToyJobs(folder)
        for number in (1, 2):
            jobs.make("A", options={"number": number}, large=100_000)
        jobs.ended()
        filler = os.open(folder / "filler", os.O_CREAT | os.O_WRONLY)
        with contextlib.suppress(OSError):
            while True:
                os.write(filler, bytes(4096))
        os.close(filler)
        assert shutil.disk_usage(folder).free == 0
        looking = [("jobs",), ("show", "main-1"), ("why", "main-1"), ("verify",), ("gc",)]
        for done in commands(folder, *looking):
            assert done.status == 0, done
        (refused,) = commands(folder, ("run", "toy"))
        assert refused.status == 1
        assert refused.err.startswith("shortloop: the disk is full")
        (deleted,) = commands(folder, ("gc", "--delete"))
        assert deleted.status == 0, deleted
        assert "deleted 1 job" in deleted.out
        assert shutil.disk_usage(folder).free >= 90_000
        listed, checked = commands(folder, ("jobs",), ("verify",))
        assert [line.split()[-1] for line in listed.out.splitlines()[1:3]] == ["deleted", "current"]
        assert checked.status == 0
        monkeypatch.chdir("/")


def test_a_project_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    with mounted(tmp_path, "-t", "tmpfs", "-o", "size=24k", "tmpfs"):
        (tmp_path / "there").mkdir()
        for name in ("new", "there"):
            (refused,) = commands(tmp_path, ("init", name))
            assert refused.status == 1
            assert refused.err.startswith("shortloop: the disk is full")
        assert [each.name for each in tmp_path.iterdir()] == ["there"]
        assert not any((tmp_path / "there").iterdir())
