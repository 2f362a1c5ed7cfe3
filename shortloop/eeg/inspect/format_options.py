"""Fields that formats need, found in the files, and the choices if several values are as good."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from shortloop.base.errors import InputError
from shortloop.eeg.checks.plausible import SECONDS
from shortloop.eeg.formats import csv
from shortloop.eeg.formats.epochs.events_tsv import COLUMNS
from shortloop.eeg.formats.epochs.settings import events_beside
from shortloop.eeg.formats.fieldtrip import code_columns, in_words, table_of
from shortloop.eeg.formats.files import delimited
from shortloop.eeg.formats.xdf import eeg_streams
from shortloop.eeg.headers.mat import read_struct, variables
from shortloop.eeg.inspect.rules import are_kinds

MOST = 12  # codes of a column of events
FEWEST = 4  # trials of each code or class
SHOWN = 6  # names or values that are listed
LARGEST = 0.01  # of a signal in V
STRUCT = "data"  # usual variable of FieldTrip's structs
EVENT_COLUMN = "event_column"
TIMES = ("onset", "duration", "sample", "response_time")
LONGEST = 0.05  # s from one sample to the next; on average, if rows come in packets or are lost
FEWEST_ROWS = 100  # of a recording that lacks something
EVEN = 0.5  # of a step that most steps may differ
DEFAULTS: dict[str, object] = {"time_unit": "s", "unit": "µV", "label": "label", "drop": []}
LABELS = (
    *("label", "labels", "class", "classes", "y", "target"),
    *("category", "condition", "stimulus", "trial_type"),
)
PARTICIPANT = re.compile(r"participants?(_id)?|subjects?(_id)?|subj|sub|vpn?|proband|person")
PHASE = re.compile(r"phase|task")
NO_FEATURE = re.compile(  # columns of numbers that were not measured in a trial
    r"runs?|ses|sessions?|blocks?|trials?|trial_number|epochs?|event|index|idx|id|row|nr|number|age|sex|gender"
    r"|group|handedness|rt|reaction_time|response|correct|accuracy|file|filename|unnamed|times?|date|fold|split"
    r"|label_id|class_id"
)
ROWS = 2000  # of a table that are read
SAMPLE_NUMBERS = "ms, or numbers of samples: then write their rate in its place, as sfreq = 250"

Options = dict[str, object]
Choices = dict[str, str]
Columns = dict[str, tuple[str, ...]]


def find_options(format: str, file: Path, known: Options) -> tuple[Options, Choices]:
    """Return further fields that a format needs, and the choices for fields in doubt."""
    if format == "fieldtrip":
        return _fieldtrip_options(file)
    if format == "xdf":
        streams = eeg_streams(file)
        return ({"stream": streams[0]}, {"stream": ", ".join(streams)}) if len(streams) > 1 else ({}, {})
    if format == "npz":
        return _array_options(file), {}
    if format == "table":
        labels = _labels(_read_columns(file)[0]) if "label" in known else []
        return {}, {"label": ", ".join(labels)} if len(labels) > 1 else {}
    if format in ("arrays", "thesis"):
        return {}, {}
    options, choices = _event_options(file)
    if format == "csv" and not options and (dialect := delimited.dialect_of(file)) is not None:
        if "marker" in known:
            choices["marker"] = in_words(_used(dialect, csv.marker_columns(dialect.names)))
        elif known.get("time_unit") == "ms":
            times = dialect.column(csv.time_columns(dialect.names)[0])
            choices |= {"time_unit": SAMPLE_NUMBERS} if (np.diff(_numbers(times, ".")) == 1).all() else {}
    return options, choices


def _fieldtrip_options(file: Path) -> tuple[Options, Choices]:
    names = variables(file)
    usual = names[0] if len(names) == 1 else STRUCT if STRUCT in names else None
    for name in [usual] if usual else names:
        struct = read_struct(file, name)
        if isinstance(struct, dict) and {"label", "time", "trial"} <= struct.keys():
            options: Options = {} if usual else {"variable": name}
            codes = code_columns(table_of(struct))
            if len(codes) < 2:
                return options, {}
            likely = {n: c for n, c in codes.items() if 2 <= len(c) <= MOST and min(c.values()) >= FEWEST}
            choices = {} if len(likely) == 1 else {"column": in_words(likely or codes)}
            return {**options, "column": min(likely or codes)}, choices
    return {}, {}


def _event_options(file: Path) -> tuple[Options, Choices]:
    """Find the column of events, if it is not the usual one or that one has only kinds of events."""
    columns = _event_columns(file)
    usual, *more = COLUMNS
    codes = [name for name in more if _are_events(columns.get(name, Counter()))]
    words = any(not value.isdecimal() for values in columns.values() for value in values)
    if codes and len(columns.get(usual, ())) > 1 and are_kinds(columns[usual]):
        column = codes[0]  # trial_type tells stimuli from responses alone
    elif usual in columns or not columns or ({*more} & {*columns} and not words):
        return {}, {}
    else:
        column = next(name for name in (*more, *columns) if name in columns)
    return {EVENT_COLUMN: column}, {EVENT_COLUMN: in_words(columns)} if len(columns) > 1 else {}


def _event_columns(file: Path) -> dict[str, Counter[str]]:
    """Count the values of columns that may have the events, in the table beside a recording."""
    table = next(iter(events_beside(file)), None)
    try:
        dialect = None if table is None else delimited.dialect_of(table)
        content = {} if table is None or dialect is None else delimited.read_table(table, dialect).fillna("")
    except (OSError, ValueError, InputError):  # the reader of the recording says what is wrong
        return {}
    counts = {str(name): Counter(each[~each.isin(delimited.NO_EVENT)]) for name, each in content.items()}
    kept = [name for name, of in counts.items() if name not in TIMES and (name in COLUMNS or _are_events(of))]
    return {name: counts[name] for name in kept}


def _are_events(values: Counter[str]) -> bool:
    return len(values) <= MOST and sum(count >= FEWEST for count in values.values()) > 1


def _array_options(file: Path) -> dict[str, object]:
    try:
        with np.load(file, allow_pickle=False) as content:
            first = np.asarray(content["X"][:1], dtype=float)
    except (OSError, ValueError, KeyError):  # the reader says what is wrong
        return {}
    return {} if not first.size or np.abs(first).max() < LARGEST else {"unit": "µV"}


def recording_settings(file: Path) -> dict[str, object] | str:
    """Return fields of the format ``csv`` that are not its defaults, or why the file is no recording."""
    if (dialect := delimited.dialect_of(file)) is None or len(dialect.rows) < 2:
        return "no line of names above rows of values"
    columns = ", ".join(dialect.names[:SHOWN]) + ", …" * (len(dialect.names) > SHOWN)
    times, markers = csv.time_columns(dialect.names), csv.marker_columns(dialect.names)
    if not times and not csv.stated_rate(dialect.before):
        return f"no column of times among {columns}"
    decimal = delimited.decimal_of((value for row in dialect.rows for value in row), dialect.separator)
    decimal = decimal if isinstance(decimal, str) else "."  # the reader asks
    unit = _unit_of_times(dialect, times[0], decimal) if times else "s"
    if unit is None:
        return f"values of {times[0]} are not times of samples"
    # The reader refuses rows longer than the line of names, with a better message.
    longer = any(len(row) > len(dialect.names) for row in dialect.rows) and len(dialect.rows) >= FEWEST_ROWS
    if not (markers or events_beside(file) or longer):
        return f"no column of markers among {columns}, and no {file.stem}_events.tsv beside it"
    channels = [name for name in dialect.names if name not in times[:1] and not csv.is_no_channel(name)]
    signals = np.concatenate([[], *(_numbers(dialect.column(name), decimal) for name in channels)])
    if not signals.size:
        return f"no column of numbers among {columns}"
    used, volts = [*_used(dialect, markers)], "V" if np.abs(signals).max() < LARGEST else "µV"
    return _not_default(time_unit=unit, unit=volts, marker=used[0] if len(used) > 1 else None)


def _not_default(**given: object) -> dict[str, object]:
    return {name: value for name, value in given.items() if value != DEFAULTS.get(name)}


def _used(dialect: delimited.Dialect, names: Sequence[str]) -> dict[str, Counter[str]]:
    counts = {name: Counter(one for one in dialect.column(name) if one not in csv.NOTHING) for name in names}
    return {name: values for name, values in counts.items() if values}


def _unit_of_times(dialect: delimited.Dialect, name: str, decimal: str) -> str | None:
    """Return the unit of times of samples, s if the study need not say it; None if they are no such times."""
    texts = dialect.column(name)
    times = _numbers(texts, decimal)
    if 2 * len(times) < len(texts):  # probably dates, which the reader knows better
        dates = len(texts) >= FEWEST_ROWS and 2 * len({text[:8] for text in texts}) < len(texts)
        return "s" if dates else None
    steps = np.diff(times)
    usual = np.median(steps) if steps.size else 0.0
    scale = SECONDS[csv.unit_of_times(name, times[0])]
    even = np.count_nonzero(np.abs(steps - usual) <= EVEN * usual) >= 0.9 * len(steps)
    if usual > 0 and even:
        if scale != 1.0:
            return "s" if usual * scale <= LONGEST else None
        return next((unit for unit in SECONDS if usual * SECONDS[unit] <= LONGEST), None)
    rising = len(times) >= FEWEST_ROWS and times[-1] > times[0]
    return "s" if rising and (times[-1] - times[0]) / len(steps) * scale <= LONGEST else None


def _numbers(texts: Sequence[str], decimal: str) -> np.ndarray:
    """Return the values that are numbers."""
    found = delimited.numbers(pd.Series(texts, dtype=str), decimal)
    return np.asarray(found[~np.isnan(found)])


def feature_table_settings(file: Path) -> dict[str, object] | None:
    """Return fields of the format ``table`` that are not its defaults; None if the file has no features."""
    columns, decimal = _read_columns(file)
    labels = _labels(columns)
    if not labels or "onset" in map(_plain, columns):  # that lists events of BIDS
        return None
    classes = {name: columns[name] for name in labels}
    features = [name for name, texts in columns.items() if _is_feature(name, texts, classes, decimal)]
    if not features:
        return None
    participant = next((name for name in columns if PARTICIPANT.fullmatch(_plain(name))), None)
    several = [name for name, values in columns.items() if len({*values}) > 1]
    phase = next((name for name in several if PHASE.fullmatch(_plain(name))), None)
    # If another column is chosen for the classes, this one is no feature either.
    others = {*features, participant, phase, *(labels if len(labels) == 1 else ())}
    drop = [name for name in columns if name not in others]
    return _not_default(label=labels[0], participant=participant, phase=phase, drop=drop)


def _read_columns(file: Path) -> tuple[Columns, str]:
    """Read the first rows of a table, by column, and its decimal sign; no columns if it has too few rows."""
    if (dialect := delimited.dialect_of(file, head=ROWS)) is None:
        return {}, "."
    at = int(dialect.indexed)
    rows = [row[at:] for row in dialect.rows if len(row) == len(dialect.names) + at]
    if len(rows) < 2 * FEWEST:
        return {}, "."
    decimal = delimited.decimal_of((value for row in rows for value in row), dialect.separator)
    columns = dict(zip(dialect.names, zip(*rows, strict=True), strict=True))
    return columns, decimal if isinstance(decimal, str) else "."


def _labels(columns: Columns) -> list[str]:
    """List columns named for classes that have at least two values, each in some rows."""
    counts = {name: Counter(values) for name, values in columns.items() if _plain(name) in LABELS}
    found = [name for name, each in counts.items() if len(each) > 1 and min(each.values()) >= FEWEST]
    return sorted(found, key=lambda name: LABELS.index(_plain(name)))


def _is_feature(name: str, texts: Sequence[str], classes: Columns, decimal: str) -> bool:
    """True if a column has numbers that neither count rows nor repeat the classes."""
    if name in classes or any(each.fullmatch(_plain(name)) for each in (NO_FEATURE, PARTICIPANT, PHASE)):
        return False
    values = _numbers(texts, decimal)
    numeric = len(values) == sum(text not in delimited.MISSING for text in texts)
    index = len(values) == len(texts) and (np.diff(values) == 1).all()
    repeats = (len({*zip(texts, of, strict=True)}) == len({*texts}) == len({*of}) for of in classes.values())
    return numeric and not index and not any(repeats)


def _plain(name: str) -> str:
    return name.strip().lower().partition(":")[0].replace(" ", "_").replace("-", "_")
