"""Units of large data, extracted once on each node and shared by its processes.

If a stage made of a function takes its units from a large table, each process that opens it would hold the
table and the rows of all units. One of them has a fork do that, which writes the data of units into a file
and ends. A unit's key is made from the data read there: a job takes it only if its own unit reads the same.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib
import itertools
import json
import math
import mmap
import os
import pickle
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from shortloop.base.plain import Plain
from shortloop.stages.content import content_of
from shortloop.stages.function import FoundUnits, UnitsStage
from shortloop.stages.references import here
from shortloop.stages.results import open_result
from shortloop.stages.stage import Stage
from shortloop.stages.task import Task, folders_of, kind_of, open_stage
from shortloop.units.messages import JobWork
from shortloop.units.node_cache import folder_of_node
from shortloop.units.process_ends import boot_id, ends_with_this, forked, proc_fields
from shortloop.units.sandbox import check_refused

WORTH = 32_000_000  # bytes of data of all units from which on a file is worth it
UNPACKED = 4.0  # bytes in memory per byte of an input file
CHECKED = 16  # units that are read again, and compared
RETRY = 3600.0  # s after which stages that cannot be shared are tried again
ALIGNED = 64  # bytes, as Arrow wants its memory
END = struct.Struct("<q")  # where the list of parts begins
SCALARS = (str, bytes, bool, int, float, type(None))
# Settings of libraries that change numbers, and that code which finds units may have changed.
STATES: dict[str, Callable[[Any], object]] = {
    "decimal": lambda module: module.getcontext(),
    "locale": lambda module: module.setlocale(module.LC_ALL),
    "numpy": lambda module: module.geterr(),
    "pandas": lambda module: module.options.d,
    "torch": lambda module: (module.get_default_dtype(), module.are_deterministic_algorithms_enabled()),
}

_places: list[Path] = []


def open_shared(task: Task, work: JobWork, folder: Path) -> Stage:
    """Open a stage of a job in a process that computes some of its units."""
    kind = kind_of(task)
    found = None
    if issubclass(kind, UnitsStage) and _bytes_read(task) >= WORTH:
        with contextlib.suppress(OSError):
            found = _shared(task, _name(work), folder / ".units")
    if found is None:
        return open_stage(task)
    for module in found.about.modules:
        with contextlib.suppress(Exception):  # some are there for those alone that import them
            importlib.import_module(module)
    if _state_of_libraries() != found.about.state:
        return open_stage(task)
    return open_stage(task, UnitsStage.give(FoundUnits(found.about.names, found.about.costs, found)))


def _state_of_libraries() -> dict[str, str]:
    found = {}
    for name in STATES.keys() & sys.modules.keys():
        with contextlib.suppress(Exception):  # of a version that has it not
            found[name] = repr(STATES[name](sys.modules[name]))
    return found


def _bytes_read(task: Task) -> float:
    """Estimated bytes in memory of all inputs of a stage."""
    total = 0.0
    for folder in folders_of(task):
        record = open_result(folder, task.where).record
        total += sum(8.0 * each["rows"] * len(each["columns"]) for each in record.get("tables", {}).values())
        total += sum(8.0 * math.prod(each["shape"]) for each in record["arrays"].values())
    options = json.dumps(task.options)
    for content, path in task.where.files.items():
        if content in options:
            total += UNPACKED * os.stat(path).st_size
    return total


def _name(work: JobWork) -> str:
    said = json.dumps([work, boot_id()], sort_keys=True, default=str)
    return hashlib.blake2b(said.encode(), digest_size=16).hexdigest()


def _shared(task: Task, name: str, file: Path) -> UnitFile | None:
    """The file of this node with the data of a job's units; None if they cannot be shared."""
    base = Path(tempfile.gettempdir())
    above = base.parent if base.name.startswith("shortloop-") else base  # each forkserver has its own
    folder = folder_of_node(above / f"shortloop-units-{os.geteuid()}")
    place = folder / name
    with (folder / f"{name}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the first process has written it
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
    """Remove the links to the file of this process, before the file is deleted."""
    for place in _places:
        with contextlib.suppress(OSError):
            place.unlink()
            place.with_suffix(".lock").unlink()
            place.parent.rmdir()  # if that was the last


def _sweep(folder: Path) -> None:
    """Delete links to files of processes that have ended, and notes of old attempts."""
    for place in folder.iterdir():
        with contextlib.suppress(OSError):
            is_old = time.time() - place.lstat().st_mtime > RETRY
            if place.suffix == ".lock":
                if is_old and not place.with_suffix("").is_symlink():
                    place.unlink()
            elif not place.exists() or (is_old and not place.is_file()):
                place.unlink()


def _in_fork(work: Callable[[], bool]) -> bool:
    """True if a fork succeeds, which frees all memory that it took."""
    follow = ends_with_this()

    def run() -> None:
        follow()
        if not work():
            raise SystemExit

    process = forked(run, (BaseException,))  # an error is raised again where the stage is opened as always
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
    write_units(file, reads, Written(names, costs, modules, _state_of_libraries(), []))
    again = UnitFile(file)
    some = range(0, len(reads), max(1, len(reads) // CHECKED))
    return all(content_of(again[unit], str) == content_of(reads[unit], str) for unit in some)


def _private_bytes() -> int:
    return 1024 * proc_fields("/proc/self/status")["RssAnon"]


class Written(NamedTuple):
    names: list[Plain]
    costs: list[float]
    modules: list[str]  # imported to find the units, in their order
    state: dict[str, str]
    parts: list[tuple[int, list[int]]]  # where each unit begins; bytes of its pickle and buffers


def can_be_written(value: object) -> bool:
    """True if a pickle keeps the order of values in memory, on which sums of floats depend."""
    if (kind := type(value)) in SCALARS:
        return True
    if kind in (list, tuple):
        return all(map(can_be_written, value))  # type: ignore[call-overload]
    if kind is dict:
        return all(can_be_written(each) for pair in value.items() for each in pair)  # type: ignore[attr-defined]
    given: Any = value
    numpy, pandas, polars = map(sys.modules.get, ("numpy", "pandas", "polars"))
    if numpy is not None and kind is numpy.ndarray:
        is_in_order = given.ndim < 2 or given.flags.c_contiguous or given.flags.f_contiguous
        return is_in_order and not given.dtype.hasobject
    if numpy is not None and isinstance(value, numpy.generic):
        return True
    if polars is not None and kind in (polars.DataFrame, polars.Series):
        frame = given if kind is polars.DataFrame else given.to_frame()
        return not any(each.n_chunks() > 1 or each.dtype == polars.Object for each in frame.iter_columns())
    if pandas is not None and kind in (pandas.DataFrame, pandas.Series):
        frame = given if kind is pandas.DataFrame else given.to_frame()
        return all(map(_is_in_one_piece, frame.dtypes, range(frame.shape[1]), [frame] * frame.shape[1]))
    return False


def _is_in_one_piece(kind: Any, place: int, frame: Any) -> bool:
    if not str(kind).endswith("[pyarrow]"):
        return not hasattr(kind, "subtype") and not str(kind).startswith("Sparse")
    return bool(frame.iloc[:, place].array.__arrow_array__().num_chunks <= 1)


def write_units(file: Path, reads: Sequence[object], about: Written) -> None:
    parts = []
    with file.open("wb") as stream:
        for each in reads:
            buffers: list[pickle.PickleBuffer] = []
            pickled = pickle.dumps(each, protocol=5, buffer_callback=buffers.append)
            pieces = [memoryview(pickled), *(buffer.raw() for buffer in buffers)]
            parts.append((stream.tell(), [len(piece) for piece in pieces]))
            for piece in pieces:
                stream.write(piece)
                stream.write(bytes(-len(piece) % ALIGNED))
        begin = stream.tell()
        stream.write(pickle.dumps(tuple(about._replace(parts=parts))))
        stream.write(END.pack(begin))


class UnitFile(Sequence[object]):
    """Data of units by number, read on access; only the last is kept."""

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        end = os.fstat(self._file).st_size - END.size
        (begin,) = END.unpack(os.pread(self._file, END.size, end))
        self.about = Written(*pickle.loads(self._read(begin, end - begin)))
        self._last: tuple[int, object] = -1, None

    def __len__(self) -> int:
        return len(self.about.parts)

    def __getitem__(self, unit: int) -> Any:  # type: ignore[override]
        if self._last[0] != unit:
            self._last = -1, None  # before the next one is there as well
            begin, lengths = self.about.parts[unit]
            room = [length + -length % ALIGNED for length in lengths]
            data = self._read(begin, sum(room))
            starts = itertools.accumulate(room, initial=0)
            pieces = [data[at : at + length] for at, length in zip(starts, lengths)]
            self._last = unit, pickle.loads(pieces[0], buffers=pieces[1:])
        return self._last[1]

    def _read(self, begin: int, size: int) -> memoryview:
        held = mmap.mmap(-1, size)
        view, at = memoryview(held), 0
        while at < size:
            if not (read := os.preadv(self._file, [view[at:]], begin + at)):
                raise EOFError("a file with data of units is cut off")
            at += read
        return view.toreadonly()
