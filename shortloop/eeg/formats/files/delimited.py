"""Text tables: encoding, separator, header line and number format of a file."""

from __future__ import annotations

import codecs
import contextlib
import csv
import itertools
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortloop.base.errors import InputError

SEPARATORS = ",;\t|"
HEAD = 500  # lines from which the dialect is found
FIRST = 80  # of these, lines that tell the separator and have the header
SPACES = " '\u2019\u00a0\u2009\u202f"  # between thousands, with any decimal sign
NUMBER = re.compile(rf"[+-]?[\d.,{SPACES}]*\d[.,]?(?:[eE][+-]?\d+)?")
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ].*)?|\d{1,2}:\d{2}(?::\d{2}.*)?")
NO_EVENT = ("", "n/a", "N/A", "nan", "NaN")  # in a table of events
MISSING = ("", "nan", "NaN", "n/a", "N/A", "NA", "null", "NULL", "None")
ASK = 'write decimal = "." under [input] if the sign is before fractions; else write decimal = ","'
MARKS = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE


@dataclass(frozen=True)
class Dialect:
    """Encoding and layout of one file; `before` are the lines above the header, `rows` the first below."""

    encoding: str
    separator: str
    before: tuple[str, ...]
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def indexed(self) -> bool:
        """True if each row begins with its unnamed number, as R writes it."""
        longer = bool(self.rows) and all(len(row) == len(self.names) + 1 for row in self.rows)
        return longer and [row[0] for row in self.rows[:3]] in (["1", "2", "3"], ["0", "1", "2"])

    def column(self, name: str) -> list[str]:
        """Return the first values of a column."""
        at = self.names.index(name) + self.indexed
        return [row[at] for row in self.rows if at < len(row)]


def encoding_of(file: Path) -> str:
    """Find the encoding: UTF-8, UTF-16 with its mark, Windows' Latin-1, or Latin-1."""
    with file.open("rb") as stream:
        start = stream.read(3)
    if start[:2] in MARKS:
        return "utf-16"
    for encoding in ("utf-8-sig" if start == codecs.BOM_UTF8 else "utf-8", "cp1252"):
        with file.open(encoding=encoding, newline="") as stream, contextlib.suppress(UnicodeDecodeError):
            while stream.read(1 << 20):
                pass
            return encoding
    return "latin-1"


def dialect_of(file: Path, separator: str | None = None, *, head: int = HEAD) -> Dialect | None:
    """Find the dialect of a table from its first `head` lines; None if it is no table."""
    encoding = encoding_of(file)
    with file.open(encoding=encoding, newline="", errors="replace") as stream:
        lines = list(itertools.islice(stream, head))
    if any("\0" in line for line in lines[:FIRST]):
        return None
    tried = [_split(lines[:FIRST], each, encoding) for each in ([separator] if separator else SEPARATORS)]
    best = max((each for each in tried if each), key=lambda each: len(each.names), default=None)
    return best and _split(lines, best.separator, encoding)


def require_dialect(file: Path, separator: str | None, unit: str) -> Dialect:
    """Find the dialect of a table with a row for each `unit`, or raise InputError."""
    if (dialect := dialect_of(file, separator)) is None:
        expected = f"names of columns in one of the first lines, and below a row for each {unit}"
        hint = "add the line, or name what is between values (input.separator)"
        raise InputError("the file has no header line", expected=expected, hint=hint)
    return dialect


def is_of_numbers(file: Path, rows: int) -> bool:
    """True if a file has at least `rows` rows of three or more columns, and nothing but numbers."""
    with file.open(encoding=encoding_of(file), newline="", errors="replace") as stream:
        lines = list(itertools.islice(stream, rows))
    tables = ([_values(line, separator) for line in lines] for separator in SEPARATORS)
    return len(lines) == rows and any(
        all(len(row) > 2 and all(NUMBER.fullmatch(value) for value in row) for row in table)
        for table in tables
    )


def _split(lines: Sequence[str], separator: str, encoding: str) -> Dialect | None:
    """Split lines into a table; None if it has no header."""
    rows = [_values(line, separator) for line in lines]
    widths = Counter(len(row) for row in rows if any(row))
    usual = max(widths, key=lambda width: (widths[width], width), default=0)
    named = [at for at, row in enumerate(rows[:FIRST]) if 2 * len(row) >= usual and _is_of_names(row)]
    at = next((at for at in named if len(rows[at]) >= usual - 1), named[0] if named else None)
    if at is None:
        return None
    while (
        len(rows[at]) > 1
        and not rows[at][-1]
        and not any("".join(row[len(rows[at]) - 1 :]) for row in rows[at + 1 :])
    ):
        rows[at].pop()  # separators at the ends of rows
    below = tuple(tuple(row) for row in rows[at + 1 :] if any(row))
    return Dialect(encoding, separator, tuple(lines[:at]), _unique(rows[at]), below)


