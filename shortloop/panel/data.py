"""Panel: named columns, with the rows of each group one after the other."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from shortloop.base.errors import InputError
from shortloop.base.types import IntArray
from shortloop.panel.formats.panel_format import key_text
from shortloop.panel.formulas.column import EXACT, NamedColumns, column_of, lookalikes

GAPS = 4  # numbers of groups that may be between the least and the largest, for each row


@dataclass(frozen=True)
class Panel:
    """Rows of many groups."""

    by: tuple[str, ...]  # columns that make groups
    keys: Sequence[tuple[str, ...]]  # their values for each group
    starts: IntArray  # int64, (groups + 1,): first row of each group, and the end of the last
    columns: NamedColumns  # all others
    notes: tuple[str, ...] = ()  # what was left out, and why
    order: IntArray | None = None  # (rows,), which row of the source each is; None: as they were
    source_rows: int = 0
    kinds: tuple[str, ...] = ()  # of values that make groups, of `kind_of`

    def origins(self) -> IntArray:
        """Number of each row in the source, from 0, (rows,)."""
        return np.arange(int(self.starts[-1])) if self.order is None else np.asarray(self.order)

    def of_groups(self, first: int, last: int) -> Panel:
        """Take groups from `first` to `last`, with only the levels that they have."""
        rows = slice(int(self.starts[first]), int(self.starts[last]))
        columns = {name: column.taken(rows).trimmed() for name, column in self.columns.items()}
        starts = self.starts[first : last + 1] - self.starts[first]
        return Panel(self.by, self.keys[first:last], starts, columns, kinds=self.kinds)


def kind_of(values: pd.Series | pd.Index) -> str:
    """Name what restores values of a group column from text; empty: they are texts."""
    of, dtype = pd.api.types, values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return kind_of(dtype.categories)
    if of.is_object_dtype(dtype):
        dtype = values.dropna().infer_objects().dtype
    if of.is_bool_dtype(dtype):
        return "bool"
    if of.is_integer_dtype(dtype) or of.is_float_dtype(dtype):  # alike: a missing value makes floats of them
        return "number"
    return str(dtype) if isinstance(dtype, np.dtype) and dtype.kind == "M" else ""


def group_values(keys: Sequence[Sequence[str]], kinds: Sequence[str], place: int) -> np.ndarray:
    """Restore the values of a group column, (groups,), by its place in `keys`."""
    kind = kinds[place] if place < len(kinds) else ""
    texts = np.array([key[place] for key in keys], str if kind else object)
    if kind == "number":
        whole = [text.removeprefix("-").isdecimal() for text in texts.tolist()]
        return pd.Series([*map(int, texts)]).to_numpy() if all(whole) else texts.astype(np.float64)
    return texts == "True" if kind == "bool" else texts.astype(kind or object)


def group_names(keys: Sequence[Sequence[str]], kinds: Sequence[str]) -> list[Any]:
    """Name groups by their values, by tuples if several columns make them; times by their text."""
    kinds = [kind if kind in ("number", "bool") else "" for kind in kinds]
    columns = [group_values(keys, kinds, i).tolist() for i in range(len(kinds))]
    return columns[0] if len(columns) == 1 else [*zip(*columns, strict=True)]


def block_of(key: Sequence[str], blocks: int) -> int:
    """Return the block of a group, which does not depend on other groups."""
    text = "\0".join(key).encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") % blocks


def split_groups(starts: IntArray, rows: int) -> list[slice]:
    """Split groups into parts of about so many rows; `starts` are the first rows, and the end."""
    parts, first, groups = [], 0, len(starts) - 1
    while first < groups:
        last = min(int(np.searchsorted(starts, starts[first] + rows)), groups)
        parts.append(slice(first, last))
        first = last
    return parts


def sorted_rows(codes: IntArray, groups: int) -> tuple[IntArray, IntArray]:
    """Sort rows by group, (rows,), those of one in their order; with the first place of each, and the end."""
    # codes: (rows,); negative: no group, the row is left out. NumPy sorts 16 bits in linear time.
    known = np.flatnonzero(codes >= 0) if codes.min(initial=0) < 0 else None
    codes = codes if known is None else codes[known]
    order = np.argsort(codes.astype(np.uint16), kind="stable")
    for shift in range(16, (groups - 1).bit_length(), 16):
        order = order[np.argsort((codes[order] >> shift).astype(np.uint16), kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=groups))])
    return order if known is None else known[order], starts


def from_frame(frame: pd.DataFrame, by: Sequence[str], blocks: int = 1) -> Panel:
    """Group the rows of a frame, in blocks of groups."""
    check_columns(frame, by)
    order: IntArray | None = None  # None: all rows stay where they are
    in_order = _starts_in_order(frame, by)
    if in_order is None:
        codes, number = _codes(frame, by)
        order, starts = sorted_rows(codes, number)
        firsts = order[starts[:-1]]
    else:
        starts, firsts, number = in_order, in_order[:-1], len(in_order) - 1
    if not number:
        raise InputError("no row belongs to a group", field="groups.by", found=f"{len(frame)} rows")
    parts = (frame[name].iloc[firsts] for name in by)
    texts = (map(str if _is_numpy(part, "iu") else key_text, part.tolist()) for part in parts)
    keys = [*zip(*texts, strict=True)]
    if len(set(keys)) < number:
        twice = " ".join(next(key for key in keys if keys.count(key) > 1))
        hint = "make values of one type, e.g. all of them texts"
        raise InputError("two groups have the same name", field="groups.by", found=twice, hint=hint)
    _check_names(frame, by, keys)
    if blocks > 1:
        rank = sorted(range(number), key=lambda g: (block_of(keys[g], blocks), g))
        place = np.full(number + 1, -1, np.int64)  # the last is that of rows without a group
        place[rank] = np.arange(number)
        codes = np.repeat(np.arange(number), np.diff(starts)) if in_order is not None else codes
        order, starts = sorted_rows(place[codes], number)
        keys = [keys[g] for g in rank]
    rows = int(starts[-1])
    notes = [] if rows == len(frame) else [f"{len(frame) - rows} rows belong to no group"]
    columns = {}
    for name in frame.columns:
        if name not in by:
            column, note = column_of(frame[name])
            notes += [f"{name}: {note}"] if note else []
            if column is not None:
                columns[str(name)] = column if order is None else column.taken(order)
    kinds = tuple(kind_of(frame[name]) for name in by)
    return Panel(tuple(by), keys, starts, columns, tuple(notes), order, len(frame), kinds)


def check_columns(frame: pd.DataFrame, by: Sequence[str]) -> None:
    """Refuse what is no frame, and columns that cannot make groups."""
    if not hasattr(frame, "iloc"):
        found, hint = type(frame).__name__, "convert them, e.g. with their method to_pandas"
        raise InputError("rows are no frame of pandas", found=found, hint=hint)
    if not by:
        raise InputError("no column makes groups", field="groups.by", expected="one or several columns")
    if not frame.columns.is_unique:
        twice = ", ".join(sorted({*map(str, frame.columns[frame.columns.duplicated()])}))
        expected = "a name of its own for each"
        raise InputError("several columns have the same name", found=twice, expected=expected)
    for i, name in enumerate(by):
        if name in by[:i]:
            raise InputError("duplicate column", field="groups.by", found=name, expected="each once")
        if name not in frame.columns:
            expected = f"one of {', '.join(map(str, frame.columns))}"
            more = "it is in the index: give frame.reset_index()" if name in frame.index.names else None
            raise InputError("no such column", field="groups.by", found=name, expected=expected, hint=more)


def _is_numpy(values: pd.Series, kinds: str) -> bool:
    """True if values are of a type of NumPy of one of these kinds."""
    return isinstance(values.dtype, np.dtype) and values.dtype.kind in kinds


def _check_names(frame: pd.DataFrame, by: Sequence[str], keys: Sequence[tuple[str, ...]]) -> None:
    """Refuse values that may merge two groups, or split one."""
    for i, name in enumerate(by):
        values = frame[name]
        if _is_numpy(values, "f"):
            if (values.abs() >= EXACT).any():
                problem = "group numbers too large to be distinguished"
                found = f"{name}: {values.abs().max():.0f}, as a number with a fraction"
                expected = f"numbers below {EXACT}, or no missing value among whole numbers"
                hint = "leave out rows without a group, or make texts of the numbers"
                raise InputError(problem, field="groups.by", found=found, expected=expected, hint=hint)
            continue
        same = None if pd.api.types.is_numeric_dtype(values.dtype) else lookalikes({key[i] for key in keys})
        if same is not None:
            problem, found = "group names that look the same", f"{name}: {same[0]!a} and {same[1]!a}"
            expected = "one spelling of each: surrounding spaces and Unicode normalization count"
            raise InputError(problem, field="groups.by", found=found, expected=expected)


def _starts_in_order(frame: pd.DataFrame, by: Sequence[str]) -> IntArray | None:
    """Find the start of each group, if a single sorted column of numbers makes them: no row is moved."""
    values = frame[by[0]]
    if len(by) > 1 or not len(frame) or not _is_numpy(values, "iuf"):
        return None
    found = values.to_numpy()
    starts = np.flatnonzero(found[1:] != found[:-1]) + 1
    if found[0] != found[0] or not (found[starts] > found[starts - 1]).all():  # or some are not numbers
        return None
    return np.concatenate([[0], starts, [len(found)]]).astype(np.int64)


def _codes(frame: pd.DataFrame, by: Sequence[str]) -> tuple[IntArray, int]:
    """Number the group of each row, by its values; -1: one of them is missing."""
    dense = _dense_codes(frame[by[0]]) if len(by) == 1 else None
    if dense is not None:
        return dense
    try:
        grouped = frame.groupby(list(by), sort=True, observed=True, dropna=True)
        codes: IntArray = grouped.ngroup().fillna(-1).to_numpy().astype(np.int64)
    except (TypeError, NotImplementedError) as error:  # e.g. lists
        problem, found = "unsupported values in a group column", f"{', '.join(by)}: {error}"
        expected = "numbers, texts, truth values, dates or times"
        raise InputError(problem, field="groups.by", found=found, expected=expected) from None
    return codes, int(codes.max(initial=-1)) + 1


def _dense_codes(series: pd.Series) -> tuple[IntArray, int] | None:
    """Number groups by counting, if they are integers with few gaps."""
    if not _is_numpy(series, "iu") or not len(series):
        return None
    values = series.to_numpy()
    least, most = int(values.min()), int(values.max())
    if most - least > GAPS * len(values) or most >= 2**63:
        return None
    values = values.astype(np.int64) - least
    code = np.cumsum(np.bincount(values, minlength=most - least + 1) > 0) - 1
    return code[values], int(code[-1]) + 1
