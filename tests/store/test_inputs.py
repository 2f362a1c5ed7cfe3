"""Input files by content: honest, and without reading what did not change."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from blake3 import blake3
from jobs_project import empty_project, files_read

from shortloop.base.errors import InputError, TransientError
from shortloop.keys import file_state as filestate
from shortloop.keys import hashing
from shortloop.store import inputs
from shortloop.store.inputs import content_of, is_unchanged, keep_hashes, known_content, locate, register

project = pytest.fixture(empty_project)
reads = pytest.fixture(files_read)


def expected(content: bytes) -> str:
    return blake3(content).hexdigest()


def hashes_file(project: Path) -> Path:
    return project / "workdirs/.cache/inputs/blake3.json"


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files count as old, as if these tests took seconds."""
    monkeypatch.setattr(filestate, "SETTLED_NS", -1)
    monkeypatch.setattr(inputs, "SCAN_EVERY", 0.0)  # which counts on what is young


def rewrite(file: Path, content: bytes) -> None:
    """Other content of the same size, the modification time put back."""
    stat = file.stat()
    time.sleep(0.02)  # a tick of the file system's clock
    file.write_bytes(content)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (stat.st_size, stat.st_mtime_ns)


def test_what_is_known_of_another_hash_is_not_used(project: Path, settled: None) -> None:
    """Earlier versions kept SHA-256, which looks the same."""
    file = project / "a.bin"
    file.write_bytes(b"data")
    other = hashlib.sha256(b"data").hexdigest()
    before = hashes_file(project).with_name("hashes.json")
    before.parent.mkdir(parents=True)
    before.write_text(json.dumps({str(file): [*filestate.file_state(file)[0], other]}), encoding="utf-8")
    before.with_name(other).write_text(str(file), encoding="utf-8")
    assert known_content([file]) == [""]
    assert register([file]) == [expected(b"data")]
    with pytest.raises(TransientError, match="changed"):  # asked by a job of that version
        locate(other)


def test_files_of_any_size_and_odd_names(project: Path) -> None:
    small = [b"", b"x", bytes(300)]
    files = [project / f"{number}.bin" for number in range(3)]
    for file, content in zip(files, small):
        file.write_bytes(content)
    for _ in range(2):
        assert content_of(files) == [*map(expected, small)]
    big = bytes(range(256)) * 20_000
    names = ["a b.bin", "ü–é.bin", "with\nnewline", "[x].bin", "-rf"]
    for name in names:
        (project / name).write_bytes(big + name.encode())
    found = register([project / name for name in names])
    assert found == [expected(big + name.encode()) for name in names]
    assert [locate(content) for content in found] == [project / name for name in names]


def test_an_unchanged_file_is_not_read_again(project: Path, settled: None, reads: list[Path]) -> None:
    files = [project / name for name in ("a", "b")]
    for file in files:
        file.write_bytes(file.name.encode())
    first = content_of(files)
    assert reads == files
    stored = hashes_file(project).stat().st_mtime_ns
    again = content_of(files[::-1], lambda *far: pytest.fail(str(far)))[::-1]  # no progress to tell
    assert register(files) == again == first
    assert reads == files
    assert hashes_file(project).stat().st_mtime_ns == stored  # nor is anything written
    files[1].write_bytes(b"22")
    assert content_of(files) == [first[0], expected(b"22")]
    assert reads == [*files, files[1]]


