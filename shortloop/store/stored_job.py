"""A finished, usable job."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shortloop.keys.own_code import is_own
from shortloop.stages.records import FAILED_UNITS, OBJECT, RECORD
from shortloop.store.manifest import Manifest

__all__ = ["StoredJob", "modules_of_objects"]


@dataclass(frozen=True)
class StoredJob:
    """A finished job that is whole.

    job: job id.
    path: its folder.
    content: hash of what it left.
    seconds: how long it took.
    rejected: whether it rejected its input.
    has_tables: whether it left tables.
    harmless: why it is used though its code or versions changed, as somebody has declared; empty: they did
        not.
    partition: which part of the data it is of; None: all.
    incomplete: true if units of it failed, which the next run computes again.
    """

    job: str
    path: Path
    content: str
    seconds: float
    rejected: bool
    has_tables: bool
    harmless: str = ""
    libraries: str = "{}"
    partition: str | None = None
    incomplete: bool = False
    modules: tuple[str, ...] = ()

    @classmethod
    def from_manifest(cls, folder: Path, manifest: Manifest) -> StoredJob:
        """A job by its manifest."""
        seconds = float(manifest.cost.get("seconds", 0))
        how = manifest.rejected, manifest.has_tables, "", manifest.parts.libraries_text, manifest.partition
        is_incomplete, modules = FAILED_UNITS in manifest.files, modules_of_objects(folder, manifest.files)
        return cls(manifest.job, folder, manifest.content, seconds, *how, is_incomplete, modules)


def modules_of_objects(folder: Path, files: Iterable[str]) -> tuple[str, ...]:
    """What reading the objects of a job imports: modules of one's own, and libraries by their first names."""
    if not any(name.endswith(OBJECT) for name in files):
        return ()
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        names = {name for each in record.get("objects", {}).values() for name in each["modules"]}
        return tuple(sorted({name if _is_own(name) else name.partition(".")[0] for name in names}))
    return ()


def _is_own(module: str) -> bool:
    """True of modules of one's own, also of those that are gone."""
    with suppress(ImportError, ValueError):
        spec = importlib.util.find_spec(module.partition(".")[0])
        if spec is not None:
            places = [spec.origin] if spec.has_location else [*(spec.submodule_search_locations or ())]
            return all(is_own(each) for each in places if each)
    return True
