"""What of a file the study wants: the events of its classes, the channels it does not drop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shortloop.eeg.formats.base import RecordedInput
from shortloop.errors import InputError

__all__ = ["class_of_event", "kept_channels"]


def class_of_event(settings: RecordedInput, classes: Sequence[str]) -> dict[str, int]:
    """The class that each event's name stands for.

    Parameters
    ----------
    settings : RecordedInput
        The study's input.
    classes : sequence of str
        Classes of the study.

    Returns
    -------
    dict of str to int
        Event names to indices into `classes`.

    Raises
    ------
    InputError
        If one event stands for two classes.
    """
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
    """The channels that are left after the study's `drop`.

    Parameters
    ----------
    names : sequence of str
        Channels that could be used.
    drop : sequence of str
        Channels to leave out.
    known : sequence of str
        All channels of the file: a name in `drop` that is none of them is a mistake.
    file : Path
        The file.
    participant : str
        Whose file it is.

    Returns
    -------
    list of str

    Raises
    ------
    InputError
        If `drop` names an unknown channel, or nothing is left.
    """
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
