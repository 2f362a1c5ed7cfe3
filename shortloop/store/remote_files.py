"""Files at addresses of fsspec, and copies of those that are input files.

Stores are asked in parallel, by threads that end with the process. Copies lie in the project's cache, where
each run validates them.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from shortloop.base.errors import InputError
from shortloop.base.extras import is_installed, need
from shortloop.base.text import amount, one_line
from shortloop.keys.hashing import digest
from shortloop.project.project import cache_directory

S = TypeVar("S")
T = TypeVar("T")
ANSWERING, OTHERS = 16, 4  # requests at a time: to stores with an interface for many, and to others
ATOMIC = {"s3", "s3a", "gs", "gcs", "abfs", "az", "adl", "oss", "r2", "memory"}
"""Stores that write objects atomically; elsewhere, a file is written under another name and moved."""
TIMES = ("LastModified", "mtime", "updated", "last_modified", "modified", "created")  # of fsspec's stores
TAGS = ("ETag", "etag", "md5Hash", "content_md5", "generation", "Content-MD5", "Digest")
SETTLED = 2.0  # s after which a file of this time is no longer written to
WEB = ("http", "https")
CHANGED = "Last-Modified"  # of WEB: two contents may share it
GONE = (404, 410)  # status of WEB
LIBRARIES = {
    "s3": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "sftp": "paramiko",
    "ssh": "paramiko",
    **dict.fromkeys(WEB, "aiohttp"),
}
FILES = "give a file, or a list of files: `run.files([…])`"
# A `Path` of an address has one slash where that has two.
ADDRESS = re.compile(r"(?P<protocol>[a-z][a-z0-9+.:-]+):/+(?P<rest>.*)", re.DOTALL)
LOCAL = ("file", "local")
PATIENCE = 8.0  # s that a store may take to answer, or to send anything of a file
LARGE = 10_000_000  # bytes that are worth a line before they are fetched
AGAIN = "run again; if it stays so, see whether its store has all of it"
VERSIONS = 2  # copies that are kept of a file: another run may use the one before


class Threads:
    """Threads that end with the process, however long a store takes to answer them."""

    def __init__(self) -> None:
        self.most = OTHERS
        self.is_over = False  # True if nobody waits any more
        self.moved = time.monotonic()  # when something was last answered
        self._tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._count = 0

    def submit(self, do: Callable[[], T]) -> Future[T]:
        future = Future[T]()

        def task() -> None:
            try:
                result = do()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self._tasks.put(task)
        if self._count < self.most:
            self._count += 1
            threading.Thread(target=self._work, daemon=True).start()
        return future

    def wait(self, futures: Sequence[Future[T]], patience: float) -> None:
        """Wait until all is done, as long as something moves within so many seconds."""
        self.moved = time.monotonic()
        pending = set(futures)
        while pending:
            done, pending = wait(pending, 0.2, FIRST_COMPLETED)
            if self.is_over:
                raise InterruptedError("the run has ended")
            if not done and time.monotonic() - self.moved > patience:
                raise TimeoutError(f"no answer for {patience:.0f} s")

    def each(self, do: Callable[[S], T], items: Sequence[S], patience: float) -> list[T]:
        """Do something with each item, in parallel."""
        futures = [self.submit(partial(do, item)) for item in items]
        self.wait(futures, patience)
        return [each.result() for each in futures]

    def _work(self) -> None:
        while True:
            self._tasks.get()()
            self.moved = time.monotonic()


class RemoteFiles:
    """Files by their paths below the address."""

    def __init__(self, address: str, what: str = "the shared cache") -> None:
        need("cache", ["fsspec"])
        protocol = address.partition("://")[0].rpartition("::")[2] if "://" in address else ""
        library = LIBRARIES.get(protocol, "fsspec")  # imported where it is asked: a run may have all jobs
        if not is_installed(library):
            problem, hint = f"{what} needs {library}", f"`pip install {library}`"
            raise InputError(problem, field=f"{protocol}://", hint=hint)
        # What is large keeps no answer waiting, and what is pushed nobody who fetches.
        self.asking, self.fetching, self.pushing = Threads(), Threads(), Threads()
        self._address, self._local, self._is_web = address, threading.local(), protocol in WEB
        self._shared: tuple[Any, str] | None = None
        self._folders: set[str] = set()

    def names(self, folder: str) -> list[str]:
        """List a folder, without fsspec's cache of listings."""
        fs, root = self._place()
        fs.invalidate_cache()
        try:
            return sorted(path.rpartition("/")[2] for path in fs.ls(f"{root}/{folder}", detail=False))
        except FileNotFoundError:
            return []

    def size(self, path: str) -> int | None:
        """Size of a file in bytes; None if there is none."""
        fs, root = self._place()
        fs.invalidate_cache()
        try:
            return int(fs.info(f"{root}/{path}")["size"])
        except FileNotFoundError:
            return None

    def state(self, path: str) -> tuple[dict[str, str], bool]:
        """Return properties of a file; True if another content has others."""
        fs, root = self._place()
        fs.invalidate_cache()
        try:
            info = fs.info(f"{root}/{path}")
        except FileNotFoundError as error:  # which fsspec says of WEB whatever is wrong
            if self._is_web and getattr(error.__cause__, "status", None) not in GONE:
                raise ConnectionError(str(error.__cause__ or error)) from None
            raise
        # A server shows a folder as a page, at an address with a slash at its end.
        shows_folder = info.get("mimetype") == "text/html" and str(info.get("url")).endswith("/")
        if info.get("type") == "directory" or shows_folder:
            raise InputError("an input is not a file", found=f"the folder {path}", hint=FILES)
        said = ("size", *TAGS, *TIMES, CHANGED)
        found = {name: str(info[name]) for name in said if info.get(name) is not None}
        # A time in whole seconds may be that of two contents, until it is over.
        written = _written(info)
        is_settled = written is not None and (written % 1 > 0 or time.time() - written >= SETTLED)
        # A weak tag, W/"…", may be that of two contents.
        return found, is_settled or any(not found[name].startswith("W/") for name in TAGS if name in found)

    def every(self, below: str) -> Iterator[tuple[str, int, float]]:
        """Path, size in bytes and age in seconds of each file below a folder."""
        fs, root = self._place()
        fs.invalidate_cache()
        now = time.time()
        for path, info in fs.find(f"{root}/{below}", detail=True).items():
            written = _written(info)  # as far as the store says when
            age = 0.0 if written is None else now - written
            yield path.removeprefix(f"{root}/"), int(info["size"] or 0), age

    def read(self, path: str, most: int | None = None) -> bytes:
        """Read a file, or its first bytes."""
        fs, root = self._place()
        found: bytes = fs.cat_file(f"{root}/{path}", end=most)
        return found

    def fetch(self, path: str, file: Path) -> None:
        fs, root = self._place()
        fs.get_file(f"{root}/{path}", str(file), callback=self._callback())

    def write(self, path: str, source: Path | bytes) -> None:
        """Write a file atomically."""
        fs, root = self._place()
        folder, _, name = f"{root}/{path}".rpartition("/")
        protocols = {fs.protocol} if isinstance(fs.protocol, str) else {*fs.protocol}
        part = f"{folder}/{name}" if protocols & ATOMIC else f"{folder}/.{name}.{uuid.uuid4().hex}"
        if folder not in self._folders:
            with suppress(OSError):  # another writer may have made it meanwhile
                fs.makedirs(folder, exist_ok=True)
            self._folders.add(folder)
        try:
            if isinstance(source, bytes):
                fs.pipe_file(part, source)
            else:
                fs.put_file(str(source), part, callback=self._callback())
            if part != f"{folder}/{name}":
                fs.mv(part, f"{folder}/{name}")
        except BaseException:
            with suppress(Exception):
                fs.rm_file(part)
            raise

    def delete(self, path: str) -> None:
        fs, root = self._place()
        with suppress(FileNotFoundError):
            fs.rm_file(f"{root}/{path}")

    def _place(self) -> tuple[Any, str]:
        """File system of this thread, as most are not for several; and the folder in it."""
        found = self._shared or getattr(self._local, "place", None)
        if found is None:
            from fsspec.core import url_to_fs

            fs, root = url_to_fs(self._address)
            found = self._local.place = fs, root.rstrip("/")
            if fs.async_impl:
                self._shared = found
                self.asking.most = self.fetching.most = self.pushing.most = ANSWERING
        return found

    def _callback(self) -> Any:
        from fsspec.callbacks import Callback

        def moved(*_: object, **__: object) -> None:
            self.fetching.moved = self.pushing.moved = time.monotonic()

        return Callback(hooks={"moved": moved})


