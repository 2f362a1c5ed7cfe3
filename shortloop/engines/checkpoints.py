"""Arrays and files of a job that is not finished. They outlive it: a job that was cut off, and is started
again, goes on where it was.

They are kept beside the jobs, in a folder that is named by a hash of what is computed, and linked into the
job's folder when all is done. What was written survives a killed process. It need not survive a power cut, as
the system may have held it in memory: after one, the job begins anew.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import mmap
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from shortloop.engines.row_files import RowFiles
from shortloop.engines.units import Units
from shortloop.jobs.keys.digest import digest
from shortloop.worker.records import EARLIER, take_space

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike

__all__ = ["CHECKPOINTS", "Checkpoint", "clear_checkpoint", "kept_units"]

FILES = "files"
CHECKPOINTS = ".checkpoints"
"""Folder of a workdir with a folder for each job that was not finished."""


class Checkpoint:
    """Units of work of one job, and the arrays that they fill; made in ``prepare``, before the slices fork.

    Make the arrays with `create_array`, call `start`, and let the slices iterate. Iterating hands out the
    units that are left, as `Units` does; a unit counts as done when the next one is asked for. Call `finish`
    when all slices have ended.

    Parameters
    ----------
    costs : int or sequence of float
        As of `Units`, all units of the job.
    code : str, default ""
        A hash of what code it runs beside that which exax knows.
    trusted : callable
        Whether what a job that was cut off has left, in this folder, may be used. Default: it may.
    units : bytes, optional
        What its units are, as of `shortloop.worker.identity.digest_of_units`: of others, nothing is used.
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
        self._started: tuple[Units, list[int]] | None = None
        self._numbers: dict[int, int] | None = None  # of those that are left, among them

    def create_array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> np.memmap:
        """An array of the job, which holds what units have written before the job was cut off.

        If there is one of another shape or type, no unit counts as done any more.

        Parameters
        ----------
        name : str
            Name of the array.
        shape : tuple of int
            Its shape.
        dtype : dtype-like
            Its type.

        Returns
        -------
        numpy.memmap
            Mapped for writing by this process and its forks.
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
        """Keep a file of the job, whole or not at all.

        Parameters
        ----------
        name : str
            Its path below the job's folder.
        content : bytes
            What it holds.

        Raises
        ------
        ValueError
            If another unit has given one of that name.
        """
        file = self._folder / FILES / name
        if file.exists() and file.read_bytes() != content:  # a unit that was cut off gives the same again
            raise ValueError(f"two units give the file {name}, and not the same")
        file.parent.mkdir(parents=True, exist_ok=True)
        part = self._folder / f"part.{os.getpid()}"  # not beside the file: it is none of the job
        part.write_bytes(content)
        part.replace(file)

    def keep_row(self, unit: int, row: bytes) -> None:
        """Keep what a unit gave, whole or not at all; the unit is done.

        Parameters
        ----------
        unit : int
            Its number.
        row : bytes
            What it gave.
        """
        self._row_files.keep(unit, row)
        self._done[unit] = 1

    def rows_before(self) -> dict[bytes, bytes]:
        """What units gave before the job was cut off, by their keys.

        Returns
        -------
        dict of bytes to bytes
        """
        return self._row_files.read_others()

    def take_row(self, unit: int, row: bytes) -> None:
        """Take over what a unit gave that is kept elsewhere; the unit is done.

        Parameters
        ----------
        unit : int
            Its number.
        row : bytes
            What it gave.
        """
        self._taken[unit] = row
        self._done[unit] = 1

    def rows(self) -> list[bytes]:
        """What all units gave, in their order; all must be done.

        Returns
        -------
        list of bytes
        """
        rows = {**self._taken, **self._row_files.read()}
        return [rows[unit] for unit in range(len(self._costs))]

    def left(self) -> list[int]:
        """Units that are not done.

        Returns
        -------
        list of int
        """
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
        """Hand out the units that are left, several at a time; see `Units.batches`.

        Yields
        ------
        list of int
            Units, which count as done when the next ones are asked for.
        """
        assert self._started is not None, "start() comes first"
        units, left = self._started
        for drawn in units.batches():
            batch = [left[each] for each in drawn]
            yield batch
            for unit in batch:
                self._done[unit] = 1

    def mark(self, unit: int) -> None:
        """A unit was computed elsewhere, and what it gave is kept.

        Parameters
        ----------
        unit : int
            Its number.
        """
        assert self._started is not None, "start() comes first"
        units, left = self._started
        if self._numbers is None:
            self._numbers = {each: number for number, each in enumerate(left)}
        self._done[unit] = 1
        units.finished(self._numbers[unit])

    def finish(self) -> list[str]:
        """Make files of the job, in the current folder, of what the units have left; all must be done.

        Returns
        -------
        list of str
            The files beside the arrays, by path below the job's folder.
        """
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
    """Delete the checkpoint of a finished job, which has links of its own to all files in it.

    Parameters
    ----------
    job : Path
        The job's folder.
    """
    above = job.parent / CHECKPOINTS
    for folder in above.iterdir() if above.is_dir() else ():
        if _text(folder / "job") == job.name:
            shutil.rmtree(folder, ignore_errors=True)


def kept_units(workdir: Path) -> dict[str, tuple[int, int]]:
    """How many units of jobs that were cut off are kept.

    Parameters
    ----------
    workdir : Path
        The jobs' workdir.

    Returns
    -------
    dict of str to (int, int)
        How many are done, and how many there are, by job.
    """
    above, found = workdir / CHECKPOINTS, {}
    for folder in above.iterdir() if above.is_dir() else ():
        with contextlib.suppress(OSError):
            done = (folder / "done").read_bytes()
            found[_text(folder / "job")] = done.count(1), len(done)
    return found


def _open_folder(code: str, trusted: Callable[[Path], bool], units: bytes | None) -> tuple[Path, TextIO]:
    """Where the job in the current folder keeps its units, for this process and its forks alone."""
    setup = json.loads(Path("setup.json").read_text(encoding="utf-8"))
    job = Path.cwd()
    options = {name: each for name, each in setup["options"].items() if name != EARLIER}
    name = digest([setup["method"], setup["hash"], options, setup["jobs"], setup.get("datasets"), code])
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
