"""Streams of the Lab Streaming Layer in one file (.xdf), read by pyxdf."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.base.errors import InputError, warn
from shortloop.base.extras import need
from shortloop.eeg.checks.plausible import nominal, same_rate
from shortloop.eeg.formats.recording_format import FilesInput, Patterns
from shortloop.eeg.formats.signals import SignalInput
from shortloop.eeg.headers.units import VOLTS, VoltUnit, voltage

PAUSE = 0.5  # s without a sample: the recording was interrupted
BLOCK = 1.0  # s of time stamps whose median is taken, which jitter does not move
TOLD, LARGEST = 0.02, 0.1  # s that such medians may be off the even times of samples
KINDS = {"eog": "eog", "ecg": "ecg", "emg": "emg", "eeg": "eeg", "": "eeg"}


class XdfInput(SignalInput, FilesInput):
    """Recordings of the Lab Streaming Layer: a stream of type EEG, and streams of markers.

    Time stamps are synchronised by pyxdf. Samples are evenly spaced between interruptions, as their time
    stamps are but for jitter; a marker is at the sample nearest in time.
    """

    format: Literal["xdf"] = Field(description="streams of the Lab Streaming Layer (.xdf), by pyxdf")
    stream: str | None = Field(None, description="name or number of the stream to decode; default: the EEG")
    markers: Patterns = Field(
        (), description="names or numbers of marker streams; default: all without a rate"
    )
    unit: VoltUnit | None = Field(None, description="unit of channels; default: as the stream says, else µV")

    def warm_up(self) -> None:
        need("formats", ["pyxdf"])
        import pyxdf  # type: ignore[import-untyped]  # noqa: F401

        super().warm_up()

    def declared(self, file: Path, participant: str) -> int:
        # The chunks must fill the file.
        size = file.stat().st_size
        with file.open("rb") as stream:
            at = 4 if stream.read(4) == b"XDF:" else size + 1
            while at < size:
                stream.seek(at)
                width = int.from_bytes(stream.read(1), "little")
                length = int.from_bytes(stream.read(width), "little") if width in (1, 4, 8) else size
                at += 1 + width + length
        if at != size:
            found = f"{size:,} bytes, which end within a chunk"
            hint = "copy it again; if the recorder stopped in the middle, export what is there as .fif"
            raise InputError("the file is truncated", found=found, hint=hint)
        return super().declared(file, participant)

    def open(self, file: Path, participant: str) -> Any:
        import mne
        import numpy as np
        import pyxdf

        with _strict():
            streams, _ = pyxdf.load_xdf(file, dejitter_timestamps=False, verbose=False)
        eeg = self._chosen(streams)
        name = _name(eeg)
        stamps, data = np.asarray(eeg["time_stamps"], float), np.asarray(eeg["time_series"], float).T
        breaks = _breaks(stamps, name)
        times = _even(stamps, breaks, name)
        steps = [len(each) - 1 for each in np.split(times, breaks)]
        sfreq = sum(steps) / sum(float(np.ptp(each)) for each in np.split(times, breaks))
        said = float(_first(eeg["info"], "nominal_srate"))
        if same_rate(sfreq, nominal(said)):
            sfreq = said if same_rate(sfreq, said) else sfreq
        names, kinds, factors = _channels(eeg, self.unit)
        raw = mne.io.RawArray(data * np.array(factors)[:, np.newaxis], mne.create_info(names, sfreq, kinds))
        at, texts = self._events(streams, eeg, times, 1 / sfreq)
        gaps = breaks / sfreq
        raw.set_annotations(mne.Annotations([*(at / sfreq), *gaps], 0.0, [*texts, *["boundary"] * len(gaps)]))
        return raw

    def _chosen(self, streams: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Choose the stream to decode."""
        if self.stream is None:
            asked = [each for each in streams if _first(each["info"], "type").casefold() == "eeg"]
        else:
            asked = [each for each in streams if self.stream in _names(each)]
        found = [each for each in asked if len(each["time_stamps"]) > 1]
        if len(found) == 1:
            return found[0]
        numbers = Counter(_name(each) for each in found)
        first = "" if not found else _name(found[0]) if numbers[_name(found[0])] == 1 else _names(found[0])[1]
        problem = "several streams could be decoded" if found else "there is no stream to decode"
        what = ", ".join(map(_described, found or streams)) or "no streams"
        expected = self.stream or "one stream of type EEG, with samples"
        hint = "name it under [input]" + (f', as stream = "{first}"' if found else " (stream)")
        raise InputError(problem, field="input.stream", found=what, expected=expected, hint=hint)

    def _events(
        self, streams: Sequence[dict[str, Any]], eeg: dict[str, Any], times: Any, step: float
    ) -> tuple[Any, list[str]]:
        """Return samples and names of markers, without those in interruptions of the recording."""
        import numpy as np

        others = [each for each in streams if each is not eeg]
        if self.markers:
            chosen = [each for each in others if {*self.markers} & {*_names(each)}]
        else:
            chosen = [each for each in others if not float(_first(each["info"], "nominal_srate") or 0)]
        if unknown := {*self.markers} - {name for each in chosen for name in _names(each)}:
            found = ", ".join(map(_described, streams))
            expected = ", ".join(sorted(unknown))
            raise InputError("no such marker stream", field="input.markers", found=found, expected=expected)
        stamps = np.concatenate([np.zeros(0), *(np.asarray(each["time_stamps"], float) for each in chosen)])
        texts = [_text(row) for each in chosen for row in each["time_series"]]
        order = np.argsort(stamps, kind="stable")
        stamps = stamps[order]
        at = np.searchsorted((times[1:] + times[:-1]) / 2, stamps)
        kept = np.abs(times[at] - stamps) <= step
        if not kept.all():
            warn(f"{np.count_nonzero(~kept)} of {len(kept)} markers were left out: no sample was recorded")
        return at[kept], [texts[each] for each in order[kept]]


