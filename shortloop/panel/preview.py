"""First settings file for a table: its dialect, its columns, and which of these make groups."""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
import lzma
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.analyses import Look
from shortloop.base.errors import InputError
from shortloop.base.text import short_list
from shortloop.panel.formats.csv import CsvInput
from shortloop.panel.formats.panel_format import FileInput
from shortloop.panel.formats.parquet import ParquetInput
from shortloop.panel.formulas.column import doubt
from shortloop.settings.base import tag_of
from shortloop.settings.paths import written_path

if TYPE_CHECKING:
    import pandas as pd

CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
PARQUET = (".parquet", ".pq")
WRITTEN = {"separator": ",", "decimal": ".", "thousands": "", "encoding": "utf-8"}
"""Fields of the CSV format that are written if they differ from these defaults."""
NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")
FORMULA = "# formula = "
MOST = 12  # columns that are listed
SEPARATORS = ",;\t|"
OPENED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
PIECE = 1 << 20
OTHER = "cp1252"  # of older Western tables; decodes nearly all bytes
MARKS = ((",", ""), (",", "."), (",", " "), (".", ","))  # decimal and thousands, the plainest first
FEWEST_ROWS = 3.0  # of a group, on average
UNITS = re.compile(
    r"(?:animal|bank|betrieb|branch|cell|center|centre|city|cities|client|clinic|cluster|code|company|"
    r"companies|country|countries|county|counties|customer|cusip|district|doctor|electrode|employee|"
    r"employer|entity|establishment|family|farm|field|fips|firm|firma|fund|group|gvkey|hh|hospital|"
    r"household|id|individual|iso|isin|key|land|mouse|mice|municipality|nation|neuron|nr|pair|participant|"
    r"patient|permno|person|pid|plant|player|plot|proband|province|pupil|rat|region|respondent|school|shop|"
    r"site|state|station|stock|store|student|subj|subject|symbol|teacher|team|ticker|town|unit|uid|user|"
    r"village|vp|worker|zip)s?"
)
TIMES = re.compile(
    r"(?:block|date|datetime|day|hour|jahr|minute|month|period|quarter|qtr|round|run|second|session|t|time|"
    r"trial|visit|wave|week|weekday|year|yr)"
)
CALENDAR = (1800, 2200)  # numbers between these are years
_some = partial(short_list, most=MOST)


def look(data: Path, project: Path) -> Look | None:
    """Inspect a table and draft its settings file; None if the data is not one table."""
    files = [data] if data.is_file() else [each for each in data.iterdir() if not each.match("[.]*")]
    tables = [each for each in files if each.name.lower().endswith((*CSV, *PARQUET)) and each.is_file()]
    if len(tables) != 1 or any(each.is_dir() for each in files):
        return None
    file = tables[0]
    settings, table = read_table(file)
    if table.shape[1] < 2 or not len(table):
        return None
    numbers = [str(name) for name in table.columns if table[name].dtype.kind in "iuf"]
    groups, others = guess_groups(table)
    numbers = [name for name in numbers if name not in groups and not is_time(name, table[name])] or numbers
    text = _draft(file, settings, table, numbers, (groups, others), project)
    line = next(number for number, line in enumerate(text.splitlines(), 1) if line.startswith(FORMULA))
    outcome, *regressors = numbers[:2] or ["outcome"]
    lines = [f"{file.name}: {len(table):,} rows of {table.shape[1]} columns"]
    lines += [f"  {name}: {_what(table[name])}" for name in map(str, table.columns[: 4 * MOST])]
    lines += [f"  Is this intended? {doubt}" for doubt in _doubts(table)]
    questions = [
        f"What is the outcome, and what are the regressors? Columns of numbers: {_some(numbers)}.\n"
        f"  Line {line} of the panel file, for example: formula = "
        f'"{_in_formula(outcome)} ~ {"".join(map(_in_formula, regressors)) or "1"}"'
    ]
    if not groups:
        could = f"These could: {_some(others)}" if others else "No column has values that recur often enough"
        questions.append(f"Which columns make groups? {could}: by = […]")
    return Look(tuple(lines), text, tuple(questions))


def read_table(file: Path) -> tuple[FileInput, pd.DataFrame]:
    """Detect the dialect of a table, and read it."""
    if file.name.lower().endswith(PARQUET):
        parquet = ParquetInput(format="parquet", file=file.name)
        return parquet, parquet.read(file)
    start, opened = b"", OPENED.get(file.suffix.lower(), open)
    with suppress(OSError, EOFError, lzma.LZMAError), opened(file, "rb") as stream:
        start = stream.read(PIECE)  # if that fails, reading all says what is wrong
    encoding = "utf-16" if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8"
    line = (start.decode(encoding, errors="replace").splitlines() or [""])[0]
    separator = max(SEPARATORS, key=line.count)
    settings = CsvInput(format="csv", file=file.name, encoding=encoding, separator=separator)
    try:
        table = settings.read(file)
    except InputError as error:
        if error.field != "input.encoding":
            raise
        settings = settings.model_copy(update={"encoding": OTHER})
        table = settings.read(file)
    if (marks := marks_of(table[name].dropna().unique() for name in _texts(table))) is None:
        return settings, table
    settings = settings.model_copy(update={"decimal": marks[0], "thousands": marks[1]})
    return settings, settings.read(file)


