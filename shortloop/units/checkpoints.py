"""Checkpoints: arrays, rows and files of an unfinished job, from which a new run resumes.

They lie beside the jobs, in a folder named by a hash of the work, and are linked into the job's folder when
all units are done. They survive a killed process. After a power cut, or on another machine that shares the
folder, what the system may have held in memory need not be there: then only units count whose values are what
their hash says.
"""

from __future__ import annotations

import json
import mmap
import os
import shutil
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypedDict

from blake3 import blake3

from shortloop.keys.hashing import digest
from shortloop.stages.content import SIZE
from shortloop.stages.output import indices_of
from shortloop.stages.records import EARLIER, FAILED_UNITS, RETRIED, reserve_space
from shortloop.stages.results import open_result
from shortloop.store.crash_repair import CHECKPOINTS, locked_soon
from shortloop.store.setup import json_object
from shortloop.units.process_ends import boot_id
from shortloop.units.queue import Units

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike

    from shortloop.stages.stage import Stage

FILES = "files"
FAILED = b"\2"
PROOFS = "proofs."  # how files begin with hashes of what units gave: a line for some units, by one process
BOOT = "boot"  # file that names the boot of the machine since which all was written
FLUSH_EVERY = 5.0  # s
HEAD = struct.Struct("<qq16s")  # unit, length, and a hash of these and of the bytes


class Proof(TypedDict):
    """Hashes of what some units gave."""

    units: list[int]
    values: str  # of arrays
    files: dict[str, str]


