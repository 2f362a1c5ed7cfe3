"""A panel file for a table: which columns there are, and which of them make groups."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.analyses import Look
from shortloop.panel.dialect import encoding_of, marks_of, separator_of
from shortloop.panel.formats.csv import CsvInput
from shortloop.panel.formats.parquet import ParquetInput
from shortloop.panel.grouping import group_columns, is_time
from shortloop.panel.suspicious_text import numbers_among, twins
from shortloop.settings.paths import written_path

if TYPE_CHECKING:
    import pandas as pd

    from shortloop.panel.formats.base import FileInput

__all__ = ["look"]

CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
PARQUET = (".parquet", ".pq")
WRITTEN = {"separator": ",", "decimal": ".", "thousands": "", "encoding": "utf-8"}
"""Fields of a text file that are said where they are not as usual."""
NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")
FORMULA = "# formula = "
MOST = 12  # columns that are listed


def look(data: Path, project: Path) -> Look | None:
    """Look at a table."""
    files = [data] if data.is_file() else [each for each in data.iterdir() if not each.match("[.]*")]
    tables = [each for each in files if each.name.lower().endswith((*CSV, *PARQUET)) and each.is_file()]
    if len(tables) != 1 or any(each.is_dir() for each in files):
        return None
    file = tables[0]
    settings, table = _read(file)
    if table.shape[1] < 2 or not len(table):
        return None
    numbers = [str(name) for name in table.columns if table[name].dtype.kind in "iuf"]
    groups, others = group_columns(table)
    numbers = [name for name in numbers if name not in groups and not is_time(name, table[name])] or numbers
    text = _draft(file, settings, table, numbers, (groups, others), project)
    line = next(number for number, line in enumerate(text.splitlines(), 1) if line.startswith(FORMULA))
    outcome, *regressors = numbers[:2] or ["outcome"]
    lines = [f"{file.name}: {len(table):,} rows of {table.shape[1]} columns"]
    lines += [f"  {name}: {_what(table[name])}" for name in map(str, table.columns[: 4 * MOST])]
    lines += [f"  Is it meant so? {doubt}" for doubt in _doubts(table)]
    question = (
        f"What is the outcome, and what are the regressors? Columns of numbers: {_some(numbers)}.\n"
        f"  Line {line} of the panel file, for example: formula = "
        f'"{_in_formula(outcome)} ~ {"".join(map(_in_formula, regressors)) or "1"}"'
    )
    questions = [question]
    if not groups:
        could = f"These could: {_some(others)}" if others else "None has values that come again often enough"
        questions.append(f"Which columns make groups? {could}: by = […]")
    return Look(tuple(lines), text, tuple(questions))


def _read(file: Path) -> tuple[FileInput, pd.DataFrame]:
    """How a table is written, and what is in it."""
    if file.name.lower().endswith(PARQUET):
        parquet = ParquetInput(format="parquet", file=file.name)
        return parquet, parquet.read(file)
    encoding = encoding_of(file)
    settings = CsvInput(
        format="csv", file=file.name, encoding=encoding, separator=separator_of(file, encoding)
    )
    table = settings.read(file)
    marks = marks_of(table[name].dropna().unique() for name in _texts(table))
    if marks is None:
        return settings, table
    settings = settings.model_copy(update={"decimal": marks[0], "thousands": marks[1]})
    return settings, settings.read(file)


def _texts(table: pd.DataFrame) -> list[str]:
    """Columns of texts alone."""
    return [
        name
        for name in table.columns
        if table[name].dtype.kind not in "iufbM" and all(isinstance(x, str) for x in table[name].dropna())
    ]


def _doubts(table: pd.DataFrame) -> list[str]:
    """What may be meant as something else."""
    found = []
    for name in _texts(table):
        texts = [*map(str, table[name].dropna().unique())]
        same = twins(texts)
        said = numbers_among(texts) if same is None else f"{same[0]!a} and {same[1]!a} look the same"
        found += [f"{name}: {said}"] if said else []
    names = [str(name) for name in table.columns]
    if 2 * sum(NUMBER.fullmatch(name) is not None for name in names) >= len(names):
        found.append(f"the first line has names of columns, and here there are numbers: {_some(names)}")
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
    found: tuple[list[str], list[str]],
    project: Path,
) -> str:
    path = written_path(file, project)
    by = found[0][0] if found[0] else ""
    count = table[by].nunique() if by else 0
    rest = [*found[0][1:], *found[1]]
    others = f"; {'others that' if by else 'those that'} could be: {_some(rest)}" if rest else ""
    written = {name: getattr(settings, name, usual) for name, usual in WRITTEN.items()}
    usual = " ~ ".join(map(_in_formula, numbers[:2])) if len(numbers) > 1 else "OUTCOME ~ REGRESSORS"
    groups_line = f"by = []  # fill in the columns that make groups{others}"
    if by:
        size = table[by].notna().sum() / count
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
        *(
            f"{name} = {json.dumps(written[name])}"
            for name, usual in WRITTEN.items()
            if written[name] != usual
        ),
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


def _in_formula(name: str) -> str:
    """A name as formulas have it."""
    return name if re.fullmatch(r"[^\W\d]\w*", name) else f"`{name}`"


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST
    return ", ".join(names[:MOST]) + (f" and {more} more" if more > 0 else "")
