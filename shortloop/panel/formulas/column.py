"""Column of a panel: numbers, or codes of levels, and the type in which a formula reads it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from shortloop.base.types import FloatArray, IntArray

LEVELS = 10_000  # most different texts of a column that is a regressor; one with more is a name of something
EXACT = 2**53  # numbers with a fraction are all whole from here on, and some whole ones are missing
LARGEST = 2**63
MISSING = -LARGEST  # stands for no value in whole numbers that no float holds
NULLABLE = {"Float64": "float64", "Int64": "int64", "boolean": "bool"}
"""Types of pandas that may lack values, and those of NumPy that may not, or have NaN."""
TYPED = ("integer", "floating", "mixed-integer-float", "boolean")
"""Kinds of objects, as pandas infers them, that are levels themselves, and not by their texts."""

NUMBER = re.compile(r"[-+−]?[$€£]?\s*(\d[\d.,'\u00a0\u202f ]*|[.,]\d+)([eE][-+]?\d+)?\s*[%$€£]?")
DIGIT = re.compile("[0-9]")
TIME = re.compile(r"0000(-?Q0|-?W00|-00(-00([ T]00:00(:00(\.0+)?)?Z?)?)?)?")
"""Shape of texts whose order is that of the times that they name."""
SHOWN = 3  # texts that are shown
NamedColumns = Mapping[str, "Column"]


@dataclass(frozen=True)
class Column:
    """One column of a panel.

    Values, (rows,), are float64, with NaN for missing; int64 where floats would lose digits, with `MISSING`;
    or int32, codes of the levels, with -1.
    """

    values: FloatArray | IntArray
    levels: tuple[Any, ...] | None = None  # the categories, in order; None for numbers
    refused: str = ""  # why no formula can read it; then values are codes, and levels are not known; of type
    # "ordered", the codes are in the order of the values
    dtype: str = "float64"
    """Type in which Python in a formula reads it: of numbers "float64", "int64", "bool", or the nullable
    "Float64", "Int64", "boolean"; of levels "str", "object", "category", "ordered"."""

    @property
    def is_large(self) -> bool:
        """True for integers that floats cannot hold."""
        return self.values.dtype == np.int64

    @property
    def has_order(self) -> bool:
        """True for numbers, ordered categories, times, and texts that sort as their times do."""
        if self.levels is None or self.dtype in ("ordered", "object"):  # object: numbers, sorted
            return not self.refused or self.dtype == "ordered"
        shapes = {DIGIT.sub("0", str(each)) for each in self.levels}
        return len(shapes) <= 1 and all(TIME.fullmatch(shape) for shape in shapes)

    def missing(self) -> np.ndarray:
        if self.is_large:
            return np.asarray(self.values == MISSING)
        return np.asarray(self.values < 0 if self.values.dtype.kind == "i" else np.isnan(self.values))

    def bounds(self) -> tuple[int, int]:
        known = self.values[self.values != MISSING] if self.is_large else self.values
        if not len(known) or np.isnan(least := np.fmin.reduce(known)):
            return 0, 0
        return int(least), int(np.fmax.reduce(known))

    def taken(self, rows: slice | IntArray) -> Column:
        return replace(self, values=self.values[rows])

    def trimmed(self, rows: IntArray | None = None) -> Column:
        """Keep only the levels that some of these rows have; others become missing."""
        if self.levels is None and not self.refused:
            return self
        codes: IntArray = np.asarray(self.values)
        some = codes if rows is None else codes[rows]
        seen = np.unique(some[some >= 0])
        place = np.full(codes.max(initial=-1) + 2, -1, np.int32)  # the last is that of what is missing
        place[seen] = np.arange(len(seen))
        levels = None if self.levels is None else tuple(self.levels[int(each)] for each in seen)
        return replace(self, values=place[codes], levels=levels)

    def coded(self) -> Any:
        """Convert levels to a categorical, as lookups in formulas read them."""
        if self.levels is None:
            return self.values
        codes: Any = np.asarray(self.values)
        return pd.Categorical.from_codes(codes, pd.Index(self.levels), ordered=self.dtype == "ordered")

    def typed(self) -> Any:
        """Convert values to their own type, as Python in formulas reads them."""
        if self.levels is not None:
            found = self.coded()
            return found if self.dtype in ("category", "ordered") else found.astype(self.dtype)
        missing = self.missing() if self.dtype in NULLABLE else np.zeros((), bool)
        if not missing.any():
            return np.asarray(self.values).astype(NULLABLE.get(self.dtype, self.dtype), copy=False)
        filled = np.where(missing, 0, self.values).astype(NULLABLE[self.dtype])
        kinds: dict[str, Any] = {"Float64": pd.arrays.FloatingArray, "Int64": pd.arrays.IntegerArray}
        return kinds.get(self.dtype, pd.arrays.BooleanArray)(filled, missing)


def column_of(series: pd.Series) -> tuple[Column | None, str]:
    """Convert a series to a column, or None if that is impossible, and a note about it."""
    if str(series.dtype).startswith("dictionary"):  # of Arrow
        series = series.astype("category")
    if isinstance(series.dtype, pd.CategoricalDtype):
        return _categories(series)
    kind = pd.api.types.infer_dtype(series, skipna=True) if series.dtype == object else ""
    if kind == "decimal" or "decimal" in str(series.dtype):
        return _numbers(_of_decimals(series)), ""
    if kind == "boolean":  # with missing values
        return _numbers(series.astype("boolean")), ""
    if pd.api.types.is_bool_dtype(series.dtype) or pd.api.types.is_numeric_dtype(series.dtype):
        if pd.api.types.is_complex_dtype(series.dtype):
            return None, "left out: complex numbers are not supported"
        return _numbers(series), ""
    try:
        codes, levels = pd.factorize(series, sort=False)
    except (TypeError, NotImplementedError):
        return None, "left out: its values are lists or tables"
    known: list[Any] = [*levels] if kind in TYPED else [str(each) for each in levels]
    is_time = series.dtype.kind in "mM" or isinstance(series.dtype, pd.PeriodDtype)
    order = np.argsort(levels).tolist() if is_time else sorted(range(len(known)), key=known.__getitem__)
    place = np.full(len(order) + 1, -1, np.int32)  # the last is that of what is missing
    place[order] = np.arange(len(order))
    if refused := _refused(series, known):
        dtype = "ordered" if is_time else "float64"
        return Column(place[codes], refused=refused, dtype=dtype), f"cannot be used in a formula: {refused}"
    is_text = all(isinstance(each, str) for each in levels)
    dtype = "str" if is_text else "object" if kind in TYPED else "category"
    return Column(place[codes], tuple(known[i] for i in order), dtype=dtype), doubt([*map(str, known)])


def _categories(series: pd.Series) -> tuple[Column | None, str]:
    """Keep categories in their order; those other than numbers and texts become texts."""
    levels = series.cat.categories.tolist()
    if not all(isinstance(each, str | bool | int | float) for each in levels):
        levels = [*map(str, levels)]
    codes = series.cat.codes.to_numpy(np.int32)
    if len({*levels}) < len(levels):
        refused = "it has different categories that are written alike"
        return Column(codes, refused=refused), f"cannot be used in a formula: {refused}"
    dtype = "ordered" if series.cat.ordered else "category"
    texts = [each for each in levels if isinstance(each, str)]
    return Column(codes, tuple(levels), dtype=dtype), doubt(texts)


def _numbers(series: pd.Series) -> Column:
    """Convert to floats; to integers where floats would lose digits; to codes where these would, too."""
    is_nullable = not isinstance(series.dtype, np.dtype)
    if pd.api.types.is_bool_dtype(series.dtype):
        dtype = "boolean" if is_nullable else "bool"
        return Column(series.to_numpy(np.float64, na_value=np.nan), dtype=dtype)
    values = series.to_numpy(np.float64, na_value=np.nan)
    if not pd.api.types.is_integer_dtype(series.dtype):
        return Column(values, dtype="Float64" if is_nullable else "float64")
    dtype = "Int64" if is_nullable else "int64"
    if not len(values) or -EXACT < np.fmin.reduce(values) <= np.fmax.reduce(values) < EXACT:
        return Column(values, dtype=dtype)
    missing = series.isna().to_numpy()
    whole = series.fillna(0).to_numpy(np.uint64 if series.max() >= LARGEST else np.int64)
    with np.errstate(invalid="ignore"):
        if whole.dtype == np.int64 and (values.astype(np.int64) == whole)[~missing].all():
            return Column(values, dtype=dtype)
    if whole.dtype == np.uint64 or (whole == MISSING).any():
        codes, levels = pd.factorize(series)
        refused = f"it has {len(levels)} whole numbers that 64 bits do not hold with a sign"
        return Column(codes.astype(np.int32), refused=refused)
    return Column(np.where(missing, MISSING, whole), dtype=dtype)


def _of_decimals(series: pd.Series) -> pd.Series:
    """Convert decimals to floats; to integers if they are whole, and floats would lose digits."""
    objects = series.astype(object)
    known = objects.dropna()
    if len(known) and abs(known).max() >= EXACT and all(each == int(each) for each in known):
        whole = [int(each) if there else None for each, there in zip(objects, objects.notna(), strict=True)]
        return pd.Series(whole, dtype="Int64")
    return objects.where(objects.notna(), np.nan).astype(np.float64)


def _refused(series: pd.Series, levels: Sequence[Any]) -> str:
    """Tell why no formula can read a column of these levels; empty if one can."""
    if not (pd.api.types.is_string_dtype(series.dtype) or pd.api.types.is_object_dtype(series.dtype)):
        return f"it has values of type {series.dtype}"
    if len(levels) > LEVELS:
        return f"it has {len(levels)} different texts; at most {LEVELS} are supported"
    alike = len({*levels}) < len(levels)
    return "it has different values that are written alike, such as 1 and '1'" if alike else ""


def doubt(texts: Sequence[str]) -> str:
    """Tell what may be wrong with the texts of a column."""
    if (same := lookalikes(texts)) is not None:
        return f"{same[0]!a} and {same[1]!a} look the same but differ"
    return numbers_as_text(texts)


def numbers_as_text(texts: Sequence[str]) -> str:
    """Describe texts most of which are numbers; empty if they are not."""
    numbers = [text for text in texts if NUMBER.fullmatch(text.strip())]
    others = [text for text in texts if not NUMBER.fullmatch(text.strip())]
    if len(texts) < 2 or len(numbers) < len(others):
        return ""
    if not others:
        return f"read as text, although all values are numbers, e.g. {_some(numbers)}"
    return f"read as text: {len(numbers)} of {len(texts)} values are numbers, but not {_some(others)}"


def lookalikes(texts: Iterable[str]) -> tuple[str, str] | None:
    """Find two texts that differ only in spaces around them, or in Unicode normalization."""
    seen: dict[str, str] = {}
    for text in texts:
        looks = text if text.isascii() else unicodedata.normalize("NFC", text)
        if (other := seen.setdefault(" ".join(looks.split()), text)) != text:
            return other, text
    return None


def _some(texts: Sequence[str]) -> str:
    return ", ".join(map(repr, texts[:SHOWN])) + " …" * (len(texts) > SHOWN)
