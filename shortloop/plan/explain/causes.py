"""Explain in full why a job was built, following upstream jobs, and how arrays of two jobs differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shortloop.base.errors import InputError
from shortloop.plan.explain.reasons import (
    Difference,
    changed_names,
    differences,
    nearest,
    stored_code,
    unmatched,
)
from shortloop.stages.results import Result, sources_of
from shortloop.store.manifest import Manifest, is_outdated
from shortloop.store.setup import setup_of
from shortloop.store.store import Store

if TYPE_CHECKING:
    import numpy as np

DEEPEST = 12  # levels of jobs above that are compared
RECENT = 100  # older jobs that are looked at for the most similar one


@dataclass(frozen=True)
class Cause:
    """One reason why a job was built."""

    difference: Difference
    words: str  # the same in a line
    diff: list[str] = field(default_factory=list)  # diff of code
    # Of an input: changed jobs, one for each cause, and how many have it.
    above: list[tuple[Explained, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Explained:
    """A job, and what differs from the job that it is compared with."""

    manifest: Manifest
    before: str = ""  # job compared with; empty: none
    in_place: bool = False  # True if that was in its place before, else it is a similar older job
    causes: list[Cause] = field(default_factory=list)  # empty: no difference
    is_followed: bool = True  # False if its causes were not looked for

    def roots(self) -> frozenset[str]:
        """Root causes, whatever jobs lie between: equal for jobs with the same cause."""
        above = [each.roots() for cause in self.causes for each, _ in cause.above]
        own = [str(cause.difference) for cause in self.causes if cause.difference.kind != "input"]
        return frozenset(own if self.is_followed else [self.manifest.job]).union(*above)


def explain(store: Store, job: str, against: str = "", deep: int = DEEPEST) -> Explained:
    """Compare a job with an older one, and jobs above it that came out different, so many levels deep."""
    if (manifest := store.manifest_of(job)) is None:
        problem, hint = "no record of how the job was made", "`shortloop jobs` lists them"
        expected: str | None = "the id of a finished job of a pipeline"
        if (folder := store.folder(job)) is not None and is_outdated(folder):
            problem, expected = "the job is in the format of another version of Shortloop", None
            hint = "run again: the job is rebuilt when needed"
        raise InputError(problem, found=job, expected=expected, hint=hint)
    before = store.manifest_of(against or manifest.previous)
    if before is None:
        before = _most_similar(store, manifest)
    if before is None:
        return Explained(manifest)
    is_in_place = bool(against) or before.job == manifest.previous
    if not deep:
        return Explained(manifest, before.job, is_in_place, is_followed=False)
    # Where two jobs are named, what they were really made of.
    made_of = before.parts if against else nearest(before, manifest.parts)
    causes = [_cause(store, manifest, before, each, deep) for each in differences(made_of, manifest.parts)]
    return Explained(manifest, before.job, is_in_place, causes)


def same_cause(explained: list[Explained]) -> list[list[Explained]]:
    """Group jobs built for the same run by their cause."""
    found = defaultdict[tuple[str, str, frozenset[str]], list[Explained]](list)
    for each in explained:
        found[each.manifest.parts.method, each.manifest.pipeline, each.roots()].append(each)
    return list(found.values())


def _cause(store: Store, manifest: Manifest, before: Manifest, each: Difference, deep: int) -> Cause:
    if each.kind == "code":
        return _code_cause(store, manifest, before, each)
    if each.kind == "input" and None not in (each.old, each.new):
        return _input_cause(store, manifest, before, each, deep)
    return Cause(each, each.words(full=True))


def _code_cause(store: Store, manifest: Manifest, before: Manifest, each: Difference) -> Cause:
    old, new = (stored_code(_folder(store, of)).get(each.name) for of in (before, manifest))
    if old is None or new is None:
        return Cause(each, each.words())
    old_name, new_name = f"{before.job}: {each.name}", f"{manifest.job}: {each.name}"
    diff = [*unified_diff(old.splitlines(), new.splitlines(), old_name, new_name, lineterm="", n=2)]
    if each.old != before.parts.code.get(each.name):  # the text of declared code is not kept
        return Cause(each, f"{each.words()}, with what was declared harmless before", diff)
    return Cause(each, each.words(changed_names(old, new)), diff)


def _input_cause(store: Store, manifest: Manifest, before: Manifest, each: Difference, deep: int) -> Cause:
    old, new = (
        [job for of, job in sources_of(setup_of(_folder(store, made))) if of == each.name]
        for made in (before, manifest)
    )
    contents_old, contents_new = (of if isinstance(of, list) else [of] for of in (each.old, each.new))
    if not len(old) == len(new) == len(contents_old) == len(contents_new):
        return Cause(each, f"{each.name}: {len(old)} → {len(new)} jobs")
    lost, different = unmatched(contents_old, contents_new)
    pairs = [
        (old[was], new[now])
        for was, now in zip(lost, different)
        if store.manifest_of(old[was]) is not None and store.manifest_of(new[now]) is not None
    ]
    groups = same_cause([explain(store, other, one, deep - 1) for one, other in pairs])
    if len(new) == 1:
        words = f"{each.name}: {old[0]} → {new[0]} came out different"
    elif not different:
        words = f"{each.name}: the order of {len(new)} jobs changed"
    else:
        words = f"{each.name}: {len(different)} of {len(new)} jobs came out different"
    return Cause(each, words, above=[(group[0], len(group)) for group in groups])


def _most_similar(store: Store, manifest: Manifest) -> Manifest | None:
    """Older job of the same method and partition with the fewest differences."""
    jobs = store.index.of_method(manifest.parts.method, manifest.partition)
    number = _number(manifest.job)
    older = sorted((job for job in jobs if _number(job) < number), key=_number, reverse=True)[:RECENT]
    found = [each for job in older if (each := store.manifest_of(job)) is not None]
    kin = _kin(store, manifest)
    return min(
        found,
        key=lambda each: (_kin(store, each) != kin, len(differences(each.parts, manifest.parts))),
        default=None,
    )


def _kin(store: Store, manifest: Manifest) -> list[str]:
    """Methods of a job's inputs, which tell kinds of jobs of one method apart."""
    sources = [job for _, job in sources_of(setup_of(_folder(store, manifest)))]
    return sorted({str(setup_of(folder).get("method")) for job in sources if (folder := store.folder(job))})


