"""The one-line reason to build a job, for the run and the manifest."""

from __future__ import annotations

from pathlib import Path

from shortloop.base.text import short_list
from shortloop.keys.key import Parts
from shortloop.plan.explain.code_changes import changed_names, code_now, stored_code
from shortloop.plan.explain.differences import (
    Difference,
    code_words,
    differences,
    file_words,
    input_words,
    nearest,
    unmatched,
    value_words,
)
from shortloop.plan.pipeline import Jobs, flat
from shortloop.project.project import DELETED
from shortloop.store.manifest import Manifest
from shortloop.store.setup import setup_of, sources_of
from shortloop.store.store import Store

__all__ = ["NEW", "reason_to_build", "reason_to_wait"]

NEW = "new"  # The reason of a job whose place was empty before

# Jobs of one stage mostly differ in the same: by module and both its hashes.
_names: dict[tuple[str, str, str], list[str]] = {}


def reason_to_build(store: Store, parts: Parts, previous: Manifest | None, sources: Jobs) -> str:
    """Say why a job must be built that the store did not find."""
    key = parts.key()
    if key in store.damaged:
        job, what = store.damaged[key]
        return f"{job} was damaged: {what}"
    if key in store.slices.others:
        job, number = store.slices.others[key]
        return f"{job} holds data of {number} slices, jobs have {store.slices.now} now"
    if previous is None:
        return NEW
    folder = store.folder(previous.job)
    keys = [previous.key, *(of for of, _, _ in previous.declared())]
    if folder is not None and key in keys and (folder / DELETED).exists():
        return f"{previous.job} was deleted"
    found = [each for each in differences(nearest(previous, parts), parts) if each.known]
    if not found:
        return "its result is gone"
    words = [_words(each, previous, parts, sources, folder) for each in found[:2]]
    return short_list([*words, *[""] * (len(found) - 2)], separator="; ")


def reason_to_wait(parts: Parts, previous: Manifest | None, sources: Jobs) -> str:
    """Say what decides, in a plan, if a job must be built."""
    found = [] if previous is None else differences(nearest(previous, parts), parts)
    if previous is None or any(each.known for each in found):
        return ""
    if any(each.kind == "file" for each in found):
        return "if the content of its unread files changed"
    stages = sorted({each.stage for each in flat(sources) if not each.content})
    return f"if {' or '.join(stages)} comes out different" if stages else ""


def _words(each: Difference, previous: Manifest, new: Parts, sources: Jobs, folder: Path | None) -> str:
    if each.kind == "code":  # of what was declared harmless, no text is kept
        has_text = each.old == previous.parts.code.get(each.name)
        return code_words(each, _changed_names(each, new.method, folder) if has_text else [])
    if each.kind == "file":
        return file_words(each)
    if each.kind == "input":
        before = () if folder is None else sources_of(setup_of(folder))
        return _input_words(each, [job for name, job in before if name == each.name], sources)
    return value_words(each)


def _changed_names(each: Difference, method: str, folder: Path | None) -> list[str]:
    if each.old is None or each.new is None or folder is None:
        return []
    known = (each.name, str(each.old), str(each.new))
    if known not in _names:
        old = stored_code(folder).get(each.name)
        new = code_now(method.rpartition(".")[2], [each.name]).get(each.name)
        _names[known] = [] if old is None or new is None else changed_names(old, new[0])
    return _names[known]


def _input_words(each: Difference, before: list[str], sources: Jobs) -> str:
    if each.old is None or each.new is None:
        return input_words(each)
    now = flat({each.name: sources[each.name]})
    old = each.old if isinstance(each.old, list) else [each.old]
    if len(old) != len(now):
        return f"{each.name}: {len(old)} → {len(now)} jobs"
    lost, different = unmatched(old, [job.content for job in now])
    if not different:
        return f"the order of {len(now)} {now[0].stage} jobs changed"
    first = now[different[0]]
    if len(different) > 1:
        return f"{len(different)} of {len(now)} {first.stage} jobs came out different"
    ids = f" {before[lost[0]]} → {first.job}" if lost and len(before) == len(now) else f" {first.job}"
    who = f" {first.partition}" if first.partition and len(now) > 1 else ""
    return f"{first.stage}{who}{ids} came out different"
