"""Files of a job: names, content, and evidence of changes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from shortloop.base.plain import Plain
from shortloop.keys.file_state import plain_size
from shortloop.keys.hashing import digest, hash_file
from shortloop.stages.records import FAILED_UNITS, RECORD, ROWS
from shortloop.store.datasets import dataset_content, is_description
from shortloop.store.manifest import MANIFEST

__all__ = ["LOGS", "NOTES", "States", "content_of_job", "hash_outputs", "output_files", "states_of"]

NOTES = ("setup.json", "post.json", "method.tar.gz", ROWS, FAILED_UNITS)
"""Part of what is checked, but no result: exax's own notes of a job, and what its units gave, each under the
hash of what it read."""
LOGS = "OUTPUT"  # what a job printed; it may still be written when the job is done
VOLATILE = ("versions", "threads", "taken", "engine", "attempts", "objects")  # in a record: what no result is
States = list[list[str | int]]
"""For each file its name, and what changes when the file does; as of `states_of`."""


def output_files(folder: Path) -> list[str]:
    """Files of a finished job, by path below its folder, but for its manifest and what it printed."""
    found = []
    waiting = [""]
    while waiting:
        below = waiting.pop()
        with os.scandir(folder / below) as entries:
            for entry in entries:
                name = f"{below}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if name != LOGS:
                        waiting.append(f"{name}/")
                elif name != MANIFEST and not entry.name.startswith("."):
                    found.append(name)
    return sorted(found)


def hash_outputs(folder: Path, names: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Size and hash of files, of which none may be a link or a pipe; several are read at the same time."""

    def one(name: str) -> tuple[int, str]:
        read: list[int] = []
        found = hash_file(folder / name, read.append)
        return sum(read), found

    sizes = {name: plain_size(folder / name) for name in names}
    if sum(sizes.values()) < 10_000_000:  # threads cost more than they save
        return {name: one(name) for name in names}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return dict(zip(names, pool.map(one, names), strict=True))


def content_of_job(
    folder: Path, files: dict[str, tuple[int, str]], rests_on: Mapping[str, str] | None = None
) -> tuple[str, bool]:
    """What a job left, whenever and however it was made."""
    rejected = False
    results: dict[str, Plain] = {name: found for name, (_, found) in files.items() if name not in NOTES}
    for name in filter(is_description, files if rests_on else ()):
        results[name] = dataset_content(folder / name, rests_on or {}) or results[name]
    if RECORD in results:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        # Facts as text: the next stage sees their order.
        kept = {name: json.dumps(value) for name, value in record.items() if name not in VOLATILE}
        results[RECORD] = kept
        rejected = record.get("problem") is not None
    return digest(results), rejected


def states_of(folder: Path, names: Sequence[str]) -> States:
    """What changes when one of the files is changed, cut short, replaced or touched."""
    above = f"{folder}/"
    found = [(name, os.stat(above + name)) for name in names]
    return [[name, at.st_dev, at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns] for name, at in found]
