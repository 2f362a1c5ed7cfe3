"""What of a file the study wants: the events of its classes, the channels it does not drop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.eeg.formats.base import RecordedInput

__all__ = ["class_of_event", "kept_channels"]


def class_of_event(settings: RecordedInput, classes: Sequence[str]) -> dict[str, int]:
    """The class that each event's name stands for."""
    found: dict[str, int] = {}
    for index, name in enumerate(classes):
        for event in settings.events_of(name):
            if found.setdefault(event, index) != index:
                raise InputError(
                    "an event belongs to two classes",
                    field="input.events",
                    found=f"{event} in {classes[found[event]]} and {name}",
                    expected="each event in one class",
                    hint="correct [input.events] in the study file",
                )
    return found


def kept_channels(
    names: Sequence[str], drop: Sequence[str], *, known: Sequence[str], file: Path, participant: str
) -> list[str]:
    """The channels that are left after the study's `drop`."""
    unknown = [name for name in drop if name not in known]
    kept = [name for name in names if name not in drop]
    if unknown or not kept:
        raise InputError(
            "a channel to drop is not in the file" if unknown else "no channels are left",
            participant=participant,
            file=file,
            field="input.drop",
            found=", ".join(unknown) if unknown else f"dropped: {', '.join(drop) or 'none'}",
            expected=f"names among {', '.join(known)}",
            hint="correct input.drop in the study file",
        )
    return kept
