"""What the jobs of the import and of the check say of recordings, with the names that files have today."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from shortloop.stages.inputs import renamed
from shortloop.stages.results import Result

__all__ = ["notes_of", "recordings_of"]

Names = Mapping[str, Sequence[str]]


def recordings_of(
    imported: Sequence[Result], checked: Sequence[Result], names: Names
) -> list[dict[str, Any]]:
    """What is known of each recording."""
    compared = {
        _whose(each): each["warnings"] for result in checked for each in result.facts.get("recordings", ())
    }
    found = []
    for result, now in _with_names(imported, names):
        for each in result.facts["recordings"]:
            warnings = compared.get(_whose(each), each.get("warnings", ()))
            found.append(
                {
                    **each,
                    "file": renamed(each["file"], now),
                    "warnings": [renamed(text, now) for text in warnings],
                }
            )
    return found


def notes_of(imported: Sequence[Result], checked: Sequence[Result], names: Names) -> list[str]:
    """What was noticed of recordings."""
    notes = [note for result in checked for note in _said(result, "notes", ())]
    for result, now in _with_names(imported, names):
        notes += [renamed(note, now) for note in _said(result, "notes", ())]
    return sorted(set(notes))


def _whose(recording: Mapping[str, Any]) -> tuple[str, str, str]:
    return recording["participant"], recording["phase"], recording["kind"]


def _said(result: Result, name: str, default: Any) -> Any:
    """One fact of a job, not to be changed: `facts` copies all of them."""
    return result.record["facts"].get(name, default)


def _with_names(imported: Sequence[Result], names: Names) -> Iterator[tuple[Result, dict[str, str]]]:
    """Each job, and what its files are called today, by what they were called when it was built."""
    following = {who: iter(every) for who, every in names.items()}
    for result in imported:
        then = [each["name"] for every in _said(result, "files", {}).values() for each in every]
        now = [name for _, name in zip(then, following.get(result.partition or "", ()))]
        pairs = zip((PurePath(name).name for name in then), now, strict=False)
        yield result, {old: new for old, new in pairs if old != new}
