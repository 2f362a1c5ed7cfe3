"""Input files by content.

A job's key holds a file's content, not its location or timestamps. The content hash is the job's option;
the job looks up the location here.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import json
import os
import re
import signal
import time
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cache
from pathlib import Path

from shortloop.base.errors import InputError, TransientError
from shortloop.keys.file_state import FOLDER, INODE, SIZE, file_state, kind_of
from shortloop.keys.hashing import Tell, Waiting, hash_file, hash_files
from shortloop.project.project import cache_directory, cache_place, keep, write_atomically
from shortloop.project.system_errors import unreadable
from shortloop.stages.inputs import unquoted
from shortloop.store.process_notes import note
from shortloop.store.setup import json_object

# What a database calls such a file, and how its own begins (bytes, and where).
JOURNALS = {"-wal": (b"SQLite format 3\0", 0), "-journal": (b"SQLite format 3\0", 0), ".wal": (b"DUCK", 8)}
SCAN_EVERY = 0.5  # s; a file that was mapped and written meanwhile is too young for its hash to be kept
FINISHED = b"\0" * 8  # how a journal of SQLite begins that is kept for the next change
FEW = 1000  # files that are asked about one by one sooner than all processes are looked at
LOCAL = {b"ext2", b"ext3", b"ext4", b"f2fs", b"tmpfs", b"xfs"}
SHARED = re.compile(rb"^\S+ .w.s \S+ \S+ (\d+)", re.MULTILINE)  # lines of /proc/PID/maps, and their inodes

_mapped: list[tuple[float, frozenset[int]]] = [(-SCAN_EVERY, frozenset())]


def mapped_for_writing(files: Mapping[int, Path]) -> set[int]:
    """Inodes of files that a visible process maps for writing; perhaps one too many, of another disk."""
    if len(files) <= FEW and all(map(_is_not_written, files.values())):
        return set()
    scanned, found = _mapped[0]
    if time.monotonic() - scanned > SCAN_EVERY:
        found = frozenset(_all_mapped())
        _mapped[0] = time.monotonic(), found
    return {*found.intersection(files)}


def _is_not_written(file: Path) -> bool:
    """True if no process has a file open for writing or mapped, as found out without a search."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if os.fstat(descriptor).st_dev not in _local_disks():
            return False
        # The system grants such a lease if nobody writes. Who would write just now waits until the file is
        # closed again, and this process is told by a signal that ends none.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        return True
    except OSError:  # somebody writes, or the file is another user's
        return False
    finally:
        os.close(descriptor)


@cache
def _local_disks() -> set[int]:
    """List devices whose file systems know all writers: not of other machines, not overlays."""
    devices = set()
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
            fields, _, kind = line.partition(b" - ")
            if kind.split()[0] in LOCAL:
                devices.add(os.makedev(*map(int, fields.split()[2].split(b":"))))
    return devices


def _all_mapped() -> Iterator[int]:
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            yield from map(int, SHARED.findall(maps.read_bytes()))


def check_journal(file: Path) -> None:
    """Refuse a database with changes that are not in its file yet: its content would stay what it was."""
    for ending, (begins, at) in JOURNALS.items() if file.is_file() else ():
        beside = f"{file}{ending}"
        try:
            size = os.stat(beside).st_size
        except OSError:
            continue
        if size and _head(file, at + len(begins))[at:] == begins and _head(beside, len(FINISHED)) != FINISHED:
            raise InputError(
                "a database has changes that are not in its file yet",
                file=file,
                found=f"{size} bytes in {os.path.basename(beside)}",
                hint="close all programs that have it open, which moves them there; if none has, open and "
                "close it once",
            )


def _head(file: str | Path, size: int) -> bytes:
    with open(file, "rb") as stream:
        return stream.read(size)


KEEP_EVERY = 1.0  # s
YOUNG = ""  # in place of the hash of a file that may have changed again and look the same

_located: dict[Path, set[str]] = {}  # by this process, by the folder where that is noted
_kept: dict[Path, tuple[tuple[int, ...], dict[str, object]]] = {}  # state and content of the file of hashes
_fresh: dict[Path, dict[str, object]] = {}  # entries that are not in it yet


