"""Columns of a table that probably make groups, as their names and values tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["group_columns", "is_time"]

FEWEST_ROWS = 3.0  # of a group, on average
UNITS = re.compile(
    r"(?:animal|bank|betrieb|branch|cell|center|centre|city|cities|client|clinic"
    r"|cluster|code|company|companies|country|countries|county|counties|customer"
    r"|cusip|district|doctor|electrode|employee|employer|entity|establishment|"
    r"family|farm|field|fips|firm|firma|fund|group|gvkey|hh|hospital|"
    r"household|id|individual|iso|isin|key|land|mouse|mice|municipality|"
    r"nation|neuron|nr|pair|participant|patient|permno|person|pid|plant|player"
    r"|plot|proband|province|pupil|rat|region|respondent|school|shop|site|"
    r"state|station|stock|store|student|subj|subject|symbol|teacher|team|"
    r"ticker|town|unit|uid|user|village|vp|worker|zip)s?"
)
TIMES = re.compile(
    r"(?:block|date|datetime|day|hour|jahr|minute|month|period|quarter|qtr|"
    r"round|run|second|session|t|time|trial|visit|wave|week|weekday|year|"
    r"yr)"
)
CALENDAR = (1800, 2200)
"""Numbers between these are years."""


def group_columns(table: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Columns that probably make groups, the likeliest first, and further ones that could.

    A name that says what a group is comes first, then texts, then numbers that occur once at each time; of
    several, the one with the most groups, as firms are in industries.
    """
    times = [str(name) for name in table.columns if is_time(str(name), table[name])]
    found = []
    for name in map(str, table.columns):
        values, count = table[name], int(table[name].nunique())
        if _are_codes(values) and count > 1 and values.notna().sum() / count >= FEWEST_ROWS:
            found.append((_rank(table, name, count, times), -count, name))
    likely = [name for rank, _, name in sorted(found) if rank < 3]
    return likely, [name for rank, _, name in sorted(found) if rank >= 3]


def is_time(name: str, values: pd.Series) -> bool:
    """True if a column says when: by its name, or as its numbers are years."""
    if values.dtype.kind == "M" or _has(TIMES, name):
        return True
    return (
        values.dtype.kind in "iuf"
        and _are_codes(values)
        and bool(values.notna().any() and values.dropna().between(*CALENDAR).all())
        and not _has(UNITS, name)
    )


def _rank(table: pd.DataFrame, name: str, count: int, times: list[str]) -> int:
    values = table[name]
    if name in times:
        return 4
    if count == 2 and (values.dtype.kind not in "OU" or not _has(UNITS, name)):
        return 3  # of two kinds, as whether it is a city, rather than two groups
    if _has(UNITS, name) or name.lower().endswith("code"):
        return 0
    if values.dtype.kind not in "iuf":
        return 1
    known = table[values.notna()]
    return 2 if any(not known.duplicated([name, time]).any() for time in times) else 3


def _has(words: re.Pattern[str], name: str) -> bool:
    """True if a name has one of some words, however it is put together: firm_id, firmID, Firm.Id, firmid."""
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+", name)
    return any(words.fullmatch(word.lower()) for word in (*found, name))


def _are_codes(values: pd.Series) -> bool:
    """True for texts, truth values, whole numbers: also those that are floats as some are missing."""
    if values.dtype.kind == "f":
        known = values.dropna()
        return bool(len(known) and (known % 1 == 0).all())
    return values.dtype.kind in "iuOUb" or str(values.dtype) in ("category", "str", "string")
