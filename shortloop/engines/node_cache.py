"""What nodes without the project were sent: contents of files, kept once for all workers of a node, and
folders made of them that look like the project.

A content is a file named by its hash. A mirror is a folder of links to contents, named by a hash of what is
in it; it is made beside its place and moved there, so it is whole or not there.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from shortloop.engines.node_folder import folder_of_node, limit_of_node, machine, name_of_node
from shortloop.jobs.keys.hashing import hash_file

__all__ = ["DAMAGED", "GAP", "INSIDE", "OUTSIDE", "Files", "Mirror", "NodeCache", "Piece", "check_place"]

GRACE = 600.0  # s that what was sent or used is kept in any case: its job may be about to begin
MOST_MIRRORS = 100  # they take names, and what runs keep beside code
INSIDE, OUTSIDE = TOPS = ("in", "out")
"""What a mirror holds at its top: what lies in the project, and the rest of the file system."""
DAMAGED, GAP = "came damaged", "lacks a part"
"""What may have happened to a content that was sent."""

Files = Mapping[str, tuple[str, int]]
"""What a mirror holds: hash and bytes of each file, by its path, which begins with `INSIDE` or `OUTSIDE`."""


class Piece(NamedTuple):
    """A part of a content that is sent.

    Parameters
    ----------
    content : str
        Hash of the whole.
    size : int
        Bytes of the whole.
    start : int
        Where the part begins; parts come in their order.
    data : bytes
        The part.
    """

    content: str
    size: int
    start: int
    data: bytes


class Mirror(NamedTuple):
    """A folder that looks like the project.

    Parameters
    ----------
    folder : Path
        Where it is.
    hold : int
        Open file with the lock on it: while a process has it open, the folder is kept.
    """

    folder: Path
    hold: int


class NodeCache:
    """What this node was sent; its workers share it.

    Parameters
    ----------
    folder : Path, optional
        Where it is. Default: as of `folder_of_node`.
    limit : float, optional
        Bytes that are kept. Default: as of `limit_of_node`.

    Raises
    ------
    OSError
        If others own the folder, or it cannot be made.
    """

    def __init__(self, folder: Path | None = None, limit: float | None = None) -> None:
        self._folder = folder_of_node(folder) / machine()
        self._folder.mkdir(mode=0o700, exist_ok=True)
        for name in ("contents", "parts", "mirrors"):
            (self._folder / name).mkdir(mode=0o700, exist_ok=True)
        self._limit = limit_of_node(self._folder) if limit is None else limit
        self.name = name_of_node(self._folder)
        """What tells it from those of other nodes."""

    def lacking(self, contents: Mapping[str, int]) -> list[str]:
        """Contents that are not here, or damaged.

        Parameters
        ----------
        contents : mapping of str to int
            Bytes of each, by its hash.

        Returns
        -------
        list of str
            Their hashes.
        """
        return [content for content, size in contents.items() if not self._is_whole(content, size)]

    def read(self, content: str) -> bytes | None:
        """A content.

        Parameters
        ----------
        content : str
            Its hash.

        Returns
        -------
        bytes or None
            None if it is not here, or damaged.
        """
        try:
            data = self._place(content).read_bytes()
        except FileNotFoundError:
            return None
        return data if hashlib.sha256(data).hexdigest() == content else None

    def put(self, pieces: Sequence[Piece], sender: str) -> str:
        """Keep what was sent. A content is there when its last piece has come and its hash is right.

        Parameters
        ----------
        pieces : sequence of Piece
            What was sent.
        sender : str
            Who has sent it: several may send the same at a time.

        Returns
        -------
        str
            What went wrong; empty if nothing did. It begins with a content, if it ends with `DAMAGED` or
            `GAP`.
        """
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
        """A folder with files whose contents are here.

        Parameters
        ----------
        files : mapping of str to (str, int)
            As of `Files`.

        Returns
        -------
        Mirror or None
            None if a content is not here any more.

        Raises
        ------
        ValueError
            If a path leads out of the folder.
        """
        for place in files:
            check_place(place)
        said = json.dumps(sorted((place, *files[place]) for place in files)).encode()
        folder = self._folder / "mirrors" / hashlib.sha256(said).hexdigest()
        with self._locked():
            if not self._is_of(folder, files) and not self._made(folder, files):
                return None
            hold = os.open(_lock_of(folder), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            fcntl.flock(hold, fcntl.LOCK_SH)
            os.utime(hold)
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
            self._note_whole(place)

    def _place(self, content: str) -> Path:
        return self._folder / "contents" / _hash(content)[:2] / content

    def _is_whole(self, content: str, size: int) -> bool:
        """Whether a content is here. It is read if nobody has read it since the machine started, or if its
        time is another one."""
        place = self._place(content)
        try:
            found = place.stat()
            if _is_known(place, size):
                _touch(place)
                return True
            if found.st_size == size and hash_file(place) == content:
                self._note_whole(place)
                return True
            with self._locked():
                if place.stat().st_ino == found.st_ino:
                    place.unlink()
        except FileNotFoundError:
            pass
        return False

    def _note_whole(self, place: Path) -> None:
        part = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
        part.write_text(_state(place), encoding="ascii")
        part.replace(_seen_file(place))
        _touch(place)

    def _is_of(self, folder: Path, files: Files) -> bool:
        """Whether a mirror is there, and made of the contents that are here now."""
        try:
            return (
                all(
                    os.lstat(folder / place).st_ino == os.stat(self._place(content)).st_ino
                    for place, (content, _) in files.items()
                )
                and folder.is_dir()
            )
        except OSError:
            return False

    def _made(self, folder: Path, files: Files) -> bool:
        part = self._folder / "parts" / f"mirror.{secrets.token_hex(8)}"
        try:
            for top in TOPS:
                (part / top).mkdir(parents=True)
            for place, (content, _) in files.items():
                (part / place).parent.mkdir(parents=True, exist_ok=True)
                os.link(self._place(content), part / place)
            if folder.exists():  # of a content that was damaged: whoever has it open goes on with that
                folder.rename(part.with_name(f"{part.name}.old"))
            part.rename(folder)
        except FileNotFoundError:
            return False
        finally:
            for left in (part, part.with_name(f"{part.name}.old")):
                shutil.rmtree(left, ignore_errors=True)
        return True

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Nobody else changes what is here; for moments, not while anything is sent."""
        with (self._folder / "lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _contents(self) -> list[tuple[Path, os.stat_result]]:
        found = []
        for folder in (self._folder / "contents").iterdir():
            with os.scandir(folder) as entries:
                for each in entries:
                    if not each.name.endswith(".seen") and not each.name.startswith("."):
                        with contextlib.suppress(FileNotFoundError):
                            found.append((Path(each.path), each.stat()))
        return found

    def _make_room(self, more: int) -> None:
        """Remove what was not used for longest, until there is room for more; never what a job uses."""
        before = time.time() - GRACE
        more += self._clear_parts(before)
        mirrors = sorted(
            (each for each in (self._folder / "mirrors").iterdir() if each.is_dir()), key=_last_used
        )
        while len(mirrors) > MOST_MIRRORS:
            self._remove(mirrors.pop(0))
        while self._remove_loose(more, before) and mirrors:
            self._remove(mirrors.pop(0))

    def _clear_parts(self, before: float) -> int:
        """Remove what workers left that were killed; bytes of what is still under way."""
        size = 0
        for part in (*(self._folder / "parts").iterdir(), *(self._folder / "contents").glob("*/.*")):
            with contextlib.suppress(FileNotFoundError):
                if (state := part.stat()).st_mtime >= before:
                    size += state.st_size
                else:
                    shutil.rmtree(part) if part.is_dir() else part.unlink()
        return size

    def _remove_loose(self, more: int, before: float) -> bool:
        """Remove contents that no mirror has; whether it is still too much."""
        contents = sorted(self._contents(), key=lambda each: each[1].st_atime_ns)
        total = more + sum(state.st_size for _, state in contents)
        for place, state in contents:
            if total <= self._limit:
                break
            if state.st_nlink == 1 and state.st_atime < before:
                place.unlink()
                _seen_file(place).unlink(missing_ok=True)
                total -= state.st_size
        return total > self._limit

    def _remove(self, folder: Path) -> None:
        """Remove a mirror that nobody uses."""
        lock = _lock_of(folder)
        with lock.open("wb") as stream, contextlib.suppress(BlockingIOError):
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
            lock.unlink(missing_ok=True)


def check_place(place: str) -> None:
    """Refuse a path that would lead out of a mirror.

    Parameters
    ----------
    place : str
        As of `Files`.

    Raises
    ------
    ValueError
        If it does.
    """
    first, *rest = place.split("/")
    if first not in TOPS or not rest or any(each in ("", ".", "..") for each in rest) or "\0" in place:
        raise ValueError(f"that is no path in a mirror: {place!r}")


def _hash(text: str) -> str:
    if not text or not set(text) <= set("0123456789abcdef"):
        raise ValueError(f"that is no hash: {text!r}")
    return text


def _lock_of(mirror: Path) -> Path:
    return mirror.with_name(f"{mirror.name}.lock")


def _last_used(mirror: Path) -> float:
    try:
        return _lock_of(mirror).stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _state(place: Path) -> str:
    """What is another one when a content was changed; links to it change neither."""
    found = place.stat()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot} {found.st_ino} {found.st_size} {found.st_mtime_ns}"


def _seen_file(place: Path) -> Path:
    return place.with_name(f"{place.name}.seen")


def _seen(place: Path) -> str:
    try:
        return _seen_file(place).read_text(encoding="ascii", errors="replace")
    except FileNotFoundError:
        return ""


def _is_known(place: Path, size: int) -> bool:
    """Whether a content is there, and as it was when it was last read."""
    try:
        return place.stat().st_size == size and _seen(place) == _state(place)
    except FileNotFoundError:
        return False


def _touch(place: Path) -> None:
    """It was used now. Its time of change counts, and stays."""
    os.utime(place, ns=(time.time_ns(), place.stat().st_mtime_ns))
