"""Grid of settings: varied fields, values and combinations."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shortloop.base.errors import InputError
from shortloop.settings.changes import Changes, field_keys, toml_key, toml_value, value_of

LONGEST = 80  # characters of the suffix of a settings name
READABLE = 60  # of these, before the hash of a suffix that is too long
HASH = 8


@dataclass(frozen=True)
class Axis:
    """Fields that vary together; usually one."""

    fields: tuple[str, ...]  # dotted names
    points: tuple[tuple[str, ...], ...]  # TOML value of each field, at each step


@dataclass(frozen=True, eq=False)
class Combination:
    """One combination of values."""

    fields: tuple[tuple[str, str], ...]  # dotted names with TOML values, in the order of the grid
    places: Mapping[int, int]  # step of each axis, by the number of the axis
    label: str  # e.g. "folds=5, kind=lda"

    @property
    def changes(self) -> Changes:
        """Changes of the settings file."""
        return Changes(_suffix(self.fields), self.fields)

    def values(self) -> tuple[str, ...]:
        """Values of its fields, for tables."""
        return tuple(shown_value(text) for _, text in self.fields)


@dataclass(frozen=True)
class Grid:
    """A grid of settings."""

    axes: tuple[Axis, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        """Dotted names of all fields."""
        return tuple(field for axis in self.axes for field in axis.fields)

    def short(self) -> dict[str, str]:
        """The shortest unambiguous end of the name of each field."""
        keys = {field: tuple(map(toml_key, field_keys(field))) for field in self.fields}
        found = {}
        for field, own in keys.items():
            others = [each for other, each in keys.items() if other != field]
            ends = (own[-n:] for n in range(1, len(own)))
            end = next((end for end in ends if all(each[-len(end) :] != end for each in others)), own)
            found[field] = ".".join(end)
        return found

    def combinations(self) -> list[Combination]:
        """All combinations; the last axis changes fastest."""
        steps = (range(len(axis.points)) for axis in self.axes)
        return [self._combination(dict(enumerate(places))) for places in itertools.product(*steps)]

    def steps(self) -> list[Combination]:
        """Each step of each axis alone, with all other fields as in the file."""
        return [
            self._combination({number: place})
            for number, axis in enumerate(self.axes)
            for place in range(len(axis.points))
        ]

    def _combination(self, places: Mapping[int, int]) -> Combination:
        fields = tuple(
            pair
            for number, place in places.items()
            for pair in zip(self.axes[number].fields, self.axes[number].points[place], strict=True)
        )
        short = self.short()
        label = ", ".join(f"{short[field]}={shown_value(value)}" for field, value in fields)
        return Combination(fields, dict(places), label)


def parse_grid(each: Sequence[str], together: Sequence[str] = ()) -> Grid:
    """Parse the options --set and --zip."""
    axes = []
    for text in each:
        field, values = _parse(text)
        axes.append(Axis((field,), tuple((value,) for value in values)))
    if together:
        pairs = [_parse(text) for text in together]
        lengths = {field: len(values) for field, values in pairs}
        if len(set(lengths.values())) > 1:
            raise InputError(
                "fields of --zip have different numbers of values",
                found=", ".join(f"{field}: {number}" for field, number in lengths.items()),
                hint="give each the same number of values, or use --set for independent fields",
            )
        fields, values_of = zip(*pairs, strict=True)
        axes.append(Axis(fields, tuple(zip(*values_of, strict=True))))
    if not axes:
        raise InputError(
            "no field varies", hint="add a field and its values, e.g. --set decoding.folds=5,10; repeatable"
        )
    grid = Grid(tuple(axes))
    _check(grid)
    return grid


def shown_value(text: str) -> str:
    """A TOML value for display; strings have no quotes."""
    value = value_of(text)
    return value if isinstance(value, str) else toml_value(value)


def _parse(text: str) -> tuple[str, tuple[str, ...]]:
    for match in re.finditer("=", text):  # a quoted key may contain one
        field = text[: match.start()].strip()
        try:
            keys = field_keys(field)
        except InputError:
            continue
        values = _split(text[match.end() :], field)
        return ".".join(map(toml_key, keys)), values
    raise InputError(
        "not a field with values",
        found=text,
        expected="as decoding.folds=5,10 or models.plain.model=ols,rlm",
    )


def _split(text: str, field: str) -> tuple[str, ...]:
    """Split at commas outside quotes and brackets: a value is the shortest text that is TOML."""
    pieces, values = text.split(","), []
    while pieces:
        for length in range(1, len(pieces) + 1):
            value = ",".join(pieces[:length]).strip()
            if _is_toml(value):
                break
        else:
            length, value = 1, pieces[0].strip()
        try:
            value_of(value)
        except InputError as error:
            raise InputError(
                error.problem, field=field, found=error.found, expected=error.expected, hint=error.hint
            ) from None
        values.append(value)
        pieces = pieces[length:]
    return tuple(values)


def _needs_no_quotes(text: str) -> bool:
    try:
        return value_of(text) == text
    except InputError:
        return False


def _is_toml(text: str) -> bool:
    try:
        return not isinstance(found := value_of(text), str) or found != text
    except InputError:
        return False


def _check(grid: Grid) -> None:
    fields = grid.fields
    for place, field in enumerate(fields):
        if field in fields[:place]:
            raise InputError("a field is given twice", found=field, hint="give all its values at once")
        if field == "name":
            raise InputError(
                "the name of the settings cannot vary", found=field, hint="each run of a sweep gets its own"
            )
    for axis in grid.axes:
        seen = [tuple(toml_value(value_of(text)) for text in point) for point in axis.points]
        for place, point in enumerate(seen):
            if point in seen[:place]:
                raise InputError(
                    "a value is given twice", field=", ".join(axis.fields), found=", ".join(point)
                )


def _suffix(fields: Sequence[tuple[str, str]]) -> str:
    """Suffix of the settings name: different for different values, whatever else is in the grid."""
    parts, exact = [], True
    for field, text in sorted(fields):
        value = value_of(text)
        word = shown_value(text)
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", word)
        exact &= plain == word and bool(re.fullmatch(r"[A-Za-z0-9_.]+", field))
        exact &= not isinstance(value, str) or _needs_no_quotes(word)  # "5" is not 5
        parts.append(f"{re.sub(r'[^A-Za-z0-9_.]+', '_', field)}-{plain}")
    suffix = "+".join(parts)
    if exact and len(suffix) <= LONGEST:
        return suffix
    exact_text = repr([(field, toml_value(value_of(text))) for field, text in sorted(fields)])
    digest = hashlib.sha256(exact_text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH]
    return f"{suffix[:READABLE]}+{digest}"
