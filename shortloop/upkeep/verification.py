"""Verify all jobs by reading every byte."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.project.project import FINISHED, configuration
from shortloop.stages.records import RECORD
from shortloop.store.index import Place
from shortloop.store.inputs import changed_unseen, locate
from shortloop.store.integrity import added_files, damage
from shortloop.store.manifest import (
    MANIFEST,
    OTHER_FORMAT,
    Manifest,
    is_outdated,
    manifest_problem,
    read_manifest,
)
from shortloop.store.store import Store
from shortloop.upkeep.inventory import Entry

__all__ = ["Problem", "check_all", "check_inputs", "missing"]


@dataclass(frozen=True)
class Problem:
    """A problem of a job."""

    job: str
    stage: str  # whose result it is
    partition: str
    what: str
    damaged: bool = True  # else it only has no manifest, or an additional file
    key: str = ""  # its key; empty if that is not known


def check_all(entries: Sequence[Entry], tell: Callable[[Entry], None] = lambda each: None) -> list[Problem]:
    """Read all bytes of all recorded jobs."""
    found = []
    for each in entries:
        problem = _check(each)
        if problem is not None:
            found.append(problem)
        tell(each)
    return found


def check_inputs() -> list[Problem]:
    """Read all known input files again; the next run re-reads those that changed."""
    return [Problem("", "input", "", f"{file} {said}") for file, said in changed_unseen()]


def missing(store: Store, entries: Sequence[Entry]) -> list[Problem]:
    """Indexed jobs whose folders are gone."""
    there = {each.job for each in entries}
    places = {job: place for _, place, job in store.index.all_places()}
    found = []
    for job in sorted(store.index.sizes().keys() - there):
        place = places.get(job, Place("", "?", None, ""))
        found.append(Problem(job, place.stage, place.partition or "", "its folder is gone"))
    return found


def _check(each: Entry) -> Problem | None:
    if each.script or each.state in ("deleted", "outdated"):
        return None
    if each.state == "unreadable":
        return _problem(each, "its folder may not be read here")
    if each.state == "unfinished":
        return _problem(each, "did not finish, or is still running", damaged=False)
    if each.state == "damaged":
        return _problem(each, "was set aside", damaged=False)
    manifest = read_manifest(each.folder)
    if manifest is None:
        if is_outdated(each.folder):  # and something needs it
            return _problem(each, OTHER_FORMAT, damaged=False)
        if (each.folder / MANIFEST).exists():
            return _problem(each, str(manifest_problem(each.folder)))
        return _problem(each, "is not recorded", damaged=False)
    if not (each.folder / FINISHED).is_file():
        return None  # it was deleted while this went on
    what = damage(each.folder, manifest)
    if what is None and is_outdated(each.folder):
        return _problem(each, f"its record {OTHER_FORMAT}", damaged=False)
    what = what or _elsewhere(each, manifest) or _outside(each, manifest)
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


def _outside(each: Entry, manifest: Manifest) -> str | None:
    """Problem of input files that hold data of a job."""
    if RECORD not in manifest.files:
        return None
    record = json.loads((each.folder / RECORD).read_text(encoding="utf-8"))
    for array in record["arrays"].values():
        if "outside" in array:
            try:
                locate(array["outside"]["content"])
            except InputError as error:
                return f"{array['outside']['name']}, which holds its data: {error.problem}"
    return None


def _problem(each: Entry, what: str, damaged: bool = True, key: str = "") -> Problem:
    return Problem(each.job, each.stage, each.partition, what, damaged, key)
