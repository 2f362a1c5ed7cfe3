"""Sensors: their types, which are shown apart as their units differ, and their positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.eeg.data import mean_positions
from shortloop.stages.results import Result

UNITS = {"mag": "T", "ref_meg": "T", "grad": "T/m", "csd": "V/m²"}  # of all others V
NAMES = {"T": "mag", "T/m": "grad", "V": "eeg", "V/m²": "csd"}
ELECTRODES = {"eeg": "EEG", "seeg": "sEEG", "ecog": "ECoG", "dbs": "DBS"}
CALLED = {"T/m": "planar gradiometers", "V/m²": "channels of current source density"}
# Of the 10-05 system in MNE, from version 1.13 on and before:
SYSTEMS = ("colin27_1005", "standard_1005")
SENSORS = {"T": "mag", "T/m": "grad"}  # types of MEG sensors, by the unit of their signal
FEWEST = 6  # channels of a topography
SHARE = 0.75  # of the channels must have a position
NEAR, FAR = 0.05, 0.15  # m, of electrodes from between the ears, on heads of all sizes
APART = 1e-3  # m, least distance of two electrodes
ASIDE = 0.03  # m, from where on it is clear which side of the head a channel is on
AGREEING = 0.7  # mean cosine of the angle, seen from above, between a position and that of the name


class Sensors(NamedTuple):
    name: str  # in file names
    called: str  # e.g. "magnetometers"
    unit: str  # of their signal
    at: list[int]  # indices of the channels


@dataclass(frozen=True)
class Positions:
    """Positions of channels in recordings."""

    at: FloatArray | None  # (channels, 3), m
    source: str  # "file", or the montage that the study names
    turned: bool = False  # some were left out, as they contradict the names of the channels
    sensors: str = "eeg"  # MNE's type; axial gradiometers, as of CTF, are "mag"


@dataclass(frozen=True)
class Topography:
    channels: tuple[str, ...]  # that have a position
    info: Any  # of these, with their positions
    said: str  # source of the positions, and type of the sensors
    pairs: bool = False  # two channels, planar gradiometers, follow each other and share a position

    def values_of(self, values: FloatArray) -> FloatArray:
        """Return values of positions, (..., positions), for those of `channels`, (..., channels)."""
        # Of pairs it is the root mean square, as one gradiometer alone has no place in a topography.
        if not self.pairs:
            return values
        return np.asarray(np.sqrt((values.reshape(*values.shape[:-1], -1, 2) ** 2).mean(axis=-1)))


def types_of(imported: Sequence[Result], phase: str, channels: Sequence[str]) -> tuple[str, ...]:
    """Return the types of channels; empty if recordings do not say them, or differ."""
    found = set()
    for job in imported:
        facts: Any = job.record["facts"]  # without the copies of `Result.facts`
        for recording in facts.get("recordings", ()):
            for account in recording.get("accounts", ()) if recording.get("phase") == phase else ():
                known = dict(zip(recording["channels"], account.get("types", ()), strict=False))
                found.add(tuple(known.get(name, "") for name in channels))
    types = found.pop() if len(found) == 1 else ()
    return types if all(types) else ()


def sensors_of(types: Sequence[str]) -> list[Sensors]:
    """Divide sensors by the units of their signals; empty if all have one unit."""
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
    epochs = [each for each in recordings if each["kind"] == "epochs"]
    types = {kind for each in epochs for of in each.get("accounts", ()) for kind in of.get("types", ())}
    found = ["MEG"] * bool(types & {"mag", "grad", "ref_meg"})
    found += [said for kind, said in ELECTRODES.items() if kind in types]
    return found or ["EEG"] * bool(epochs or not recordings)


def responses(unit: str) -> str:
    return f"event-related {'fields' if 'T' in unit else 'potentials'}"


def _called(unit: str, types: set[str], there: Sequence[str]) -> str:
    if unit == "T":  # axial gradiometers measure in T, too; but not beside planar ones
        return "magnetometers" if "T/m" in there else "MEG sensors"
    if unit in CALLED:
        return CALLED[unit]
    (kind, *others) = types
    return f"{ELECTRODES[kind]} channels" if kind in ELECTRODES and not others else "electrodes"


def positions_of(
    imported: Sequence[Result], phase: str, channels: Sequence[str], unit: str = ""
) -> Positions | None:
    """Return the mean positions of channels in recordings; None if there are none."""
    imported = [job for job in imported if f"positions_{phase}" in job.arrays]
    units = {unit or str(job.facts["phases"][phase].get("unit")) for job in imported}
    sensors = SENSORS.get(units.pop(), "eeg") if len(units) == 1 else "eeg"
    heads = []
    for job in imported:
        own = job.facts["phases"][phase]["channels"]
        places = dict(zip(own, job.arrays[f"positions_{phase}"], strict=True))
        at = np.array([places.get(name, np.full(3, np.nan)) for name in channels])
        if _is_head_sized(at, sensors):
            heads.append(at)
    if not heads:
        return None
    names = known_names(tuple(channels))
    kept = [each for each in heads if _agrees_with_names(channels, each, names)]
    recordings = [each for job in imported for each in job.facts["recordings"]]
    sources = {str(each.get("positions", "")) for known in recordings for each in known["accounts"]} - {""}
    source = sources.pop() if len(sources) == 1 else "file"
    return Positions(mean_positions(kept), source, turned=len(kept) < len(heads), sensors=sensors)


def topography_of(channels: tuple[str, ...], positions: Positions | None) -> Topography | None:
    """Choose positions to draw channels at, measured or by name; None if too few have one."""
    if positions is not None and positions.at is not None:
        known = {name: at for name, at in zip(channels, positions.at, strict=True) if np.isfinite(at).all()}
        enough = len(known) >= max(FEWEST, SHARE * len(channels))
        if positions.sensors != "eeg":
            return _of_sensors(known, positions.sensors) if enough else None
        if enough:
            montage = "in the recordings" if positions.source == "file" else f"of {positions.source}"
            from mne.channels import make_dig_montage

            info = _info_of(list(known), make_dig_montage(known, coord_frame="head"))
            return Topography(tuple(known), info, f"at the positions {montage}")
    if not (names := known_names(channels)):
        return None
    said = "at the positions that the international 10-05 system gives to channels of these names"
    if positions is not None and positions.turned:
        said += ", as those in the recordings are turned against the names"
    return Topography(tuple(names), _info_of(list(names.values())), said)


@lru_cache(maxsize=8)
def known_names(channels: tuple[str, ...]) -> dict[str, str]:
    """Map channels to their names in the international 10-05 system; empty if too few are in it."""
    if len(channels) < FEWEST:
        return {}
    by_name = {name.lower(): name for name in _system().ch_names}
    found = {name: by_name[_plain(name)] for name in channels if _plain(name) in by_name}
    if len(found) < max(FEWEST, SHARE * len(channels)) or len({*found.values()}) < len(found):
        return {}
    return found


def _of_sensors(known: dict[str, FloatArray], sensors: str) -> Topography | None:
    """Place sensors of MEG; planar gradiometers two by two."""
    import mne

    names, places, step = list(known), np.array([*known.values()]), 1
    what = "magnetometers or axial gradiometers"
    if sensors == "grad":
        near = np.linalg.norm(places[:, np.newaxis] - places, axis=2) < APART
        following = [bool(near[index, index + 1]) for index in range(0, len(names) - 1, 2)]
        if len(names) % 2 or not all(following) or (near.sum(axis=1) != 2).any():
            return None
        what = "pairs of planar gradiometers, with the root mean square of the two, which has no sign,"
        step = 2
    # All are magnetometers for MNE: the two values of a pair are one by now.
    info = mne.create_info(names[::step], 1000.0, "mag", verbose="ERROR")
    for channel, where in zip(info["chs"], places[::step], strict=True):
        channel["loc"][:3] = where
    said = f"of {what} at their positions in the helmet, as in the recordings"
    return Topography(tuple(names), info, said, pairs=sensors == "grad")


def _is_head_sized(at: FloatArray, sensors: str) -> bool:
    """True if positions are those of electrodes on a head, or sensors in a helmet, in metres."""
    known = at[np.isfinite(at).all(axis=1)]
    if len(known) < FEWEST or not NEAR < np.median(np.linalg.norm(known, axis=1)) < FAR:
        return False
    if sensors == "grad":  # two of which are at each place
        return True
    return bool((np.linalg.norm(known[:, np.newaxis] - known, axis=2) + np.eye(len(known)) > APART).all())


def _agrees_with_names(channels: Sequence[str], at: FloatArray, names: dict[str, str]) -> bool:
    """True if positions agree with the names of channels; other axes would turn a topography."""
    if not names:
        return True
    system = {each["ch_name"]: each["loc"][:2] for each in _info_of(list(names.values()))["chs"]}
    pairs = [(at[channels.index(name), :2], system[name_there]) for name, name_there in names.items()]
    cosines = [
        one @ other / np.linalg.norm(one) / np.linalg.norm(other)
        for one, other in pairs
        if np.isfinite(one).all() and min(np.linalg.norm(one), np.linalg.norm(other)) > ASIDE
    ]
    return len(cosines) < 3 or float(np.mean(cosines)) > AGREEING


def _info_of(names: list[str], montage: Any = None) -> Any:
    import mne

    info = mne.create_info(names, 1000.0, "eeg", verbose="ERROR")
    return info.set_montage(montage or _system(), verbose="ERROR")


def _system() -> Any:
    from mne.channels import get_builtin_montages, make_standard_montage

    there = get_builtin_montages()
    return make_standard_montage(next(name for name in SYSTEMS if name in there))


def _plain(name: str) -> str:
    return name.lower().removeprefix("eeg").strip(" .").split("-")[0].strip(" .")
