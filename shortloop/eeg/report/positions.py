"""Where channels are: as the recordings say, or by their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.eeg.formats.epochs.positions import mean_positions
from shortloop.stages.results import Result

__all__ = ["Measured", "Place", "known_names", "measured_of", "place_of"]

NAMES = ("colin27_1005", "standard_1005")  # of the system in MNE, from version 1.13 on and before
SENSORS = {"T": "mag", "T/m": "grad"}
"""Types of MEG's sensors, by the unit of what they measure."""
FEWEST = 6  # channels, of which a topography can be drawn
SHARE = 0.75  # of the channels must have a position
NEAR, FAR = 0.05, 0.15  # m, of electrodes from between the ears, on heads of all sizes
APART = 1e-3  # m, of any two electrodes
ASIDE = 0.03  # m, from where on it is clear which side of the head a channel is on
AGREEING = 0.7  # mean cosine of the angle, seen from above, between a position and that of the name


@dataclass(frozen=True)
class Measured:
    """Positions that recordings have.

    at: float, (channels, 3), or None
    source: ``"file"``, or the name of the montage that the study names.
    turned: whether some were left out, as they are not where the names of the channels say.
    sensors: what they are of, as MNE calls it: axial gradiometers, as of CTF, are ``"mag"``.
    """

    at: FloatArray | None
    source: str
    turned: bool = False
    sensors: str = "eeg"


@dataclass(frozen=True)
class Place:
    """Positions to draw at.

    channels: channels that have one.
    info: of these, with their positions.
    said: where the positions are from, and of what.
    pairs: whether two channels, planar gradiometers, are at each place, one behind the other.
    """

    channels: tuple[str, ...]
    info: Any
    said: str
    pairs: bool = False

    def values_of(self, values: FloatArray) -> FloatArray:
        """What is drawn at the places.

        values: float, (..., channels). Of those that have a place, in the order of `channels`.
        returns: float, (..., places). Of pairs the root mean square, as one alone has no place in a
            topography.
        """
        if not self.pairs:
            return values
        norms: FloatArray = np.sqrt((values.reshape(*values.shape[:-1], -1, 2) ** 2).mean(axis=-1))
        return norms


def measured_of(
    imported: Sequence[Result], phase: str, channels: Sequence[str], unit: str = ""
) -> Measured | None:
    """Positions of channels in the recordings of a study."""
    imported = [job for job in imported if f"positions_{phase}" in job.arrays]
    units = {unit or str(job.facts["phases"][phase].get("unit")) for job in imported}
    sensors = SENSORS.get(units.pop(), "eeg") if len(units) == 1 else "eeg"
    found = [_of_job(job, phase, channels) for job in imported]
    heads = [each for each in found if _is_a_head(each, sensors)]
    if not heads:
        return None
    names = known_names(tuple(channels))
    kept = [each for each in heads if _agree(channels, each, names)]
    sources = {str(each.get("positions", "")) for job in imported for each in _accounts(job)} - {""}
    source = sources.pop() if len(sources) == 1 else "file"
    return Measured(mean_positions(kept), source, turned=len(kept) < len(heads), sensors=sensors)


def place_of(channels: tuple[str, ...], measured: Measured | None) -> Place | None:
    """Where to draw channels."""
    if measured is not None and measured.at is not None and measured.sensors != "eeg":
        return _of_sensors(channels, measured.at, measured.sensors)
    if measured is not None and measured.at is not None:
        known = [bool(np.isfinite(each).all()) for each in measured.at]
        if sum(known) >= max(FEWEST, SHARE * len(channels)):
            at = {name: at for name, at, there in zip(channels, measured.at, known, strict=True) if there}
            montage = "in the recordings" if measured.source == "file" else f"of {measured.source}"
            return Place(tuple(at), _info_at(at), f"at the positions {montage}")
    names = known_names(channels)
    if not names:
        return None
    said = "at the positions that the international 10-05 system gives to channels of these names"
    if measured is not None and measured.turned:
        said += ", as those in the recordings are turned against the names"
    return Place(tuple(names), _info_of(list(names.values())), said)


