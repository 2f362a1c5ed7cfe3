"""Tables of text: a row for each sample, with its time, a marker, and a column for each channel."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.eeg.formats.base import FilesInput
from shortloop.eeg.formats.plausible import SECONDS
from shortloop.eeg.formats.signals import SignalInput
from shortloop.eeg.formats.units import VOLTS, VoltUnit
from shortloop.errors import InputError

__all__ = ["CsvInput"]

BYTES = 8  # in memory, for each byte of text
NOTHING = ("", "0", "0.0", "nan", "NaN", "n/a", "None")
OFF = 0.5  # samples that a time may be off


class CsvInput(SignalInput, FilesInput):
    """Continuous recordings in text, as consumer headsets and loggers write them.

    A marker begins an event where it differs from that of the row before, and is neither empty nor 0.
    """

    format: Literal["csv"] = Field(description="text with a row for each sample: time, channels, marker")
    time: str = Field("timestamps", description="column of times; default 'timestamps'")
    time_unit: Literal["s", "ms", "us", "µs", "ns"] | None = Field(
        None, description="unit of the times; default: s, which is refused where it can hardly be so"
    )
    marker: str = Field("marker", description="column of markers; default 'marker'")
    unit: VoltUnit = Field("µV", description="unit of the channels: V, mV, µV or nV; default 'µV'")
    separator: str = Field(",", min_length=1, max_length=1, description="between values: ',' is the default")

    def declared(self, file: Path, participant: str) -> int:
        """Bytes of the numbers and of what it takes to read them."""
        return BYTES * file.stat().st_size

    def open(self, file: Path, participant: str) -> Any:
        import mne
        import numpy as np
        import pandas as pd

        table = pd.read_csv(
            file,
            sep=self.separator,
            dtype={self.marker: str},
            keep_default_na=True,
            float_precision="round_trip",
        )
        has_events = self.marker in table or self.event_source == "tsv"
        if self.time not in table or not has_events:
            raise InputError(
                f"there is no column of {'markers' if self.time in table else 'times'}",
                participant=participant,
                file=file,
                field="input.marker" if self.time in table else "input.time",
                found=", ".join(map(str, table.columns[:50])),
                expected=self.marker if self.time in table else self.time,
                hint="name the column in the study file",
            )
        # The first one is taken off before they are scaled: times since 1970 have few digits to lose.
        times = pd.to_numeric(table[self.time], errors="coerce").to_numpy(dtype=float)
        times = (times - times[:1]) * SECONDS[self.time_unit or "s"]
        sfreq = _rate(times, file, participant)
        names = [str(name) for name in table.columns if name not in (self.time, self.marker)]
        signals = table[names].apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float).T
        wrong = [name for name, values in zip(names, signals, strict=True) if not np.isfinite(values).all()]
        wrong = [name for name in wrong if name not in self.drop]
        if wrong:
            raise InputError(
                "channels hold values that are no numbers",
                participant=participant,
                file=file,
                field="input.drop",
                found=", ".join(wrong),
                expected="finite numbers in each row",
                hint="drop columns that are no channels (input.drop), or repair the file",
            )
        raw = mne.io.RawArray(signals * VOLTS[self.unit], mne.create_info(names, sfreq, "eeg"))
        if self.marker in table:
            markers = table[self.marker].fillna("").str.strip().to_numpy(dtype=str)
            begins = np.r_[True, markers[1:] != markers[:-1]] & ~np.isin(markers, NOTHING)
            at = np.flatnonzero(begins)
            called = [name.removesuffix(".0") for name in markers[at]]
            raw.set_annotations(mne.Annotations(at / sfreq, 0.0, called))
        return raw


def _rate(times: Any, file: Path, participant: str) -> float:
    """Samples per second, of times that are evenly spaced."""
    import numpy as np

    steps = np.diff(times)
    usual = float(np.median(steps)) if len(steps) else np.nan
    if not usual > 0 or not np.isfinite(times).all():
        raise InputError(
            "times do not increase",
            participant=participant,
            file=file,
            field="input.time",
            found=f"{len(times)} rows, most steps {usual:g} s",
            expected="a time in each row, each later than the one before",
        )
    sfreq = float(f"{(len(times) - 1) / (times[-1] - times[0]):.12g}")
    off = np.abs(times - np.arange(len(times)) / sfreq) * sfreq
    if off.max() > OFF or steps.max() > 1.5 * usual or (steps <= 0).any():
        worst = int(np.argmax(np.abs(steps - usual)))
        raise InputError(
            "times are not evenly spaced: samples are lost, or times are those of packets",
            participant=participant,
            file=file,
            field="input.time",
            found=f"{steps[worst]:g} s between rows {worst + 1} and {worst + 2}; {off.max():.3g} samples off",
            expected=f"steps of {usual:g} s, each time at most {OFF:g} samples off",
            hint="fill the gaps, or write times of samples, and export again",
        )
    return sfreq
