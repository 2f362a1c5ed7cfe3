"""A shared cache: finished jobs by key, in a folder or at any address of fsspec.

============================  ========================================================================
``jobs/KK/KEY/NAME.json``     manifest of a job, written last; NAME: a hash of the versions of the
                              libraries that it loaded, which are not in its key
``blobs/HH/HASH``             content of files, each once, by its BLAKE3
============================  ========================================================================

Nothing there is trusted: a manifest holds a hash of itself and the parts of its key, and each file is hashed
after it was fetched. What is wrong or missing is said, and the job is built here. A store that fails or does
not answer is said once, and left out of the rest of the run.
"""

from __future__ import annotations

import io
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple, TypeVar

from shortloop.base.plain import Plain
from shortloop.base.text import one_line
from shortloop.keys.hashing import digest, hash_file
from shortloop.keys.installed import differing
from shortloop.settings.cache import CacheSettings
from shortloop.stages.records import FAILED_UNITS, RECORD
from shortloop.store.integrity import CONTENT, LOGS, data_outside
from shortloop.store.manifest import MANIFEST, Manifest, manifest_text, parse_manifest
from shortloop.store.remote_files import RemoteFiles, Threads

S = TypeVar("S")
T = TypeVar("T")
JOBS, BLOBS = "jobs", "blobs"
NAME, HASH = re.compile(r"[0-9a-f]{40}\.json"), re.compile(r"[0-9a-f]{64}")
SMALL, KEPT = 100_000, 256  # bytes of a file, and number of those that are kept in memory
MANY = 300  # keys, for which there are at most 256 folders
ANSWER = 5.0  # s that a store may take to answer which jobs it has
LISTED = 300.0  # s, of all of it
STALLED, SLOWEST = 30.0, 1_000_000  # s, and bytes a second, after which a transfer counts as stuck
OBJECTS = (".pkl", ".pickle", ".p")  # endings of files that run what is in them when they are read
YOUNG = 3600.0  # s; a file that no manifest names may be part of a job that is being pushed


class NotTaken(Exception):
    """A job of the shared cache is not used, and why."""


class Contents(NamedTuple):
    jobs: int
    bytes: int


