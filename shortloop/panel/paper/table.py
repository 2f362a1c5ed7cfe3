"""Table of coefficients of chosen groups and specifications."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.panel.paper.columns import Column, Group, check_names, columns_of, is_fitted, numbers_of
from shortloop.panel.paper.formats import PaperTable
from shortloop.panel.results import Results
from shortloop.panel.statistics import FITS, STATUSES

STARS = (0.1, 0.05, 0.01)
ROWS = ("rsquared", "prsquared", "nobs")
ROW_LABELS = {
    "rsquared": "R²",
    "rsquared_adj": "Adjusted R²",
    "prsquared": "Pseudo R²",
    "nobs": "N",
    "llf": "Log-likelihood",
    "aic": "AIC",
    "bic": "BIC",
    "fvalue": "F",
}
DIGITS = 2  # of a standard error at least, where decimals would leave fewer


def paper_table(
    fits: Results | Mapping[str, Results],
    groups: Sequence[Group],
    *,
    labels: Mapping[str, str] | None = None,
    terms: Sequence[str] | None = None,
    rows: Sequence[str] = ROWS,
    digits: int = 3,
    stars: Sequence[float] = STARS,
) -> PaperTable:
    """Make a table of chosen groups and specifications for a paper.

    Parameters
    ----------
    fits : Results or mapping of str to Results
        Of `fit_frame`; several by the heading of each.
    groups : sequence
        Groups by their values, e.g. ``["F07"]``; ``[("F07", 2019)]`` if several columns make groups.
    labels : mapping of str to str, optional
        What to write for names of coefficients, groups and rows.
    terms : sequence of str, optional
        Coefficients, in their order. Default: all.
    rows : sequence of str, optional
        Columns of ``fits()`` below the coefficients; those without any number are left out.
    digits : int, default 3
        Decimals; more in a row whose standard errors would have fewer than two digits.
    stars : sequence of float, default (0.1, 0.05, 0.01)
        Levels of p: one star below the largest, another below the next. Empty: no stars.

    Returns
    -------
    PaperTable
        With ``to_latex``, ``to_markdown``, ``to_excel`` and ``to_frame``.

    Raises
    ------
    InputError
        If there is no such group, coefficient or column.

    Examples
    --------
    >>> table = paper_table({"OLS": plain, "Median": median}, ["F07"], labels={"value": "Market value"})
    >>> table.to_latex()
    """
    columns = columns_of(fits, groups)
    shown: list[str]
    known = list(dict.fromkeys(name for _, _, found, _ in columns for name in found.names))
    names = known if terms is None else list(terms)
    check_names("terms", names, known)
    check_names("rows", list(rows), list(FITS))
    words = dict(labels or {})
    body: list[tuple[str, Sequence[str]]] = []
    for name in names:
        numbers = np.array([numbers_of(column, name) for column in columns])
        shown, decimals = [], _decimals(numbers[:, 1], digits)
        for value, _, p in numbers:
            shown.append(_text(value, decimals) + "*" * sum(p < level for level in stars))
        body.append((words.get(name, name), shown))
        if np.isfinite(numbers[:, 1]).any():
            body.append(("", [f"({text})" if (text := _text(se, decimals)) else "" for _, se, _ in numbers]))
    rules = len(body)
    for name in rows:
        values = [
            float(found.arrays[name][g]) if is_fitted(found, g) else np.nan for _, _, found, g in columns
        ]
        if np.isfinite(values).any():
            places = 0 if name == "nobs" else digits
            body.append(
                (words.get(name, ROW_LABELS.get(name, name)), [_text(each, places) for each in values])
            )
    heads = [
        [words.get(of, of) for _, of, _, _ in columns],
        [words.get(spec, spec) for spec, _, _, _ in columns],
    ]
    heads = [head for head in heads if any(head)]
    return PaperTable(heads, body, rules, _notes(columns, body[:rules], stars))


def _decimals(errors: FloatArray, digits: int) -> int:
    """Decimals that leave two digits of the smallest standard error."""
    known = errors[np.isfinite(errors) & (errors > 0)]
    return max(digits, DIGITS - 1 - math.floor(math.log10(known.min()))) if len(known) else digits


def _text(value: float, decimals: int) -> str:
    if not np.isfinite(value):
        return ""
    if decimals > 9 or abs(value) >= 1e9:
        return f"{value:.3g}"
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def _notes(
    columns: Sequence[Column], body: Sequence[tuple[str, Sequence[str]]], stars: Sequence[float]
) -> list[str]:
    said = []
    if any(not label for label, _ in body):
        said.append("Standard errors in parentheses.")
    if stars and any("*" in cell for _, cells in body for cell in cells):
        ordered = sorted(stars, reverse=True)
        said.append(", ".join(f"{'*' * (i + 1)} p < {level:g}" for i, level in enumerate(ordered)) + ".")
    notes = [" ".join(said)] if said else []
    for spec, group, found, g in columns:
        if not is_fitted(found, g):
            notes.append(f"{' '.join(filter(None, (group, spec)))}: {STATUSES[found.arrays['status'][g]]}.")
    return notes
