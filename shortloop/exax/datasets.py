"""exax datasets and per-slice files, read completely or not at all.

exax reads as many slices of a dataset as the reading job has, whatever their number. Its guard, a fixed
number for each workdir, is not used here. So exax does not find jobs again that hold another number of
slices, and reading from one is refused.

Made for exax 2025.11.11. Upstream: exax could check the number of slices of each job.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shortloop.base.errors import InputError
from shortloop.exax.listener import slices_now
from shortloop.exax.patches import patch
from shortloop.project.project import running_configuration
from shortloop.stages.dataset import Dataset
from shortloop.store.setup import holds_slices


def prepare_script() -> None:
    """Give the process of a build script the server's number of slices; elsewhere nothing."""
    if (cfg := running_configuration("build")) is not None:
        cfg.slices = slices_now()
        refuse_other_slices()


def forget_other_slices(slices: int) -> None:
    """Let the server pass over jobs that hold another number of slices."""
    from accelerator.database import DataBase, _paramsdict
    from accelerator.job import Job

    known: dict[str, bool] = {}  # jobs of another number, which are asked for at every update

    def is_other(job: str) -> bool:
        if (number := _paramsdict[job][0].slices) == slices:
            return False
        if job not in known:
            try:
                known[job] = holds_slices(os.listdir(Job(job).path), number)
            except OSError:  # deleted meanwhile
                return False
        return known[job]

    @patch(DataBase, "_update_finish")
    def finish(original: Any, self: Any, *arguments: Any, **more: Any) -> Any:
        done = original(self, *arguments, **more)
        for jobs in self.db_by_method.values():
            for job in [job for job in jobs if is_other(job)]:
                jobs.remove(job)
                self.db_by_workdir[job.rsplit("-", 1)[0]][job]["current"] = False
        return done


def know_workdirs(workdirs: Mapping[str, Path]) -> None:
    """Have exax find jobs and datasets in this process, which it has not started."""
    from accelerator.job import WORKDIRS

    WORKDIRS.update({name: str(folder) for name, folder in workdirs.items()})


def open_dataset(name: str) -> Dataset:
    from accelerator import dataset

    opened: Dataset = dataset.Dataset(name)
    return opened


def refuse_other_slices() -> None:
    """Refuse to read, not to open, other numbers of slices in this process and its forks."""
    from accelerator.dataset import Dataset
    from accelerator.job import Job

    lines = Dataset.lines.fget
    if hasattr(Job.filename, "__wrapped__"):  # done
        return

    def whole_lines(self: Any) -> Any:
        found = lines(self)
        _refuse(self.quoted, self.job, len(found) or None)
        return found

    @patch(Job, "filename")
    def whole_filename(filename: Any, self: Any, name: Any, sliceno: int | None = None) -> Any:
        if sliceno is not None:
            _refuse(f"{name} of {self}", self, self.params.slices)
        return filename(self, name, sliceno)

    def after_lines(original: Any, self: Any, *arguments: Any, **more: Any) -> Any:
        assert self.lines is not None
        return original(self, *arguments, **more)

    Dataset.lines = property(whole_lines)
    for name in ("column_filename", "link_to_here"):
        patch(Dataset, name)(after_lines)


def _refuse(what: str, job: str, found: int | None) -> None:
    from accelerator import g

    now = getattr(g, "slices", None)
    if None not in (found, now) and found != now:
        problem = f"{what} was written with another number of slices, so only a part of it would be read"
        hint = f"rebuild {job}, or start the server with SHORTLOOP_SLICES={found}"
        raise InputError(problem, found=f"{found} slices", expected=f"{now}, as jobs have now", hint=hint)