class SharedCache:
    """Jobs at the address of a shared cache."""

    def __init__(self, settings: CacheSettings) -> None:
        self.settings = settings
        self.lost = ""  # why it is not asked any more
        self._stdout = sys.stdout
        self._files = RemoteFiles(settings.remote)
        self._known: dict[str, list[Manifest]] = {}
        self._damaged: set[str] = set()  # keys of jobs that are to be pushed anew
        self._there: set[str] = set()  # contents that were seen or written
        self._small = lru_cache(KEPT)(self._small_file)  # many jobs have the same, as of their methods
        self._fetched: dict[str, Future[None]] = {}

    def look(self, keys: Iterable[str]) -> bool:
        """Ask for all keys that were not asked for yet; True if there is one of them."""
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        if len(new) > MANY:  # else each is sooner asked for alone
            folders = sorted({f"{JOBS}/{key[:2]}" for key in new})
            there = set().union(*self._each(self._files.names, folders, ANSWER))
            self._known.update((key, []) for key in new if key not in there)
            new = [key for key in new if key in there]
        self._known.update(zip(new, self._each(self._manifests, new, ANSWER)))
        for key in self._damaged.intersection(new):
            self._say(f"in the shared cache, the manifest of a job is damaged: {key}")
        return any(self.known(key) for key in new)

    def known(self, key: str) -> Manifest | None:
        """Find a job with a key that was asked for, and whose libraries are installed as they were."""
        found = self._known.get(key, ()) if not self.lost else ()
        return next((each for each in found if not differing(each.parts.libraries_text)), None)

    def reject(self, key: str, why: str) -> None:
        """Say why a job is not taken; the one that is built here takes its place."""
        self._known[key] = []
        self._damaged.add(key)
        self._say(f"not taken from the shared cache: {why}; it is built here")

    def begin_to_fetch(self, manifest: Manifest, folder: Path) -> None:
        """Fetch the files of a job into a folder, behind what goes on."""
        if manifest.key not in self._fetched:
            self._fetched[manifest.key] = self._files.fetching.submit(lambda: self._fetch(manifest, folder))

    def fetched(self, manifest: Manifest, folder: Path) -> bool:
        """Wait until the files of a job are there; True if they are as its manifest says."""
        self.begin_to_fetch(manifest, folder)
        future = self._fetched[manifest.key]  # which stays, so that nobody fetches it twice
        try:
            self._files.fetching.wait([future], _patience([manifest]))
            future.result()
        except NotTaken as why:
            self.reject(manifest.key, str(why))
            return False
        except InterruptedError:
            return False
        except Exception as error:  # whatever a store raises
            self._lose(error)
            return False
        return True

    def end(self) -> None:
        """Stop waiting for jobs; pushing continues."""
        self._files.asking.is_over = self._files.fetching.is_over = True

    def push(self, jobs: Sequence[tuple[Path, Manifest]]) -> int:
        """Write jobs in parallel; return how many were new."""
        threads, patience = self._files.pushing, _patience(manifest for _, manifest in jobs)
        return sum(self._each(self._push, jobs, patience, threads))

    def contents(self) -> Contents:
        """Count jobs, and the bytes of all that is there."""
        found = [*self._list(JOBS), *self._list(BLOBS)]
        return Contents(sum(_is_manifest(path) for path, *_ in found), sum(size for _, size, _ in found))

    def collect(self, older: float = 0.0, most: int = 0) -> Contents:
        """Delete jobs as old as that, oldest first, until the rest fits; then what no other job has."""
        every = sorted(self._list(JOBS), key=lambda each: -each[2])
        ages = {path: age for path, _, age in every if _is_manifest(path)}
        jobs = dict(zip(ages, self._each(self._manifest, [*ages], STALLED)))
        files = {path: {*getattr(job, "files", {}).values()} for path, job in jobs.items()}
        uses = Counter(file for path in files for file in files[path])
        left, deleted = sum(size for size, _ in uses), list[str]()
        for path in files:
            if ages[path] < older or left <= most:
                break
            deleted.append(path)
            uses.subtract(files[path])
            left -= sum(size for size, content in files[path] if not uses[size, content])
        parts = [path for path, _, age in every if path not in ages and age > YOUNG]
        self._each(self._files.delete, deleted + parts, STALLED)
        is_used = {content: number > 0 for (_, content), number in uses.items()}
        unused = {
            path: size
            for path, size, age in self._list(BLOBS)
            if not is_used.get(path.rpartition("/")[2], age <= YOUNG)
        }
        if self.lost:  # so that which files are used is not known
            return Contents(0, 0)
        self._each(self._files.delete, [*unused], STALLED)
        return Contents(len(deleted), sum(unused.values()))

    def _list(self, below: str) -> list[tuple[str, int, float]]:
        found = self._each(lambda each: [*self._files.every(each)], [below], LISTED)
        return found[0] if found else []

    def _manifests(self, key: str) -> list[Manifest]:
        paths = [f"{_folder(key)}/{name}" for name in self._files.names(_folder(key)) if NAME.fullmatch(name)]
        found = [*map(self._manifest, paths)]
        whole = [each for each in found if isinstance(each, Manifest) and each.key == key]
        if len(whole) < len(found):
            self._damaged.add(key)
        return [each for each in whole if not refusal(each, self.settings.trusted)]

    def _manifest(self, path: str) -> Manifest | str:
        try:
            return parse_manifest(self._files.read(path))
        except (FileNotFoundError, RecursionError):
            return "it cannot be read"

    def _fetch(self, manifest: Manifest, folder: Path) -> None:
        for name, (size, content) in manifest.files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            try:
                if size <= SMALL:
                    file.write_bytes(self._small(content, size))
                else:
                    self._files.fetch(_blob(content), file)
            except FileNotFoundError:
                raise NotTaken(f"{name} of a job is missing") from None
            if file.stat().st_size != size or hash_file(file) != content:
                raise NotTaken(f"{name} of a job is truncated, or was altered")

    def _small_file(self, content: str, size: int) -> bytes:
        return self._files.read(_blob(content), most=size + 1) if size else b""  # a byte more would show

    def _push(self, job: tuple[Path, Manifest]) -> bool:
        """Write a job unless it is there; its manifest is written last."""
        folder, manifest = job
        path = f"{_folder(manifest.key)}/{digest(manifest.parts.libraries_text)}.json"
        is_anew = manifest.key in self._damaged
        if not is_anew and self._files.size(path) is not None:
            return False
        for name, (size, content) in manifest.files.items():
            if not is_anew and content in self._there:
                continue
            if is_anew or self._files.size(_blob(content)) != size:
                if not _is_still(folder / name, content):
                    self._say(f"not pushed: {name} of {manifest.job} is not what it was")
                    return False
                self._files.write(_blob(content), folder / name)
            self._there.add(content)
        sent = replace(manifest, project="", settings="", previous="", harmless=[])
        self._files.write(path, manifest_text(sent).encode())
        self._damaged.discard(manifest.key)
        return True

    def _each(
        self, do: Callable[[S], T], items: Sequence[S], patience: float, threads: Threads | None = None
    ) -> list[T]:
        """Do something with each item, in parallel; nothing more when the store is lost."""
        try:
            return [] if self.lost else (threads or self._files.asking).each(do, items, patience)
        except InterruptedError:
            return []
        except Exception as error:  # whatever a store raises
            self._lose(error)
            return []

    def _lose(self, error: Exception) -> None:
        if not self.lost:
            self.lost = str(error) if isinstance(error, TimeoutError) else f"{type(error).__name__}: {error}"
            self._say(f"without the shared cache {self.settings.shown}: {self.lost}")

    def _say(self, line: str) -> None:
        """Print a line, also while others plan again and what a pipeline prints is dropped."""
        is_dropped = isinstance(sys.stdout, io.StringIO)
        print(one_line(line), file=self._stdout if is_dropped else sys.stdout, flush=True)


