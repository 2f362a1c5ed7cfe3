"""Arrays and files of an unfinished job, kept so that a new run resumes there.

They are kept beside the jobs, in a folder that is named by a hash of what is computed, and linked into the
job's folder when all is done. What was written survives a killed process. It need not survive a power cut, as
the system may have held it in memory: after one, the job begins anew.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from shortloop.keys.hashing import digest
from shortloop.stages.coverage import indices_of
from shortloop.stages.records import EARLIER, RETRIED, take_space
from shortloop.stages.results import open_result
from shortloop.stages.retries import FAILED_UNITS
from shortloop.store.crash_repair import CHECKPOINTS
from shortloop.units.queue import Units
from shortloop.units.row_files import RowFiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike

    from shortloop.stages.stage import Stage

__all__ = ["Checkpoint", "clear_checkpoint", "take_good_units"]

FILES = "files"
FAILED = b"\2"


class Checkpoint:
    """Units of work of one job, and the arrays that they fill; made in ``prepare``, before the slices fork.

    Make the arrays with `create_array`, call `start`, and let the slices iterate. Iterating hands out the
    units that are left, as `Units` does; a unit counts as done when the next one is asked for. Call `finish`
    when all slices have ended.

    code: a hash of what code it runs beside that which exax knows.
    trusted: whether what a job that was cut off has left, in this folder, may be used. Default: it may.
    units: what its units are, as of `shortloop.stages.identity.digest_of_units`: of others, nothing is used.
        None: a unit is done when a row of it is kept, and fills no arrays. Rows are known by their keys.
    """

    def __init__(
        self,
        costs: int | Sequence[float],
        code: str = "",
        trusted: Callable[[Path], bool] = lambda job: True,
        units: bytes | None = b"",
    ) -> None:
        self._costs = [1.0] * costs if isinstance(costs, int) else list(costs)
        self._folder, self._lock = _open_folder(code, trusted, units)
        self._arrays: dict[str, np.memmap] = {}
        with (self._folder / "done").open("ab") as stream:
            stream.truncate(max(len(self._costs), 1))
        with (self._folder / "done").open("r+b") as stream:
            self._done = mmap.mmap(stream.fileno(), max(len(self._costs), 1))
        self._row_files = RowFiles(self._folder)
        self._taken: dict[int, bytes] = {}
        if units is None:
            self._done[:] = bytes(len(self._done))
        self._done[:] = self._done[:].replace(FAILED, b"\0")
        self._started: tuple[Units, list[int]] | None = None
        self._numbers: dict[int, int] | None = None  # of those that are left, among them

    def create_array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> np.memmap:
        """An array of the job, which holds what units have written before the job was cut off.

        If there is one of another shape or type, no unit counts as done any more.
        """
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
        take_space(file)
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

    def keep_rows(self, rows: Mapping[int, bytes]) -> None:
        """Keep what units gave, each whole or not at all; they are done."""
        self._row_files.keep(rows)
        for unit in rows:
            self._done[unit] = 1

    def rows_before(self) -> dict[bytes, bytes]:
        """What units gave before the job was cut off, by their keys."""
        return self._row_files.read_others()

    def take_row(self, unit: int, row: bytes) -> None:
        """Take over what a unit gave that is kept elsewhere; the unit is done."""
        self._taken[unit] = row
        self._done[unit] = 1

    def rows(self) -> list[bytes]:
        """What all units gave, in their order; all must be done."""
        rows = {**self._taken, **self._row_files.read()}
        return [rows[unit] for unit in range(len(self._costs))]

    def left(self) -> list[int]:
        """Units that are not done."""
        return [unit for unit in range(len(self._costs)) if not self._done[unit]]

    @property
    def costs(self) -> list[float]:
        """What each unit costs."""
        return self._costs

    def __len__(self) -> int:
        return len(self._costs)

    def start(self) -> None:
        """Begin to hand out units that are left. Call it when all arrays are made, before the slices fork."""
        left = self.left()
        self._started, self._numbers = (Units([self._costs[unit] for unit in left]), left), None

    def __iter__(self) -> Iterator[int]:
        assert self._started is not None, "start() comes first"
        units, left = self._started
        for drawn in units:
            yield left[drawn]
            self._done[left[drawn]] = 1

    def batches(self) -> Iterator[list[int]]:
        """Hand out the units that are left, several at a time; see `Units.batches`."""
        assert self._started is not None, "start() comes first"
        units, left = self._started
        for drawn in units.batches():
            batch = [left[each] for each in drawn]
            yield batch
            for unit in batch:
                self._done[unit] = 1

    def take(self, unit: int) -> None:
        """Take a unit as done, before handing out begins; what it gave is in the arrays."""
        self._done[unit] = 1

    def mark(self, unit: int, failed: bool = False) -> None:
        """A unit was computed elsewhere, and what it gave is kept."""
        assert self._started is not None, "start() comes first"
        units, left = self._started
        if self._numbers is None:
            self._numbers = {each: number for number, each in enumerate(left)}
        self._done[unit] = FAILED[0] if failed else 1
        units.finished(self._numbers[unit])

    def finish(self) -> list[str]:
        """Make files of the job, in the current folder, of what the units have left; all must be done."""
        assert all(self._done[: len(self._costs)])
        above = self._folder / FILES
        files = [str(file.relative_to(above)) for file in sorted(above.rglob("*")) if file.is_file()]
        for name in self._arrays:
            _link(self._folder / f"{name}.npy", Path(f"{name}.npy"))
        for file in files:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            _link(above / file, Path(file))
        return files


def _link(file: Path, here: Path) -> None:
    here.unlink(missing_ok=True)
    here.hardlink_to(file)


def clear_checkpoint(job: Path) -> None:
    """Delete the checkpoint of a finished job, which has links of its own to all files in it."""
    above = job.parent / CHECKPOINTS
    for folder in above.iterdir() if above.is_dir() else ():
        if _text(folder / "job") == job.name:
            shutil.rmtree(folder, ignore_errors=True)


def take_good_units(
    stage: Stage, job: Path, known: bytes | None, arrays: Mapping[str, np.ndarray], units: Checkpoint
) -> None:
    """Take over what units gave that did not fail in a job of the same key, if it had the same units."""
    try:
        plain = json.loads((job / FAILED_UNITS).read_text(encoding="utf-8"))
        failed, files = {unit for unit, _ in plain["tracebacks"]}, plain["files"]
        if known is None or plain["known"] != known.hex():
            return
    except (OSError, ValueError, KeyError, TypeError):
        return
    before = open_result(job).arrays
    for unit in {*units.left()} - failed:
        for name, where in indices_of(stage, unit, arrays).items():
            arrays[name][where] = before[name][where]
        units.take(unit)
    for name in files:
        units.keep_file(name, (job / name).read_bytes())


def _open_folder(code: str, trusted: Callable[[Path], bool], units: bytes | None) -> tuple[Path, TextIO]:
    """Where the job in the current folder keeps its units, for this process and its forks alone."""
    setup = json.loads(Path("setup.json").read_text(encoding="utf-8"))
    job = Path.cwd()
    options = {name: each for name, each in setup["options"].items() if name not in (EARLIER, RETRIED)}
    method = setup["method"], code or setup["hash"]  # of one's own code, comments do not count
    name = digest([*method, options, setup["jobs"], setup.get("datasets"), code])
    folder = job.parent / CHECKPOINTS / name
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # a job that was cut off has not ended yet
        folder = folder.with_name(f"{name}.{os.getpid()}")
        folder.mkdir()
        lock = (folder / "lock").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    before, known = _text(folder / "job"), "" if units is None else units.hex()
    if (
        _text(folder / "boot") != boot
        or _text(folder / "units") != known
        or (before and not trusted(job.parent / before))
    ):
        shutil.rmtree(folder / FILES, ignore_errors=True)
        for file in folder.iterdir():
            if file.name != "lock":
                file.unlink()
        (folder / "units").write_text(known, encoding="ascii")
        (folder / "boot").write_text(boot, encoding="ascii")
    (folder / "job").write_text(job.name, encoding="utf-8")
    return folder, lock


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""
