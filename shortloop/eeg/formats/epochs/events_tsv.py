"""The table of events beside a recording, with onsets converted to s."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shortloop.base.errors import InputError, warn
from shortloop.base.text import short_list
from shortloop.eeg.formats.files import delimited

COLUMNS = ("trial_type", "value")
SHOWN = 3  # rows in a message
FIELD = "input.event_column"


def read_events(
    path: Path, *, column: str | None, unit: str | None, sfreq: float, seconds: float
) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """Read the table of a recording of `seconds`; None if it has no events."""
    # Returns onset and duration (s after the first sample) and name of each, and all columns as written.
    if not path.read_bytes().strip():
        return None
    dialect = delimited.dialect_of(path)
    columns = [column] if column else [*COLUMNS]
    there = [name for name in columns if dialect is not None and name in dialect.names]
    if dialect is None or not there or "onset" not in dialect.names:
        has = "no table" if dialect is None else f"the columns {', '.join(dialect.names)}"
        problem = "the table of events cannot be read"
        expected = f"a line of names, with onset (s) and {' or '.join(columns)}"
        hint = "rename its columns so, or name the one with events (input.event_column)"
        raise InputError(problem, field=FIELD, found=f"{path.name} with {has}", expected=expected, hint=hint)
    table = delimited.read_table(path, dialect).fillna("")
    named = [name for name in there if not table[name].isin(delimited.NO_EVENT).all()] or there
    table = table[~table[named[0]].isin(delimited.NO_EVENT)]
    onsets = _onsets(table, path, dialect, named[0])
    kept = np.isfinite(onsets)
    table, onsets = table[kept], onsets[kept]
    if not len(table):
        return None
    scales = {"s": 1.0, "ms": 1e-3, "samples": 1.0 / sfreq}
    scale = scales[unit or "s"]
    _refuse_another_unit(onsets, path, unit or "s", scales, seconds)
    lasting = delimited.numbers(table["duration"], ".") if "duration" in table else np.zeros(len(table))
    lasting = np.nan_to_num(lasting, nan=0.0).clip(min=0) * scale
    return pd.DataFrame({"onset": onsets * scale, "duration": lasting, "name": table[named[0]]}), table


def _onsets(table: Any, path: Path, dialect: delimited.Dialect, column: str) -> Any:
    """Return onsets as written; NaN for rows without one, with a warning."""
    texts = table["onset"]
    hint = f"write onsets in {path.name} with a point before fractions, as 1.5"
    # As if commas were between values: a point is before fractions, as in BIDS.
    onsets = delimited.numbers(texts, delimited.decimal_sign(texts, ",", FIELD, hint))
    missing = texts.str.strip().isin(delimited.NO_EVENT).to_numpy()
    wrong = np.flatnonzero(~np.isfinite(onsets) & ~missing)
    if len(wrong):
        problem = "onsets of events are not numbers"
        found = f"{path.name}: {_lines(table, dialect, wrong, 'onset')}"
        expected = "a number (s) in each row with an event, or n/a"
        raise InputError(problem, field=FIELD, found=found, expected=expected, hint="correct these rows")
    lost = np.flatnonzero(missing)
    if len(lost):
        warn(
            f"events without an onset were left out: {path.name}, {_lines(table, dialect, lost, column)}; if "
            "they took place, write their onsets"
        )
    return onsets


def _lines(table: Any, dialect: delimited.Dialect, rows: Any, column: str) -> str:
    """Describe lines of the file by their values in a column."""
    first = len(dialect.before) + 2
    return short_list([f"line {first + table.index[at]} ('{table[column].iloc[at]}')" for at in rows], SHOWN)


def _refuse_another_unit(
    onsets: Any, path: Path, unit: str, scales: dict[str, float], seconds: float
) -> None:
    """Refuse a table most of whose events are after the end of the recording."""
    late = onsets * scales[unit] > seconds
    if 2 * np.count_nonzero(late) <= len(onsets):
        return
    last = {each: float(onsets.max()) * scale for each, scale in scales.items()}
    fits = [each for each in last if each != unit and last[each] <= seconds]
    fits.sort(key=lambda each: -last[each])
    problem = "events are after the end of the recording"
    ends = [f"{last[unit]:.6g} s", *(f"{last[each]:.6g} s if onsets are in {each}" for each in fits)]
    count = f"{np.count_nonzero(late):,} of {len(late):,} events"
    found = f"{path.name}: {count}; the last at {', or at '.join(ends)}"
    expected = f"onsets within the {seconds:.6g} s of the recording"
    hint = "look whether the table is of this recording, and whether it is whole"
    if fits:
        problem += f": onsets seem to be in {fits[0]}"
        hint = f'write event_unit = "{fits[0]}" under [input] if they are'
        hint += f'; "{fits[-1]}" is possible, too' * (len(fits) > 1)
    raise InputError(problem, field="input.event_unit", found=found, expected=expected, hint=hint)