def _written(info: dict[str, Any]) -> float | None:
    """Return when something was written, in seconds since 1970; None if the store does not say."""
    for when in filter(None, map(info.get, TIMES)):
        if isinstance(when, str):
            when = datetime.fromisoformat(when)
        return when.timestamp() if isinstance(when, datetime) else float(when)
    return None


def address_of(path: Path | str) -> str:
    """Return the address of fsspec that a path stands for; empty if it is one of this machine."""
    found = ADDRESS.fullmatch(os.fspath(path))
    return "" if found is None else f"{found[1]}:{'///' if found[1] in LOCAL else '//'}{found[2]}"


def local_copy(address: str) -> tuple[Path, str]:
    """Fetch a file unless its version is here; return the copy, and the address without a password."""
    known = re.sub(r"(?<=//)[^/]*@", "", address)
    folder = cache_directory("remote") / digest(known)
    at = address.rindex("/") + 1
    files, name = RemoteFiles(address[:at], "an input file"), address[at:]
    if not name:
        raise InputError("an input is not a file", found=f"the folder {known}", hint=FILES)
    try:
        state, is_sure = _answered(files, lambda: files.state(name))
    except FileNotFoundError:
        raise InputError("an input file does not exist", found=known, hint="check the address") from None
    except InputError:
        raise
    except Exception as error:
        return _copy_before(folder, known, f"{type(error).__name__}: {error}"), known
    version = state if is_sure else {**state, "asked": uuid.uuid4().hex}
    copy = folder / digest(version) / (re.sub(r"[?#].*", "", name) or "file")
    if not copy.is_file():
        try:
            _fetch(files, name, state, copy, known)
        except InputError:
            raise
        except Exception as error:  # its store has another version: no copy will do
            problem, found = "an input file cannot be fetched", f"{type(error).__name__}: {error}"
            raise InputError(problem, field=known, found=found, hint=AGAIN) from None
    os.utime(copy.parent)  # the last one that was right
    return copy, known


