"""Find a finished job by its key, and check that it is unchanged.

What is found of a job that has the key, what is done, and why; a job that is not used is built again.
"Read": all of it, see `damage`. "Set aside": out of use for good, its files stay. "Forgotten": out of the
index, its folder is left as it is. "Forced": exax is told to build, whatever it thinks that it has, as it is
for a job that is set aside.

=========================================  ======================  =========================================
found                                      done                    why
=========================================  ======================  =========================================
all files in the states that were noted    used, not read          what changes a file changes its state
a state differs, or none is noted          read; used, noted anew  touched, copied, moved, or the index lost
a file altered, cut short, longer or gone  set aside               nobody knows what else of it is wrong
a file more that is read as a result       set aside               its readers would take it for one (noticed
                                                                   when a state differs, and by `verify`)
post.json gone                             set aside               exax does not have it as finished
manifest gone, damaged, or of another job  set aside               nothing says any more what it is
manifest not true of the files             set aside               somebody made it fit
manifest gone, setup.json of another job   forgotten               the workdir was filled anew: a new job,
                                                                   which is not recorded yet
manifest of another key                    noted by that key       the same, and it is recorded
manifest or record of another format       forgotten, told once    another version may use it
folder gone                                forgotten, forced       exax may think that it still has it
post.deleted.json                          forgotten               `shortloop gc` deleted it
libraries that it loaded are others now    not used, forced        right again when these are back
key is one that was declared of a job      used like one of its    somebody knows that the change is harmless
files by slice, of another number          not used                right again when that number is back
a job that its datasets name is not whole  not used, forced        exax would read what is in that
wrong, and may not be written              not used                who only looks changes nothing
not recorded: its files are not on disk    set aside; run ends     the system may have lost them
not recorded: its manifest is not on disk  left; run ends          the next run takes it over
=========================================  ======================  =========================================
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.keys.installed import differing
from shortloop.project.project import DELETED, FINISHED, SET_ASIDE, configuration, job_folders
from shortloop.project.system_errors import if_writable
from shortloop.store.crash_repair import tidy
from shortloop.store.index import Index, Purpose
from shortloop.store.integrity import (
    content_of_job,
    damage,
    hash_outputs,
    is_description,
    jobs_named,
    output_files,
    states_of,
)
from shortloop.store.manifest import (
    MANIFEST,
    Harmless,
    Manifest,
    NotOnDisk,
    StoredJob,
    is_outdated,
    manifest_problem,
    read_manifest,
    write_manifest,
)
from shortloop.store.setup import Slices, slices_configured

if TYPE_CHECKING:  # few runs have one
    from shortloop.store.shared_cache import SharedCache

SETUP = "setup.json"
WRITERS = 4  # jobs that are put on disk at a time: the system writes together what waits at the same time


class Store(AbstractContextManager["Store"]):
    """Finished jobs of the project's workdirs; a context manager: manifests are written behind."""

    def __init__(self, slices: Callable[[], int] = slices_configured) -> None:
        self._workdirs = {name: Path(path) for name, path in configuration().workdirs.items()}
        self.damaged: dict[str, tuple[str, str]] = {}  # by key: a job that was set aside, and its problem
        self.outdated: set[str] = set()  # keys of jobs whose libraries are installed differently now
        self.slices = Slices(slices)
        self.shared: SharedCache | None = None  # asked for jobs that are not here
        self._contents: dict[str, str | None] = {}  # of jobs with datasets that others need; None: damaged
        self._whole: dict[str, StoredJob] = {}
        self.index = Index(self._workdirs, self._manifests)
        self._added: list[tuple[str, StoredJob]] = []  # bases and jobs that the index does not know yet
        self._failed: list[Exception] = []
        self._disk, self._in_order = ThreadPoolExecutor(WRITERS), ThreadPoolExecutor(1)

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait until all manifests are written."""
        self._in_order.shutdown()
        self._disk.shutdown()
        self.index.close()
        if self._failed:
            raise self._failed[0]

    def tidy(self) -> list[str]:
        """Clean up after unfinished jobs; see `shortloop.store.crash_repair.tidy`."""
        found = tidy(self._workdirs)
        if outdated := len(self.index.take_outdated()):
            number = "1 job is" if outdated == 1 else f"{outdated} jobs are"
            why = "kept in another format, by another version of Shortloop, and not used"
            found.append(f"{number} {why}: what is needed is built again")
        return found

    def find(self, key: str) -> StoredJob | None:
        """Find the newest intact job with a key; set damaged ones aside."""
        if key not in self._whole:
            rows = self.index.by_key(key)
            current = [row for row in rows if not differing(row.libraries)]
            if len(current) < len(rows):
                self.outdated.add(key)
            found = next(filter(None, map(self._check, current)), None) or self._declared(key)
            if found is not None:
                self._whole[key] = found
        return self._whole.get(key)

    def find_alike(
        self, base: str, first: str = "", partition: str | None = None, most: int = -1
    ) -> list[StoredJob]:
        """List intact jobs with a base: the given one first, then those of a partition, then the newest."""
        added = [job for of, job in reversed([*self._added]) if base and of == base]
        rows = self.index.by_base(base, first, partition, most)
        known = {row.job for row in rows}
        found = [
            *(job for job in added if job.job not in known and not differing(job.libraries)),
            *filter(None, map(self._current, rows)),
        ]
        return sorted(found, key=lambda each: (each.job != first, each.partition != partition))

    def by_id(self, job: str) -> StoredJob | None:
        """Find an intact job by id, whatever libraries it loaded."""
        return next(filter(None, map(self._check, self.index.by_id(job))), None)

    def add(self, folder: Path, manifest: Manifest) -> StoredJob:
        """Record a job of this project in the background; `find` knows it from now on."""
        settings = self.index.settings_names().get(Purpose(manifest.pipeline), "")
        manifest = replace(manifest, project=self.index.name_for(manifest.job), settings=settings)
        found = StoredJob.from_manifest(folder, manifest)
        self._added.append((manifest.base, found))
        written = self._disk.submit(write_manifest, folder, manifest)
        self._in_order.submit(self._insert, folder, manifest, written)
        self._whole[manifest.key] = found
        self._contents[found.job] = found.content
        return found

    def written(self) -> None:
        """Wait until the manifests of all added jobs are written."""
        self._in_order.submit(int).result()

    def note(self, folder: Path, manifest: Manifest) -> StoredJob:
        """Index a recorded job known to be intact."""
        self.index.insert(manifest, states_of(folder, [*manifest.files, MANIFEST]))
        found = StoredJob.from_manifest(folder, manifest)
        self._whole[manifest.key] = found
        return found

    def rests_on(self, folder: Path, names: Iterable[str]) -> dict[str, str]:
        """Content of the jobs whose datasets a job needs, for its manifest; of itself none."""
        named = sorted(jobs_named(folder, names))
        return {job: "" if job == folder.name else self._content(job) or "" for job in named}

    def broken(self, folder: Path, names: Collection[str]) -> str:
        """The first job with datasets that another one needs, and whose content is not what it was."""
        if names and not any(map(is_description, names)):
            return ""
        for job, content in self._named(folder.name).items():
            if job != folder.name and (not content or self._content(job) != content):
                return job
        return ""

    def whole(self, folder: Path) -> Manifest | None:
        """Read the manifest of a job, if the job is intact."""
        manifest = read_manifest(folder)
        if manifest is None or not (folder / FINISHED).is_file() or is_outdated(folder):
            return None
        is_broken = self.broken(folder, manifest.files) or damage(folder, manifest) is not None
        return None if is_broken else manifest

    def folder(self, job: str) -> Path | None:
        above = self._workdirs.get(job.rpartition("-")[0])
        return None if above is None else above / job

    def manifest_of(self, job: str) -> Manifest | None:
        folder = self.folder(job)
        return None if folder is None else read_manifest(folder)

    def set_aside(self, folder: Path, key: str, what: str) -> None:
        """Take a damaged job out of use; its files stay."""
        self.damaged[key] = (folder.name, what)
        self.index.forget(folder.name)
        if (folder / FINISHED).exists():
            (folder / FINISHED).replace(folder / SET_ASIDE)

    def _insert(self, folder: Path, manifest: Manifest, written: Future[None]) -> None:
        """Index an added job after those that were added before."""
        try:
            written.result()
            self.index.insert(manifest, states_of(folder, [*manifest.files, MANIFEST]))
        except Exception as error:  # raised by `close`
            self._failed.append(error)
            if isinstance(error, NotOnDisk) and (folder / FINISHED).exists():
                (folder / FINISHED).replace(folder / SET_ASIDE)
        finally:
            del self._added[0]

    def _manifests(self, workdir: str) -> Iterator[Manifest | str]:
        for folder in job_folders({workdir: self._workdirs[workdir]}):
            if (folder / FINISHED).is_file():
                if (manifest := read_manifest(folder)) is not None:
                    yield manifest
                elif is_outdated(folder):
                    yield folder.name

    def _declared(self, key: str) -> StoredJob | None:
        """Find an intact job with this key by a change declared harmless."""
        for row in self.index.by_declared(key):
            manifest = self.manifest_of(row.job)
            declared = manifest.declared() if manifest else []
            why = [each.why for parts, _, each in declared if parts.key() == key and parts.is_installed]
            if not why:  # it is another job by now
                continue
            if (found := self._check(row)) is not None:
                return replace(found, harmless=why[-1])
            if row.key in self.damaged:
                self.damaged[key] = self.damaged[row.key]
            if row.key in self.slices.others:
                self.slices.others[key] = self.slices.others[row.key]
        return None

    def _check(self, row: StoredJob) -> StoredJob | None:
        try:
            is_unchanged = states_of(row.path, row.files) == row.states != []
        except OSError:
            is_unchanged = False
        found = row if is_unchanged else self._verified(row)
        if found is None or not self.slices.are_as_now(row.path, row.key, row.files):
            return None
        if broken := self.broken(row.path, row.files):
            self.damaged.setdefault(row.key, (row.job, f"{broken}, which it needs, is not what it was"))
            return None
        self._contents[found.job] = found.content
        return found

    def _named(self, job: str) -> dict[str, str]:
        manifest = self.manifest_of(job)
        return {} if manifest is None else manifest.rests_on

    def _content(self, job: str) -> str | None:
        above: dict[str, None] = {}  # a chain may be longer than Python lets functions call themselves
        waiting = [job]
        while waiting:
            each = waiting.pop()
            if each not in above and each not in self._contents:
                above[each] = None
                waiting += self._named(each)
        for each in reversed(above):
            if each not in self._contents:
                self._contents[each] = self._content_now(each)
        return self._contents[job]

    def _content_now(self, job: str) -> str | None:
        if (found := self.by_id(job)) is not None:
            return found.content
        folder = self.folder(job)
        if folder is None or not (folder / FINISHED).is_file() or (folder / MANIFEST).exists():
            return None
        files = hash_outputs(folder, output_files(folder))  # one that another job had exax build
        return content_of_job(folder, files, self.rests_on(folder, files))[0]

    def _current(self, row: StoredJob) -> StoredJob | None:
        """Check a job if its libraries are as they were, except for changes declared harmless."""
        if not differing(row.libraries):
            return self._check(row)
        manifest = self.manifest_of(row.job)
        declared = [parts for parts, _, _ in manifest.declared() if parts.is_installed] if manifest else []
        found = self._check(row) if declared else None
        return found and replace(found, libraries=declared[0].libraries_text)

    def _verified(self, row: StoredJob) -> StoredJob | None:
        """Read a job whose files changed state, and use it if their content is as recorded."""
        folder = row.path
        if not folder.is_dir():  # somebody deleted it, and may have meant to
            self.index.forget(row.job)
            self.damaged[row.key] = (row.job, "its folder is gone")
            return None
        if (folder / DELETED).exists():
            self.index.forget(row.job)
            return None
        manifest = read_manifest(folder)
        if manifest is not None and manifest.key != row.key:  # its workdir was emptied and filled again
            self.index.insert(manifest, [])
            return None
        unrecorded = manifest is None and not (folder / MANIFEST).exists()
        if unrecorded and (folder / SETUP).exists() and states_of(folder, [SETUP])[0] not in row.states:
            self.index.forget(row.job)  # so it was, and the new job is not recorded yet
            return None
        what = manifest_problem(folder) if manifest is None else damage(folder, manifest)
        if (manifest is None or what is None) and is_outdated(folder):
            self.index.note_outdated(row.job)
            return None
        if manifest is not None and what is None:
            return self.note(folder, manifest)
        with if_writable():
            self.set_aside(folder, row.key, str(what))
        return None


def declare(store: Store, job: StoredJob, harmless: Harmless) -> None:
    """Keep with a job that a change is harmless, so that it is found by the key after the change."""
    if (manifest := store.manifest_of(job.job)) is not None:
        _rewrite(store, job.path, replace(manifest, harmless=[*manifest.harmless, harmless]))


def withdraw(store: Store, job: str, key: str) -> bool:
    """Withdraw the declaration by which a job has a key."""
    folder, manifest = store.folder(job), store.manifest_of(job)
    if folder is None or manifest is None:
        return False
    kept = [each for parts, _, each in manifest.declared() if parts.key() != key]
    if len(kept) == len(manifest.harmless):
        return False
    _rewrite(store, folder, replace(manifest, harmless=kept))
    return True


def _rewrite(store: Store, folder: Path, manifest: Manifest) -> None:
    write_manifest(folder, manifest)
    store.index.forget_declared(manifest.job)
    store.note(folder, manifest)
