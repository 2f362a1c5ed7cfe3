"""exax's own record of a job, and its slices."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from shortloop.base.errors import InputError
from shortloop.project.project import FINISHED, configuration, job_directory

if TYPE_CHECKING:  # a server asks for slices, and nothing else
    from shortloop.stages.results import Setup


def setup_of(folder: Path) -> Setup:
    """Read exax's own record of a job; empty if it cannot be read."""
    return cast("Setup", json_object(f"{folder}/setup.json"))  # a `Path` takes its time for thousands


def title_of(setup: Setup) -> str:
    """Stage of a job, and its partition if it has one."""
    of = setup.get("options", {}).get("partition") or ""
    return f"{setup.get('method', '')} {of}".strip()


def json_object(file: str | Path) -> dict[str, object]:
    """Read an object from a JSON file; empty if it cannot be read."""
    try:
        with open(file, encoding="utf-8") as stream:
            loaded = json.load(stream)
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def whole_input(job: str) -> Path:
    """Folder of a job that another is made from, and that is still there."""
    folder = job_directory(job)
    if not (folder / FINISHED).exists():
        hint = "run its pipeline, which builds it again, and take the new job"
        raise InputError("an input of the job was deleted", found=job, hint=hint)
    return folder


class Slices:
    """Finds jobs whose files are split by another than the current number of slices."""

    def __init__(self, now: Callable[[], int]) -> None:
        self.now = cache(now)  # asked only if a job holds slices
        self.others: dict[str, tuple[str, int]] = {}  # by key: such a job, and its number

    def are_as_now(self, folder: Path, key: str, names: Collection[str]) -> bool:
        """True if a job can be used with the current number of slices."""
        names = names or os.listdir(folder)
        if not any(name.endswith(".0") or name.startswith("DS") for name in names):
            return True
        slices = int(json.loads((folder / "setup.json").read_text(encoding="utf-8"))["slices"])
        if not holds_slices(names, slices) or slices == self.now():
            return True
        self.others[key] = (folder.name, slices)
        return False


def wanted(setting: int) -> int:
    """Number of slices of a server with this setting."""
    cores = len(os.sched_getaffinity(0))
    return min(setting, cores) if setting > 0 else cores


def slices_configured() -> int:
    """Number of slices that a new server would have."""
    return wanted(configuration().slices)


def holds_slices(names: Collection[str], slices: int) -> bool:
    """True if files depend on the number of slices: exax's datasets, and what each slice saved."""
    present = set(names)
    first = [name[:-1] for name in present if name.endswith(".0")]
    saved = any(all(f"{name}{number}" in present for number in range(slices)) for name in first)
    return saved or any(name.split("/")[0] == "DS" for name in present)
