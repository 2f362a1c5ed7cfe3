"""Ready-made features in text: which column has the class of each trial, and which are features."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from shortloop.eeg.formats.delimited import MISSING, decimal_of, dialect_of, numbers
from shortloop.eeg.looking.words import words

__all__ = ["feature_table_settings", "labels_in"]

LABELS = (
    *("label", "labels", "class", "classes", "y", "target"),
    *("category", "condition", "stimulus", "trial_type"),
)
PARTICIPANTS = words(
    "participant participants participant_id subject subjects subject_id subj sub vp vpn proband person"
)
PHASES = words("phase task")
# Of numbers that say something else of a trial than what was measured.
NO_FEATURES = words(
    "run runs session sessions ses block blocks trial trials trial_number epoch epochs event index idx id "
    "row nr number age sex gender group handedness rt reaction_time response correct accuracy file filename "
    "unnamed time times date phase task fold split label_id class_id"
)
OF_EVENTS = "onset"  # a table of BIDS that has this lists events of a recording
USUAL: dict[str, object] = {
    "label": "label",
    "participant": None,
    "phase": None,
    "drop": [],
}
ROWS = 2000  # of the file that are looked at
FEWEST = 4  # rows of each class


def feature_table_settings(file: Path) -> dict[str, object] | None:
    """How the format ``table`` reads a file.

    Parameters
    ----------
    file : Path
        A text file.

    Returns
    -------
    dict or None
        Fields of the format that are not its defaults; None if the file has no trials with features.
    """
    table = _read(file)
    if table is None:
        return None
    names, rows, decimal = table
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    labels = _labels(columns)
    if not labels or OF_EVENTS in map(_plain, names):
        return None
    features = _features(columns, labels, decimal)
    participant = _first(names, PARTICIPANTS)
    phase = next((name for name in names if _plain(name) in PHASES and len({*columns[name]}) > 1), None)
    if not features:
        return None
    # If another column is chosen for the classes, this one is no feature either.
    others = {*features, participant, phase, *(labels if len(labels) == 1 else ())}
    given: dict[str, object] = {
        "label": labels[0],
        "participant": participant,
        "phase": phase,
        "drop": [name for name in names if name not in others],
    }
    return {name: value for name, value in given.items() if value != USUAL[name]}


def labels_in(file: Path) -> list[str]:
    """Columns that could be the classes.

    Parameters
    ----------
    file : Path
        A file that `feature_table_settings` knows.

    Returns
    -------
    list of str
        The likeliest first.
    """
    table = _read(file)
    return [] if table is None else _labels(dict(zip(table[0], zip(*table[1], strict=True), strict=True)))


def _read(file: Path) -> tuple[tuple[str, ...], list[tuple[str, ...]], str] | None:
    """Names of columns, the first rows, and the sign before fractions; None if it is no table."""
    try:
        dialect = dialect_of(file, head=ROWS)
    except (OSError, UnicodeError):
        return None
    if dialect is None:
        return None
    at = int(dialect.indexed)
    rows = [row[at:] for row in dialect.rows if len(row) == len(dialect.names) + at]
    decimal = decimal_of((value for row in rows for value in row), dialect.separator)
    fits = len(rows) >= 2 * FEWEST
    return (dialect.names, rows, decimal if isinstance(decimal, str) else ".") if fits else None


def _labels(columns: dict[str, tuple[str, ...]]) -> list[str]:
    """Columns of at least two values, each of which is there some times."""
    found = []
    for wanted in LABELS:
        for name, values in columns.items():
            counts = Counter(values)
            if _plain(name) == wanted and len(counts) > 1 and min(counts.values()) >= FEWEST:
                found.append(name)
    return found


def _features(columns: dict[str, tuple[str, ...]], labels: Sequence[str], decimal: str) -> list[str]:
    others = NO_FEATURES | PARTICIPANTS | PHASES
    found = []
    for name, texts in columns.items():
        if name in labels or _plain(name) in others:
            continue
        values = _numbers(texts, decimal)
        if values and not _counts(values) and not any(_same(texts, columns[label]) for label in labels):
            found.append(name)
    return found


def _numbers(texts: Sequence[str], decimal: str) -> list[float]:
    """The values, if all are numbers or missing."""
    import pandas as pd

    found = numbers(pd.Series(texts, dtype=str), decimal)
    missing = [text in MISSING for text in texts]
    return (
        []
        if any(value != value and not none for value, none in zip(found, missing, strict=True))
        else [*found]
    )


def _counts(values: Sequence[float]) -> bool:
    return all(after - before == 1 for before, after in itertools.pairwise(values))


def _same(texts: Sequence[str], labels: Sequence[str]) -> bool:
    """Whether a column says the same as that of the classes."""
    pairs = {*zip(texts, labels, strict=True)}
    return len(pairs) == len({*texts}) == len({*labels})


def _first(names: Sequence[str], wanted: Collection[str]) -> str | None:
    return next((name for name in names if _plain(name) in wanted), None)


def _plain(name: str) -> str:
    return name.strip().lower().partition(":")[0].replace(" ", "_").replace("-", "_")