def refusal(manifest: Manifest, trusted: bool) -> str:
    """Reason not to take a job; empty if there is none."""
    for name, (_, content) in manifest.files.items():
        path = PurePosixPath(name)
        hidden = any(part.startswith(".") for part in path.parts)  # so is ".."
        if not path.parts or str(path) != name or path.is_absolute() or hidden or "\0" in name:
            return "a file of it would lie outside its folder"
        if path.parts[0] in (LOGS, MANIFEST) or not HASH.fullmatch(content):
            return "a file of it has an impossible name"
    if manifest.rejected or FAILED_UNITS in manifest.files:
        return "it is not complete"
    if trusted or (RECORD in manifest.files and not any(name.endswith(OBJECTS) for name in manifest.files)):
        return ""
    return "it holds objects or datasets, which only a trusted cache may give"


def kept_back(folder: Path, manifest: Manifest, inputs: bool) -> str:
    """Reason not to push a job; empty if there is none."""
    if why := refusal(manifest, trusted=True):
        return why
    reads = _holds_content(manifest.parts.options) or data_outside(folder)
    return "it reads input files" if reads and not inputs else ""


def _holds_content(value: Plain) -> bool:
    """True if an option is the content of an input file."""
    if isinstance(value, dict | list):
        return any(map(_holds_content, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and CONTENT.fullmatch(value) is not None


def _patience(manifests: Iterable[Manifest]) -> float:
    """Seconds in which something must move: not all stores tell how far a file is."""
    sizes = (size for manifest in manifests for size, _ in manifest.files.values())
    return STALLED + max(sizes, default=0) / SLOWEST


def _folder(key: str) -> str:
    return f"{JOBS}/{key[:2]}/{key}"


def _blob(content: str) -> str:
    return f"{BLOBS}/{content[:2]}/{content}"


def _is_still(file: Path, content: str) -> bool:
    try:
        return hash_file(file) == content
    except OSError:
        return False


def _is_manifest(path: str) -> bool:
    return NAME.fullmatch(path.rpartition("/")[2]) is not None
