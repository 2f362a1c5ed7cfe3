"""Making one job: exax builds it, its files are hashed, and a seal says what it is."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shortloop.engines.units import PROGRESS
from shortloop.jobs import exax
from shortloop.jobs.blocks import clear_blocks
from shortloop.jobs.code import code_files, code_state
from shortloop.jobs.cost import Meter
from shortloop.jobs.found import Found
from shortloop.jobs.keys import Parts, find_method
from shortloop.jobs.project import FINISHED, SET_ASIDE
from shortloop.jobs.seal import SEAL, Seal, content_of_job, hash_files, output_files
from shortloop.jobs.store import Store

__all__ = ["Order", "make"]


@dataclass(frozen=True)
class Order:
    """A job to be made.

    Parameters
    ----------
    method : str
        Name of the exax method.
    options : dict
        Its options.
    jobs : dict of str to (str or list of str)
        Ids of the jobs it is made from, by the names that the method gives them.
    caption : str
        What exax's lists say of it.
    parts : Parts
        What its key is made of.
    base : str
        Its key without the option in which it can grow; empty if there is none.
    participant : str or None
        Whose data; None: everybody's.
    pipeline : str
        What it is for: the build script and the study.
    reason : str
        Why it is built.
    previous : str
        The job in its place before; empty if there was none.
    """

    method: str
    options: Mapping[str, Any]
    jobs: Mapping[str, Any]
    caption: str
    parts: Parts
    base: str = ""
    participant: str | None = None
    pipeline: str = ""
    reason: str = ""
    previous: str = ""
    key: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", self.parts.key())


def make(urd: Any, store: Store, order: Order, meter: Meter | None = None) -> tuple[Found, bool] | None:
    """Make a job, or take over one that was finished but not sealed, as a run was cut off.

    Parameters
    ----------
    urd : accelerator.build.Urd
        As exax gives it to a build script.
    store : Store
        Where it is kept.
    order : Order
        The job.
    meter : Meter, optional
        Measures what it costs.

    Returns
    -------
    found : Found
        The job.
    fresh : bool
        Whether it was made now.
    None
        In place of both if the code changed since the order was drawn up, or since exax loaded it.

    Raises
    ------
    InputError
        As `exax.build`.
    """
    force = order.key in store.damaged
    meter = meter or Meter()
    exax.load_as_now(order.method)
    folder, fresh, cost = _build(urd, order, force, meter)
    if not fresh:
        found = _take_over(store, order, folder)
        if found is not None:
            return found, False
        folder, _, cost = _build(urd, order, True, meter)
    if _code_is_the_same(order, folder):
        return store.add(folder, _seal(order, folder, cost)), True
    # The files that it imported on the way may be of either version, so nobody may use it.
    print(f"the code of {order.method} changed since it was loaded; {folder.name} is built again", flush=True)
    (folder / FINISHED).replace(folder / SET_ASIDE)
    exax.reload_methods()
    return None


def _build(urd: Any, order: Order, force: bool, meter: Meter) -> tuple[Path, bool, dict[str, Any]]:
    before = time.time()
    with meter.measure() as cost:
        folder = exax.build(
            urd, order.method, options=order.options, jobs=order.jobs, caption=order.caption, force=force
        )
    (folder / PROGRESS).unlink(missing_ok=True)
    # A server that was running when a job was set aside or deleted still thinks that it has it.
    finished = (folder / FINISHED).is_file()
    return folder, finished and _post(folder)["starttime"] >= before, cost


def _take_over(store: Store, order: Order, folder: Path) -> Found | None:
    """A job that exax knows and the index does not, if it can be trusted."""
    seal = store.whole(folder)
    if seal is not None:
        return store.note(folder, seal) if seal.key == order.key else None
    if (folder / SEAL).exists() or not (folder / FINISHED).is_file() or not exax.made_since_boot(folder):
        return None
    started = _post(folder)["starttime"]
    files = code_files(find_method(order.method)[1])
    if any(file.stat().st_ctime > started for file in files) or not _code_is_the_same(order, folder):
        return None
    return store.add(folder, _seal(order, folder, {}))


def _code_is_the_same(order: Order, folder: Path) -> bool:
    setup = json.loads((folder / "setup.json").read_text(encoding="utf-8"))
    code, versions = code_state(find_method(order.method)[1])
    same = (code, versions) == (order.parts.code, order.parts.versions)
    return same and exax.loaded_now(order.method, setup["hash"])


def _seal(order: Order, folder: Path, cost: dict[str, Any]) -> Seal:
    clear_blocks(folder)
    files = hash_files(folder, output_files(folder))
    content, rejected = content_of_job(folder, files)
    seconds = round(_post(folder)["exectime"]["total"], 6)
    return Seal(
        job=folder.name,
        key=order.key,
        parts=order.parts,
        content=content,
        files=files,
        base=order.base,
        participant=order.participant,
        rejected=rejected,
        pipeline=order.pipeline,
        reason=order.reason,
        previous=order.previous,
        cost={"seconds": seconds, "bytes": sum(size for size, _ in files.values()), **cost},
    )


def _post(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / FINISHED).read_text(encoding="utf-8"))
    return loaded
