"""Text tables with a row per sample: its time, a marker, and a column per channel."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.base.errors import InputError, warn
from shortloop.eeg.checks.plausible import SECONDS, nominal
from shortloop.eeg.formats.epochs.settings import events_beside
from shortloop.eeg.formats.files.delimited import decimal_sign, numbers, read_table, require_dialect
from shortloop.eeg.formats.recording_format import FilesInput
from shortloop.eeg.formats.signals import SignalInput
from shortloop.eeg.headers.units import VOLTS, VoltUnit

SHOWN = 50  # names in a message
NOTHING = ("", "0", "0.0", "nan", "NaN", "n/a", "None")
TIMES = (
    *("timestamps", "timestamp", "times", "time", "t", "seconds", "sec", "ms", "time_s", "time_ms"),
    *("timestamp_s", "timestamp_ms", "timestamp_us", "time_us", "lsl_timestamp", "unix_timestamp"),
    *("datetime", "zeitstempel", "zeit"),
)
MARKERS = ("marker", "event", "trigger", "stim", "code", "label", "annotation", "condition", "status")
COUNTERS = ("sample index", "sample_index", "sampleindex", "counter", "eeg.counter", "packet_num")
NO_CHANNEL = re.compile(  # names of columns that no electrode has
    r"(?i)unnamed: \d+|(row_?|sample[ _.]?|packet_?)?(index|number|num|nr|no|counter|count)"
    r"|(eeg\.)?(counter|interpolated|rawcq|battery\w*)|sample|row|packet"
    r"|[ec]q[_. ].*|hsi_.*|headbandon|batt(ery)?.*|acc(el(erometer)?)?([ _.\d]?[xyz\d]|[ _.].*|)"
    r"|gyro(scope)?([ _.]?[xyz\d]|[ _.].*|)|(digital|analog|accel|marker|resistance) ?channel.*"
    r"|not used.*|other(\.\d+)?|.*timestamp.*|date.*|time|time[ _(\[].*|uhrzeit|datum"
)
NAMED_UNIT = re.compile(r"(?i)(?:^|[ _.(\[/])(ms|us|µs|ns)[)\]]?$")
SINCE_1970 = 1e9, 4e9  # s: from 2001 on
SAID = re.compile(r"(?i)sampl\w*[ _-]*(?:rate|freq\w*)\W{1,4}([\d.]+) *(k?)(?:hz)?")
DATES = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?"
CLOCK = r"\d\d?:\d\d:\d\d(?:[.,]\d+)?"
DAY = 86_400.0  # s
OFF = 0.5  # samples that a time may be off
CLOCKS = 0.01  # share by which two clocks may differ; beyond it, samples were lost
PACKETS = 3.0  # a gap between packets that is so many times the usual one has lost a packet


class CsvInput(SignalInput, FilesInput):
    """Continuous recordings in text, as consumer headsets and loggers write them.

    How each file is written is found in it: encoding, separator, lines before that of the names, decimal
    sign, thousands, and the format of times. A marker begins an event where it differs from that of the row
    before, and is neither empty nor 0. Columns that are not channels, by their names, are left out.
    """

    format: Literal["csv"] = Field(description="text with a row for each sample: time, channels, marker")
    time: str | None = Field(None, description="column of times; default: the one with such a name")
    time_unit: Literal["s", "ms", "us", "µs", "ns"] | None = Field(
        None, description="unit of the times; default: that in their name or of times since 1970, else s"
    )
    sfreq: float | None = Field(
        None, gt=0, description="sampling rate, Hz, if rows have no times of their own; default: as times say"
    )
    marker: str | None = Field(None, description="column of markers; default: the one with such a name")
    unit: VoltUnit = Field("µV", description="unit of the channels: V, mV, µV or nV; default 'µV'")
    separator: str | None = Field(
        None, min_length=1, max_length=1, description="between values; default: what each file has"
    )
    decimal: Literal[".", ","] | None = Field(
        None, description="between whole numbers and fractions; default: what each file has"
    )

    def warm_up(self) -> None:
        import encodings.cp1252
        import encodings.utf_8_sig
        import encodings.utf_16  # noqa: F401

        super().warm_up()

    def open(self, file: Path, participant: str) -> Any:
        import mne
        import numpy as np

        dialect = require_dialect(file, self.separator, "sample")
        values = (value for row in dialect.rows for value in row)
        decimal = self.decimal or decimal_sign(values, dialect.separator, "input.decimal")
        wanted = [self.time.strip()] if self.time else time_columns(dialect.names)
        time = next((name for name in wanted if name in dialect.names), None)
        said = stated_rate(dialect.before)
        if time is None and (self.time or not (self.sfreq or said)):
            raise _no_column("times", "time", self.time or "timestamps", dialect.names)
        markers = [self.marker.strip()] if self.marker else marker_columns(dialect.names)
        known = [name for name in markers if name in dialect.names]
        table = read_table(file, dialect, texts=known if decimal == "." else None)
        marker = self._marker(file, table, known)
        line = len(dialect.before) + 2
        times = time and seconds_of(table[time], decimal, self.time_unit, first_line=line)
        counter = next((name for name in dialect.names if name.strip().lower() in COUNTERS), None)
        counts = counter and numbers(table[counter], decimal)
        sfreq = rate_of(times, len(table), given=self.sfreq, said=said, counter=counts, first_line=line)
        names = [name for name in dialect.names if name not in (time, marker)]
        signals = np.array([numbers(table[name], decimal) for name in names])
        silent = [name for name, values in zip(names, signals, strict=True) if np.isnan(values).all()]
        aside = [name for name in names if name in silent or is_no_channel(name)]
        signals[np.isin(names, aside)[:, np.newaxis] & np.isnan(signals)] = 0.0
        self._refuse_texts(table, dict(zip(names, signals, strict=True)), first_line=line)
        kinds = ["misc" if name in aside else "eeg" for name in names]
        raw = mne.io.RawArray(signals * VOLTS[self.unit], mne.create_info(names, sfreq, kinds))
        if told := [name for name in aside if name not in (*self.drop, *self.picks)]:
            warn(
                f"columns that are not channels, by their names or values, were left out: {', '.join(told)}; "
                "if they are, name all channels (picks)"
            )
        if marker is not None:
            raw.set_annotations(_events(table[marker], sfreq))
        return raw

    def _marker(self, file: Path, table: Any, columns: Sequence[str]) -> str | None:
        """Find the column of markers; None if events are in a table beside the recording."""
        used = [name for name in columns if (~_texts(table[name]).isin(NOTHING)).any()] or [*columns][:1]
        if len(used) > 1:
            found, hint = ", ".join(used), f"name it under [input], as marker = {json.dumps(used[0])}"
            problem = "several columns may be the markers"
            raise InputError(problem, field="input.marker", found=found, hint=hint)
        beside = self.event_source == "tsv" or (self.event_source is None and events_beside(file))
        if not used and not (beside and self.marker is None):
            raise _no_column("markers", "marker", self.marker or "marker", table.columns)
        return used[0] if used else None

    def _refuse_texts(self, table: Any, signals: dict[str, Any], *, first_line: int) -> None:
        import numpy as np

        first = {
            name: int(np.argmin(np.isfinite(values)))
            for name, values in signals.items()
            if name not in self.drop and not np.isfinite(values).all()
        }
        if first:
            name, at = min(first.items(), key=lambda each: each[1])
            problem, text = "channels hold values that are not numbers", _texts(table[name]).iloc[at]
            expected = f"finite numbers in each row; line {first_line + at} has '{text}' in {name}"
            drop = json.dumps([*first], ensure_ascii=False)
            hint = f"if they are no channels, write under [input] drop = {drop}; else repair the file"
            found = ", ".join(first)
            raise InputError(problem, field="input.drop", found=found, expected=expected, hint=hint)


def _texts(column: Any) -> Any:
    return column.fillna("").astype(str).str.strip("\0 \t")


def _events(column: Any, sfreq: float) -> Any:
    import mne
    import numpy as np

    markers = _texts(column).to_numpy(dtype=str)
    at = np.flatnonzero(np.r_[True, markers[1:] != markers[:-1]] & ~np.isin(markers, NOTHING))
    return mne.Annotations(at / sfreq, 0.0, [name.removesuffix(".0") for name in markers[at]])


def _no_column(what: str, field: str, wanted: str, names: Sequence[str]) -> InputError:
    where = f"input.{field}"
    found = ", ".join([*names][:SHOWN])
    hint = f'name the column under [input], as {field} = "…"' + (
        ", or the rate of a file without times, as sfreq = 250" if field == "time" else ""
    )
    return InputError(f"there is no column of {what}", field=where, found=found, expected=wanted, hint=hint)


def _plain(name: str) -> str:
    return re.split(r"[ (\[]", name.strip().lower())[0]


def time_columns(names: Sequence[str]) -> list[str]:
    """Return columns named like times, the likeliest first."""
    return [name for word in TIMES for name in names if _plain(name) == word]


def marker_columns(names: Sequence[str]) -> list[str]:
    """Return columns named like markers; `marker` alone if there is one."""
    if "marker" in names:
        return ["marker"]
    return [
        name
        for word in MARKERS
        for name in names
        if word in (_plain(name), _plain(name).rstrip("s0123456789"))
    ]


def is_no_channel(name: str) -> bool:
    """True if no electrode has this name."""
    return NO_CHANNEL.fullmatch(name.strip()) is not None or name in marker_columns([name])


def stated_rate(lines: Iterable[str]) -> float | None:
    """Return the sampling rate (Hz) that lines above the table state, if any."""
    found = SAID.search("\n".join(lines))
    return float(found[1]) * (1000 if found[2] else 1) if found else None


def unit_of_times(name: str, first: float) -> str:
    """Return the unit in a column's name, or of times since 1970; else s."""
    if said := NAMED_UNIT.search(name.strip()):
        return said[1].lower()
    low, high = SINCE_1970
    return next((unit for unit, scale in SECONDS.items() if low <= first * scale <= high), "s")


