"""A finished job, and the background writer of manifests."""

from __future__ import annotations

import json
import queue
import sqlite3
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shortloop.keys.own_code import is_own_module
from shortloop.project.project import FINISHED, SET_ASIDE
from shortloop.stages.records import FAILED_UNITS, OBJECT, RECORD
from shortloop.store.index import Index
from shortloop.store.integrity import states_of
from shortloop.store.manifest import MANIFEST, Manifest, NotOnDisk, write_manifest

WRITERS = 4  # jobs that are put on disk at a time: the system writes together what waits at the same time


@dataclass(frozen=True)
class StoredJob:
    """An intact finished job."""

    job: str
    path: Path
    content: str  # hash of the results
    seconds: float  # how long it took
    rejected: bool  # True if it rejected its input
    has_tables: bool  # True if it left tables
    harmless: str = ""  # why somebody declared that it may be used though its code or versions changed
    libraries: str = "{}"
    partition: str | None = None  # partition; None: all of the data
    incomplete: bool = False  # True if units failed, which the next run retries
    modules: tuple[str, ...] = ()

    @classmethod
    def from_manifest(cls, folder: Path, manifest: Manifest) -> StoredJob:
        """Build the record of a job from its manifest."""
        seconds = float(manifest.cost.get("seconds", 0))
        how = manifest.rejected, manifest.has_tables, "", manifest.parts.libraries_text, manifest.partition
        is_incomplete, modules = FAILED_UNITS in manifest.files, modules_of_objects(folder, manifest.files)
        return cls(manifest.job, folder, manifest.content, seconds, *how, is_incomplete, modules)


def modules_of_objects(folder: Path, files: Iterable[str]) -> tuple[str, ...]:
    """Modules that reading the objects of a job imports: own ones, and top names of libraries."""
    if not any(name.endswith(OBJECT) for name in files):
        return ()
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        names = {name for each in record.get("objects", {}).values() for name in each["modules"]}
        return tuple(sorted({name if is_own_module(name) else name.partition(".")[0] for name in names}))
    return ()


class Writer:
    """Writes manifests, and knows the jobs that the index does not know yet."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._waiting: queue.Queue[tuple[Path, Manifest, Future[None]] | None] = queue.Queue()
        self._added: list[tuple[str, StoredJob]] = []  # bases and jobs that wait
        self._failed: list[Exception] = []
        self._disk = ThreadPoolExecutor(WRITERS)  # which starts its threads when they are needed
        self._thread: threading.Thread | None = None

    def add(self, folder: Path, manifest: Manifest, job: StoredJob) -> None:
        """Write the manifest of a job, and index it after those that were added before."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, daemon=True)
            self._thread.start()
        written = self._disk.submit(write_manifest, folder, manifest)
        self._added.append((manifest.base, job))
        self._waiting.put((folder, manifest, written))

    def added(self, base: str) -> list[StoredJob]:
        """Jobs with a base that the index does not know yet, the newest first."""
        return [job for of, job in reversed([*self._added]) if base and of == base]

    def wait(self) -> None:
        """Wait until all manifests are written."""
        self._waiting.join()

    def close(self) -> None:
        """Wait until all manifests are written, and end."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = None
        self._disk.shutdown()
        if self._failed:
            raise self._failed[0]

    def _write(self) -> None:
        while (item := self._waiting.get()) is not None:
            folder, manifest, written = item
            try:
                written.result()  # the index has jobs in their order
                self._index.insert(manifest, states_of(folder, [*manifest.files, MANIFEST]))
            except (OSError, sqlite3.Error) as error:
                self._failed.append(error)
                if isinstance(error, NotOnDisk) and (folder / FINISHED).exists():
                    (folder / FINISHED).replace(folder / SET_ASIDE)
            finally:
                del self._added[0]
                self._waiting.task_done()
