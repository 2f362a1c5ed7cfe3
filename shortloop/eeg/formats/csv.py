"""Text tables with a row per sample: its time, a marker, and a column per channel."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.eeg.formats.base import FilesInput
from shortloop.eeg.formats.epochs.settings import events_beside
from shortloop.eeg.formats.files.columns import (
    NOTHING,
    counter_in,
    is_no_channel,
    marker_columns,
    rate_of,
    seconds_of,
    stated_rate,
    time_columns,
)
from shortloop.eeg.formats.files.delimited import Dialect, decimal_sign, dialect_of, numbers, read_table
from shortloop.eeg.formats.signals import SignalInput
from shortloop.eeg.headers.units import VOLTS, VoltUnit

BYTES = 8  # in memory, for each byte of text
SHOWN = 50  # names in a message


class CsvInput(SignalInput, FilesInput):
    """Continuous recordings in text, as consumer headsets and loggers write them.

    How each file is written is found in it: encoding, separator, lines before that of the names, decimal
    sign, thousands, and the format of times. A marker begins an event where it differs from that of the row
    before, and is neither empty nor 0. Columns that are no channels by their names, as of a counter, are left
    out.
    """

    format: Literal["csv"] = Field(description="text with a row for each sample: time, channels, marker")
    time: str | None = Field(
        None, description="column of times; default: the one that is called so, as 'timestamps'"
    )
    time_unit: Literal["s", "ms", "us", "µs", "ns"] | None = Field(
        None,
        description="unit of the times; default: that in the column's name or of times since 1970, else s, "
        "which is refused where it can hardly be so; dates need none",
    )
    sfreq: float | None = Field(
        None,
        gt=0,
        description="sampling rate, Hz, where rows have no times or those of packets; default: as times say",
    )
    marker: str | None = Field(
        None, description="column of markers; default: the one that is called so, as 'marker'"
    )
    unit: VoltUnit = Field("µV", description="unit of the channels: V, mV, µV or nV; default 'µV'")
    separator: str | None = Field(
        None, min_length=1, max_length=1, description="between values; default: what each file has"
    )
    decimal: Literal[".", ","] | None = Field(
        None, description="between whole numbers and fractions; default: what each file has"
    )

    def declared(self, file: Path, participant: str) -> int:
        return BYTES * file.stat().st_size

    def warm_up(self) -> None:
        import encodings.cp1252
        import encodings.utf_8_sig
        import encodings.utf_16  # noqa: F401

        super().warm_up()

    def open(self, file: Path, participant: str) -> Any:
        import mne
        import numpy as np

        dialect = dialect_of(file, self.separator)
        if dialect is None:
            raise InputError(
                "the file has no header line",
                expected="names of columns in one of the first lines, and below a row for each sample",
                hint="add the line, or name what is between values (input.separator)",
            )
        values = (value for row in dialect.rows for value in row)
        decimal = self.decimal or decimal_sign(values, dialect.separator, "input.decimal")
        time = self._time(dialect)
        markers = [self.marker.strip()] if self.marker else marker_columns(dialect.names)
        known = [name for name in markers if name in dialect.names]
        table = read_table(file, dialect, texts=known if decimal == "." else None)
        marker = self._marker(file, table, known)
        line = len(dialect.before) + 2
        times = time and seconds_of(table[time], decimal, self.time_unit, first_line=line)
        counter = counter_in(dialect.names)
        sfreq = rate_of(
            times,
            len(table),
            given=self.sfreq,
            said=stated_rate(dialect.before),
            counter=counter and numbers(table[counter], decimal),
            first_line=line,
        )
        names = [name for name in dialect.names if name not in (time, marker)]
        signals = np.array([numbers(table[name], decimal) for name in names])
        silent = [name for name, values in zip(names, signals, strict=True) if np.isnan(values).all()]
        aside = [name for name in names if name in silent or is_no_channel(name)]
        signals[np.isin(names, aside)[:, np.newaxis] & np.isnan(signals)] = 0.0
        self._refuse_texts(table, dict(zip(names, signals, strict=True)), first_line=line)
        kinds = ["misc" if name in aside else "eeg" for name in names]
        raw = mne.io.RawArray(signals * VOLTS[self.unit], mne.create_info(names, sfreq, kinds))
        told = [name for name in aside if name not in (*self.drop, *self.picks)]
        if told:
            warnings.warn(
                f"columns that are no channels by their names or values were left out: {', '.join(told)}; if "
                "they are, name all channels (picks)",
                stacklevel=2,
            )
        if marker is not None:
            raw.set_annotations(_events(table[marker], sfreq))
        return raw

    def _time(self, dialect: Dialect) -> str | None:
        """Find the column of times; None if there is none, and the study or the file says the rate."""
        wanted = [self.time.strip()] if self.time else time_columns(dialect.names)
        found = next((name for name in wanted if name in dialect.names), None)
        if found is None and (self.time or not (self.sfreq or stated_rate(dialect.before))):
            raise _no_column("times", "time", self.time or "timestamps", dialect.names)
        return found

    def _marker(self, file: Path, table: Any, columns: Sequence[str]) -> str | None:
        """Find the column of markers; None if events are in a table beside the recording."""
        used = [name for name in columns if (~_texts(table[name]).isin(NOTHING)).any()] or [*columns][:1]
        if len(used) > 1:
            raise InputError(
                "several columns may be the markers",
                field="input.marker",
                found=", ".join(used),
                expected="one",
                hint=f"name it under [input], as marker = {json.dumps(used[0])}",
            )
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
            name = min(first, key=lambda each: first[each])
            raise InputError(
                "channels hold values that are no numbers",
                field="input.drop",
                found=", ".join(first),
                expected=f"finite numbers in each row; line {first_line + first[name]} has "
                f"'{_texts(table[name]).iloc[first[name]]}' in {name}",
                hint="if they are no channels, write under [input] drop = "
                f"{json.dumps([*first], ensure_ascii=False)}; else repair the file",
            )


def _texts(column: Any) -> Any:
    return column.fillna("").astype(str).str.strip("\0 \t")


def _events(column: Any, sfreq: float) -> Any:
    """Annotate where markers begin."""
    import mne
    import numpy as np

    markers = _texts(column).to_numpy(dtype=str)
    begins = np.r_[True, markers[1:] != markers[:-1]] & ~np.isin(markers, NOTHING)
    at = np.flatnonzero(begins)
    return mne.Annotations(at / sfreq, 0.0, [name.removesuffix(".0") for name in markers[at]])


def _no_column(what: str, field: str, wanted: str, names: Sequence[str]) -> InputError:
    return InputError(
        f"there is no column of {what}",
        field=f"input.{field}",
        found=", ".join([*names][:SHOWN]),
        expected=wanted,
        hint=f'name the column under [input], as {field} = "…"'
        + (", or the rate of a file without times, as sfreq = 250" if field == "time" else ""),
    )