def seconds_of(column: Any, decimal: str, unit: str | None, *, first_line: int) -> Any:
    """Return times of rows, s after the first, from numbers, ISO 8601 dates or clock times."""
    import numpy as np
    import pandas as pd

    numeric = column.dtype.kind in "iuf"
    texts = column.astype(str).where(column.notna(), "") if column.isna().any() or not numeric else column
    texts = texts if numeric else texts.str.strip()
    if not numeric and texts.str.fullmatch(DATES).all():
        utc = bool(texts.str.contains("Z|[+-]..:?..$").all())
        times = pd.to_datetime(texts.str.replace(",", "."), format="ISO8601", utc=utc)
        return (times - times.iloc[0]).dt.total_seconds().to_numpy() if len(times) else np.empty(0)
    if not numeric and texts.str.fullmatch(CLOCK).all():
        times = pd.to_timedelta(texts.str.replace(",", ".")).dt.total_seconds().to_numpy()
        over = np.cumsum(np.diff(times, prepend=times[:1]) < -DAY / 2)  # midnights
        return times + DAY * over - times[:1]
    values = numbers(column, decimal)
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        more = f", and {len(wrong) - 1:,} more" * (len(wrong) > 1)
        found = f"'{texts.iloc[wrong[0]]}' in line {first_line + wrong[0]}, column '{column.name}'{more}"
        expected = "a number in each row, or a date in each, as 2024-03-01 10:00:00.125"
        hint = "write times so, or name another column (input.time)"
        raise InputError("rows have no time", field="input.time", found=found, expected=expected, hint=hint)
    # Subtract the first before scaling: times since 1970 have few digits to lose.
    scale = SECONDS[unit or unit_of_times(str(column.name), float(values[0]) if len(values) else 0.0)]
    return (values - values[:1]) * scale


