"""Verify a job against its manifest by reading all of it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from shortloop.base.plain import Plain
from shortloop.keys.file_state import other_than
from shortloop.keys.hashing import canonical
from shortloop.stages.records import RECORD
from shortloop.store.job_files import content_of_job, hash_outputs, output_files
from shortloop.store.manifest import Manifest

__all__ = ["CONTENT", "added_files", "damage"]

CONTENT = re.compile(r"[0-9a-f]{64}( .+)?", re.DOTALL)  # with the name of the file, if it counts
"""What hashes of contents look like."""
READ_BY_NAME = (".npy", ".npz", ".pickle", ".pkl")


def damage(folder: Path, manifest: Manifest) -> str | None:
    """What is wrong with a job, after reading all of it."""
    try:
        present = set(output_files(folder))
    except OSError:
        return "its folder is missing"
    for name, (size, _) in manifest.files.items():
        if name not in present:
            return f"{name} is missing"
        what = other_than(folder / name, size)
        if what is not None:
            return f"{name} {what}"
    try:
        files = hash_outputs(folder, sorted(manifest.files))
    except OSError as error:
        return f"{error.filename or 'a file'} cannot be read: {error.strerror}"
    for name, known in manifest.files.items():
        if files[name] != known:
            return f"{name} was altered"
    return _added_result(folder, manifest) or _forged(folder, manifest, files)


def added_files(folder: Path, manifest: Manifest) -> list[str]:
    """Files in a recorded job's folder that it did not write; output and dotfiles are not counted."""
    return [name for name in output_files(folder) if name not in manifest.files]


def _added_result(folder: Path, manifest: Manifest) -> str | None:
    """Whoever reads a job opens its files by name, and would take these for its results."""
    for name in added_files(folder, manifest):
        if name == RECORD or name.endswith(READ_BY_NAME):
            return f"has a file that it did not leave: {name}"
    return None


def _forged(folder: Path, manifest: Manifest, files: dict[str, tuple[int, str]]) -> str | None:
    """What the manifest says of files that are as it says, and that they do not say."""
    try:
        content, rejected = content_of_job(folder, files, manifest.rests_on)
        setup = json.loads((folder / "setup.json").read_text(encoding="utf-8"))
        method = f"{setup['package']}.{setup['method']}"
        options = setup["options"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return "what it left cannot be read, though it is as it was recorded"
    if content != manifest.content:
        return "its manifest names another content than its files have"
    if rejected != manifest.rejected:
        return f"its manifest says that it {'did not reject' if rejected else 'rejected'} its input"
    if method != manifest.parts.method:
        return f"its manifest says {manifest.parts.method}, and setup.json {method}"
    for name, given in manifest.parts.options.items():
        if name not in options or _differ(given, options[name]):
            noted = canonical(options[name]) if name in options else "none"
            return f"its manifest says {name} = {canonical(given)}, and setup.json {noted}"
    return None


def _differ(given: Plain, noted: Plain) -> bool:
    """Whether an option that exax noted cannot come from the one it was given.

    exax turns values into the type of the method's default: a text into a number, a list into a set, and a
    short tuple into one that the default completes.
    """
    if isinstance(given, dict) and isinstance(noted, dict):
        return given.keys() != noted.keys() or any(_differ(each, noted[name]) for name, each in given.items())
    if isinstance(given, list) and isinstance(noted, list):
        if noted != given and [*map(canonical, noted)] == sorted({canonical(each) for each in given}):
            return False
        return len(given) > len(noted) or any(map(_differ, given, noted))
    if (
        isinstance(given, str)
        and isinstance(noted, str)
        and CONTENT.fullmatch(given)
        and os.path.isabs(noted)
    ):
        return False  # a file that exax was given as a path
    alike = type(given) is type(noted) or {type(given), type(noted)} == {int, float}
    return alike and bool(given != noted)