def content_of(
    files: Sequence[Path],
    tell: Tell | None = None,
    waiting: Waiting = nullcontext,
    came: Callable[[], None] = lambda: None,
) -> list[str]:
    """Hash each file, if its state changed since the last time, or a process may change it unseen."""
    states = {file: _state(file) for file in files}
    mapped = mapped_for_writing({state[INODE]: file for file, (state, _) in states.items()})
    loose = {file for file, (state, _) in states.items() if state[INODE] in mapped}
    store = _hashes()
    known = _known_as(states, _read(store))
    found = {file: each for file, each in known.items() if each != YOUNG and file not in loose}
    fresh = _fresh.setdefault(store, {})
    fresh |= {str(file): None for file in loose}
    kept = time.monotonic()
    try:
        sizes = {file: state[SIZE] for file, (state, _) in states.items() if file not in found}
        for file, content in _hash_all(sizes, tell, waiting):
            state, settled = states[file]
            _check_unchanged(file, state)
            found[file] = content
            if file not in loose:
                fresh[str(file)] = [*state, content if settled else YOUNG]
                came()
            if time.monotonic() - kept > KEEP_EVERY:
                keep_hashes()
                kept = time.monotonic()
    finally:
        if len(states) > 1:
            keep_hashes()
    return [found[file] for file in files]


def known_content(files: Sequence[Path]) -> list[str]:
    """Hash of each file; empty for one never read. One hashed right after a change is read once more."""
    known = _read(_hashes())
    there = {file: file_state(file) for file in files if known.get(str(file)) and file.exists()}
    found = _known_as(there, known)
    young = [file for file, content in found.items() if content == YOUNG]
    found.update(zip(young, content_of(young), strict=True))
    return [found.get(file, "") for file in files]


def name_of(content: str) -> str:
    """Name of the file in which a content was last found; else the start of the hash."""
    if " " in content:
        return Path(unquoted(content.partition(" ")[2])).name
    place = last_place(content)
    return f"{content[:12]}…" if place is None else place.name


def last_place(content: str) -> Path | None:
    """File in which a content was last found, which may have changed since; None if unknown."""
    try:
        return _noted(cache_place("inputs") / content)
    except OSError:
        return None


def register(files: Sequence[Path]) -> list[str]:
    """Hash files like `content_of`, and record the location of each content for `locate`."""
    hashes = content_of(files)
    note_locations(zip(hashes, files, strict=True))
    return hashes


def note_locations(files: Iterable[tuple[str, Path]]) -> None:
    """Record the locations of files for `locate`; the last one of a content counts."""
    for option, file in files:
        place = _place(option)
        known = place
        if not place.is_file() and " " in option:
            known = _place(option.partition(" ")[0])
        if not known.is_file() or _noted(known) != file.absolute():
            write_atomically(place, str(file.absolute()))


def locate(option: str) -> Path:
    """Find the file of a content, or of a content with a name, and check that it is unchanged."""
    place = _place(option)
    content = option.partition(" ")[0]
    if not place.is_file():
        place = _place(content)
    if not place.is_file():
        raise InputError("the location of an input file is unknown", found=option, hint="run again")
    file = _noted(place)
    state, _ = at = _state(file)
    # Kept hashes are those of files that no process could change unseen when they were registered.
    found = _known_as({file: at}, _read(_hashes())).get(file, YOUNG)
    settled = found != YOUNG
    if not settled:
        ((_, found),) = _hash_all({file: state[SIZE]})
        _check_unchanged(file, state)
    # Noted also if it is another file now: it may be put back before anybody looks again.
    note(located=str(file), content=content, state=state if found == content else [], settled=settled)
    if found != content:
        raise TransientError("a file changed while a run went on", file=file, hint="run again")
    _located.setdefault(place.parent, set()).add(option)
    return file


class Located(dict[str, Path]):
    """Files by option value, located on first access."""

    def __missing__(self, option: str) -> Path:
        self[option] = locate(option)
        return self[option]


def check_located() -> None:
    """Check that the files which this process located are unchanged."""
    if _located:
        for content in sorted(_located.get(cache_directory("inputs"), ())):
            locate(content)


