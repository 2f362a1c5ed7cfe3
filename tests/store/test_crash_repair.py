"""After a crash: broken notes of jobs, what unfinished jobs left, and workdirs that a server has."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from accelerator.urd import DB
from jobs_project import empty_project, make_job
from jobs_recorded import recorded_job
from python_process import line_of, python

from shortloop.project.project import DELETED, FINISHED, SET_ASIDE
from shortloop.store.crash_repair import BROKEN, CHECKPOINTS, UNFINISHED, mend, repair_lists, tidy

project = pytest.fixture(empty_project)
DAMAGE = {
    "empty": lambda text: b"",
    "cut short": lambda text: text[: len(text) // 2],
    "zeros": lambda text: bytes(len(text)),
    "garbage": lambda text: b"\xff\xfe" + text,
    "no record": lambda text: b"[]",
}


@pytest.fixture
def workdirs(project: Path) -> dict[str, Path]:
    for number in (1, 2):
        recorded_job(project, f"main-{number}")
    recorded_job(project, "other-1")
    return {"main": project / "workdirs/main", "other": project / "elsewhere/other", "none": project / "x"}


@pytest.mark.parametrize("name", ["post.json", "setup.json"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_job_whose_notes_were_cut_short_is_taken_out_of_use(
    workdirs: dict[str, Path], name: str, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = workdirs["main"] / "main-2"
    text = (folder / name).read_bytes()
    (folder / name).write_bytes(DAMAGE[damage](text))
    mend(workdirs)
    assert f"main-2 was truncated ({name})" in capsys.readouterr().out
    assert not (folder / FINISHED).exists()
    assert (folder / BROKEN).exists()
    assert (folder / "x.npy").read_bytes() == b"a result"  # nothing is deleted
    for other in (workdirs["main"] / "main-1", workdirs["other"] / "other-1"):
        assert (other / FINISHED).exists()
    told = tidy(workdirs)  # who runs something next is told once
    assert len(told) == 1
    assert told[0].startswith("main-2 was truncated")
    assert tidy(workdirs) == []
    assert (folder / "x.npy").exists()


def test_nothing_is_done_to_whole_jobs(workdirs: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    before = {file: file.stat().st_mtime_ns for folder in workdirs.values() for file in folder.rglob("*")}
    mend(workdirs)
    assert tidy(workdirs) == []
    after = {file: file.stat().st_mtime_ns for folder in workdirs.values() for file in folder.rglob("*")}
    assert after == before
    assert capsys.readouterr().out == ""


def unfinished_job(project: Path, job: str, **setup: object) -> Path:
    folder = make_job(project, job, finished=False)
    plain = json.loads((folder / "setup.json").read_text(encoding="utf-8"))
    (folder / "setup.json").write_text(json.dumps({**plain, **setup}), encoding="utf-8")
    (folder / "half.npy").write_bytes(b"half")
    (folder / ".progress").write_text("0.5", encoding="utf-8")
    (folder / "slices").mkdir()
    (folder / "slices" / "0.npy").write_bytes(b"half")
    (folder / "link").symlink_to(project / "accelerator.conf")
    (folder / "linked").symlink_to(project, target_is_directory=True)
    (folder / "OUTPUT").mkdir()
    (folder / "OUTPUT" / "analysis.0").write_text("said", encoding="utf-8")
    (folder / "method.tar.gz").write_bytes(b"code")
    return folder


def test_what_an_unfinished_job_left_is_deleted(project: Path, workdirs: dict[str, Path]) -> None:
    folder = unfinished_job(project, "main-7", caption="train S01")
    assert tidy(workdirs) == ["main-7 (train S01) did not finish; what it left is deleted"]
    left = {str(file.relative_to(folder)) for file in folder.rglob("*")}
    assert left == {"setup.json", "method.tar.gz", "OUTPUT", "OUTPUT/analysis.0", UNFINISHED}
    assert (project / "accelerator.conf").is_file()  # links are deleted, not what they lead to
    assert tidy(workdirs) == []
    unfinished_job(project, "main-8", caption="train S02")
    kept = workdirs["main"] / CHECKPOINTS / "some"
    kept.mkdir(parents=True)
    (kept / "job").write_text("main-8", encoding="utf-8")
    (kept / "done").write_bytes(bytes([1, 0, 1, 1]))
    assert tidy(workdirs) == ["main-8 (train S02) did not finish; 3 of 4 units are kept"]
    (unfinished_job(project, "main-9") / "setup.json").write_bytes(b"\0" * 40)
    assert tidy(workdirs) == ["main-9 (a job) did not finish; what it left is deleted"]


def test_build_scripts_and_jobs_dealt_with_are_left_alone(project: Path, workdirs: dict[str, Path]) -> None:
    """A build script may be the one that runs now."""
    folders = [unfinished_job(project, "main-7", is_build=True)]
    for number, marker in enumerate((SET_ASIDE, BROKEN, UNFINISHED, DELETED), 8):
        folders.append(unfinished_job(project, f"main-{number}"))
        (folders[-1] / marker).touch()
    for name in ("main-LATEST", "main-3-copy", "mine", "other-4", "main-"):  # these are no jobs
        folders.append(workdirs["main"] / name)
        folders[-1].mkdir()
        (folders[-1] / "half.npy").touch()
    assert tidy(workdirs) == []
    assert all((folder / "half.npy").exists() for folder in folders)


OWN = """
import sys
from pathlib import Path
from shortloop.store.crash_repair import own
own({name: Path(name) for name in sys.argv[1:]})
print("has them", flush=True)
sys.stdin.read()
"""


def test_a_workdir_has_one_server(project: Path) -> None:
    for name in ("a", "b", "c"):
        (project / name).mkdir()
    first = python(OWN, "a", "b")
    assert line_of(first) == "has them"
    second = python(OWN, "c", "b")
    said, problem = second.communicate()
    assert (second.returncode, said) == (1, "")
    assert "the workdir b is in use by another exax server" in problem
    assert f"process {first.pid} on " in problem
    first.send_signal(signal.SIGKILL)  # the system lets go of it, however it ended
    first.communicate()
    third = python(OWN, "c", "b", "a")
    assert third.communicate("")[0] == "has them\n"
    assert third.returncode == 0


JOBS = '[["a", "main-1"]]'
LINES = [
    f'4\t2026-01-01T00:00:0{n}.000000\tadd\t2026-01-01T00:00:0{n}\ttester/built\t{{}}\t{JOBS}\t\t""\t"main-1"\n'
    for n in range(4)
]
LINES[2] = "4\t2026-01-01T00:00:02.000000\ttruncate\t2026-01-01T00:00:01\ttester/built\n"


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    file = tmp_path / "urd.db" / "tester" / "built.urd"
    file.parent.mkdir(parents=True)
    file.write_text("".join(LINES), encoding="utf-8")
    return file


def lists_of(file: Path) -> dict[str, dict[str, object]]:
    """As exax reads them."""
    return DB(str(file.parents[1]), verbose=False).db


def test_whole_lists_are_left_alone(lists: Path) -> None:
    before = lists.stat()
    assert repair_lists(lists.parents[2]) == []
    assert lists.stat() == before
    assert set(lists_of(lists)["tester/built"]) == {"2026-01-01T00:00:00", "2026-01-01T00:00:03"}
    text = '3|2026-01-01T00:00:00.000000|add|2026-01-01T00:00:00|tester/built|{}|[["a", "main-1"]]||old\n'
    lists.write_text(text, encoding="utf-8")  # of an older version
    assert repair_lists(lists.parents[2]) == []
    assert lists.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("length", [1, 2, 30, 60, len(LINES[3]) - 1])
def test_a_last_line_that_was_cut_short_is_dropped(lists: Path, length: int) -> None:
    lists.write_text("".join(LINES[:3]) + LINES[3][:length], encoding="utf-8")
    assert repair_lists(lists.parents[2]) == [f"{lists}: 1 truncated lines are dropped"]
    assert lists.read_text(encoding="utf-8") == "".join(LINES[:3])
    assert set(lists_of(lists)["tester/built"]) == {"2026-01-01T00:00:00"}


@pytest.mark.parametrize("bad", [b"\0" * 80, b"\0" * 80 + b"\n", LINES[1].encode()[:40] + b"\xff\n", b"\n"])
def test_what_no_line_can_be_is_dropped_wherever_it_is(lists: Path, bad: bytes) -> None:
    lists.write_bytes(LINES[0].encode() + bad + LINES[3].encode())
    assert len(repair_lists(lists.parents[2])) == 1
    assert "2026-01-01T00:00:00" in lists_of(lists)["tester/built"]
    assert repair_lists(lists.parents[2]) == []