def rate_of(
    times: Any, rows: int, *, given: float | None, said: float | None, counter: Any, first_line: int
) -> float:
    """Return the rate of evenly spaced `times` (s) or, if packets share times, that of study or file."""
    import numpy as np

    if counter is not None and (given or said):
        _refuse_jumps(counter, first_line)
    if times is None:
        return float(given or said or np.nan)
    steps = np.diff(times)
    usual = float(np.median(steps)) if len(steps) else np.nan
    if given:
        _check_given(times, steps, given, first_line)
        return given
    rising = rows > 1 and times[-1] > times[0]
    sfreq = float(f"{(rows - 1) / (times[-1] - times[0]):.12g}") if rising else np.nan
    if said and _are_packets(times, steps, said):
        return said
    if not usual > 0 or not sfreq > 0:
        found = f"{rows} rows, most steps {usual:g} s"
        raise InputError("times do not increase", field="input.time", found=found, hint=_of_packets(sfreq))
    off = np.abs(times - np.arange(rows) / sfreq) * sfreq
    if off.max() > OFF or steps.max() > 1.5 * usual or (steps <= 0).any():
        worst = int(np.argmax(np.abs(steps - usual)))
        problem = "times are not evenly spaced: samples are lost, or times are those of packets"
        what = f"{steps[worst]:g} s between rows {worst + 1} and {worst + 2}; {off.max():.3g} samples off"
        expected = f"steps of {usual:g} s, each time at most {OFF:g} samples off"
        hint = "fill the gaps and export again, or, " + _of_packets(sfreq)
        raise InputError(problem, field="input.time", found=what, expected=expected, hint=hint)
    return sfreq


