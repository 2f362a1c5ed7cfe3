"""A worker on a node that has not the project: mirrors of what a job needs take its place."""

from __future__ import annotations

import json
import os
import pickle
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, cast

from shortloop.engines.listing import Listing
from shortloop.engines.messages import JobWork, Work
from shortloop.engines.node_cache import INSIDE, Mirror, NodeCache, check_place
from shortloop.engines.node_messages import Mirrored, Missing, Parcel

__all__ = ["NotHere", "Placed", "hold_mirror", "keep_parcel", "placed"]

_lock = threading.Lock()
_caches: list[NodeCache] = []


class NotHere(Exception):
    """A job cannot be computed here before this node is sent something.

    Parameters
    ----------
    missing : Missing
        What.
    """

    def __init__(self, missing: Missing) -> None:
        super().__init__(missing)
        self.missing = missing


class Placed(NamedTuple):
    """The work of a job, with paths as they are on this node.

    Parameters
    ----------
    work : Work
        It.
    project : str
        The project's folder.
    path : tuple of str
        Folders that modules are looked for in.
    surroundings : dict of str to str
        As of `JobWork`.
    holds : tuple of int
        Open files, to be closed; while the first is open, the folder with the code is kept.
    """

    work: Work
    project: str
    path: tuple[str, ...]
    surroundings: dict[str, str]
    holds: tuple[int, ...] = ()


def placed(work: Work) -> Placed:
    """See where a worker finds what a job needs.

    Parameters
    ----------
    work : Work
        The job.

    Returns
    -------
    Placed

    Raises
    ------
    NotHere
        If this node has not the project, and lacks what the job needs of it.
    """
    said: JobWork = pickle.loads(work.data)
    if _is_here(*work.here):
        return Placed(work, said["project"], tuple(said["path"]), said["surroundings"])
    cache = _node_cache()
    if not work.listed:
        raise NotHere(Missing(cache.name, []))
    listed = cache.read(work.listed)
    if listed is None:
        raise NotHere(Missing(cache.name, [work.listed]))
    listing: Listing = json.loads(listed)
    with ExitStack() as fails:
        code, data = _mirrors(cache, listing, fails)
        said = _moved(said, listing, code.folder, data.folder)
        work = work._replace(data=pickle.dumps(said))
        fails.pop_all()
    holds = code.hold, data.hold
    return Placed(work, said["project"], tuple(said["path"]), said["surroundings"], holds)


def keep_parcel(parcel: Parcel) -> tuple[str, str]:
    """Keep what this node is sent; a worker is asked to.

    Parameters
    ----------
    parcel : Parcel
        What is sent.

    Returns
    -------
    cache : str
        Name of the cache that has it now.
    wrong : str
        What went wrong; empty if nothing did.
    """
    cache = _node_cache()
    try:
        return cache.name, cache.put(parcel.pieces, parcel.sender)
    except OSError as error:
        return cache.name, f"{error.strerror or error}: {error.filename or ''}"


def hold_mirror(work: JobWork) -> None:
    """See that the mirror of a job is kept as long as this process runs, which computes for it.

    Parameters
    ----------
    work : JobWork
        The job, as of `placed`.
    """
    mirrored = work.get("mirrored")
    if mirrored is not None:
        import fcntl

        fcntl.flock(os.open(mirrored["lock"], os.O_RDWR), fcntl.LOCK_SH)


def _node_cache() -> NodeCache:
    """What this node was sent."""
    with _lock:
        if not _caches:
            _caches.append(NodeCache())
        return _caches[0]


def _is_here(file: str, said: str) -> bool:
    """Whether the project is where the run has it: whether there is a file that the run has written."""
    try:
        return not file or Path(file).read_text(encoding="ascii", errors="replace") == said
    except OSError:
        return False


def _mirrors(cache: NodeCache, listing: Listing, fails: ExitStack) -> tuple[Mirror, Mirror]:
    wanted = {content: size for part in (listing["code"], listing["data"]) for content, size in part.values()}
    lacking = cache.lacking(wanted)
    if lacking:
        raise NotHere(Missing(cache.name, lacking))
    found: list[Mirror] = []
    for files in (listing["code"], listing["data"]):
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
    return {
        **said,
        "project": str(code / INSIDE),
        "path": [str(code / folders[each]) if each in folders else each for each in said["path"]],
        "task": {
            **task,
            "jobs": {name: moved(each) for name, each in jobs.items()},
            "before": moved(task["before"]),
        },
        "mirrored": mirrored,
    }
