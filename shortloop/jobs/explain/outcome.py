"""Whether a job that was built once more came out the same, and else which of its arrays and files differ."""

from __future__ import annotations

from pathlib import Path

from shortloop.jobs.explain.phrases import short_list
from shortloop.jobs.store.job_files import NOTES
from shortloop.jobs.store.manifest import Manifest
from shortloop.worker.records import RECORD

__all__ = ["outcome"]

NAMED = 6  # in a line


def outcome(before: Manifest, now: Manifest, declared: bool = False) -> str:
    """How a job came out, against the one with the same key that was there before.

    Parameters
    ----------
    before, now : Manifest
        Of the two jobs.
    declared : bool, default False
        Whether their code differs, and that was declared harmless.

    Returns
    -------
    str
        One line.
    """
    if before.content == now.content:
        return f"{now.job} came out the same as {before.job}"
    differ = [
        name
        for name in sorted({*before.files, *now.files})
        if before.files.get(name) != now.files.get(name) and name not in NOTES
    ]
    # The record differs whenever an array does, or the versions in it: it is worth a word only by itself.
    named = [_word(name) for name in differ if name != RECORD] or ["what its record says"]
    words = f"{now.job} came out different from {before.job}: {short_list(named, NAMED)}"
    if declared:
        return f"{words}; the change between the two was declared harmless"
    return f"{words}; nothing that its key holds changed, so see that what it draws has a seed of its own"


def _word(file: str) -> str:
    return f"array {Path(file).stem}" if file.endswith(".npy") else f"file {file}"