def eeg_streams(file: Path) -> list[str]:
    """Return the names of streams of type EEG; `InputError` if pyxdf is not installed."""
    need("formats", ["pyxdf"])
    import pyxdf

    return [each["name"] for each in pyxdf.resolve_streams(str(file)) if each["type"].casefold() == "eeg"]


def _first(info: Any, name: str) -> str:
    """Return the text of an element, which XDF keeps in lists; empty if missing."""
    values = (info or {}).get(name) or [""]
    return str(values[0] or "").strip("\0 ")


def _name(stream: dict[str, Any]) -> str:
    return _first(stream["info"], "name")


def _names(stream: dict[str, Any]) -> list[str]:
    return [_name(stream), str(stream["info"]["stream_id"])]


def _described(stream: dict[str, Any]) -> str:
    info = stream["info"]
    kind = f"type {_first(info, 'type') or 'unknown'}, {_first(info, 'nominal_srate')} Hz"
    return f"{_name(stream)} (number {info['stream_id']}, {kind}, {len(stream['time_stamps']):,} samples)"


def _text(row: Any) -> str:
    """Name a marker; whole numbers are written without a fraction."""
    return "/".join(
        str(int(each)) if not isinstance(each, str) and each == int(each) else str(each) for each in row
    ).strip("\0 ")


@contextmanager
def _strict() -> Iterator[None]:
    """Refuse damage, which pyxdf only logs."""
    logger, handler = logging.getLogger("pyxdf.pyxdf"), BufferingHandler(sys.maxsize)
    handler.setLevel(logging.ERROR)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
    if handler.buffer:
        found = handler.buffer[0].getMessage()[:200]
        raise InputError("the file is damaged", found=found, hint="copy it again")


def _breaks(stamps: Any, name: str) -> Any:
    """Return the samples before which the recording was interrupted."""
    import numpy as np

    steps = np.diff(stamps)
    back = np.flatnonzero(steps < -PAUSE)
    if len(back) or not np.isfinite(stamps).all():
        found = "values that are not numbers"
        if len(back):
            found = f"by {-steps[back[0]]:.3g} s after sample {back[0]}"
        raise InputError(f"time stamps of {name} go back", found=found, hint="split the recording there")
    return np.flatnonzero(steps > max(PAUSE, 2 * float(np.median(steps)))) + 1


def _even(stamps: Any, breaks: Any, name: str) -> Any:
    """Return times of samples without jitter: on a line between interruptions."""
    import numpy as np

    parts, worst = [], 0.0
    for part in np.split(stamps, breaks):
        number = np.arange(len(part))
        slope, begin = np.polyfit(number, part - part[0], 1) if len(part) > 1 else (0.0, 0.0)
        even = part[0] + begin + slope * number
        parts.append(even)
        width = max(1, round(BLOCK / slope)) if slope > 0 else len(part)
        off = part - even
        blocks = [np.median(off[start : start + width]) for start in range(0, len(part), width)]
        worst = max(worst, float(np.max(np.abs(blocks))))
    said = f"time stamps of {name} are up to {worst:.2g} s off the even times of its samples"
    if worst > LARGEST:
        hint = "split the recording there"
        raise InputError("samples are lost", found=said, expected=f"at most {LARGEST:g} s", hint=hint)
    if worst > TOLD:
        warn(f"{said}, and so may be events")
    return np.concatenate(parts)


def _channels(stream: dict[str, Any], given: str | None) -> tuple[list[str], list[str], list[float]]:
    """Return name, type and volts per unit of each channel; numbers where the stream has no names."""
    count = int(_first(stream["info"], "channel_count"))
    described = ((stream["info"].get("desc") or [None])[0] or {}).get("channels") or [None]
    listed = (described[0] or {}).get("channel") or []
    listed = listed if len(listed) == count else [{}] * count
    names = [_first(each, "label") or f"EEG {number}" for number, each in enumerate(listed, start=1)]
    if len({*names}) < count:
        twice = [name for name, times in Counter(names).items() if times > 1]
        problem = "channels of the stream have the same name"
        raise InputError(problem, found=", ".join(twice), hint="rename them in the file")
    kinds = [KINDS.get(_first(each, "type").casefold(), "misc") for each in listed]
    units = [voltage(_first(each, "unit") or "µV") for each in listed]
    odd = [name for name, unit, kind in zip(names, units, kinds, strict=True) if not unit and kind == "eeg"]
    if odd and given is None:
        warn(
            f"channels whose unit is not a voltage were left out: {', '.join(odd)}; if they are EEG, "
            'write their unit under [input], as unit = "µV"',
        )
        kinds = ["misc" if name in odd else kind for name, kind in zip(names, kinds, strict=True)]
    return names, kinds, [VOLTS[given or unit or "µV"] for unit in units]
