"""A panel file for a table: which columns there are, and which of them make groups."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.cli.analyses import Look
from shortloop.panel.formats.csv import CsvInput
from shortloop.panel.formats.parquet import ParquetInput
from shortloop.settings.paths import written_path

if TYPE_CHECKING:
    import pandas as pd

    from shortloop.panel.formats.base import FileInput

__all__ = ["look"]

CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
PARQUET = (".parquet", ".pq")
SEPARATORS = ",;\t|"
FEWEST_ROWS = 3.0  # of a group, on average
FORMULA = "# formula = "
MOST = 12  # columns that are listed


def look(data: Path, project: Path) -> Look | None:
    """Look at a table.

    Parameters
    ----------
    data : Path
        A file, or a folder with one.
    project : Path
        Folder that the panel file will be in; it gives the panel its name.

    Returns
    -------
    Look or None
        None if it is no table, or a folder with several, or with further folders.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    files = [data] if data.is_file() else [each for each in data.iterdir() if not each.match("[.]*")]
    tables = [each for each in files if each.name.lower().endswith((*CSV, *PARQUET)) and each.is_file()]
    if len(tables) != 1 or any(each.is_dir() for each in files):
        return None
    file, settings = tables[0], _settings_of(tables[0])
    table = settings.read(file)
    if table.shape[1] < 2 or not len(table):
        return None
    numbers = [str(name) for name in table.columns if table[name].dtype.kind in "iuf"]
    groups = sorted(_groups(table), key=lambda name: (table[name].dtype.kind in "iu", table[name].nunique()))
    text = _draft(file, settings, table, numbers, groups, project)
    line = next(number for number, line in enumerate(text.splitlines(), 1) if line.startswith(FORMULA))
    outcome, *regressors = [name for name in numbers if name not in groups][:2] or ["outcome"]
    lines = [f"{file.name}: {len(table):,} rows of {table.shape[1]} columns"]
    lines += [f"  {name}: {_what(table[name])}" for name in map(str, table.columns[: 4 * MOST])]
    question = (
        f"What is the outcome, and what are the regressors? Columns of numbers: {_some(numbers)}.\n"
        f'  Line {line} of the panel file, for example: formula = "{outcome} ~ {"".join(regressors) or "1"}"'
    )
    questions = [question]
    if not groups:
        questions.append("Which columns make groups? None has values that come again often enough: by = […]")
    return Look(tuple(lines), text, tuple(questions))


def _settings_of(file: Path) -> FileInput:
    if file.name.lower().endswith(PARQUET):
        return ParquetInput(format="parquet", file=file.name)
    opened = gzip.open if file.suffix.lower() == ".gz" else open
    try:
        with opened(file, "rt", encoding="utf-8") as stream:
            first = stream.readline()
    except (OSError, UnicodeError):  # reading it says what is wrong
        first = ""
    separator = max(SEPARATORS, key=first.count)
    return CsvInput(format="csv", file=file.name, separator=separator)


def _groups(table: pd.DataFrame) -> list[str]:
    """Columns whose values come again, and are no measurements."""
    found = []
    for name in table.columns:
        values = table[name]
        if values.dtype.kind in "iuOUb" or str(values.dtype) in ("category", "str", "string"):
            count = values.nunique()
            if count > 1 and len(table) / count >= FEWEST_ROWS:
                found.append(str(name))
    return found


def _what(values: pd.Series) -> str:
    lacking = int(values.isna().sum())
    numbers = values.dtype.kind in "iuf"
    said = f"{values.min():g} to {values.max():g}" if numbers and values.notna().any() else ""
    said = said or f"{values.nunique():,} texts" if values.dtype.kind != "M" else "times"
    return (
        f"{said}, {values.nunique():,} different" * numbers
        + said * (not numbers)
        + (f", {lacking:,} lacking" if lacking else "")
    )


def _draft(
    file: Path,
    settings: FileInput,
    table: pd.DataFrame,
    numbers: Sequence[str],
    groups: Sequence[str],
    project: Path,
) -> str:
    path = written_path(file, project)
    by = groups[0] if groups else ""
    count = table[by].nunique() if by else 0
    others = f"; others that could be: {_some(groups[1:])}" if groups[1:] else ""
    separator = getattr(settings, "separator", ",")
    regressors = [name for name in numbers if name not in groups]
    usual = f"{regressors[0]} ~ {regressors[1]}" if len(regressors) > 1 else "OUTCOME ~ REGRESSORS"
    usual = usual if re.fullmatch(r"[\w ~]+", usual) else "OUTCOME ~ REGRESSORS"
    groups_line = "by = []  # fill in the columns that make groups"
    if by:
        size = len(table) / count
        groups_line = (
            f"by = [{json.dumps(by, ensure_ascii=False)}]  # {count:,} groups of {size:.3g} rows{others}"
        )
    lines = [
        "# Written by `shortloop init --data` from the columns of the table. Change what you like:",
        "# `shortloop study --panel` lists all fields.",
        f"name = {json.dumps(project.name)}",
        "",
        "[input]",
        f"format = {json.dumps(settings.format)}",  # type: ignore[attr-defined]
        f"file = {json.dumps(path, ensure_ascii=False)}",
        *([f"separator = {json.dumps(separator)}"] if separator != "," else []),
        "",
        "[groups]",
        groups_line,
        "",
        "[models.plain]",
        'model = "ols"',
        f"{FORMULA}{json.dumps(usual, ensure_ascii=False)}  # fill in, and remove the first #",
        "",
    ]
    return "\n".join(lines)


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST
    return ", ".join(names[:MOST]) + (f" and {more} more" if more > 0 else "")
