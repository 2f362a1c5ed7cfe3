"""Build one job: have exax run it, hash its files, write its manifest."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

from shortloop.base.plain import Plain
from shortloop.base.text import one_line
from shortloop.exax import client
from shortloop.exax.client import Urd
from shortloop.exax.cost import Meter
from shortloop.exax.evidence import Evidence, evidence_of, given_files
from shortloop.keys.code import EXTRA_CODE, Code, code_state, declares_code, extra_code
from shortloop.keys.file_state import CHANGED, at_one_moment
from shortloop.keys.key import Parts
from shortloop.keys.methods import find_method
from shortloop.plan.planner import Lookup
from shortloop.plan.request import JobIds, Request
from shortloop.plan.selected_part import ASKED
from shortloop.project.project import DELETED, FINISHED, SET_ASIDE, write_atomically
from shortloop.stages.records import EARLIER, FAILED_UNITS, RETRIED
from shortloop.stages.results import Setup
from shortloop.stages.task import BEFORE
from shortloop.store.integrity import LOGS, content_of_job, hash_outputs, output_files
from shortloop.store.manifest import MANIFEST, Cost, Manifest, StoredJob, is_outdated
from shortloop.store.store import Store
from shortloop.units.checkpoints import clear_checkpoint
from shortloop.units.queue import PROGRESS

FAILED = "units of it failed"
EARLIER_JOBS = 20  # that are asked for rows of units


@dataclass(frozen=True)
class Order:
    wanted: Request
    parts: Parts  # of its key
    options: Mapping[str, Plain]  # as exax is given them
    jobs: Mapping[str, JobIds]  # upstream jobs, by the names that the method gives them
    base: str
    pipeline: str  # the build script and the name of its settings
    reason: str  # why it is built
    previous: str  # the job in its place before
    anew: bool  # build it even if it is cached
    retried: StoredJob | None  # the job of its key whose failed units are computed again
    libraries: Mapping[str, str]  # of jobs whose units it takes over
    attempts: int = 1  # this one included

    @cached_property
    def key(self) -> str:
        return self.parts.key()

    def code(self) -> Code:
        return code_state(find_method(self.wanted.stage)[1], self.wanted.modules)


def order_for(lookup: Lookup, wanted: Request, parts: Parts, anew: bool, retried: bool) -> Order:
    """Order a job, with the earlier jobs whose units it may take over."""
    ids, base, store, before = wanted.ids(), wanted.base(parts), lookup.store, lookup.before(wanted)
    options, alike = wanted.sent, dict[str, str]()
    previous = "" if before is None else before.job
    if base and not anew:  # else it would take over what it is to compute
        found = store.find_alike(base, previous, wanted.partition, -1 if wanted.grows else EARLIER_JOBS)
        alike = {each.job: each.libraries for each in found if not each.rejected}
        if alike and wanted.grows:
            ids[BEFORE] = most_grown = max(alike, key=lambda job: _amount(store, job, wanted.grows))
            alike = {most_grown: alike[most_grown]}
        elif alike:
            alike = dict(islice(alike.items(), EARLIER_JOBS))
            options = {**options, EARLIER: [*alike]}
    failed = store.find(parts.key()) if retried else None
    if failed is not None:
        options, alike = {**options, RETRIED: failed.job}, {**alike, failed.job: failed.libraries}
    reason = ASKED if anew else FAILED if failed else lookup.reason(wanted, parts)
    libraries = {name: each for of in alike.values() for name, each in json.loads(of).items()}
    how = lookup.pipeline, reason, previous, anew, failed, libraries
    return Order(wanted, parts, options, ids, base, *how)


def _amount(store: Store, job: str, grows: str) -> float:
    manifest = store.manifest_of(job)
    amount = None if manifest is None else manifest.parts.options[grows]
    return float(amount) if isinstance(amount, int | float) else -1


def make(
    urd: Urd,
    store: Store,
    order: Order,
    meter: Meter,
    number: Callable[[], int | None],
    reload: Callable[[], None],
) -> tuple[StoredJob, bool] | str:
    """Build a job: return it, and True if it is new; or what changed meanwhile, so that it is built again."""

    def build(force: bool) -> tuple[Path, bool]:
        began = time.time()
        request: client.Request = {
            "options": order.options,
            "jobs": order.jobs,
            "datasets": order.wanted.dataset_ids(),
            "caption": order.wanted.caption,
            "force_build": force,
        }
        with meter.measure():
            folder = client.build(urd, order.wanted.stage, request, number, reload)
        (folder / PROGRESS).unlink(missing_ok=True)
        # A server that was running when a job was set aside or deleted still thinks that it has it.
        return folder, (folder / FINISHED).is_file() and _post(folder)["starttime"] >= began

    with at_one_moment():
        is_as_now = client.is_loaded_as_now(order.wanted.stage)
        before = order.code()
    if not is_as_now:
        reload()  # once others have ended, which takes its time
        before = order.code()
    files = given_files(order.wanted.paths)
    is_gone = order.key in store.damaged or order.key in store.outdated
    folder, fresh = build(order.anew or order.retried is not None or is_gone)
    if not fresh:
        found = _take_over(store, order, folder)  # it was not recorded because a run was cut off
        if found is not None:
            return found, False
        folder, _ = build(True)
    evidence = evidence_of(folder, order.parts, before, files, order.libraries)
    if not evidence.changed and not evidence.unseen and not evidence.imported:
        for line in evidence.warnings(folder.name, order.wanted.stage):
            print(one_line(line), flush=True)
        cost = meter.cost(folder, _seconds(folder), cores_of_jobs(store.slices.now()))
        manifest = _manifest(store, order, folder, cost, evidence)
        if order.retried is not None and manifest.content == order.retried.content:  # it failed alike
            _discard(folder)
            return order.retried, False
        return store.add(folder, manifest), True
    (folder / FINISHED).replace(folder / SET_ASIDE)
    clear_checkpoint(folder)  # what it computed is of no use either
    if not evidence.changed:
        evidence.check(order.wanted.stage)
    print(one_line(f"{evidence.changed} while {folder.name} ran, or before; it is built again"), flush=True)
    reload()
    return evidence.changed


def _discard(folder: Path) -> None:
    """Delete a job that nobody needs as `shortloop gc` does."""
    (folder / FINISHED).replace(folder / DELETED)
    for file in folder.iterdir():
        if file.is_dir() and file.name != LOGS:  # of which the last lines may not be shown yet
            shutil.rmtree(file)
        elif not file.is_dir() and file.name not in ("setup.json", DELETED):
            file.unlink()


def cores_of_jobs(slices: int) -> int:
    return max(min(len(os.sched_getaffinity(0)), slices), 1)


def _take_over(store: Store, order: Order, folder: Path) -> StoredJob | None:
    """Return a job that exax knows and the index does not if it can be trusted."""
    if (manifest := store.whole(folder)) is not None:
        is_this = manifest.key == order.key and manifest.parts.is_installed
        return store.note(folder, manifest) if is_this else None
    uptime = time.clock_gettime(time.CLOCK_BOOTTIME)
    if (
        (folder / MANIFEST).exists()
        or not (folder / FINISHED).is_file()
        or time.time() - _post(folder)["starttime"] > uptime  # a power cut may have truncated its files
        or is_outdated(folder)
        or order.wanted.paths  # nobody knows what was in these files when it ran
    ):
        return None
    now, started = order.code(), _post(folder)["starttime"]
    if any(state[CHANGED] > 1e9 * started for _, state in now.watched):
        return None
    evidence = evidence_of(folder, order.parts, now, (), order.libraries)
    if evidence.changed or evidence.unseen or evidence.imported:
        return None
    return store.add(folder, _manifest(store, order, folder, {}, evidence))


def _manifest(store: Store, order: Order, folder: Path, cost: Cost, evidence: Evidence) -> Manifest:
    clear_checkpoint(folder)
    method = find_method(order.wanted.stage)[1]
    if order.wanted.modules or not declares_code(method):
        write_atomically(folder / EXTRA_CODE, extra_code(method, order.wanted.modules, order.parts.code))
    files = hash_outputs(folder, output_files(folder))
    rests_on = store.rests_on(folder, files)
    content, rejected = content_of_job(folder, files, rests_on)
    return Manifest(
        job=folder.name,
        key=order.key,
        parts=replace(order.parts, versions={**order.parts.versions, **evidence.libraries}),
        content=content,
        files=files,
        base=order.base if order.wanted.of_units or FAILED_UNITS not in files else "",  # none grows from it
        units=order.wanted.of_units,
        partition=order.wanted.partition,
        rejected=rejected,
        pipeline=order.pipeline,
        reason=order.reason,
        previous=order.previous,
        opened=[*evidence.opened, *(f"${name}" for name in evidence.variables)],
        rests_on=rests_on,
        cost={
            "seconds": _seconds(folder),
            "bytes": sum(size for size, _ in files.values()),
            **({"attempts": order.attempts} if order.attempts > 1 else {}),
            **cost,
        },
    )


def _seconds(folder: Path) -> float:
    return round(_post(folder)["exectime"]["total"], 6)


def _post(folder: Path) -> Setup:
    loaded: Setup = json.loads((folder / FINISHED).read_text(encoding="utf-8"))
    return loaded
