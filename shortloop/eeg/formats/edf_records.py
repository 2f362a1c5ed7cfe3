"""Times of the records of EDF+ and BDF+: MNE takes them to follow each other, whatever they say."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shortloop.base.errors import InputError
from shortloop.eeg.headers.edf_header import READERS, EdfHeader

__all__ = ["MOVED", "at_samples"]

MOVED = "times of records are not those of the samples"

ANNOTATIONS = (b"EDF Annotations", b"BDF Annotations")
DISCONTINUOUS = (b"EDF+D", b"BDF+D")
TIME = re.compile(rb"([+-]\d+(?:\.\d*)?)\x14\x14")
EVENT = re.compile(rb"([+-]\d+(?:\.\d*)?)(?:\x15(\d+(?:\.\d*)?))?\x14(.*?)\x14\x00", re.DOTALL)
# s; clocks of computers are read in steps of up to 16 ms, and some exporters round to hundredths.
OFF = 0.02


def at_samples(raw: Any, file: Path, participant: str, *, table: Path | None) -> None:
    """Move annotations from clock time to sample time, and mark pauses of the recording."""
    import mne
    import numpy as np

    if type(raw).__name__ not in READERS:
        return
    (read,) = map(Path, raw.filenames)
    header = EdfHeader.read(read)
    where: dict[str, Any] = {"participant": participant, "file": file}
    times = np.array([_begin(record) for record in _annotations(read, header)])
    if not len(times) or not np.isfinite(times).all() or (len(times) > 1 and np.ptp(times) == 0):
        if header.kind in DISCONTINUOUS:
            raise InputError(
                "the recording is discontinuous (EDF+D or BDF+D), and its records have no times",
                **where,
                hint="export it again, without gaps",
            )
        return
    start, times = times[0], times - times[0]
    off = times - header.seconds * np.arange(len(times))
    if np.abs(off).max() <= OFF:
        return
    if (np.diff(times) <= 0).any():
        at = int(np.argmax(np.diff(times) <= 0))
        raise InputError(
            "times of records go back",
            **where,
            found=f"record {at + 2} at {times[at + 1]:g} s, after one at {times[at]:g} s",
            expected=f"a record every {header.seconds:g} s, or later",
            hint="export the recording again",
        )
    steps = np.diff(off)
    pauses = np.flatnonzero(np.abs(steps) > OFF) + 1
    first = f"{steps[pauses[0] - 1]:.3g} s at {header.seconds * pauses[0]:g} s" if len(pauses) else ""
    told = f"pauses: {len(pauses)}, the first of {first}" if first else f"up to {np.abs(off).max():.3g} s off"
    if table is not None:
        raise InputError(
            "the recording has pauses, and a table of events: its onsets may count the pauses or not",
            **where,
            field="input.event_source",
            found=f"{told}; {table.name}",
            hint="if the recording has annotations, say event_source = 'annotations'; else export it without "
            "pauses",
        )
    texts = [each for record in _annotations(read, header) for each in _events(record)]
    onset, duration, text = zip(*texts, strict=True) if texts else ((), (), ())
    clock = np.array(onset, float) - start
    record = np.clip(np.searchsorted(times, clock + 1e-9, side="right") - 1, 0, None)
    within = clock - times[record]
    kept = within < header.seconds + OFF
    moved = mne.Annotations(
        (header.seconds * record + within)[kept], np.array(duration)[kept], np.array(text, dtype=str)[kept]
    )
    meet = np.repeat(header.seconds * pauses, 2)
    moved.append(meet, 0.0, ["BAD boundary", "EDGE boundary"] * len(pauses))
    raw.set_annotations(moved)
    lost = f", and {np.count_nonzero(~kept)} in pauses or after the end were left out" * bool((~kept).any())
    warnings.warn(
        f"{participant}, {file.name}: {MOVED} ({told}): events were moved to their samples{lost}",
        stacklevel=2,
    )


def _annotations(file: Path, header: EdfHeader) -> Iterator[list[bytes]]:
    """What the channels of annotations have in each record; nothing of plain EDF."""
    named = [number for number, name in enumerate(header.names) if name in ANNOTATIONS]
    places = [
        (header.width * sum(header.samples[:each]), header.width * header.samples[each]) for each in named
    ]
    size = header.width * sum(header.samples)
    with file.open("rb", buffering=0) as stream:
        for record in range((file.stat().st_size - header.start) // size if named else 0):
            found = []
            for before, length in places:
                stream.seek(header.start + record * size + before)
                found.append(stream.read(length))
            yield found


def _begin(record: list[bytes]) -> float:
    """When a record began, s; NaN if it does not say."""
    said = TIME.match(record[0])
    return float(said[1]) if said else float("nan")


def _events(record: list[bytes]) -> Iterator[tuple[float, float, str]]:
    """Onset, duration and text of each annotation in a record."""
    for channel in record:
        for onset, duration, texts in EVENT.findall(channel):
            for text in filter(None, texts.split(b"\x14")):
                try:
                    named = text.decode("utf-8")
                except UnicodeDecodeError:
                    named = text.decode("latin-1")
                yield float(onset), float(duration or 0), named