def _of_packets(sfreq: float) -> str:
    near = f"{nominal(sfreq):.6g}" if sfreq > 0 else "250"
    return f"if they are of packets and no sample is lost, write the rate under [input], as sfreq = {near}"


def _are_packets(times: Any, steps: Any, rate: float) -> bool:
    """True if samples came in packets with shared times, and none is lost."""
    import numpy as np

    gaps = steps[steps > 0]
    if len(gaps) < 2 or (steps < 0).any() or len(gaps) == len(steps):
        return False
    lasts = abs(len(steps) / rate - times[-1]) <= CLOCKS * times[-1] + 2 * np.median(gaps)
    return bool(lasts and gaps.max() <= PACKETS * np.median(gaps))


def _check_given(times: Any, steps: Any, rate: float, first_line: int) -> None:
    """Refuse a rate that contradicts the times; warn of a jump in them."""
    import numpy as np

    gaps = steps[steps > 0]
    if not len(gaps) or (steps == 1).all():  # sample numbers, not times
        return
    measured = len(steps) / (times[-1] - times[0])
    if abs(measured - rate) > CLOCKS * rate + 2 * np.median(gaps) / (times[-1] - times[0]) * rate:
        problem = "the rate that the study says is not that of the times"
        found = f"{len(times):,} rows in {times[-1] - times[0]:.6g} s, {measured:.6g} Hz"
        expected = f"{rate:g} Hz, but for {CLOCKS:.0%}"
        hint = "correct the rate; samples are lost if it is right"
        raise InputError(problem, field="input.sfreq", found=found, expected=expected, hint=hint)
    at = int(np.argmax(steps))
    if steps[at] > PACKETS * np.median(gaps) + 2 / rate:
        warn(
            f"times jump by {steps[at]:.3g} s after line {first_line + at}: if samples are lost there, "
            "events after it are off"
        )


def _refuse_jumps(counter: Any, first_line: int) -> None:
    """Refuse a sample counter with gaps; it may restart at its smallest value."""
    import numpy as np

    steps = np.diff(counter)
    usual = float(np.median(steps)) if len(steps) else 1.0
    again = (steps < 0) & (counter[1:] <= counter.min() + usual) & (counter[:-1] >= counter.max() - usual)
    jumps = np.flatnonzero(~again & (steps != usual))
    if len(jumps) and usual > 0:
        at = int(jumps[0])
        more = f", and jumps {len(jumps) - 1:,} times more" * (len(jumps) > 1)
        found = f"line {first_line + at + 1} counts {counter[at + 1]:g} after {counter[at]:g}{more}"
        hint = "fill the gaps, or split the file there into runs"
        raise InputError("samples are lost", found=found, expected=f"steps of {usual:g}", hint=hint)
