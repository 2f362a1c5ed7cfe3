"""Grid of settings: varied fields, values and combinations."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
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
    fields: tuple[tuple[str, str], ...]  # dotted names with TOML values, in the order of the grid
    places: Mapping[int, int]  # step of each axis, by the number of the axis
    label: str  # e.g. "folds=5, kind=lda"

    @property
    def changes(self) -> Changes:
        return Changes(_suffix(self.fields), self.fields)

    def values(self) -> tuple[str, ...]:
        return tuple(shown_value(text) for _, text in self.fields)


@dataclass(frozen=True)
class Grid:
    axes: tuple[Axis, ...]

    @property
    def fields(self) -> tuple[str, ...]:
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
        return [self.combination(dict(enumerate(places))) for places in itertools.product(*steps)]

    def steps(self) -> list[Combination]:
        """Each step of each axis alone, with all other fields as in the file."""
        axes = enumerate(self.axes)
        return [self.combination({number: i}) for number, axis in axes for i in range(len(axis.points))]

    def combination(self, places: Mapping[int, int]) -> Combination:
        """Steps of some axes, by the numbers of these."""
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
    for texts in [*([text] for text in each), together]:
        pairs = [_parse(text) for text in texts]
        if len({len(values) for _, values in pairs}) > 1:
            found = ", ".join(f"{field}: {len(values)}" for field, values in pairs)
            hint = "give each the same number of values, or use --set for independent fields"
            raise InputError("fields of --zip have different numbers of values", found=found, hint=hint)
        if pairs:
            fields, values_of = zip(*pairs, strict=True)
            axes.append(Axis(fields, tuple(zip(*values_of, strict=True))))
    if not axes:
        advice = "add a field and its values, e.g. --set decoding.folds=5,10; repeatable"
        raise InputError("no field varies", hint=advice)
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
        return ".".join(map(toml_key, keys)), _split(text[match.end() :], field)
    expected = "as decoding.folds=5,10 or models.plain.model=ols,rlm"
    raise InputError("not a field with values", found=text, expected=expected)


def _split(text: str, field: str) -> tuple[str, ...]:
    """Split at commas outside quotes and brackets: a value is the shortest text that is TOML."""
    pieces, values = text.split(","), []
    while pieces:
        texts = (",".join(pieces[:length]).strip() for length in range(1, len(pieces) + 1))
        found = ((length, each) for length, each in enumerate(texts, 1) if _value(each) not in (None, each))
        length, value = next(found, (1, pieces[0].strip()))
        try:
            value_of(value)
        except InputError as error:
            error.field = field
            raise
        values.append(value)
        pieces = pieces[length:]
    return tuple(values)


def _value(text: str) -> object:
    """Return the TOML value, the text itself if it is a string without quotes, or None if it is no value."""
    try:
        return value_of(text)
    except InputError:
        return None


def _check(grid: Grid) -> None:
    if "name" in grid.fields:
        hint = "each run of a sweep gets its own"
        raise InputError("the name of the settings cannot vary", found="name", hint=hint)
    if twice := [field for field, count in Counter(grid.fields).items() if count > 1]:
        raise InputError("a field is given twice", found=twice[0], hint="give all its values at once")
    for axis in grid.axes:
        points = Counter(tuple(toml_value(value_of(text)) for text in point) for point in axis.points)
        if again := [", ".join(point) for point, count in points.items() if count > 1]:
            raise InputError("a value is given twice", field=", ".join(axis.fields), found=again[0])


def _suffix(fields: Sequence[tuple[str, str]]) -> str:
    """Suffix of the settings name: different for different values, whatever else is in the grid."""
    parts, exact = [], True
    for field, text in sorted(fields):
        value, word = value_of(text), shown_value(text)
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", word)
        exact &= plain == word and bool(re.fullmatch(r"[A-Za-z0-9_.]+", field))
        exact &= not isinstance(value, str) or _value(word) == word  # "5" is not 5
        parts.append(f"{re.sub(r'[^A-Za-z0-9_.]+', '_', field)}-{plain}")
    suffix = "+".join(parts)
    if exact and len(suffix) <= LONGEST:
        return suffix
    exact_text = repr([(field, toml_value(value_of(text))) for field, text in sorted(fields)])
    digest = hashlib.sha256(exact_text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH]
    return f"{suffix[:READABLE]}+{digest}"