def changed_unseen() -> list[tuple[Path, str]]:
    """Read all known files again, as maps change them without a trace, and forget hashes that differ."""
    store = _hashes()
    known = {
        Path(name): entry
        for name, entry in _read(store).items()
        if isinstance(entry, list) and entry and entry[-1] != YOUNG  # its content was not kept
    }

    def problem(file: Path) -> str:
        try:
            if file_state(file)[0] != known[file][:-1]:  # it is read again anyway, when it is needed
                return ""
            same = hash_file(file) == known[file][-1] or file_state(file)[0] != known[file][:-1]
        except FileNotFoundError:
            return ""
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        return "" if same else "changed since it was read, though its times are the same"

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        wrong = {file: said for file, said in zip(known, pool.map(problem, known), strict=True) if said}
    if wrong:
        _fresh.setdefault(store, {}).update(dict.fromkeys(map(str, wrong)))
        keep_hashes()
    return sorted(wrong.items())


def is_unchanged(file: str, content: str, state: Sequence[int], settled: bool) -> bool:
    """True if a located file never changed since; it is read unless `settled`, as any change then shows."""
    try:
        return file_state(Path(file))[0] == list(state) and (settled or hash_file(Path(file)) == content)
    except OSError:
        return False


def _hashes() -> Path:
    """File of the known hashes; the name includes the algorithm, so that others are ignored."""
    return cache_directory("inputs") / "blake3.json"


def _place(option: str) -> Path:
    """File that holds the location of a content."""
    content, _, name = option.partition(" ")
    name = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:16] if name else ""
    return cache_directory("inputs") / ".".join(filter(None, (content, name)))


def _noted(place: Path) -> Path:
    return Path(place.read_bytes().decode("utf-8", "surrogateescape"))


def _state(file: Path) -> tuple[list[int], bool]:
    try:
        found, kind = file_state(file), kind_of(file.stat().st_mode)
        check_journal(file)
    except OSError as error:
        raise _unreadable(file, error) from None
    if kind not in ("", FOLDER):  # to read it might never end
        hint = "give a file that holds the data"
        raise InputError("an input is not a file", file=file, found=kind, hint=hint)
    return found


def _known_as(states: dict[Path, tuple[list[int], bool]], known: Mapping[str, object]) -> dict[Path, str]:
    """Look up the hashes of unchanged files, `YOUNG` of those that may have changed again."""
    entries = {file: known.get(str(file)) for file in states}
    return {
        file: str(entry[-1])
        for file, entry in entries.items()
        if isinstance(entry, list) and entry[:-1] == states[file][0]
    }


def _check_unchanged(file: Path, state: list[int]) -> None:
    if _state(file)[0] != state:
        hint = "wait until it is complete, and run again"
        raise InputError("a file changes while it is read", file=file, hint=hint)


def _hash_all(
    sizes: dict[Path, int], tell: Tell | None = None, waiting: Waiting = nullcontext
) -> Iterator[tuple[Path, str]]:
    try:
        yield from hash_files(sizes, tell, waiting)
    except OSError as error:
        raise _unreadable(Path(error.filename or ""), error) from None


def _unreadable(file: Path, error: OSError) -> InputError:
    said = unreadable(error, "a file")
    return InputError(said.problem, file=file, hint=said.hint or "check that it exists")


def keep_hashes() -> None:
    """Write new hashes at once, because thousands of files may be hashed one by one."""
    for store, fresh in _fresh.items():
        if fresh:
            kept = {file: entry for file, entry in _read(store).items() if entry is not None}
            fresh.clear()
            keep(store, json.dumps(kept))


atexit.register(keep_hashes)


def _read(store: Path) -> Mapping[str, object]:
    """Read all entries; None stands for a removed one."""
    fresh = _fresh.get(store, {})
    try:
        found = os.stat(store)
        state = found.st_ino, found.st_mtime_ns, found.st_size
        if _kept.get(store, (None,))[0] != state:
            _kept[store] = state, json_object(store)
    except OSError:
        return fresh
    return ChainMap(fresh, _kept[store][1])
