"""Units of large data, extracted once on each node and shared by its processes.

Where a stage made of a function takes its units from a large table, each process that opens it would hold the
table and the rows of all units. One of them has a fork do that, which writes what units read into a file and
ends; a unit's key is made from what was read there, so a job takes it only if its own unit reads the same.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shortloop.stages.content import content_of
from shortloop.stages.function import FoundUnits, UnitsStage
from shortloop.stages.references import here
from shortloop.stages.results import open_result
from shortloop.stages.stage import Stage
from shortloop.stages.task import Task, folders_of, kind_of, open_stage
from shortloop.units.messages import JobWork
from shortloop.units.node_cache import folder_of_node
from shortloop.units.parent_death import ends_with_this
from shortloop.units.refusing import check_refused
from shortloop.units.unit_file import UnitFile, Written, can_be_written, write_units

__all__ = ["open_shared", "state_of_libraries", "withdraw"]

WORTH = 32_000_000
"""Bytes that units must read, all together, before a file is worth it."""
PACKED = 4  # times as much memory as an input file has bytes
CHECKED = 16  # units that are read again, and compared
FORGOTTEN = 3600.0  # s after which stages that cannot be shared are tried again

_places: list[Path] = []


def open_shared(task: Task, work: JobWork, folder: Path) -> Stage:
    """Open a stage of a job in a process that computes some of its units."""
    kind = kind_of(task)
    if not issubclass(kind, UnitsStage) or _bytes_read(task) < WORTH:
        return open_stage(task)
    found = None
    with contextlib.suppress(OSError):
        found = _shared(task, _name(work), folder / ".units")
    if found is None:
        return open_stage(task)
    for module in found.about.modules:
        with contextlib.suppress(Exception):  # some are there for those alone that import them
            importlib.import_module(module)
    if state_of_libraries() != found.about.state:
        return open_stage(task)
    units = FoundUnits(found.about.names, found.about.costs, found)
    return open_stage(task, UnitsStage.give(units))


def state_of_libraries() -> dict[str, str]:
    """Settings of libraries that change numbers, and that whoever finds units may have changed."""
    found = {}
    for name, state in STATES.items():
        module = sys.modules.get(name)
        if module is not None:
            with contextlib.suppress(Exception):  # of a version that has it not
                found[name] = repr(state(module))
    return found


STATES: dict[str, Callable[[Any], object]] = {
    "decimal": lambda module: module.getcontext(),
    "locale": lambda module: module.setlocale(module.LC_ALL),
    "numpy": lambda module: module.geterr(),
    "pandas": lambda module: module.options.d,
    "torch": lambda module: (module.get_default_dtype(), module.are_deterministic_algorithms_enabled()),
}


def _bytes_read(task: Task) -> float:
    """About what all that a stage is given takes in memory."""
    total = 0.0
    for folder in folders_of(task):
        record = open_result(folder, task.where).record
        total += sum(8.0 * each["rows"] * len(each["columns"]) for each in record.get("tables", {}).values())
        total += sum(8.0 * math.prod(each["shape"]) for each in record["arrays"].values())
    options = json.dumps(task.options)
    for content, path in task.where.files.items():
        if content in options:
            total += PACKED * os.stat(path).st_size
    return total


def _name(work: JobWork) -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    said = json.dumps([work, boot], sort_keys=True, default=str)
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()


def _shared(task: Task, name: str, file: Path) -> UnitFile | None:
    """What units of a job read, in the file of this node; None if it cannot be shared."""
    base = Path(tempfile.gettempdir())
    above = base.parent if base.name.startswith("shortloop-") else base  # each forkserver has its own
    folder = folder_of_node(above / f"shortloop-units-{os.geteuid()}")
    place = folder / name
    with (folder / f"{name}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until whoever came first has written it
        if not place.exists():
            _sweep(folder)
            made = file.absolute() if _in_fork(lambda: _write(task, file)) else Path(os.devnull)
            part = folder / f"{name}.part"
            part.unlink(missing_ok=True)
            part.symlink_to(made)
            part.replace(place)
            _places.append(place)
        return UnitFile(place) if place.is_file() else None


def withdraw() -> None:
    """Say to no other process any more where the file of this one is: it is deleted."""
    for place in _places:
        with contextlib.suppress(OSError):
            place.unlink()
            place.with_suffix(".lock").unlink()
            place.parent.rmdir()  # if that was the last


def _sweep(folder: Path) -> None:
    """Delete links to files of processes that have ended, and what was tried long ago."""
    for place in folder.iterdir():
        with contextlib.suppress(OSError):
            is_old = time.time() - place.lstat().st_mtime > FORGOTTEN
            if place.suffix == ".lock":
                if is_old and not place.with_suffix("").is_symlink():
                    place.unlink()
            elif not place.exists() or (is_old and not place.is_file()):
                place.unlink()


def _in_fork(work: Callable[[], bool]) -> bool:
    """What a fork says that ends with it, and with all memory that it took."""
    follow = ends_with_this()
    process = os.fork()
    if not process:
        status = 1
        try:
            follow()
            status = 0 if work() else 1
        finally:  # an error is raised again where the stage is opened as always
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


def _write(task: Task, file: Path) -> bool:
    before, loaded = _private_bytes(), {*sys.modules}
    stage = open_stage(task)
    check_refused()
    assert isinstance(stage, UnitsStage)
    names, costs, reads = UnitsStage.found_by(stage)
    if here().changed or _private_bytes() - before < WORTH or not all(map(can_be_written, reads)):
        return False
    modules = [name for name in sys.modules if name not in loaded]
    write_units(file, reads, Written(names, costs, modules, state_of_libraries(), []))
    again = UnitFile(file)
    some = range(0, len(reads), max(1, len(reads) // CHECKED))
    return all(content_of(again[unit], str) == content_of(reads[unit], str) for unit in some)


def _private_bytes() -> int:
    with open("/proc/self/status", encoding="ascii", errors="replace") as stream:
        said = next(line for line in stream if line.startswith("RssAnon:"))
    return 1024 * int(said.split()[1])
