"""Inventory of all jobs: state, size, whether they are needed, and whether they are intact."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.project.project import DELETED, FINISHED, SET_ASIDE, configuration, job_folders
from shortloop.stages.results import sources_of
from shortloop.store.crash_repair import BROKEN
from shortloop.store.index import Place, Purpose
from shortloop.store.inputs import locate
from shortloop.store.integrity import added_files, damage, data_outside
from shortloop.store.manifest import (
    MANIFEST,
    OTHER_FORMAT,
    Manifest,
    is_outdated,
    manifest_problem,
    read_manifest,
)
from shortloop.store.setup import setup_of
from shortloop.store.store import Store

STATES = {
    "current": "in the latest run of a pipeline",
    "needed": "a current job was made from it, or its pipeline has not finished yet",
    "superseded": "no latest run uses it",
    "unrecorded": "finished, but not recorded: its run was killed, or was not a Shortloop run",
    "outdated": "in the format of another version of Shortloop; rebuilt when needed",
    "damaged": "found damaged, and set aside: not used",
    "unfinished": "did not finish, or is still running",
    "deleted": "only its record is left",
    "unreadable": "you cannot read its folder",
}


@dataclass(frozen=True)
class Entry:
    """A job in a list."""

    job: str
    folder: Path
    stage: str = "?"  # method, or name of a build script
    partition: str = ""  # empty: all of the data
    pipelines: tuple[Purpose, ...] = ()  # pipelines whose last run uses it, else the one it was built for
    made: float = 0.0  # start, seconds since 1970; 0: unknown
    seconds: float = 0.0  # how long it took
    size: int = 0  # bytes
    state: str = "unfinished"  # one of `STATES`
    sources: tuple[str, ...] = ()  # inputs
    parent: str = ""  # job of the build script that built it
    script: bool = False  # True for the job of a build script


def inventory(store: Store, without: Collection[Purpose] = ()) -> list[Entry]:
    """List all jobs by workdir and number, whichever project built them."""
    of_job: dict[str, list[Purpose]] = {}
    for project, place, job in store.index.all_places():
        if (purpose := Purpose(place.pipeline, project)) not in without:
            of_job.setdefault(job, []).append(purpose)
    indexed = store.index.sizes()
    entries = [
        entry_of(folder, tuple(dict.fromkeys(of_job.get(folder.name, ()))), indexed.get(folder.name))
        for folder in job_folders()
    ]
    keep = needed(entries, of_job, store.index.ended_pipelines().union(without))
    return [
        replace(each, state="needed")
        if each.state in ("superseded", "outdated") and each.job in keep
        else each
        for each in entries
    ]


def needed(entries: Iterable[Entry], current: Iterable[str], ended: Iterable[Purpose]) -> set[str]:
    """Jobs that current or unrecorded ones depend on."""
    known = {each.job: each for each in entries}
    ended = set(ended)
    unknown = {
        job
        for job, each in known.items()
        if each.state == "unrecorded" or not (each.script or ended.issuperset(each.pipelines))
    }
    scripts = {each.stage: each.job for each in known.values() if each.script}
    waiting = [*current, *unknown, *scripts.values()]
    found: set[str] = set()
    while waiting:
        job = waiting.pop()
        if job not in found and job in known:
            found.add(job)
            waiting += [*known[job].sources, known[job].parent]
    return found


def entry_of(folder: Path, current: tuple[Purpose, ...], indexed: tuple[Purpose, int] | None) -> Entry:
    made_for, size = indexed or (Purpose(""), 0)
    try:
        names = set(os.listdir(str(folder)))
    except PermissionError:
        pipelines = current or ((made_for,) if made_for.pipeline else ())
        return Entry(folder.name, folder, pipelines=pipelines, size=size, state="unreadable")
    setup = setup_of(folder)
    script = bool(setup.get("is_build"))
    if DELETED in names:
        state = "deleted"
    elif FINISHED not in names:
        state = "damaged" if names & {SET_ASIDE, BROKEN} else "unfinished"
    elif indexed is None and MANIFEST in names and is_outdated(folder):
        state = "outdated"
    elif current:
        state = "current"
    else:
        state = "superseded" if MANIFEST in names or script else "unrecorded"
    if indexed is None and (manifest := read_manifest(folder)) is not None:
        made_for = Purpose(manifest.pipeline)
    return Entry(
        job=folder.name,
        folder=folder,
        stage=str(setup.get("method", "?")).rpartition(".")[2],
        partition=str(setup.get("options", {}).get("partition") or ""),
        pipelines=current or ((made_for,) if made_for.pipeline else ()),
        made=float(setup.get("starttime", 0)),
        seconds=float(setup.get("exectime", {}).get("total", 0)),
        size=size or _size(folder),
        state=state,
        sources=tuple(job for _, job in sources_of(setup)),
        parent=str(setup.get("parent") or ""),
        script=script,
    )


def _size(folder: Path) -> int:
    total = 0
    for above, _, names in os.walk(folder):  # leaves out what may not be read
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(f"{above}/{name}").st_size
    return total


@dataclass(frozen=True)
class Problem:
    job: str
    stage: str  # whose result it is
    partition: str
    what: str
    damaged: bool = True  # else it only has no manifest, or an additional file
    key: str = ""  # its key; empty if that is not known


def check_all(entries: Iterable[Entry]) -> list[Problem]:
    return [*filter(None, map(_check, entries))]


def missing(store: Store, entries: Sequence[Entry]) -> list[Problem]:
    """Indexed jobs whose folders are gone."""
    there = {each.job for each in entries}
    places = {job: place for _, place, job in store.index.all_places()}
    gone = sorted(store.index.sizes().keys() - there)
    known = ((job, places.get(job, Place("", "?", None, ""))) for job in gone)
    return [Problem(job, of.stage, of.partition or "", "its folder is gone") for job, of in known]


def _check(each: Entry) -> Problem | None:
    if each.script or each.state in ("deleted", "outdated"):
        return None
    if each.state in ("unreadable", "unfinished", "damaged"):
        return _problem(each, STATES[each.state], damaged=each.state == "unreadable")
    if (manifest := read_manifest(each.folder)) is None:
        if is_outdated(each.folder):  # and something needs it
            return _problem(each, OTHER_FORMAT, damaged=False)
        if (each.folder / MANIFEST).exists():
            return _problem(each, str(manifest_problem(each.folder)))
        return _problem(each, "is not recorded", damaged=False)
    if not (each.folder / FINISHED).is_file():
        return None  # it was deleted while this went on
    if (what := damage(each.folder, manifest)) is None and is_outdated(each.folder):
        return _problem(each, f"its record {OTHER_FORMAT}", damaged=False)
    what = what or _elsewhere(each, manifest) or _outside(each)
    if what is not None:
        return _problem(each, what, key=manifest.key)
    added = added_files(each.folder, manifest)
    words = f"has {'a file' if len(added) == 1 else 'files'} that it did not write: {', '.join(added)}"
    return _problem(each, words, damaged=False) if added else None


def _elsewhere(each: Entry, manifest: Manifest) -> str | None:
    """Problem of the jobs that its datasets need; their data is read where they are checked."""
    for job, content in manifest.rests_on.items():
        above = configuration().workdirs.get(job.rpartition("-")[0])
        folder = each.folder if above is None else Path(above) / job
        other = read_manifest(folder)
        if not (folder / FINISHED).is_file():
            return f"rests on {job}, which is gone"
        if job != each.job and other is not None and other.content != content:
            return f"rests on {job}, which is another one now"
    return None


def _outside(each: Entry) -> str | None:
    """Problem of input files that hold data of a job."""
    for name, content in data_outside(each.folder):
        try:
            locate(content)
        except InputError as error:
            return f"{name}, which holds its data: {error.problem}"
    return None


def _problem(each: Entry, what: str, damaged: bool = True, key: str = "") -> Problem:
    return Problem(each.job, each.stage, each.partition, what, damaged, key)
