"""Whether a text file is a recording: a column of times that go up in small steps, and one of markers."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from shortloop.eeg.formats.columns import (
    NOTHING,
    is_no_channel,
    marker_columns,
    said_rate,
    time_columns,
    unit_of_times,
)
from shortloop.eeg.formats.delimited import Dialect, decimal_of, dialect_of, numbers
from shortloop.eeg.formats.plausible import SECONDS
from shortloop.eeg.formats.signals import events_beside

__all__ = ["counts_samples", "markers_in", "table_settings", "why_no_recording"]

# Steps that are longer than this are no samples of a brain's signal, s; rows that come in packets, and those
# of which some are lost, are so on average.
LONGEST = 0.05
FEWEST = 100  # rows of a recording that lacks something
EVEN = 0.5  # of a step that most steps may differ
UNITS = ("s", "ms", "us", "ns")
LARGEST = 0.01  # of a signal in V
SHOWN = 6  # names of columns


def table_settings(file: Path) -> dict[str, object] | None:
    """Find the fields of the format ``csv`` that are not its defaults; None if the file is no recording."""
    found = _look_at(file)
    return None if isinstance(found, str) else found


def why_no_recording(file: Path) -> str:
    """What a text file lacks for a recording; empty if nothing."""
    found = _look_at(file)
    return found if isinstance(found, str) else ""


def markers_in(file: Path) -> dict[str, Counter[str]]:
    """Columns that may be the markers, and how often each value is there in the first rows."""
    dialect = dialect_of(file)
    return {} if dialect is None else _used(dialect, marker_columns(dialect.names))


def counts_samples(file: Path) -> bool:
    """True if times go up by 1, which may be ms at 1000 Hz, or numbers of samples."""
    dialect = dialect_of(file)
    names = [] if dialect is None else time_columns(dialect.names)
    times = [] if dialect is None or not names else _numbers(dialect.column(names[0]), ".")
    return all(after - before == 1 for before, after in itertools.pairwise(times))


def _look_at(file: Path) -> dict[str, object] | str:
    try:
        dialect = dialect_of(file)
    except (OSError, UnicodeError):
        return "the file cannot be read"
    if dialect is None or len(dialect.rows) < 2:
        return "no line of names above rows of values"
    columns = ", ".join(dialect.names[:SHOWN]) + ", …" * (len(dialect.names) > SHOWN)
    times, markers = time_columns(dialect.names), marker_columns(dialect.names)
    if not times and not said_rate(dialect.before):
        return f"no column of times among {columns}"
    decimal = decimal_of((value for row in dialect.rows for value in row), dialect.separator)
    decimal = decimal if isinstance(decimal, str) else "."  # reading it says what is open
    unit = _unit_of_times(dialect, times[0], decimal) if times else "s"
    if unit is None:
        return f"values of {times[0]} are no times of samples"
    longer = any(len(row) > len(dialect.names) for row in dialect.rows) and len(dialect.rows) >= FEWEST
    if not (markers or events_beside(file) or longer):  # reading it says more of rows that are longer
        return f"no column of markers among {columns}, and no {file.stem}_events.tsv beside it"
    channels = [name for name in dialect.names if name not in times[:1] and not is_no_channel(name)]
    signals = [value for name in channels for value in _numbers(dialect.column(name), decimal)]
    if not signals:
        return f"no column of numbers among {columns}"
    used = _used(dialect, markers)
    given: dict[str, object] = {
        "time_unit": unit,
        "unit": "V" if max(map(abs, signals)) < LARGEST else "µV",
        "marker": next(iter(used)) if len(used) > 1 else None,
    }
    usual = {"time_unit": "s", "unit": "µV", "marker": None}
    return {name: value for name, value in given.items() if value != usual[name]}


def _used(dialect: Dialect, names: Sequence[str]) -> dict[str, Counter[str]]:
    counts = {name: Counter(text for text in dialect.column(name) if text not in NOTHING) for name in names}
    return {name: values for name, values in counts.items() if values}


def _unit_of_times(dialect: Dialect, name: str, decimal: str) -> str | None:
    """The unit that must be said for times to be of samples, s if none must; None if they are of none."""
    texts = dialect.column(name)
    times = _numbers(texts, decimal)
    if 2 * len(times) < len(texts):  # dates, if anything: reading the file says more
        return "s" if len(texts) >= FEWEST and 2 * len({text[:8] for text in texts}) < len(texts) else None
    steps = [after - before for before, after in itertools.pairwise(times)]
    usual = median(steps) if steps else 0.0
    scale = SECONDS[unit_of_times(name, times[0])]
    even = sum(abs(step - usual) <= EVEN * usual for step in steps) >= 0.9 * len(steps)
    if usual > 0 and even:
        if scale != 1.0:
            return "s" if usual * scale <= LONGEST else None
        return next((unit for unit in UNITS if usual * SECONDS[unit] <= LONGEST), None)
    rising = len(times) >= FEWEST and times[-1] > times[0]
    return "s" if rising and (times[-1] - times[0]) / len(steps) * scale <= LONGEST else None


def _numbers(texts: Sequence[str], decimal: str) -> list[float]:
    import pandas as pd

    found = numbers(pd.Series(texts, dtype=str), decimal)
    return [float(value) for value in found if value == value]
