"""Recordings and features in text files: is a file one, and how is it read?

A recording has times that go up in small steps, and markers; a table of features has classes and numbers.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from shortloop.eeg.checks.plausible import SECONDS
from shortloop.eeg.formats.epochs.settings import events_beside
from shortloop.eeg.formats.files.columns import (
    NOTHING,
    is_no_channel,
    marker_columns,
    stated_rate,
    time_columns,
    unit_of_times,
)
from shortloop.eeg.formats.files.delimited import MISSING, Dialect, decimal_of, dialect_of, numbers

__all__ = ["counts_samples", "feature_table_settings", "labels_in", "markers_in", "recording_settings"]

LONGEST = 0.05  # s from one sample to the next; on average, if rows come in packets or are lost
FEWEST_ROWS = 100  # of a recording that lacks something
EVEN = 0.5  # of a step that most steps may differ
UNITS = ("s", "ms", "us", "ns")
LARGEST = 0.01  # of a signal in V
SHOWN = 6  # names of columns
DEFAULTS: dict[str, object] = {"time_unit": "s", "unit": "µV", "label": "label", "drop": []}
LABELS = (
    *("label", "labels", "class", "classes", "y", "target"),
    *("category", "condition", "stimulus", "trial_type"),
)
PARTICIPANT = re.compile(r"participants?(_id)?|subjects?(_id)?|subj|sub|vpn?|proband|person")
PHASE = re.compile(r"phase|task")
NO_FEATURE = re.compile(
    r"runs?|ses|sessions?|blocks?|trials?|trial_number|epochs?|event|index|idx|id|row|nr|number|age|sex|gender"
    r"|group|handedness|rt|reaction_time|response|correct|accuracy|file|filename|unnamed|times?|date|fold|split"
    r"|label_id|class_id"
)
"""Columns of numbers that were not measured in a trial."""
ROWS = 2000  # of a table that are looked at
FEWEST = 4  # rows of each class


def markers_in(file: Path) -> dict[str, Counter[str]]:
    """Count the values of columns that may be the markers, in the first rows."""
    dialect = dialect_of(file)
    return {} if dialect is None else _used(dialect, marker_columns(dialect.names))


def counts_samples(file: Path) -> bool:
    """True if times go up by 1, which may be ms at 1000 Hz, or numbers of samples."""
    dialect = dialect_of(file)
    names = [] if dialect is None else time_columns(dialect.names)
    return dialect is None or not names or _count_up(_numbers(dialect.column(names[0]), "."))


def recording_settings(file: Path) -> dict[str, object] | str:
    """Return fields of the format ``csv`` that are not its defaults, or why the file is no recording."""
    try:
        dialect = dialect_of(file)
    except (OSError, UnicodeError):
        return "the file cannot be read"
    if dialect is None or len(dialect.rows) < 2:
        return "no line of names above rows of values"
    columns = ", ".join(dialect.names[:SHOWN]) + ", …" * (len(dialect.names) > SHOWN)
    times, markers = time_columns(dialect.names), marker_columns(dialect.names)
    if not times and not stated_rate(dialect.before):
        return f"no column of times among {columns}"
    decimal = decimal_of((value for row in dialect.rows for value in row), dialect.separator)
    decimal = decimal if isinstance(decimal, str) else "."  # the reader asks
    unit = _unit_of_times(dialect, times[0], decimal) if times else "s"
    if unit is None:
        return f"values of {times[0]} are no times of samples"
    # The reader refuses rows longer than the line of names, with a better message.
    longer = any(len(row) > len(dialect.names) for row in dialect.rows) and len(dialect.rows) >= FEWEST_ROWS
    if not (markers or events_beside(file) or longer):
        return f"no column of markers among {columns}, and no {file.stem}_events.tsv beside it"
    channels = [name for name in dialect.names if name not in times[:1] and not is_no_channel(name)]
    signals = [value for name in channels for value in _numbers(dialect.column(name), decimal)]
    if not signals:
        return f"no column of numbers among {columns}"
    used = _used(dialect, markers)
    return _not_default(
        time_unit=unit,
        unit="V" if max(map(abs, signals)) < LARGEST else "µV",
        marker=next(iter(used)) if len(used) > 1 else None,
    )


def _not_default(**given: object) -> dict[str, object]:
    return {name: value for name, value in given.items() if value != DEFAULTS.get(name)}


def _used(dialect: Dialect, names: Sequence[str]) -> dict[str, Counter[str]]:
    counts = {name: Counter(text for text in dialect.column(name) if text not in NOTHING) for name in names}
    return {name: values for name, values in counts.items() if values}


def _unit_of_times(dialect: Dialect, name: str, decimal: str) -> str | None:
    """Return the unit of times that are those of samples, s if the study need not say it; else None."""
    texts = dialect.column(name)
    times = _numbers(texts, decimal)
    if 2 * len(times) < len(texts):  # probably dates, which the reader knows better
        dates = len(texts) >= FEWEST_ROWS and 2 * len({text[:8] for text in texts}) < len(texts)
        return "s" if dates else None
    steps = [after - before for before, after in itertools.pairwise(times)]
    usual = median(steps) if steps else 0.0
    scale = SECONDS[unit_of_times(name, times[0])]
    even = sum(abs(step - usual) <= EVEN * usual for step in steps) >= 0.9 * len(steps)
    if usual > 0 and even:
        if scale != 1.0:
            return "s" if usual * scale <= LONGEST else None
        return next((unit for unit in UNITS if usual * SECONDS[unit] <= LONGEST), None)
    rising = len(times) >= FEWEST_ROWS and times[-1] > times[0]
    return "s" if rising and (times[-1] - times[0]) / len(steps) * scale <= LONGEST else None


def _numbers(texts: Sequence[str], decimal: str) -> list[float]:
    """Return the values that are numbers."""
    import pandas as pd

    found = numbers(pd.Series(texts, dtype=str), decimal)
    return [float(value) for value in found if value == value]


def _count_up(values: Sequence[float]) -> bool:
    return all(after - before == 1 for before, after in itertools.pairwise(values))


class _Table(NamedTuple):
    """The first rows of a table, by column, and its decimal sign."""

    columns: dict[str, tuple[str, ...]]
    decimal: str


def feature_table_settings(file: Path) -> dict[str, object] | None:
    """Return fields of the format ``table`` that are not its defaults; None if the file has no features."""
    table = _read_table(file)
    labels = [] if table is None else _labels(table.columns)
    if table is None or not labels or "onset" in map(_plain, table.columns):  # that lists events of BIDS
        return None
    features = _features(table, labels)
    if not features:
        return None
    participant = _first(table.columns, PARTICIPANT)
    phase = _first([name for name, values in table.columns.items() if len({*values}) > 1], PHASE)
    # If another column is chosen for the classes, this one is no feature either.
    others = {*features, participant, phase, *(labels if len(labels) == 1 else ())}
    drop = [name for name in table.columns if name not in others]
    return _not_default(label=labels[0], participant=participant, phase=phase, drop=drop)


def labels_in(file: Path) -> list[str]:
    """List columns that could be the classes."""
    table = _read_table(file)
    return [] if table is None else _labels(table.columns)


def _read_table(file: Path) -> _Table | None:
    """Read the first rows of a table; None if it is none, or has too few rows."""
    try:
        dialect = dialect_of(file, head=ROWS)
    except (OSError, UnicodeError):
        return None
    if dialect is None:
        return None
    at = int(dialect.indexed)
    rows = [row[at:] for row in dialect.rows if len(row) == len(dialect.names) + at]
    if len(rows) < 2 * FEWEST:
        return None
    decimal = decimal_of((value for row in rows for value in row), dialect.separator)
    columns = dict(zip(dialect.names, zip(*rows, strict=True), strict=True))
    return _Table(columns, decimal if isinstance(decimal, str) else ".")


def _labels(columns: dict[str, tuple[str, ...]]) -> list[str]:
    """List columns named for classes that have at least two values, each in some rows."""
    counts = {name: Counter(values) for name, values in columns.items() if _plain(name) in LABELS}
    found = [name for name, each in counts.items() if len(each) > 1 and min(each.values()) >= FEWEST]
    return sorted(found, key=lambda name: LABELS.index(_plain(name)))


def _features(table: _Table, labels: Sequence[str]) -> list[str]:
    """List columns of numbers that neither count rows nor repeat the classes."""
    found = []
    for name, texts in table.columns.items():
        if name in labels or any(each.fullmatch(_plain(name)) for each in (NO_FEATURE, PARTICIPANT, PHASE)):
            continue
        values = _numbers(texts, table.decimal)
        numeric = len(values) == sum(text not in MISSING for text in texts)
        index = len(values) == len(texts) and _count_up(values)
        if numeric and not index and not any(_same(texts, table.columns[label]) for label in labels):
            found.append(name)
    return found


def _same(texts: Sequence[str], labels: Sequence[str]) -> bool:
    """True if a column says the same as that of the classes."""
    pairs = {*zip(texts, labels, strict=True)}
    return len(pairs) == len({*texts}) == len({*labels})


def _first(names: Iterable[str], wanted: re.Pattern[str]) -> str | None:
    return next((name for name in names if wanted.fullmatch(_plain(name))), None)


def _plain(name: str) -> str:
    return name.strip().lower().partition(":")[0].replace(" ", "_").replace("-", "_")