@lru_cache(maxsize=8)
def known_names(channels: tuple[str, ...]) -> dict[str, str]:
    """Channels that are named after the international 10-05 system."""
    if len(channels) < FEWEST:
        return {}
    by_name = {name.lower(): name for name in _system().ch_names}
    found = {name: by_name[_plain(name)] for name in channels if _plain(name) in by_name}
    if len(found) < max(FEWEST, SHARE * len(channels)) or len({*found.values()}) < len(found):
        return {}
    return found


def _of_job(job: Result, phase: str, channels: Sequence[str]) -> FloatArray:
    at = dict(zip(job.facts["phases"][phase]["channels"], job.arrays[f"positions_{phase}"], strict=True))
    return np.array([at.get(name, np.full(3, np.nan)) for name in channels])


def _accounts(job: Result) -> list[Any]:
    return [each for recording in job.facts["recordings"] for each in recording["accounts"]]


def _of_sensors(channels: Sequence[str], at: FloatArray, sensors: str) -> Place | None:
    """Those of MEG; planar gradiometers two by two."""
    known = np.flatnonzero(np.isfinite(at).all(axis=1))
    names, places = [channels[index] for index in known.tolist()], at[known]
    if len(known) < max(FEWEST, SHARE * len(channels)):
        return None
    what = "magnetometers or axial gradiometers"
    if sensors == "grad":
        near = np.linalg.norm(places[:, np.newaxis] - places, axis=2) < APART
        following = [bool(near[index, index + 1]) for index in range(0, len(names) - 1, 2)]
        if len(names) % 2 or not all(following) or (near.sum(axis=1) != 2).any():
            return None
        what = "pairs of planar gradiometers, with the root mean square of the two, which has no sign,"
        places = places[::2]
    shown = names[::2] if sensors == "grad" else names
    said = f"of {what} at their positions in the helmet, as in the recordings"
    return Place(tuple(names), _info_of_sensors(shown, places), said, pairs=sensors == "grad")


def _info_of_sensors(names: Sequence[str], at: FloatArray) -> Any:
    """Each is drawn as a magnetometer: values of pairs are one already."""
    import mne

    info = mne.create_info(list(names), 1000.0, "mag", verbose="ERROR")
    for channel, where in zip(info["chs"], at, strict=True):
        channel["loc"][:3] = where
    return info


def _is_a_head(at: FloatArray, sensors: str) -> bool:
    """Whether positions are those of electrodes on a head, or sensors in a helmet, in metres."""
    known = at[np.isfinite(at).all(axis=1)]
    if len(known) < FEWEST or not NEAR < np.median(np.linalg.norm(known, axis=1)) < FAR:
        return False
    if sensors == "grad":  # two of which are at each place
        return True
    apart = np.linalg.norm(known[:, np.newaxis] - known, axis=2)
    return bool((apart + np.eye(len(known)) > APART).all())


def _agree(channels: Sequence[str], at: FloatArray, names: dict[str, str]) -> bool:
    """Whether positions are about where the names of channels say; other axes would turn a topography."""
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


def _info_of(names: list[str]) -> Any:
    """Channels of the system, at their positions."""
    import mne

    info = mne.create_info(names, 1000.0, "eeg", verbose="ERROR")
    return info.set_montage(_system(), verbose="ERROR")


def _info_at(at: dict[str, FloatArray]) -> Any:
    import mne

    info = mne.create_info(list(at), 1000.0, "eeg", verbose="ERROR")
    montage = mne.channels.make_dig_montage(at, coord_frame="head")
    return info.set_montage(montage, verbose="ERROR")


def _system() -> Any:
    from mne.channels import get_builtin_montages, make_standard_montage

    there = get_builtin_montages()
    return make_standard_montage(next(name for name in NAMES if name in there))


def _plain(name: str) -> str:
    return name.lower().removeprefix("eeg").strip(" .").split("-")[0].strip(" .")
