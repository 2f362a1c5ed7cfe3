"""Sensors of several types, which measure in units of their own and so are shown apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from shortloop.stages.results import Result

__all__ = ["Sensors", "measures", "responses", "sensors_of", "types_of"]

UNITS = {"mag": "T", "ref_meg": "T", "grad": "T/m", "csd": "V/m²"}  # of all others V
NAMES = {"T": "mag", "T/m": "grad", "V": "eeg", "V/m²": "csd"}
ELECTRODES = {"eeg": "EEG", "seeg": "sEEG", "ecog": "ECoG", "dbs": "DBS"}


class Sensors(NamedTuple):
    """Those of one type.

    name: of files.
    called: E.g. ``"magnetometers"``.
    unit: of what they measure.
    at: which of the channels.
    """

    name: str
    called: str
    unit: str
    at: list[int]


def types_of(imported: Sequence[Result], phase: str, channels: Sequence[str]) -> tuple[str, ...]:
    """Types of channels, as recordings say."""
    found = set()
    facts: list[Any] = [job.record["facts"] for job in imported]  # as they are: `Result.facts` copies them
    for recording in (each for known in facts for each in known.get("recordings", ())):
        if recording.get("phase") == phase:
            for account in recording.get("accounts", ()):
                known = dict(zip(recording["channels"], account.get("types", ()), strict=False))
                found.add(tuple(known.get(name, "") for name in channels))
    types = found.pop() if len(found) == 1 else ()
    return types if all(types) else ()


def sensors_of(types: Sequence[str]) -> list[Sensors]:
    """Sensors that measure in several units, apart."""
    units = [UNITS.get(each, "V") for each in types]
    there = [unit for unit in NAMES if unit in units]
    if len(there) < 2:
        return []
    found = []
    for unit in there:
        at = [index for index, each in enumerate(units) if each == unit]
        found.append(Sensors(NAMES[unit], _called(unit, {types[index] for index in at}, there), unit, at))
    return found


def measures(recordings: Sequence[Mapping[str, Any]]) -> list[str]:
    """What was recorded."""
    epochs = [each for each in recordings if each["kind"] == "epochs"]
    types = {
        kind for each in epochs for account in each.get("accounts", ()) for kind in account.get("types", ())
    }
    if types & {"mag", "grad", "ref_meg"}:
        return ["MEG", *(said for kind, said in ELECTRODES.items() if kind in types)]
    return [said for kind, said in ELECTRODES.items() if kind in types] or ["EEG"] * bool(
        epochs or not recordings
    )


def responses(unit: str) -> str:
    """What the mean signal over trials is called."""
    return f"event-related {'fields' if 'T' in unit else 'potentials'}"


def _called(unit: str, types: set[str], there: Sequence[str]) -> str:
    if unit == "T":  # axial gradiometers measure in T, too; but not beside planar ones
        return "magnetometers" if "T/m" in there else "MEG sensors"
    if unit == "T/m":
        return "planar gradiometers"
    if unit == "V/m²":
        return "channels of current source density"
    return (
        f"{ELECTRODES[types.pop()]} channels" if len(types) == 1 and types <= {*ELECTRODES} else "electrodes"
    )
