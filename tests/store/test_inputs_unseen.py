"""Input files that changed and do not look like it are found when all are read again, and then forgotten."""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from jobs_project import empty_project

from shortloop.base.errors import InputError
from shortloop.keys import file_state as filestate
from shortloop.keys.file_state import file_state
from shortloop.keys.hashing import hash_file
from shortloop.store import inputs
from shortloop.store.inputs import changed_unseen, content_of, known_content, locate, register

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


def test_files_as_they_were(files: list[Path]) -> None:
    contents = register(files)
    assert changed_unseen() == []
    assert known_content(files) == contents


def test_files_that_changed_a_moment_ago(project: Path) -> None:
    """They may change again and look the same, so that nothing is kept to compare them with."""
    young = [project / "a.csv", project / "b.csv"]
    for text in ("one", "two"):
        for file in young:
            file.write_text(text, encoding="utf-8")
        before = register(young)
        assert changed_unseen() == []
        assert known_content(young) == before


def test_files_that_look_changed_or_are_gone_are_no_news(files: list[Path]) -> None:
    """The next run notices by itself."""
    register(files)
    files[0].write_bytes(b"other")
    files[1].unlink()
    assert changed_unseen() == []
    assert known_content(files)[:2] == ["", ""]


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
    register(files)
    (project / "workdirs/.cache/inputs/blake3.json").write_text(text, encoding="utf-8")
    assert changed_unseen() == []
    assert len(register(files)) == 3
    assert changed_unseen() == []


def test_a_wrong_hash_in_the_list(files: list[Path], project: Path) -> None:
    before = register(files)
    store = project / "workdirs/.cache/inputs/blake3.json"
    known = json.loads(store.read_text(encoding="utf-8"))
    known[str(files[0])][-1] = "0" * 64
    store.write_text(json.dumps(known), encoding="utf-8")
    assert [file for file, _ in changed_unseen()] == [files[0]]
    assert content_of(files) == before
