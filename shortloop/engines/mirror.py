"""A worker on a node without the project: mirrors of what a job needs take its place."""

from __future__ import annotations

import fcntl
import functools
import json
import os
import pickle
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from shortloop.units.messages import JobWork, Mirrored, Missing, Parcel, Work
from shortloop.units.node_cache import INSIDE, Mirror, NodeCache, check_place

if TYPE_CHECKING:
    from shortloop.units.listing import Listing

__all__ = ["NotHere", "Placed", "hold_mirror", "keep_parcel", "placed"]


class NotHere(Exception):
    """A job cannot be computed here before this node is sent something."""

    def __init__(self, missing: Missing) -> None:
        super().__init__(missing)
        self.missing = missing


class Placed(NamedTuple):
    """The work of a job, with paths as they are on this node."""

    work: Work
    project: str
    path: tuple[str, ...]  # folders that modules are looked for in
    surroundings: dict[str, str]
    holds: tuple[int, ...] = ()  # open files; while the first is open, the mirror of the code is kept


def placed(work: Work) -> Placed:
    """Find what a job needs, in the project or in mirrors."""
    said: JobWork = pickle.loads(work.data)
    holds: tuple[int, ...] = ()
    if not _is_here(*work.here):
        cache = node_cache()
        listed = cache.read(work.listed) if work.listed else None
        if listed is None:
            raise NotHere(Missing(cache.name, [work.listed] if work.listed else []))
        listing: Listing = json.loads(listed)
        with ExitStack() as fails:
            code, data = _mirrors(cache, listing, fails)
            said = _moved(said, listing, code.folder, data.folder)
            fails.pop_all()
        work, holds = work._replace(data=pickle.dumps(said)), (code.hold, data.hold)
    return Placed(work, said["project"], tuple(said["path"]), said["surroundings"], holds)


def keep_parcel(parcel: Parcel) -> tuple[str, str]:
    """Keep what this node is sent; its name, and what went wrong."""
    cache = node_cache()
    try:
        return cache.name, cache.put(parcel.pieces, parcel.sender)
    except OSError as error:
        return cache.name, f"{error.strerror or error}: {error.filename or ''}"


def hold_mirror(work: JobWork) -> None:
    """Keep the mirror of a job as long as this process runs, which computes for it."""
    mirrored = work.get("mirrored")
    if mirrored is not None:
        fcntl.flock(os.open(mirrored["lock"], os.O_RDWR), fcntl.LOCK_SH)


@functools.cache
def node_cache() -> NodeCache:
    """The cache of this node."""
    return NodeCache()


def _is_here(file: str, said: str) -> bool:
    """True if the project is here: there is a file that the run has written."""
    try:
        return not file or Path(file).read_text(encoding="ascii", errors="replace") == said
    except OSError:
        return False


def _mirrors(cache: NodeCache, listing: Listing, fails: ExitStack) -> tuple[Mirror, Mirror]:
    parts = listing["code"], listing["data"]
    wanted = {content: size for part in parts for content, size in part.values()}
    if lacking := cache.lacking(wanted):
        raise NotHere(Missing(cache.name, lacking))
    found: list[Mirror] = []
    for files in parts:
        mirror = cache.mirror(files)
        if mirror is None:  # another worker has just removed something
            raise NotHere(Missing(cache.name, cache.lacking(wanted)))
        fails.callback(os.close, mirror.hold)
        found.append(mirror)
    return found[0], found[1]


def _moved(said: JobWork, listing: Listing, code: Path, data: Path) -> JobWork:
    """Work with paths in mirrors."""
    folders, task = listing["folders"], said["task"]

    def moved(given: object) -> object:
        if isinstance(given, list):
            return [moved(each) for each in given]
        return str(data / folders[given]) if isinstance(given, str) else given

    for place in (*folders.values(), *listing["inputs"].values()):
        check_place(f"{place}/.x")
    for place in folders.values():  # a folder of modules may have none that the job needs
        (code / place).mkdir(parents=True, exist_ok=True)
    jobs = cast("dict[str, object]", task["jobs"])
    mirrored: Mirrored = {
        "project": listing["project"],
        "code": str(code),
        "data": str(data),
        "lock": f"{data}.lock",
        "inputs": {content: str(data / place) for content, place in listing["inputs"].items()},
        "whole": [str(data / place) for place in listing["whole"]],
        "absent": listing["absent"],
    }
    jobs = {name: moved(each) for name, each in jobs.items()}
    return {
        **said,
        "project": str(code / INSIDE),
        "path": [str(code / folders[each]) if each in folders else each for each in said["path"]],
        "task": {**task, "jobs": jobs, "before": moved(task["before"])},
        "mirrored": mirrored,
    }
