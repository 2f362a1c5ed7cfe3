"""Input files that changed and do not look like it are found when all are read again, and then forgotten."""

from __future__ import annotations

import json
import mmap
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from blake3 import blake3
from jobs_project import empty_project
from python_process import python

from shortloop.base.errors import InputError
from shortloop.keys import file_state as filestate
from shortloop.keys.file_state import file_state
from shortloop.keys.hashing import hash_file
from shortloop.store import inputs
from shortloop.store.inputs import (
    changed_unseen,
    content_of,
    keep_hashes,
    known_content,
    locate,
    mapped_for_writing,
    register,
)

project = pytest.fixture(empty_project)


@pytest.fixture
def files(project: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    monkeypatch.setattr(filestate, "SETTLED_NS", -1)  # what is known of them is kept at once
    made = [project / name for name in ("a.npz", "b.npz", "c.npz")]
    for file in made:
        file.write_bytes(file.name.encode() * 1000)
    return made


@contextmanager
def mapped(file: Path) -> Iterator[mmap.mmap]:
    """A file that is mapped for writing; its times change when a page is written to first."""
    with file.open("r+b") as stream, mmap.mmap(stream.fileno(), 0) as memory:
        memory[0] = 1
        yield memory


def test_a_file_that_was_changed_through_a_map(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    # By a process of another user, which may not be looked at.
    monkeypatch.setattr(inputs, "mapped_for_writing", lambda files: set())
    with mapped(files[1]) as memory:
        before = register(files)
        state = file_state(files[1])[0]
        memory[1] = 2
        if file_state(files[1])[0] != state:
            pytest.skip("this file system notices it")
        assert content_of(files) == before  # as nothing says that it changed
        assert changed_unseen() == [(files[1], "changed since it was read, though its times are the same")]
        assert known_content(files) == [before[0], "", before[2]]
        with pytest.raises(InputError, match="a file changed"):
            locate(before[1])
        after = content_of(files)
        assert (after[0], after[2]) == (before[0], before[2])
        assert after[1] != before[1]
        assert changed_unseen() == []


def test_files_that_changed_a_moment_ago(project: Path) -> None:
    """They may change again and look the same, so that nothing is kept to compare them with."""
    young = [project / "a.csv", project / "b.csv"]
    for text in ("one", "two"):
        for file in young:
            file.write_text(text, encoding="utf-8")
        before = register(young)
        assert changed_unseen() == []
        assert known_content(young) == before


def test_a_file_that_cannot_be_read_any_more(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    register(files)

    def failing(file: Path) -> str:
        if file == files[2]:
            raise OSError(5, "Input/output error")
        return hash_file(file)

    monkeypatch.setattr(inputs, "hash_file", failing)
    assert changed_unseen() == [(files[2], "cannot be read: Input/output error")]


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', '{"/a": []}', '{"/a": [1, 2, "x"]}'])
def test_a_damaged_list_of_hashes(files: list[Path], project: Path, text: str) -> None:
    store = project / "workdirs/.cache/inputs/blake3.json"
    before = register(files)
    store.write_text(text, encoding="utf-8")
    assert changed_unseen() == []
    assert register(files) == before
    assert changed_unseen() == []
    keep_hashes()
    known = json.loads(store.read_text(encoding="utf-8"))
    known[str(files[0])][-1] = "0" * 64  # a wrong hash in it
    store.write_text(json.dumps(known), encoding="utf-8")
    assert [file for file, _ in changed_unseen()] == [files[0]]
    assert content_of(files) == before
    files[0].write_bytes(b"other")  # what looks changed or is gone is no news: the next run notices by itself
    files[1].unlink()
    assert changed_unseen() == []
    assert known_content(files)[:2] == ["", ""]


def expected(content: bytes) -> str:
    return blake3(content).hexdigest()


HASH_MANY = """
import sys
from pathlib import Path
from shortloop.keys import file_state
from shortloop.store.inputs import locate, register
file_state.SETTLED_NS = -1
for _ in range(5):
    for start in range(0, 40, 4):
        files = [Path(f"{number}.bin").absolute() for number in range(start, start + 4)]
        contents = register(files)
        assert [locate(content) for content in contents] == files
        print(*contents)
"""


def test_two_processes_at_once(project: Path) -> None:
    contents = [bytes([number]) * 1000 for number in range(40)]
    for number, content in enumerate(contents):
        (project / f"{number}.bin").write_bytes(content)
    for process in [python(HASH_MANY) for _ in range(2)]:
        said, problems = process.communicate(timeout=300)
        assert process.returncode == 0, problems
        assert said.split() == [expected(content) for content in contents] * 5
    hashes = project / "workdirs/.cache/inputs/blake3.json"
    stored = json.loads(hashes.read_text(encoding="utf-8"))
    assert all(entry[-1] == expected(Path(file).read_bytes()) for file, entry in stored.items())
    assert [file for file in hashes.parent.iterdir() if file.name.startswith(".")] == []


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One element for each search of all processes."""
    found: list[int] = []
    search = inputs._all_mapped

    def noted() -> Iterator[int]:
        found.append(1)
        return search()

    monkeypatch.setattr(inputs, "_all_mapped", noted)
    monkeypatch.setattr(inputs, "SCAN_EVERY", 0.0)
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "a.npz"
    made.write_bytes(b"1" * 1000)
    if made.stat().st_dev not in inputs._local_disks():
        pytest.skip("this file system does not say who writes")
    return made


def test_a_mapped_file_is_found_though_it_was_closed(file: Path, searched: list[int]) -> None:
    inode = file.stat().st_ino
    with file.open("r+b") as stream:
        held = mmap.mmap(stream.fileno(), 0)
    assert mapped_for_writing({inode: file}) == {inode}
    held.close()
    assert mapped_for_writing({inode: file}) == set()
    assert len(searched) == 1


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "accelerator.conf").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "my data.sqlite"


def opened(file: Path, mode: str) -> sqlite3.Connection:
    found = sqlite3.connect(file)
    found.execute(f"pragma journal_mode = {mode}")
    found.execute("create table numbers (x)")
    found.commit()
    return found


def test_rows_in_the_log_of_sqlite(database: Path) -> None:
    writer = opened(database, "wal")
    writer.execute("insert into numbers values (1)")
    writer.commit()
    with pytest.raises(InputError, match="changes that are not in its file") as raised:
        content_of([database])
    assert raised.value.file == str(database)
    assert "my data.sqlite-wal" in str(raised.value)
    writer.close()  # as the hint says
    before = content_of([database])
    again = sqlite3.connect(database)  # one that only reads is in nobody's way
    assert again.execute("select x from numbers").fetchall() == [(1,)]
    assert content_of([database]) == before
    again.close()


@pytest.mark.parametrize("mode", ["delete", "persist", "truncate"])
def test_a_change_that_is_not_committed(database: Path, mode: str) -> None:
    writer = opened(database, mode)
    content_of([database])  # what is left of a journal is none
    writer.execute("pragma cache_size = 1")
    writer.execute("pragma cache_spill = 1")
    writer.executemany("insert into numbers values (?)", [("x" * 1000,)] * 1000)  # some of it is written
    with pytest.raises(InputError, match="changes that are not in its file"):
        content_of([database])
    writer.rollback()
    content_of([database])
    writer.close()
    database.write_bytes(b"no database")  # names alone say nothing
    database.with_name(f"{database.name}-wal").write_bytes(b"of somebody else")
    content_of([database])


def test_rows_in_the_log_of_duckdb(database: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    file = database.with_suffix(".duckdb")
    writer = duckdb.connect(str(file))
    writer.execute("create table numbers as select 1 as x")
    writer.execute("checkpoint")
    content_of([file])
    writer.execute("insert into numbers values (2)")
    with pytest.raises(InputError, match="changes that are not in its file"):
        content_of([file])
    writer.close()
    content_of([file])