class Checkpoint:
    """Units of one job, and the arrays that they fill; made in ``prepare``, before the slices fork."""

    def __init__(
        self,
        costs: Sequence[float],
        code: str = "",  # hash of the code that it runs beside that which exax knows
        trusted: Callable[[Path], bool] = lambda job: True,  # whether results of an unfinished job count
        units: bytes | None = b"",  # as of `digest_of_units`; None: rows are known by their own keys
    ) -> None:
        self.costs = costs
        self._folder, self._lock, self._is_proven = _open_folder(code, trusted, units)
        self._arrays: dict[str, np.memmap] = {}
        self._values: Callable[[Sequence[int]], bytes] | None = None
        self._kept: dict[str, str] = {}  # hashes of files of units that are not proven yet
        self._proofs: dict[int, int] = {}  # descriptor of the file of a process
        self._flushed = time.monotonic()
        with (self._folder / "done").open("a+b") as stream:
            stream.truncate(max(len(self.costs), 1))
            self._done = mmap.mmap(stream.fileno(), max(len(self.costs), 1))
        self._rows = f"rows.{os.urandom(8).hex()}."  # how its files of rows begin
        self._taken: dict[int, bytes] = {}
        if units is None:
            self._done[:] = bytes(len(self._done))
        self._done[:] = self._done[:].replace(FAILED, b"\0")
        self._units: Units  # when handing out has begun

    def create_array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> np.memmap:
        """An array of the job with values of units that are done; none is if its shape or type changed."""
        import numpy as np
        from numpy.lib.format import open_memmap

        file = self._folder / f"{name}.npy"
        try:
            array = open_memmap(file, mode="r+")
            fits = (array.shape, array.dtype) == (tuple(shape), np.dtype(dtype))
        except (OSError, ValueError):
            fits = False
        if not fits:
            self._done[:] = bytes(len(self._done))
            array = open_memmap(file, mode="w+", dtype=dtype, shape=shape)
        reserve_space(file)
        self._arrays[name] = array
        return array

    def keep_file(self, name: str, content: bytes) -> None:
        """Keep a file of the job, whole or not at all."""
        file = self._folder / FILES / name
        if file.exists() and file.read_bytes() != content:  # a unit that was cut off gives the same again
            raise ValueError(f"two units give the file {name}, and not the same")
        file.parent.mkdir(parents=True, exist_ok=True)
        part = self._folder / f"part.{os.getpid()}"  # not beside the file: it is none of the job
        part.write_bytes(content)
        part.replace(file)
        self._kept[name] = blake3(content).hexdigest()

    def prove(self, values: Callable[[Sequence[int]], bytes]) -> None:
        """Note hashes of the values of units, which the function gives, and forget what none proves."""
        self._values = values
        if self._is_proven:
            return
        lines = [line for file in self._folder.glob(f"{PROOFS}*") for line in file.read_bytes().splitlines()]
        proofs = [proof for proof in map(_proof_of, lines) if proof is not None]
        held = [proof for proof in proofs if self._holds(proof, values)]
        self._forget_but(
            {unit for proof in held for unit in proof["units"]},
            {name for proof in held for name in proof["files"]},
        )

    def _forget_but(self, units: set[int], files: set[str]) -> None:
        for unit in {*range(len(self.costs))} - units:
            self._done[unit] = 0
        above = self._folder / FILES
        for file in [each for each in above.rglob("*") if each.is_file()]:
            if str(file.relative_to(above)) not in files:
                file.unlink()
        # Last, as a process may end before: what is done is known to be there, as long as this machine runs.
        (self._folder / BOOT).write_text(boot_id(), encoding="ascii")
        self._is_proven = True

    def _holds(self, proof: Proof, values: Callable[[Sequence[int]], bytes]) -> bool:
        try:
            files = {name: (self._folder / FILES / name).read_bytes() for name in proof["files"]}
            hashes = {name: blake3(content).hexdigest() for name, content in files.items()}
            return hashes == proof["files"] and values(proof["units"]).hex() == proof["values"]
        except (OSError, IndexError):
            return False

    def _note(self, units: Sequence[int]) -> None:
        """Note what units gave that have just been computed, in one write: processes may be killed."""
        if self._values is None:
            return
        process, kept, self._kept = os.getpid(), self._kept, {}
        if process not in self._proofs:
            file = self._folder / f"{PROOFS}{process}.{os.urandom(4).hex()}"
            self._proofs[process] = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        proof: Proof = {"units": [*units], "values": self._values(units).hex(), "files": kept}
        text = json.dumps(proof).encode()
        os.write(self._proofs[process], blake3(text).hexdigest().encode() + text + b"\n")

    def _flush(self) -> None:
        """Flush finished units to disk every few seconds, so that another machine can resume."""
        if time.monotonic() < self._flushed + FLUSH_EVERY:
            return
        for array in self._arrays.values():
            array.flush()
        for descriptor in self._proofs.values():
            os.fsync(descriptor)
        for file in self._folder.glob(f"{self._rows}*"):
            with file.open("rb") as stream:
                os.fsync(stream.fileno())
        self._flushed = time.monotonic()

    def keep_rows(self, rows: Mapping[int, bytes]) -> None:
        """Keep rows of units in a file of this process, each whole or not at all; count these as done."""
        with (self._folder / f"{self._rows}{os.getpid()}").open("ab") as stream:
            for unit, row in rows.items():
                stream.write(HEAD.pack(unit, len(row), _hash(unit, len(row), row)) + row)
        for unit in rows:
            self._done[unit] = 1

    def rows(self) -> list[bytes]:
        """Rows of all units in their order; all must be done."""
        mine = sorted(self._folder.glob(f"{self._rows}*"))
        rows = self._taken | dict(pair for file in mine for pair in _rows_of(file))
        return [rows[unit] for unit in range(len(self.costs))]

    def rows_before(self) -> dict[bytes, bytes]:
        """Rows of earlier processes by their keys, as these may have numbered the units otherwise."""
        others = {*self._folder.glob("rows.*")} - {*self._folder.glob(f"{self._rows}*")}
        return {row[:SIZE]: row for file in sorted(others) for _, row in _rows_of(file)}

    def left(self) -> list[int]:
        return [unit for unit in range(len(self.costs)) if not self._done[unit]]

    def start(self) -> None:
        """Begin to hand out units that are left, when all arrays are made, before the slices fork."""
        if not self._is_proven:
            self._forget_but(set(), set())
        self._units = Units(self.costs, self.left())

    def batches(self) -> Iterator[list[int]]:
        """Hand out the units that are left, several at a time; see `Units.batches`."""
        for batch in self._units.batches():
            yield batch
            self._note(batch)
            for unit in batch:
                self._done[unit] = 1

    def take(self, unit: int, row: bytes = b"") -> None:
        """Count a unit as done, before handing out begins: its values are in the arrays, or in a row."""
        self._taken[unit] = row
        self._done[unit] = 1

    def mark(self, unit: int, failed: bool = False) -> None:
        """Count a unit as done that was computed elsewhere, and whose values are kept."""
        if not failed:
            self._note([unit])
        self._done[unit] = FAILED[0] if failed else 1
        self._units.finished(unit)
        self._flush()

    def finish(self) -> list[str]:
        """Link arrays and files of units into the current folder; list the files. All units must be done."""
        assert all(self._done[: len(self.costs)])
        above = self._folder / FILES
        files = [str(file.relative_to(above)) for file in sorted(above.rglob("*")) if file.is_file()]
        links = {Path(f"{name}.npy"): self._folder / f"{name}.npy" for name in self._arrays}
        for here, file in (links | {Path(file): above / file for file in files}).items():
            here.parent.mkdir(parents=True, exist_ok=True)
            here.unlink(missing_ok=True)
            here.hardlink_to(file)
        return files