def _texts(table: pd.DataFrame) -> list[str]:
    """List columns that have only texts."""
    others = [name for name in table.columns if table[name].dtype.kind not in "iufbM"]
    return [name for name in others if all(isinstance(x, str) for x in table[name].dropna())]


def _doubts(table: pd.DataFrame) -> Iterator[str]:
    """Yield values that may mean something else."""
    for name in _texts(table):
        if said := doubt([*map(str, table[name].dropna().unique())]):
            yield f"{name}: {said}"
    names = [str(name) for name in table.columns]
    if 2 * sum(NUMBER.fullmatch(name) is not None for name in names) >= len(names):
        yield f"the first line should hold column names, but holds numbers: {_some(names)}"


def _what(values: pd.Series) -> str:
    missing = int(values.isna().sum())
    numbers = values.dtype.kind in "iuf"
    said = f"{values.min():g} to {values.max():g}" if numbers and values.notna().any() else ""
    said = said or f"{values.nunique():,} texts" if values.dtype.kind != "M" else "times"
    said += f", {values.nunique():,} different" if numbers else ""
    return said + (f", {missing:,} missing" if missing else "")


def _draft(
    file: Path,
    settings: FileInput,
    table: pd.DataFrame,
    numbers: Sequence[str],
    found: tuple[list[str], list[str]],
    project: Path,
) -> str:
    quoted = partial(json.dumps, ensure_ascii=False)
    by = found[0][0] if found[0] else ""
    rest = [*found[0][1:], *found[1]]
    others = f"; {'others that' if by else 'those that'} could be: {_some(rest)}" if rest else ""
    groups = f"by = []  # fill in the columns that make groups{others}"
    if by:
        count = table[by].nunique()
        size = table[by].notna().sum() / count
        groups = f"by = [{quoted(by)}]  # {count:,} groups of {size:.3g} rows{others}"
    written = {name: getattr(settings, name, usual) for name, usual in WRITTEN.items()}
    dialect = [f"{name} = {json.dumps(each)}\n" for name, each in written.items() if each != WRITTEN[name]]
    csv = ["csv = true  # tables of results as CSV, too\n"] if tag_of(type(settings)) == "csv" else []
    formula = " ~ ".join(map(_in_formula, numbers[:2])) if len(numbers) > 1 else "OUTCOME ~ REGRESSORS"
    return f"""\
# Written by `shortloop init --data` from the columns of the table. Change what you like:
# `shortloop study --panel` lists all fields.
name = {json.dumps(project.name)}
{"".join(csv)}
[input]
format = {json.dumps(tag_of(type(settings)))}
file = {quoted(written_path(file, project))}
{"".join(dialect)}
[groups]
{groups}

[models.plain]
model = "ols"
{FORMULA}{quoted(formula)}  # fill in, and remove the first #
"""


def _in_formula(name: str) -> str:
    if name == "1":  # else the constant
        return "Q('1')"
    return name if re.fullmatch(r"[^\W\d]\w*", name) else f"`{name}`"


def marks_of(columns: Iterable[Iterable[str]]) -> tuple[str, str] | None:
    """Detect decimal and thousands marks of numbers that were read as texts."""
    for texts in columns:
        each = [text.strip() for text in texts]
        ways = [marks for marks in MARKS if _is_written(each, *marks)]
        if len({decimal for decimal, _ in ways}) == 1:
            return ways[0]
    return None


def _is_written(texts: list[str], decimal: str, thousands: str) -> bool:
    """True if all texts are numbers with these marks, and some cannot be read without."""
    mark = re.escape(decimal)
    whole = rf"\d+|\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+" if thousands else r"\d+"
    number = re.compile(rf"[-+]?(?:{whole})?(?:{mark}\d*)?(?:[eE][-+]?\d+)?")
    if not texts or not all(text and number.fullmatch(text) for text in texts):
        return False
    return any("," in text or (thousands and thousands in text) for text in texts)


def guess_groups(table: pd.DataFrame) -> tuple[list[str], list[str]]:
    """List columns that probably make groups, the likeliest first, and further candidates."""
    # A name that says what a group is comes first, then texts, then numbers that occur once at each time; of
    # several, the one with the most groups, as firms are in industries.
    times = [str(name) for name in table.columns if is_time(str(name), table[name])]
    found = []
    for name in map(str, table.columns):
        values, count = table[name], int(table[name].nunique())
        if _are_codes(values) and count > 1 and values.notna().sum() / count >= FEWEST_ROWS:
            found.append((_rank(table, name, count, times), -count, name))
    likely = [name for rank, _, name in sorted(found) if rank < 3]
    return likely, [name for rank, _, name in sorted(found) if rank >= 3]


def is_time(name: str, values: pd.Series) -> bool:
    """True if a column is a time: by its name, or because its numbers are years."""
    if values.dtype.kind == "M" or _has(TIMES, name):
        return True
    if values.dtype.kind not in "iuf" or not _are_codes(values) or _has(UNITS, name):
        return False
    return bool(values.notna().any() and values.dropna().between(*CALENDAR).all())


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
    """True if a name contains one of some words: firm_id, firmID, Firm.Id, firmid."""
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+", name)
    return any(words.fullmatch(word.lower()) for word in (*found, name))


def _are_codes(values: pd.Series) -> bool:
    """True for texts, truth values, integers: also those that are floats because some are missing."""
    if values.dtype.kind == "f":
        known = values.dropna()
        return bool(len(known) and (known % 1 == 0).all())
    return values.dtype.kind in "iuOUb" or str(values.dtype) in ("category", "str", "string")