def test_other_content_of_the_same_size_and_time_is_noticed(project: Path, settled: None) -> None:
    file, other = project / "a", project / "b"
    file.write_bytes(b"one")
    assert content_of([file]) == [expected(b"one")]
    rewrite(file, b"two")
    assert content_of([file]) == [expected(b"two")]
    other.write_bytes(b"six")  # also that of another file, which takes its place
    os.utime(other, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    content_of([file, other])
    other.rename(file)
    assert content_of([file]) == [expected(b"six")]
    os.utime(file, (1, 1))  # other times alone make no other content
    assert content_of([file]) == [expected(b"six")]


def test_a_file_that_changed_a_moment_ago_is_read_again(project: Path, reads: list[Path]) -> None:
    """Two changes within one tick of the clock of the file system may look alike."""
    file = project / "a"
    file.write_bytes(b"one")
    content_of([file])
    content_of([file])
    assert reads == [file, file]


def test_a_moved_file_is_found(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that was named from the folder that was the current one."""
    file, moved = project / "a.bin", project / "elsewhere" / "b.bin"
    file.write_bytes(b"content")
    (content,) = register([file])
    assert locate(content) == file
    moved.parent.mkdir()
    file.rename(moved)
    monkeypatch.chdir(moved.parent)
    assert register([Path("b.bin")]) == [content]
    monkeypatch.chdir(project)
    assert locate(content) == moved


def test_a_file_that_changed_since_or_is_gone_is_named(project: Path, settled: None) -> None:
    file = project / "a.bin"
    file.write_bytes(b"one")
    (content,) = register([file])
    rewrite(file, b"two")
    with pytest.raises(InputError, match="changed while") as caught:
        locate(content)
    assert caught.value.file == str(file)
    file.unlink()
    with pytest.raises(InputError, match="cannot be read") as caught:
        locate(content)
    assert caught.value.file == str(file)
    with pytest.raises(InputError, match="No such file") as caught:
        register([project / "b.bin", file])
    assert caught.value.file == str(project / "b.bin")
    with pytest.raises(InputError, match="cannot be read") as caught:
        content_of([project])
    assert caught.value.file == str(project)
    assert "one file" in str(caught.value.hint)


@pytest.mark.parametrize(("kind", "path"), [("a pipe", "pipe"), ("a device", "/dev/zero")])
def test_what_would_be_read_for_ever_is_refused(project: Path, kind: str, path: str) -> None:
    """Also behind a link, and where an ordinary file was before."""
    file = project / "in.txt"
    file.write_text("data", encoding="utf-8")
    content_of([file])
    file.unlink()
    if kind == "a pipe":
        os.mkfifo(project / "pipe")
    file.symlink_to(path)
    assert known_content([file]) == [""]
    with pytest.raises(InputError) as caught:
        content_of([file])
    assert (caught.value.found, caught.value.file) == (kind, str(file))


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", "null", "3", '"text"', "\x00\xff\xfe", "STALE", "WRONG TYPE", "EMPTY ENTRY"]
)
def test_a_damaged_store_is_made_again(project: Path, settled: None, damage: str) -> None:
    file = project / "a"
    file.write_bytes(b"one")
    register([file])
    keep_hashes()
    store = hashes_file(project)
    entry = {"STALE": [1, 2, 3, "wrong"], "WRONG TYPE": 7, "EMPTY ENTRY": []}.get(damage)
    store.write_text(damage if entry is None else json.dumps({str(file): entry}), encoding="latin-1")
    assert register([file]) == [expected(b"one")]
    keep_hashes()
    assert isinstance(json.loads(store.read_text(encoding="utf-8")), dict)
    assert locate(expected(b"one")) == file


def test_how_far_reading_is_is_told(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "TELL_EVERY", 0.001)
    files = [project / name for name in ("a", "b")]
    for file in files:
        file.write_bytes(bytes(60_000_000))
    told: list[tuple[int, int, int, float]] = []
    content_of(files, lambda *far: told.append(far))
    assert {(number, total) for number, _, total, _ in told} == {(2, 120_000_000)}
    done = [far[1] for far in told]
    assert done == sorted(done)
    assert done[0] < done[-1] == 120_000_000
    assert all(seconds >= 0 for *_, seconds in told)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_is_hashed_before_an_interruption_is_kept(
    project: Path,
    settled: None,
    reads: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    error: type[BaseException],
) -> None:
    monkeypatch.setattr(hashing, "TELL_EVERY", 0.05)
    small = [project / f"{number}" for number in range(4)]
    for file in small:
        file.write_bytes(file.name.encode())
    huge = project / "huge"  # all zeros that take no place on disk, for an hour or so
    with huge.open("wb") as stream:
        stream.truncate(10**13)
    calls = 0

    def interrupt(*far: object) -> None:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise error

    with pytest.raises(error):
        content_of([*small, huge], interrupt)
    assert set(reads) == {*small, huge}
    reads.clear()
    assert content_of(small) == [expected(file.name.encode()) for file in small]
    assert reads == []


@pytest.fixture
def mapped(project: Path) -> Iterator[mmap.mmap]:
    """A file that is mapped for writing; its times changed when its page was written to first."""
    file = project / "mapped"
    file.write_bytes(b"0" * 100)
    with file.open("r+b") as stream, mmap.mmap(stream.fileno(), 0) as memory:
        memory[0] = ord("1")
        yield memory


def test_what_is_written_through_a_map_is_read_again(
    project: Path, settled: None, mapped: mmap.mmap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what was while a job ran."""
    file = project / "mapped"
    assert register([file]) == [expected(b"1" + b"0" * 99)]
    state = filestate.file_state(file)[0]
    mapped[0] = ord("2")
    assert filestate.file_state(file)[0] == state, "this system has no such trap"
    (content,) = register([file])
    assert content == expected(b"2" + b"0" * 99)
    monkeypatch.setenv("SHORTLOOP_NOTES", str(project / "notes"))
    assert locate(content) == file
    assert unchanged(project)
    mapped[0] = ord("3")
    assert not unchanged(project)


def unchanged(project: Path) -> bool:
    """True if what a job has noted of its input is so still."""
    line = json.loads((project / "notes").read_text(encoding="utf-8"))
    return is_unchanged(line["located"], line["content"], line["state"], line["settled"])


def test_a_file_that_is_swapped_and_put_back_was_another_one(
    project: Path, settled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project / "a"
    file.write_bytes(b"1")
    (content,) = register([file])
    monkeypatch.setenv("SHORTLOOP_NOTES", str(project / "notes"))
    locate(content)
    assert unchanged(project)
    time.sleep(0.02)
    file.rename(project / "b")
    file.write_bytes(b"2")
    file.unlink()
    (project / "b").rename(file)
    assert not unchanged(project)
    assert locate(content) == file  # it is what it was, for the next one


def test_a_file_that_changes_while_read_has_no_hash(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = project / "a"
    file.write_bytes(b"1")
    real = hashing.hash_file

    def while_it_is_read(path: Path, step: Callable[[int], None]) -> str:
        found = real(path, step)
        time.sleep(0.02)
        file.write_bytes(b"2")
        return found

    monkeypatch.setattr(hashing, "hash_file", while_it_is_read)
    with pytest.raises(InputError, match="changes while it is read"):
        content_of([file])
