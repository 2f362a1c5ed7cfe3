"""Gaps in continuous recordings: pauses between records of EDF+ and BDF+, and boundaries of joined pieces.

MNE takes records of EDF+ and BDF+ to follow each other, whatever their times are.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mne
import numpy as np

from shortloop.base.errors import InputError, warn
from shortloop.eeg.headers.edf import READERS, EdfHeader, decoded

MOVED = "times of records are not those of the samples"

ANNOTATIONS = (b"EDF Annotations", b"BDF Annotations")
DISCONTINUOUS = (b"EDF+D", b"BDF+D")
TIME = re.compile(rb"([+-]\d+(?:\.\d*)?)\x14\x14")
EVENT = re.compile(rb"([+-]\d+(?:\.\d*)?)(?:\x15(\d+(?:\.\d*)?))?\x14(.*?)\x14\x00", re.DOTALL)
OFF = 0.02  # s; clocks of computers have steps of up to 16 ms, and some exporters round to hundredths
# The first sample of a piece, as EEGLAB and BrainVision call it; EEGLAB has -99 where events are numbers.
BOUNDARY = re.compile(r"(?i:boundary)|New Segment/.*")
NUMBER, NAME = re.compile(r"\s*-99(\.0*)?\s*"), "boundary"
OF_EEGLAB = (".set", ".fdt")


def align_to_samples(raw: Any, table: Path | None) -> None:
    """Move annotations from clock time to sample time, and mark pauses of the recording."""
    if type(raw).__name__ not in READERS:
        return
    (read,) = map(Path, raw.filenames)
    header = EdfHeader.read(read)
    said = [TIME.match(record[0]) for record in _annotations(read, header)]
    times = np.array([np.nan if each is None else float(each[1]) for each in said])
    if not len(times) or not np.isfinite(times).all() or (len(times) > 1 and np.ptp(times) == 0):
        if header.kind in DISCONTINUOUS:
            problem = "the recording is discontinuous (EDF+D or BDF+D), and its records have no times"
            raise InputError(problem, hint="export it again, without gaps")
        return
    start, times = times[0], times - times[0]
    off = times - header.seconds * np.arange(len(times))
    if np.abs(off).max() <= OFF:
        return
    if (np.diff(times) <= 0).any():
        at = int(np.argmax(np.diff(times) <= 0))
        found = f"record {at + 2} at {times[at + 1]:g} s, after one at {times[at]:g} s"
        expected = f"a record every {header.seconds:g} s, or later"
        hint = "export the recording again"
        raise InputError("times of records go back", found=found, expected=expected, hint=hint)
    steps = np.diff(off)
    pauses = np.flatnonzero(np.abs(steps) > OFF) + 1
    first = f"{steps[pauses[0] - 1]:.3g} s at {header.seconds * pauses[0]:g} s" if len(pauses) else ""
    told = f"pauses: {len(pauses)}, the first of {first}" if first else f"up to {np.abs(off).max():.3g} s off"
    if table is not None:
        wrong = "the recording has pauses, and a table of events: its onsets may count the pauses or not"
        advice = "say event_source = 'annotations' if the recording has any; else export it without pauses"
        raise InputError(wrong, field="input.event_source", found=f"{told}; {table.name}", hint=advice)
    texts = [each for record in _annotations(read, header) for each in _events(record)]
    onset, duration, text = zip(*texts, strict=True) if texts else ((), (), ())
    clock = np.array(onset, float) - start
    record = np.clip(np.searchsorted(times, clock + 1e-9, side="right") - 1, 0, None)
    within = clock - times[record]
    kept = within < header.seconds + OFF
    moved = mne.Annotations(
        (header.seconds * record + within)[kept], np.array(duration)[kept], np.array(text, dtype=str)[kept]
    )
    moved.append(np.repeat(header.seconds * pauses, 2), 0.0, ["BAD boundary", "EDGE boundary"] * len(pauses))
    raw.set_annotations(moved)
    lost = f", and {np.count_nonzero(~kept)} in pauses or after the end were left out" * bool((~kept).any())
    warn(f"{MOVED} ({told}): events were moved to their samples{lost}")


def _annotations(file: Path, header: EdfHeader) -> Iterator[list[bytes]]:
    """Yield the annotation channels of each record; nothing for plain EDF."""
    named = [number for number, name in enumerate(header.names) if name in ANNOTATIONS]
    places = [(header.width * sum(header.samples[:at]), header.width * header.samples[at]) for at in named]
    size = header.width * sum(header.samples)
    with file.open("rb", buffering=0) as stream:
        for record in range((file.stat().st_size - header.start) // size if named else 0):
            start = header.start + record * size
            yield [os.pread(stream.fileno(), length, start + before) for before, length in places]


def _events(record: list[bytes]) -> Iterator[tuple[float, float, str]]:
    """Yield onset, duration and text of each annotation in a record."""
    for channel in record:
        for onset, duration, texts in EVENT.findall(channel):
            for text in filter(None, texts.split(b"\x14")):
                yield float(onset), float(duration or 0), decoded(text)


def prepare_pieces(raw: Any) -> None:
    """Mark boundaries between pieces as MNE does, so that filters end there, and no trial is across one."""
    mark_gaps(raw)
    for extra in raw._raw_extras:  # noqa: SLF001  no public access
        samples = extra.get("n_samps") if isinstance(extra, dict) else None  # of EDF and its kin alone
        if samples is not None:
            others = {*extra.get("stim_channel_idxs", ()), *extra.get("tal_idx", ())}
            # MNE resamples each stretch that it reads, and stretches as short as a trial come out wrong.
            if len({int(each) for number, each in enumerate(samples) if number not in others}) > 1:
                raw.load_data()


def mark_gaps(raw: Any) -> None:
    """Mark boundaries between pieces where annotations have them."""
    if any(Path(file).suffix in OF_EEGLAB for file in filter(None, raw.filenames)):
        names = {str(name) for name in raw.annotations.description if NUMBER.fullmatch(str(name))}
        raw.annotations.rename(dict.fromkeys(names, NAME))
    rate, start = raw.info["sfreq"], raw.first_time
    for onset, name in list(zip(raw.annotations.onset, raw.annotations.description, strict=True)):
        sample = math.ceil((onset - start) * rate - 1e-3)
        if BOUNDARY.fullmatch(str(name)) and 0 < sample < raw.n_times:
            raw.annotations.append([start + sample / rate] * 2, 0.0, ["BAD boundary", "EDGE boundary"])


def is_mark(name: str) -> bool:
    """True if this marks a stretch or a boundary, and is no event."""
    is_boundary = BOUNDARY.fullmatch(name) or NUMBER.fullmatch(name)
    return is_boundary is not None or name.lower().startswith(("bad", "edge"))
