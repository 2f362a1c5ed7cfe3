"""Making one job: exax builds it, its files are hashed, and a manifest says what it is."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from shortloop.engines.checkpoints import clear_checkpoint
from shortloop.engines.units import PROGRESS
from shortloop.jobs.exax import client
from shortloop.jobs.exax.client import JobIds, Urd
from shortloop.jobs.exax.cost import Meter
from shortloop.jobs.exax.evidence import Evidence, evidence_of, given_files
from shortloop.jobs.keys.code import CODE_BESIDE, Code, code_beside, code_state, says_code
from shortloop.jobs.keys.file_state import CHANGED
from shortloop.jobs.keys.key import Parts
from shortloop.jobs.keys.methods import find_method
from shortloop.jobs.project import FINISHED, SET_ASIDE, write_atomically
from shortloop.jobs.store.formats import is_outdated
from shortloop.jobs.store.job_files import content_of_job, hash_outputs, output_files
from shortloop.jobs.store.manifest import MANIFEST, Cost, Manifest
from shortloop.jobs.store.store import Store
from shortloop.jobs.store.stored_job import StoredJob
from shortloop.plain import Plain
from shortloop.text import one_line
from shortloop.worker.records import RECORD
from shortloop.worker.results import Setup

__all__ = ["Order", "make"]


@dataclass(frozen=True)
class Order:
    """A job to be made.

    Parameters
    ----------
    method : str
        Name of the exax method.
    options : dict
        Its options, as exax is given them.
    jobs : dict of str to (str or list of str)
        Ids of the jobs it is made from, by the names that the method gives them.
    caption : str
        What exax's lists say of it.
    parts : Parts
        What its key is made of.
    base : str
        As of its manifest.
    units : list of str
        As of its manifest.
    partition : str or None
        Which part of the data; None: all.
    pipeline : str
        What it is for: the build script and the name of its settings.
    reason : str
        Why it is built.
    previous : str
        The job in its place before; empty if there was none.
    modules : tuple of str
        Modules that it imports by a name that its code does not say.
    anew : bool
        Whether it is made even if it is there.
    datasets : dict of str to (str or list of str)
        As `jobs`, of the datasets that it is made from: with their own names, ``"main-12/default"``.
    paths : dict of str to str
        Content of each file that it is given as a path.
    libraries : dict of str to str
        Libraries that earlier jobs had loaded for the units that it takes over.
    """

    method: str
    options: Mapping[str, Plain]
    jobs: Mapping[str, JobIds]
    caption: str
    parts: Parts
    base: str = ""
    units: list[str] = field(default_factory=list)
    partition: str | None = None
    pipeline: str = ""
    reason: str = ""
    previous: str = ""
    modules: tuple[str, ...] = ()
    anew: bool = False
    datasets: Mapping[str, JobIds] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    libraries: Mapping[str, str] = field(default_factory=dict)
    key: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", self.parts.key())

    def code(self) -> Code:
        """The code of its method as it is now.

        Returns
        -------
        Code
        """
        return code_state(find_method(self.method)[1], self.modules)


def make(urd: Urd, store: Store, order: Order, meter: Meter | None = None) -> tuple[StoredJob, bool] | str:
    """Make a job, or take over one that was finished but not recorded, as a run was cut off.

    Parameters
    ----------
    urd : Urd
        As exax gives it to a build script.
    store : Store
        Where it is kept.
    order : Order
        The job.
    meter : Meter, optional
        Measures what it costs.

    Returns
    -------
    found : StoredJob
        The job.
    fresh : bool
        Whether it was made now.
    str
        In place of both, what changed meanwhile, if what it loaded and read is not what its key says.

    Raises
    ------
    InputError
        As `client.build`, and if it has loaded code that its key does not see.
    """
    force = order.anew or order.key in store.damaged or order.key in store.outdated
    meter = meter or Meter()
    client.load_as_now(order.method)
    before, files = order.code(), given_files(order.paths)
    folder, fresh, cost = _build(urd, order, force, meter)
    if not fresh:
        found = _take_over(store, order, folder)
        if found is not None:
            return found, False
        folder, _, cost = _build(urd, order, True, meter)
    evidence = evidence_of(folder, order.parts, before, files, order.libraries)
    if not evidence.changed and not evidence.unseen and not evidence.imported:
        if evidence.opened:
            print(one_line(evidence.warning(folder.name, order.method)), flush=True)
        return store.add(folder, _manifest(store, order, folder, cost, evidence)), True
    (folder / FINISHED).replace(folder / SET_ASIDE)
    clear_checkpoint(folder)  # what it computed is of no use either
    if not evidence.changed:
        evidence.check(order.method)
    print(one_line(f"{evidence.changed} while {folder.name} ran, or before; it is built again"), flush=True)
    client.reload_methods()
    return evidence.changed


def _build(urd: Urd, order: Order, force: bool, meter: Meter) -> tuple[Path, bool, Cost]:
    before = time.time()
    with meter.measure() as cost:
        folder = client.build(
            urd,
            order.method,
            options=order.options,
            jobs=order.jobs,
            datasets=order.datasets,
            caption=order.caption,
            force=force,
        )
    (folder / PROGRESS).unlink(missing_ok=True)
    # A server that was running when a job was set aside or deleted still thinks that it has it.
    finished = (folder / FINISHED).is_file()
    return folder, finished and _post(folder)["starttime"] >= before, cost


def _take_over(store: Store, order: Order, folder: Path) -> StoredJob | None:
    """A job that exax knows and the index does not, if it can be trusted."""
    manifest = store.whole(folder)
    if manifest is not None:
        is_this = manifest.key == order.key and manifest.parts.is_installed
        return store.note(folder, manifest) if is_this else None
    if (
        (folder / MANIFEST).exists()
        or not (folder / FINISHED).is_file()
        or not client.made_since_boot(folder)
        or is_outdated(folder)
        or order.paths  # nobody knows what was in these files when it ran
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
    method = find_method(order.method)[1]
    if order.modules or not says_code(method):
        write_atomically(folder / CODE_BESIDE, code_beside(method, order.modules, order.parts.code))
    files = hash_outputs(folder, output_files(folder))
    rests_on = store.rests_on(folder, files)
    content, rejected = content_of_job(folder, files, rests_on)
    seconds = round(_post(folder)["exectime"]["total"], 6)
    return Manifest(
        job=folder.name,
        key=order.key,
        parts=replace(order.parts, versions={**order.parts.versions, **evidence.libraries}),
        content=content,
        files=files,
        base=order.base,
        units=order.units,
        partition=order.partition,
        rejected=rejected,
        pipeline=order.pipeline,
        reason=order.reason,
        previous=order.previous,
        opened=evidence.opened,
        rests_on=rests_on,
        cost={
            "seconds": seconds,
            "bytes": sum(size for size, _ in files.values()),
            **_with_workers(cost, seconds, folder),
        },
    )


def _with_workers(cost: Cost, seconds: float, folder: Path) -> Cost:
    """What a job took, with what its engine's workers did, which no look at its own processes shows."""
    try:
        engine = json.loads((folder / RECORD).read_text(encoding="utf-8")).get("engine") or {}
    except FileNotFoundError:  # of a method of others
        return cost
    if "cpu_seconds" not in engine or "cpu_seconds" not in cost:
        return cost
    cpu = round(cost["cpu_seconds"] + engine["cpu_seconds"], 2)
    cost = {**cost, "cpu_seconds": cpu}
    if "utilisation" in cost:
        cost["utilisation"] = round(cpu / (seconds * engine["workers"]), 3)
    if engine.get("early"):  # these seconds are not in those of the job
        cost.pop("utilisation", None)
    return cost


def _post(folder: Path) -> Setup:
    loaded: Setup = json.loads((folder / FINISHED).read_text(encoding="utf-8"))
    return loaded