def values_of(stage: Stage, arrays: Mapping[str, np.ndarray], units: Sequence[int]) -> bytes:
    """Hash the values of units in the arrays that they fill."""
    found = blake3()
    for unit in units:
        for name, where in indices_of(stage, unit, arrays).items():
            found.update(f"{unit} {name} ".encode() + arrays[name][where].tobytes())
    return found.digest(16)


def clear_checkpoint(job: Path) -> None:
    """Delete the checkpoint of a finished job, which has links of its own to all files in it."""
    for note in job.parent.glob(f"{CHECKPOINTS}/*/job"):
        if _text(note) == job.name:
            shutil.rmtree(note.parent, ignore_errors=True)


def take_good_units(
    stage: Stage, job: Path, known: bytes | None, arrays: Mapping[str, np.ndarray], units: Checkpoint
) -> None:
    """Take over units that did not fail in a job of the same key, if it had the same units."""
    noted: Any = json_object(job / FAILED_UNITS)
    if known is None or noted.get("known") != known.hex():
        return
    before = open_result(job).arrays
    for unit in {*units.left()} - {unit for unit, _ in noted["tracebacks"]}:
        for name, where in indices_of(stage, unit, arrays).items():
            arrays[name][where] = before[name][where]
        units.take(unit)
    for name in noted["files"]:
        units.keep_file(name, (job / name).read_bytes())


def _open_folder(
    code: str, trusted: Callable[[Path], bool], units: bytes | None
) -> tuple[Path, TextIO, bool]:
    """Open the checkpoint of the job in the current folder, for this process and its forks alone.

    The last value is true if all that it holds was written since this machine has begun.
    """
    setup = json.loads(Path("setup.json").read_text(encoding="utf-8"))
    job = Path.cwd()
    options = {name: each for name, each in setup["options"].items() if name not in (EARLIER, RETRIED)}
    method = setup["method"], code or setup["hash"]  # in the user's code, comments do not count
    name = digest([*method, options, setup["jobs"], setup.get("datasets"), code])
    folder = job.parent / CHECKPOINTS / name
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder / "lock").open("w")
    if not locked_soon(lock):  # a job that was killed holds it until all of its memory is given back
        folder = folder.with_name(f"{name}.{os.getpid()}")  # where no other job looks
        folder.mkdir()
    before, known = _text(folder / "job"), "" if units is None else units.hex()
    is_proven = units is None or _text(folder / BOOT) == boot_id()  # rows have hashes of their own
    if _text(folder / "units") != known or (before and not trusted(job.parent / before)):
        shutil.rmtree(folder / FILES, ignore_errors=True)
        for file in folder.iterdir():
            if file.name != "lock":
                file.unlink()
        (folder / "units").write_text(known, encoding="ascii")
        (folder / BOOT).write_text(boot_id(), encoding="ascii")
        is_proven = True
    (folder / "job").write_text(job.name, encoding="utf-8")
    return folder, lock, is_proven


def _proof_of(line: bytes) -> Proof | None:
    known, text = line[:64], line[64:]
    return json.loads(text) if blake3(text).hexdigest().encode() == known else None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""


def _rows_of(file: Path) -> Iterator[tuple[int, bytes]]:
    data, at = file.read_bytes(), 0
    while at + HEAD.size <= len(data):
        unit, length, known = HEAD.unpack_from(data, at)
        row = data[at + HEAD.size : at + HEAD.size + length]
        if length < 0 or _hash(unit, length, row) != known:
            return  # cut off while it was written; nothing comes after
        yield unit, row
        at += HEAD.size + length


def _hash(unit: int, length: int, row: bytes) -> bytes:
    return blake3(struct.pack("<qq", unit, length) + row).digest(16)
