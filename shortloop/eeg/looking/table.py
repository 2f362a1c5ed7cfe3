"""Whether a text file is a recording: a column of times that go up evenly, and one of markers."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path
from statistics import median

__all__ = ["table_settings"]

SEPARATORS = ",;\t"
TIMES = ("timestamps", "timestamp", "times", "time", "t", "seconds", "sec", "ms", "time_s", "time_ms")
MARKERS = ("marker", "event", "trigger", "stim", "code", "label", "annotation", "condition", "status")
ROWS = 500  # of the file that are looked at
EVEN = 0.5  # of a step that most steps may differ
# Steps that are longer than this in seconds, in milliseconds and so on are no samples of a brain's signal.
LONGEST = 0.05
UNITS = (("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9))
LARGEST = 0.01  # of a signal in V


def table_settings(file: Path) -> dict[str, object] | None:
    """How the format ``csv`` reads a file.

    Parameters
    ----------
    file : Path
        A text file.

    Returns
    -------
    dict or None
        Fields of the format that are not its defaults; None if the file is no recording.
    """
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            lines = list(itertools.islice(stream, ROWS))
    except (OSError, UnicodeError):
        return None
    if len(lines) < 3:
        return None
    separator = max(SEPARATORS, key=lines[0].count)
    rows = list(csv.reader(lines, delimiter=separator))
    names, values = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    time = _column(names, TIMES, whole=True)
    marker = _column(names, MARKERS)
    others = [index for index in range(len(names)) if index not in (time, marker)]
    if time is None or not others or len(values) < 2:
        return None
    if marker is None and not file.with_name(f"{file.stem}_events.tsv").is_file():
        return None
    unit = _unit(_numbers([row[time] for row in values]))
    signals = _numbers([row[index] for row in values for index in others])
    if unit is None or not signals:
        return None
    given = {
        "time": names[time],
        "time_unit": unit,
        "marker": "marker" if marker is None else names[marker],
        "unit": "V" if max(map(abs, signals)) < LARGEST else "µV",
        "separator": separator,
    }
    usual = {"time": "timestamps", "time_unit": "s", "marker": "marker", "unit": "µV", "separator": ","}
    return {name: value for name, value in given.items() if value != usual[name]}


def _column(names: list[str], wanted: tuple[str, ...], whole: bool = False) -> int | None:
    lower = [name.strip().lower().partition(" ")[0].partition("(")[0] for name in names]
    for word in wanted:
        for index, name in enumerate(lower):
            if name == word or (not whole and name.rstrip("s0123456789") == word):
                return index
    return None


def _numbers(texts: list[str]) -> list[float]:
    found = []
    for text in texts:
        try:
            found.append(float(text))
        except ValueError:
            continue
    return found


def _unit(times: list[float]) -> str | None:
    """Unit of times that go up in even steps."""
    steps = [after - before for before, after in itertools.pairwise(times)]
    usual = median(steps) if steps else 0.0
    even = sum(abs(step - usual) <= EVEN * usual for step in steps)
    if usual <= 0 or even < 0.9 * len(steps):
        return None
    return next((unit for unit, scale in UNITS if usual / scale <= LONGEST), None)