def _values(line: str, separator: str) -> list[str]:
    try:
        return [each.strip() for each in next(csv.reader([line], delimiter=separator, skipinitialspace=True))]
    except (StopIteration, csv.Error):
        return []


def _is_of_names(row: Sequence[str]) -> bool:
    """True if there are several values, and the first is a text."""
    first = next((value for value in row if value), "")
    return len(row) > 1 and bool(first) and not NUMBER.fullmatch(first) and not DATE.fullmatch(first)


def _unique(row: Sequence[str]) -> tuple[str, ...]:
    """Make names unique as pandas does; NumPy puts a comment sign before the first."""
    seen: Counter[str] = Counter()
    names = []
    for number, text in enumerate(row):
        name = (text.lstrip("#%").strip() if not number else text) or f"Unnamed: {number}"
        names.append(f"{name}.{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return tuple(names)


def decimal_of(texts: Iterable[str], separator: str) -> str | tuple[str, ...]:
    """Find the decimal sign, "." or ","; else return values that contradict each other, or an open one."""
    sure: dict[str, str] = {}
    open_ = ""
    for text in texts:
        number = text.strip().lstrip("+-")
        signs = [sign for sign in number if sign in ".,"]
        if not signs or not NUMBER.fullmatch(number):
            continue
        last, others = signs[-1], signs[:-1]
        if others:  # a sign that is repeated is between thousands
            sure.setdefault(last if last not in others else ".,".replace(last, ""), text)
        elif re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", number):
            open_ = open_ or text
        else:
            sure.setdefault(last, text)
    if len(sure) > 1:
        return tuple(sure.values())
    # With commas between values, points are hardly between thousands.
    is_open = open_ and not (separator == "," and "." in open_)
    return next(iter(sure), None) or ((open_,) if is_open else ".")


def decimal_sign(texts: Iterable[str], separator: str, field: str, hint: str = ASK) -> str:
    """Find the decimal sign, or raise InputError if it is unknown."""
    decimal = decimal_of(texts, separator)
    if isinstance(decimal, str):
        return decimal
    if len(decimal) > 1:
        problem = "numbers are written in two formats"
        found = " and ".join(f"'{each}'" for each in decimal)
        raise InputError(problem, field=field, found=found, hint="export the file again in one format")
    (text,) = decimal
    problem = f"'{text}' may be {text.replace(',', '.')} or {re.sub('[.,]', '', text)}"
    found = "no number that tells whether this sign is before fractions or between thousands"
    raise InputError(problem, field=field, found=found, hint=hint)


def numbers(texts: Any, decimal: str) -> Any:
    """Convert a column to float64; NaN for anything but numbers with this decimal sign."""
    import pandas as pd

    if getattr(texts.dtype, "kind", "O") in "iuf":
        return texts.to_numpy(dtype="float64")
    group = f"[{'.,'.replace(decimal, '')}{SPACES}]"
    whole = rf"(?:\d+|\d{{1,3}}(?:{group}\d{{3}})+)"
    form = rf"[+-]?(?:{whole}(?:\{decimal}\d*)?|\{decimal}\d+)(?:[eE][+-]?\d+)?"
    written = texts.fillna("").astype(str).str.strip()
    plain = written.where(written.str.fullmatch(form), "nan")
    plain = plain.str.replace(group, "", regex=True).str.replace(decimal, ".", regex=False)
    return pd.to_numeric(plain, errors="coerce").to_numpy(dtype="float64")


def read_table(file: Path, dialect: Dialect, *, texts: Collection[str] | None = None) -> Any:
    """Read a table; columns in `texts` stay text, None for all."""
    import pandas as pd

    for line, row in enumerate(dialect.rows, start=len(dialect.before) + 2):
        if any(row[len(dialect.names) + dialect.indexed :]):
            raise _longer(file, dialect, f"{len(row)} values in line {line}")
    names = [*(["\0"] if dialect.indexed else []), *dialect.names]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(
                file,
                sep=dialect.separator,
                encoding=dialect.encoding,
                skiprows=len(dialect.before) + 1,
                header=None,
                names=names,
                index_col=False,  # else pandas takes an extra value for the name of the row
                skipinitialspace=True,
                dtype=str if texts is None else dict.fromkeys(texts, str),
                keep_default_na=texts is not None,
                float_precision="round_trip",
            )
    except pd.errors.ParserError as error:
        if (said := re.search(r"fields in line (\d+), saw (\d+)", str(error))) is None:
            raise
        raise _longer(file, dialect, f"{said[2]} values in line {said[1]}") from None
    except pd.errors.ParserWarning:
        raise _longer(file, dialect, "more values in some line") from None
    return table[list(dialect.names)]


def _longer(file: Path, dialect: Dialect, found: str) -> InputError:
    problem = "a row has more values than the line of names has names"
    found += f", {len(dialect.names)} names in line {len(dialect.before) + 1} of {file.name}"
    hint = "add the names that are missing to that line, and take separators from the ends of rows"
    return InputError(problem, found=found, hint=hint)
