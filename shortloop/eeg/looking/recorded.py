"""What is in a recording, read by its format, with no class of events asked for."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path

from shortloop.eeg.formats.base import Named, RecordedInput
from shortloop.eeg.formats.folders import whole
from shortloop.eeg.formats.guarded import read_apart, reading
from shortloop.eeg.formats.placed import placed
from shortloop.eeg.formats.recognised import named_for_what_it_is
from shortloop.eeg.formats.sessions import Part
from shortloop.errors import InputError

__all__ = ["Recorded", "look_at"]

BESIDE_BYTES = 4  # in memory, for each byte of a file beside a recording


@dataclass(frozen=True)
class Recorded:
    """What is in a recording.

    Parameters
    ----------
    rate : float
        Samples per second.
    channels : tuple of str
        Channels that would be decoded.
    channels_in_file : int
        All of them.
    seconds : float or None
        Length of a continuous recording; None: it is in epochs.
    start, stop : float
        First and last time of the epochs, s; of a continuous one those of the default.
    source : str
        Where its events are; empty: it has none.
    events : dict of str to int
        How many there are of each name.
    onsets : dict of str to list of int
        Of a continuous recording, samples at which they are.
    """

    rate: float
    channels: tuple[str, ...]
    channels_in_file: int
    seconds: float | None
    start: float
    stop: float
    source: str
    events: dict[str, int]
    onsets: dict[str, list[int]] = field(default_factory=dict)


def look_at(settings: RecordedInput, named: Named, participant: str) -> Recorded | InputError:
    """Read a recording, in a process of its own.

    Parameters
    ----------
    settings : RecordedInput
        How it is read.
    named : list of (str, Path)
        Its files, itself first.
    participant : str
        Whose it is, for messages.

    Returns
    -------
    Recorded or InputError
        What is in it, or what is wrong with it.
    """
    file = named[0][1]

    def declared(each: Path, participant: str) -> int:
        if each != file:
            return BESIDE_BYTES * each.stat().st_size
        with named_for_what_it_is(file, participant, str(getattr(settings, settings.tag))):
            return settings.declared(each, participant)

    with placed([named]) as (place,), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the run says them, once the study is as its user wants it

        def read() -> Recorded:
            with reading(whole(file), participant, place):
                return _recorded(settings.read_part(place, participant, ()))

        try:
            return read_apart(read, [path for _, path in named], participant=participant, declared=declared)
        except InputError as error:
            return error


def _recorded(part: Part) -> Recorded:
    account = part.account
    return Recorded(
        rate=part.sfreq,
        channels=part.channels,
        channels_in_file=int(account.get("channels_in_file", len(part.channels))),
        seconds=account.get("seconds"),
        start=float(part.times[0]),
        stop=float(part.times[-1]),
        source=str(account.get("events_from", "file")),
        events=dict(part.seen),
        onsets={name: samples.tolist() for name, samples in part.onsets.items()},
    )
