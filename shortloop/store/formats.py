"""Detect jobs in the format of another version of Shortloop."""

from __future__ import annotations

import json
from pathlib import Path

from shortloop.stages.records import FORMAT, RECORD
from shortloop.store.manifest import MANIFEST, OTHER_FORMAT, manifest_problem

__all__ = ["BEFORE", "is_outdated"]

BEFORE = ("seal.json",)
"""What the manifest was called before it had a format number."""


def is_outdated(folder: Path) -> bool:
    """Whether a job was kept in another format."""
    problem = manifest_problem(folder)
    if problem == OTHER_FORMAT:
        return True
    if problem is not None and not (folder / MANIFEST).exists():
        return any((folder / name).exists() for name in BEFORE)
    return _record_is_outdated(folder)


def _record_is_outdated(folder: Path) -> bool:
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    if not isinstance(record, dict) or not {"stage", "arrays"} <= record.keys():  # damaged, or not ours
        return False
    return bool(record.get("format", 0) != FORMAT)
