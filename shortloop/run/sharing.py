"""Take jobs of a run from the shared cache, and push new jobs in the background."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue

from shortloop.base.text import counted
from shortloop.plan.pipeline import TAKE
from shortloop.plan.planner import TAKEN, Planner
from shortloop.plan.request import Request
from shortloop.plan.selected_part import Part
from shortloop.project.project import FINISHED, cache_directory, configuration
from shortloop.settings.cache import CacheSettings
from shortloop.store.adoption import Asked, adopt
from shortloop.store.manifest import Manifest, StoredJob, read_manifest
from shortloop.store.shared_cache import NotTaken, SharedCache, kept_back
from shortloop.store.store import Store
from shortloop.store.workdir import hidden_folder

SOON = 0.5  # s
AT_ONCE = 8  # jobs that are pushed together


class Sharing:
    """The shared cache as a run uses it."""

    def __init__(self, store: Store, cache: SharedCache) -> None:
        self.taken = 0
        self._store, self._cache = store, cache
        target = configuration().workdirs[configuration().target_workdir]
        self._fetched = hidden_folder(Path(target)) / "fetched"
        shutil.rmtree(self._fetched, ignore_errors=True)  # of a run that was killed
        self._waiting = cache_directory("shared")  # an empty file for each job that is to be pushed
        self._queue: SimpleQueue[str | None] = SimpleQueue()
        self._pusher = threading.Thread(target=self._push, daemon=True)
        self._pushes = cache.settings.push == "new" and not cache.settings.read_only
        if self._pushes:
            for name in sorted(file.name for file in self._waiting.iterdir()):  # of a run that was cut off
                self._queue.put(name)
            self._pusher.start()

    def prefetch(self, plan: Planner, part: Part) -> None:
        for number, (job, wanted) in enumerate(zip(plan.jobs, plan.requests, strict=True)):
            is_chosen = (part.is_whole or number in part.chosen) and number not in part.forced
            found = self._cache.known(wanted.parts().key()) if is_chosen and job.plan == TAKE else None
            if found is not None:
                self._cache.begin_to_fetch(found, self._fetched / found.key)

    def ask(self, key: str) -> Manifest | None:
        """Find a job there; waits for an answer, and for its files."""
        self._cache.look([key])
        found = self._cache.known(key)
        return found if found and self._cache.fetched(found, self._fetched / key) else None

    def take(self, found: Manifest, wanted: Request, folder: Path, pipeline: str) -> StoredJob | None:
        """Make a fetched job one of this project's, in a folder that does not exist yet."""
        asked = Asked(pipeline, TAKEN, wanted.partition, wanted.sent, wanted.ids(), wanted.dataset_ids())
        try:
            fetched = self._fetched / found.key
            made = adopt(self._store, found, fetched, folder, asked, self._cache.settings.trusted)
        except (NotTaken, OSError) as error:
            self._cache.reject(found.key, str(error))
            return None
        except (AttributeError, LookupError, TypeError, ValueError):  # of whatever is in its files
            self._cache.reject(found.key, "it is damaged")
            return None
        self.taken += 1
        return made

    def end(self) -> None:
        """Let no job wait for the cache any more."""
        self._cache.end()

    def built(self, job: StoredJob) -> None:
        """Push a job later."""
        if self._pushes:
            (self._waiting / job.job).touch()
            self._queue.put(job.job)

    def close(self, is_cut_off: bool = False) -> None:
        """Wait until all is pushed, unless the run was cut off: the next one goes on."""
        shutil.rmtree(self._fetched, ignore_errors=True)
        if self.taken:
            print(f"{counted(self.taken, 'job')} taken from the shared cache", flush=True)
        if not self._pushes or is_cut_off:
            return
        self._queue.put(None)
        try:
            self._pusher.join(SOON)
            if self._pusher.is_alive():
                left = counted(len([*self._waiting.iterdir()]), "job")
                where = self._cache.settings.shown
                print(f"pushing {left} to {where}; Ctrl-C leaves the rest to the next run", flush=True)
            while self._pusher.is_alive():  # so that Ctrl-C is heard
                self._pusher.join(SOON)
        except KeyboardInterrupt:
            print("not all jobs are pushed; the next run goes on", flush=True)

    def _push(self) -> None:
        is_last = False
        while not is_last and not self._cache.lost:
            names = list[str]()
            while not names or (len(names) < AT_ONCE and not self._queue.empty()):
                if is_last := (name := self._queue.get()) is None:
                    break
                names.append(name)
            with suppress(RuntimeError):  # of the store of a run that was cut off
                self._store.written()  # of a job that has just ended
            self._cache.push(to_push(map(self._store.folder, names), self._cache.settings))
            for each in names if not self._cache.lost else ():
                (self._waiting / each).unlink(missing_ok=True)


def prefetched(plan: Planner, part: Part, shared: Sharing | None) -> Planner:
    """Begin to fetch the jobs of a plan, in parallel; return the plan."""
    if shared is not None:
        shared.prefetch(plan, part)
    return plan


def to_push(folders: Iterable[Path | None], settings: CacheSettings) -> list[tuple[Path, Manifest]]:
    """Folders and manifests of finished jobs that may be pushed."""
    there = (folder for folder in folders if folder is not None and (folder / FINISHED).is_file())
    found = ((folder, manifest) for folder in there if (manifest := read_manifest(folder)) is not None)
    return [(folder, each) for folder, each in found if not kept_back(folder, each, settings.inputs)]


@contextmanager
def sharing(store: Store, settings: CacheSettings) -> Iterator[Sharing | None]:
    """Use the shared cache that settings name, within a run."""
    if not settings.remote:
        yield None
        return
    store.shared = cache = SharedCache(settings)
    found = Sharing(store, cache)
    try:
        yield found
    except (KeyboardInterrupt, SystemExit):
        found.close(is_cut_off=True)
        raise
    except BaseException:
        found.close()
        raise
    found.close()
