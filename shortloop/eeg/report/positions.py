"""Where on the head channels are, by their names."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

__all__ = ["head_of", "known_names"]

NAMES = ("colin27_1005", "standard_1005")  # of the system in MNE, from version 1.13 on and before
FEWEST = 6  # channels, of which a topography can be drawn
SHARE = 0.75  # of the channels must have a position


@lru_cache(maxsize=8)
def known_names(channels: tuple[str, ...]) -> dict[str, str]:
    """Channels that are named after the international 10-05 system.

    Parameters
    ----------
    channels : tuple of str
        Names; case does not matter, nor do ``EEG`` in front and ``-REF`` or dots behind.

    Returns
    -------
    dict of str to str
        What the system calls each; empty where too few are known to draw a topography.
    """
    if len(channels) < FEWEST:
        return {}
    by_name = {name.lower(): name for name in _system().ch_names}
    found = {name: by_name[_plain(name)] for name in channels if _plain(name) in by_name}
    if len(found) < max(FEWEST, SHARE * len(channels)) or len({*found.values()}) < len(found):
        return {}
    return found


def head_of(names: list[str]) -> Any:
    """Positions of channels of the system, as MNE's drawings take them.

    Parameters
    ----------
    names : list of str
        As the system calls them.

    Returns
    -------
    mne.Info
    """
    import mne

    info = mne.create_info(names, 1000.0, "eeg", verbose="ERROR")
    return info.set_montage(_system(), verbose="ERROR")


def _system() -> Any:
    from mne.channels import get_builtin_montages, make_standard_montage

    there = get_builtin_montages()
    return make_standard_montage(next(name for name in NAMES if name in there))


def _plain(name: str) -> str:
    return name.lower().removeprefix("eeg").strip(" .").split("-")[0].strip(" .")