def _copy_before(folder: Path, address: str, said: str) -> Path:
    """Return the copy that was right last, where the store does not answer."""
    if not (copies := _copies(folder)):
        hint = "check the address, the network, and the credentials, as fsspec takes them; no copy is here"
        raise InputError("an input file cannot be reached", field=address, found=said, hint=hint)
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(copies[-1].parent.stat().st_mtime))
    print(one_line(f"{address} cannot be reached ({said}): the copy of {when} is used"), file=sys.stderr)
    return copies[-1]


def _fetch(files: RemoteFiles, name: str, state: dict[str, str], copy: Path, address: str) -> None:
    """Put a file into its place when all of it is here, and delete copies of older versions."""
    size = int(state["size"]) if "size" in state else None  # some stores do not say
    if size is not None and size >= LARGE:
        print(one_line(f"fetching {address}, {amount(size)}"), file=sys.stderr)
    copy.parent.mkdir(parents=True, exist_ok=True)
    part = copy.with_name(f".{uuid.uuid4().hex}")
    try:
        files.fetching.wait([files.fetching.submit(lambda: files.fetch(name, part))], PATIENCE)
        if _answered(files, lambda: files.state(name))[0] != state:
            hint = "wait until it is complete, and run again"
            raise InputError("an input file changes while it is fetched", found=address, hint=hint)
        if size not in (None, came := part.stat().st_size):
            problem, found = "an input file is cut short when it is fetched", f"{came:,} bytes"
            raise InputError(problem, field=address, found=found, expected=f"{size:,} bytes", hint=AGAIN)
        part.replace(copy)
    finally:
        part.unlink(missing_ok=True)
    for old in _copies(copy.parents[1])[:-VERSIONS]:
        shutil.rmtree(old.parent, ignore_errors=True)


def _copies(folder: Path) -> list[Path]:
    """List copies of a file, that which was right last at the end."""
    found = [copy for copy in folder.glob("*/*") if not copy.name.startswith(".")]
    return sorted(found, key=lambda copy: copy.parent.stat().st_mtime_ns)


def _answered(files: RemoteFiles, ask: Callable[[], T]) -> T:
    future = files.asking.submit(ask)
    files.asking.wait([future], PATIENCE)
    return future.result()