def _folder(store: Store, manifest: Manifest) -> Path:
    return store.folder(manifest.job) or Path()


def _number(job: str) -> int:
    return int(job.rpartition("-")[2])


class ArrayDifference(NamedTuple):
    """How an array differs between two jobs."""

    name: str
    first: str  # shape and type in each job; empty where it is not there
    second: str
    differ: int | None  # how many values are not the same; None if shapes differ
    largest: float | None  # largest difference between two numbers; None if there is none to tell


def array_differences(first: Result, second: Result) -> Iterator[ArrayDifference]:
    for name in dict.fromkeys([*first.arrays, *second.arrays]):
        before, after = _described(first, name), _described(second, name)
        found: tuple[int | None, float | None] = (None, None)
        if before and after:
            one, other = first.arrays[name], second.arrays[name]
            if one.shape == other.shape:
                found = _difference(one, other)
        yield ArrayDifference(name, before, after, *found)


def _described(result: Result, name: str) -> str:
    array = result.record["arrays"].get(name)
    return "" if array is None else f"{' × '.join(map(str, array['shape'])) or '1'} {array['dtype']}"


def _difference(one: np.ndarray, other: np.ndarray) -> tuple[int, float | None]:
    """Compare by parts, because arrays may exceed memory."""
    import numpy as np

    numeric = all(each.dtype.kind in "biuf" for each in (one, other))
    differ, largest = 0, 0.0
    for old, new in zip(np.atleast_1d(one), np.atleast_1d(other)):
        old, new = (np.asarray(each, dtype=float if numeric else None) for each in (old, new))
        other_than = np.asarray(old != new)
        if numeric:
            other_than &= ~(np.isnan(old) & np.isnan(new))
            away = np.abs(new - old)[other_than]
            if np.isfinite(away).any():
                largest = max(largest, float(np.nanmax(away)))
        differ += int(np.sum(other_than))
    return differ, largest if numeric and differ else None
