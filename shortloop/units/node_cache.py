"""Cache of a node without the project: contents of files, and folders of links to them (mirrors).

A content is a file named by its hash. A mirror looks like the project and is named by a hash of its files; it
is made beside its place and moved there, so that it is complete or absent. The workers of a node share both.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from blake3 import blake3

from shortloop.keys.hashing import hash_file
from shortloop.project.project import user_cache
from shortloop.units.process_ends import boot_id

FOLDER_VARIABLE = "SHORTLOOP_NODE_CACHE"
LIMIT_VARIABLE = "SHORTLOOP_NODE_CACHE_GB"
GB = 1e9
USUAL = 50 * GB  # or half of the disk if that is less
GRACE = 600.0  # s for which recently sent or used contents are kept: their job may be about to begin
MOST_MIRRORS = 100  # they take inodes
INSIDE, OUTSIDE = TOPS = ("in", "out")  # folders at the top of a mirror: project, rest of the system
DAMAGED, GAP = "came damaged", "lacks a part"  # ways in which a content can fail to arrive

Files = Mapping[str, tuple[str, int]]
"""Hash and bytes of each file of a mirror, by its path, which begins with `INSIDE` or `OUTSIDE`."""


class Piece(NamedTuple):
    """A part of a content; parts come in their order."""

    content: str  # hash of the whole
    size: int  # bytes of the whole
    start: int
    data: bytes


class Mirror(NamedTuple):
    """A mirror, which is kept while a process has the locked file `hold` open."""

    folder: Path
    hold: int


class NodeCache:
    """The contents and mirrors of this node, up to a limit in bytes."""

    def __init__(self, folder: Path | None = None, limit: float | None = None) -> None:
        self._folder = folder_of_node(folder) / machine()
        for name in ("", "contents", "parts", "mirrors"):
            (self._folder / name).mkdir(mode=0o700, exist_ok=True)
        self._limit = limit_of_node(self._folder) if limit is None else limit
        self.name = _digest(self._folder)  # tells it from those of other nodes

    def lacking(self, contents: Mapping[str, int]) -> list[str]:
        """List contents that are missing or damaged."""
        return [content for content, size in contents.items() if not self._is_whole(content, size)]

    def read(self, content: str) -> bytes | None:
        """Read a content; None if it is missing or damaged."""
        try:
            data = self._place(content).read_bytes()
        except FileNotFoundError:
            return None
        return data if blake3(data).hexdigest() == content else None

    def put(self, pieces: Sequence[Piece], sender: str) -> str:
        """Store pieces; a content counts once its last piece has arrived and its hash is right."""
        with self._locked():
            self._make_room(sum(len(each.data) for each in pieces))
        for piece in pieces:
            part = self._folder / "parts" / f"{_hash(piece.content)}.{_hash(sender)}"
            with part.open("wb" if piece.start == 0 else "ab") as stream:
                if stream.seek(0, os.SEEK_END) != piece.start:
                    return f"{piece.content} {GAP}"
                stream.write(piece.data)
            if piece.start + len(piece.data) == piece.size:
                if part.stat().st_size != piece.size or hash_file(part) != piece.content:
                    part.unlink()
                    return f"{piece.content} {DAMAGED}"
                part.chmod(0o400)  # jobs only read it
                self._keep(part, self._place(piece.content), piece.size)
        return ""

    def mirror(self, files: Files) -> Mirror | None:
        """Find or make a mirror; None if a content is missing."""
        for place in files:
            check_place(place)
        said = json.dumps(sorted((place, *files[place]) for place in files)).encode()
        folder = self._folder / "mirrors" / blake3(said).hexdigest()
        with self._locked():
            hold = os.open(f"{folder}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            fcntl.flock(hold, fcntl.LOCK_SH)
            os.utime(hold)
            if not self._is_of(folder, files) and not self._made(folder, files):
                os.close(hold)
                return None
        for content in {content for content, _ in files.values()}:
            with contextlib.suppress(FileNotFoundError):
                _touch(self._place(content))
        return Mirror(folder, hold)

    def _keep(self, part: Path, place: Path, size: int) -> None:
        with self._locked():
            if _is_known(place, size):  # mirrors in use are made of it
                part.unlink()
                _touch(place)
                return
            place.parent.mkdir(mode=0o700, exist_ok=True)
            part.replace(place)
            _touch(place, _mark_of(place))

    def _place(self, content: str) -> Path:
        return self._folder / "contents" / _hash(content)[:2] / content

    def _is_whole(self, content: str, size: int) -> bool:
        """True if a content is complete; it is hashed unless it was marked since the machine started."""
        place = self._place(content)
        with contextlib.suppress(FileNotFoundError):
            if _is_known(place, size):
                _touch(place)
                return True
            found = place.stat()
            if found.st_size == size and hash_file(place) == content:
                _touch(place, _mark_of(place))
                return True
            with self._locked():
                if place.stat().st_ino == found.st_ino:
                    place.unlink()
        return False

    def _is_of(self, folder: Path, files: Files) -> bool:
        """True if a mirror exists and links to the current contents."""
        try:
            return folder.is_dir() and all(
                os.lstat(folder / place).st_ino == self._place(content).stat().st_ino
                for place, (content, _) in files.items()
            )
        except OSError:
            return False

    def _made(self, folder: Path, files: Files) -> bool:
        part = self._folder / "parts" / f"mirror.{secrets.token_hex(8)}"
        old = part.with_suffix(".old")
        try:
            for top in TOPS:
                (part / top).mkdir(parents=True)
            for place, (content, _) in files.items():
                (part / place).parent.mkdir(parents=True, exist_ok=True)
                os.link(self._place(content), part / place)
            if folder.exists():  # of a damaged content: processes that have it open keep it
                folder.rename(old)
            part.rename(folder)
        except FileNotFoundError:
            return False
        finally:
            for left in (part, old):
                shutil.rmtree(left, ignore_errors=True)
        return True

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the cache against changes; for moments, not while anything is sent."""
        with (self._folder / "lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _make_room(self, more: int) -> None:
        """Remove the least recently used until there is room; never what a job uses."""
        before = time.time() - GRACE
        more += self._clear_parts(before)
        locks = [*(self._folder / "mirrors").glob("*.lock")]
        locks.sort(key=lambda lock: lock.stat().st_mtime)
        while len(locks) > MOST_MIRRORS:
            _remove(locks.pop(0))
        while self._remove_loose(more, before) and locks:
            _remove(locks.pop(0))

    def _clear_parts(self, before: float) -> int:
        """Remove parts that killed workers left; return the bytes of those still under way."""
        size = 0
        for part in (self._folder / "parts").iterdir():
            with contextlib.suppress(FileNotFoundError):
                if (state := part.stat()).st_mtime >= before:
                    size += state.st_size
                else:
                    shutil.rmtree(part) if part.is_dir() else part.unlink()
        return size

    def _remove_loose(self, more: int, before: float) -> bool:
        """Remove contents that no mirror has; True if the limit is still exceeded."""
        contents = []
        for place in (self._folder / "contents").glob("*/*"):
            with contextlib.suppress(FileNotFoundError):
                contents.append((place.stat(), place))
        total = more + sum(state.st_size for state, _ in contents)
        for state, place in sorted(contents, key=lambda each: each[0].st_atime_ns):
            if total <= self._limit:
                break
            if state.st_nlink == 1 and state.st_atime < before:
                place.unlink()
                total -= state.st_size
        return total > self._limit


def check_place(place: str) -> None:
    """Refuse a path that would lead out of a mirror."""
    first, *rest = place.split("/")
    if first not in TOPS or not rest or any(each in ("", ".", "..") for each in rest) or "\0" in place:
        raise ValueError(f"that is no path in a mirror: {place!r}")


def folder_of_node(given: Path | None = None) -> Path:
    """The folder of caches, closed to other users."""
    named = os.environ.get(FOLDER_VARIABLE)
    folder = Path(given or named or user_cache("nodes")).absolute()
    try:
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    except OSError:
        if given or named:
            raise
        folder = Path(tempfile.gettempdir(), f"shortloop-nodes-{os.geteuid()}")  # containers may have no home
        folder.mkdir(mode=0o700, exist_ok=True)
    state = folder.lstat()
    if folder.is_symlink() or state.st_uid != os.geteuid():
        raise PermissionError(f"the folder of the node's cache belongs to another user: {folder}")
    if state.st_mode & 0o077:
        folder.chmod(0o700)
    return folder


def limit_of_node(folder: Path) -> float:
    said = os.environ.get(LIMIT_VARIABLE, "").strip()
    return float(said) * GB if said else min(USUAL, shutil.disk_usage(folder).total / 2)


def machine() -> str:
    """Name of this machine's folder, as machines may share a home."""
    return "of-" + re.sub(r"[^\w.-]", "_", os.uname().nodename)


def _hash(text: str) -> str:
    if not text or not set(text) <= set("0123456789abcdef"):
        raise ValueError(f"that is no hash: {text!r}")
    return text


def _remove(lock: Path) -> None:
    """Remove the mirror of a lock unless it is in use."""
    with lock.open("r+b") as stream, contextlib.suppress(BlockingIOError):
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
        lock.unlink()


def _digest(place: Path) -> str:
    """A name for a file or folder on this machine until it starts again; copies of machines differ."""
    state = place.stat()
    said = f"{boot_id()} {place.name} {state.st_dev} {state.st_ino}"
    return hashlib.sha256(said.encode()).hexdigest()


def _mark_of(place: Path) -> int:
    """Modification time that marks a content as complete: in 2001 to 2008, so that none has it by chance."""
    return (10**9 + int(_digest(place), 16) % (2 * 10**8)) * 10**9


def _is_known(place: Path, size: int) -> bool:
    """True if a content exists and has not changed since it was hashed."""
    try:
        state = place.stat()
        return state.st_size == size and state.st_mtime_ns == _mark_of(place)
    except FileNotFoundError:
        return False


def _touch(place: Path, modified: int | None = None) -> None:
    """Note that a content is used now."""
    os.utime(place, ns=(time.time_ns(), place.stat().st_mtime_ns if modified is None else modified))
