"""Write manifests in background threads, and index them in job order."""

from __future__ import annotations

import queue
import sqlite3
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from shortloop.project.project import FINISHED, SET_ASIDE
from shortloop.store.index import Index
from shortloop.store.job_files import states_of
from shortloop.store.manifest import MANIFEST, Manifest, NotOnDisk, write_manifest
from shortloop.store.stored_job import StoredJob

__all__ = ["Writer"]

WRITERS = 4  # jobs that are put on disk at a time: the system writes together what waits at the same time


class Writer:
    """Writes manifests, and knows the jobs that the index does not know yet.

    index: what is to know them.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._waiting: queue.Queue[tuple[Path, Manifest, Future[None]] | None] = queue.Queue()
        self._added: list[tuple[str, StoredJob]] = []  # bases and jobs that wait
        self._failed: list[Exception] = []
        self._disk = ThreadPoolExecutor(WRITERS)  # which starts its threads when they are needed
        self._thread: threading.Thread | None = None

    def add(self, folder: Path, manifest: Manifest, job: StoredJob) -> None:
        """Write the manifest of a job."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, daemon=True)
            self._thread.start()
        written = self._disk.submit(write_manifest, folder, manifest)
        self._added.append((manifest.base, job))
        self._waiting.put((folder, manifest, written))

    def added(self, base: str) -> list[StoredJob]:
        """Jobs that wait."""
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
