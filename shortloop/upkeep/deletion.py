"""Delete superseded jobs and leftovers; the folder of a job stays, so that its id is never given again."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.exax.listener import is_idle
from shortloop.project.project import DELETED, FINISHED, cache_directory, configuration
from shortloop.store.crash_repair import CHECKPOINTS, foreign_server
from shortloop.store.index import Purpose
from shortloop.store.manifest import MANIFEST
from shortloop.store.store import Store
from shortloop.store.workdir import is_gone, only_run
from shortloop.upkeep.inventory import Entry

KEPT = {"setup.json", MANIFEST, DELETED}
OLD_PARTS = 86_400.0  # seconds until a file that was begun and not finished is nobody's
Partial = tuple[Path, int]  # a file or folder that was begun and not finished, and its bytes


def to_delete(entries: Sequence[Entry], older: float | None = None, total: int | None = None) -> list[Entry]:
    latest = time.time() - (older or 0)
    found = [each for each in entries if each.made <= latest and _loses_nothing(each)]
    left, chosen = sum(each.size for each in entries), []
    for each in sorted(found, key=lambda each: each.made):
        if total is not None and left <= total:
            break
        chosen.append(each)
        left -= each.size
    return chosen


def delete(store: Store, entries: Iterable[Entry], older: float | None = None) -> int:
    """Delete the results of jobs while `idle_project` is held; return the freed bytes."""
    freed = 0
    for each in entries:
        # In this order nobody uses a job of which some is gone, wherever this is interrupted.
        finished, deleted = each.folder / FINISHED, each.folder / DELETED
        if finished.is_file():
            finished.replace(deleted)
        else:
            deleted.touch()
        store.index.forget(each.job)
        for file in each.folder.iterdir():
            if file.name in KEPT:
                continue
            if file.is_dir() and not file.is_symlink():
                shutil.rmtree(file)
            else:
                file.unlink()
        freed += each.size - sum(file.stat().st_size for file in each.folder.iterdir())
    for part, size in old_parts(older):
        freed += size
        if part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink()
    return freed


def old_parts(older: float | None = None) -> list[Partial]:
    """Temporary files older than a day, in the project's cache; checkpoints also if older than `older`."""
    cache, now = cache_directory("jobs").parent, time.time()
    found = [
        (file, file.stat().st_size)
        for file in cache.glob("*/.*")
        if file.is_file() and file.stat().st_mtime < now - OLD_PARTS
    ]
    age = OLD_PARTS if older is None else min(older, OLD_PARTS)
    return found + [(folder, size) for folder, size, latest in _checkpoints() if latest <= now - age]


def recent_checkpoints() -> int:
    """Bytes of checkpoints that `delete` keeps without an age, from which jobs resume."""
    return sum(size for _, size, latest in _checkpoints() if latest > time.time() - OLD_PARTS)


def _checkpoints() -> Iterator[tuple[Path, int, float]]:
    """Folder, bytes and latest modification of each checkpoint."""
    for workdir in configuration().workdirs.values():
        for folder in Path(workdir).glob(f"{CHECKPOINTS}/*"):
            states = [file.stat() for file in folder.rglob("*") if file.is_file()]
            yield (
                folder,
                sum(each.st_size for each in states),
                max((each.st_mtime for each in states), default=0),
            )


def pipelines_of(store: Store, settings: str) -> list[Purpose]:
    """Pipelines that were run with named settings, by this project and by deleted ones."""
    names = store.index.settings_names()
    placed = {Purpose(place.pipeline, project) for project, place, _ in store.index.all_places()}
    known = sorted(placed | store.index.ended_pipelines())
    meant = [each for each in known if settings in (each.pipeline, names.get(each))]
    found = [each for each in meant if not each.project or is_gone(each.project)]
    if not found and meant:
        problem = "these settings belong to another project, which still exists"
        hint = "run the command in that project's folder"
        raise InputError(problem, found=" and ".join(map(str, meant)), hint=hint)
    if not found:
        ours = [each.pipeline for each in known if not each.project or is_gone(each.project)]
        wrong = "no run with settings of this name"
        raise InputError(wrong, found=settings, expected=" or ".join(ours) or "none was")
    return found


@contextmanager
def idle_project() -> Iterator[None]:
    """Lock the project and its workdirs, so that no run starts."""
    with only_run("deleting jobs", wait=False):
        if is_idle() is False:
            wrong = "the exax server is building a job"
            raise InputError(wrong, hint="wait until it has ended, or end it with `ax abort`")
        for name, workdir in configuration().workdirs.items():
            if server := foreign_server(Path(workdir)):
                problem = f"the exax server of another project has the workdir {name}"
                hint = "end that server, or run the command in that project's folder"
                raise InputError(problem, file=workdir, found=server, hint=hint)
        yield


def _loses_nothing(each: Entry) -> bool:
    """True if a job may be deleted, or its deletion was interrupted; running build scripts are kept."""
    if each.state == "deleted":
        return any(file.name not in KEPT for file in each.folder.iterdir())
    if each.state == "unfinished":
        return not each.script
    return each.state in ("superseded", "outdated", "damaged")
