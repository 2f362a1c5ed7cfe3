"""Whose each recording is, and of which phase, from the names of files and folders alone."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from shortloop.eeg.formats.files import PLACE, find_files
from shortloop.eeg.formats.folders import ENDINGS
from shortloop.eeg.formats.participants import NAME, alike, composed, natural
from shortloop.eeg.looking.words import (
    GROUPS,
    PHASES,
    VERSIONS,
    Unit,
    as_name,
    is_date,
    is_participant,
    is_run,
    units_of,
)
from shortloop.errors import InputError

__all__ = ["ONLY", "Named", "read_names"]

Place = tuple[int, int | None]
"""Where the name of the participant is: in which folder, counted from the file's own name upwards, and which
of its units; None: all of it."""

ONLY = "recording"
"""Name of the phase where there is one without a name."""
FEW = 12  # paths that a phase may list before they are written as one with wildcards
FULL = 0.05  # a name of several words is as good as the first of them, and better
MOST_DEPTH = 4  # folders above a file whose names are looked at
DIGITS = re.compile(r"\d+")


@dataclass
class Named:
    """What names of files say.

    Parameters
    ----------
    files : dict of str to dict of str to list of Path
        Of each participant and phase.
    patterns : dict of str to list of str
        Of each phase, as a study file has them.
    left_out : dict of Path to str
        Files that are of no participant, or that patterns do not reach, and why.
    """

    files: dict[str, dict[str, list[Path]]]
    patterns: dict[str, list[str]]
    left_out: dict[Path, str]


def read_names(root: Path, paths: Sequence[Path]) -> Named:
    """Find participants and phases.

    Parameters
    ----------
    root : Path
        Folder of the recordings.
    paths : sequence of Path
        The recordings; at least one.

    Returns
    -------
    Named
    """
    recordings, place = _whose([(path, path.relative_to(root)) for path in paths])
    whose: dict[str, list[_Taken]] = defaultdict(list)
    left_out: dict[Path, str] = {}
    for each in recordings:
        name = each.at(place)
        if name is None or not _is_a_name(name):
            left_out[each.path] = (
                f"'{name or each.below.name}' cannot be the name of a participant: rename it"
            )
        else:
            whose[name].append(each)
    for some in alike(whose):
        said = f"{' and '.join(some)} differ only by upper and lower case: rename one"
        left_out |= {each.path: said for name in some for each in whose.pop(name)}
    same = _same_places(whose, place)
    phases = _phases({each: each.words(place, same) for name, found in whose.items() for each in found})
    files: dict[str, dict[str, list[Path]]] = {name: {} for name in whose}
    patterns: dict[str, list[str]] = {}
    for phase in dict.fromkeys(phases.values()):
        found = {name: [each for each in taken if phases[each] == phase] for name, taken in whose.items()}
        found = {name: taken for name, taken in found.items() if taken}
        patterns[phase], reached = _patterns(root, phase, found, place, same)
        for name, taken in found.items():
            if name in reached:
                files[name][phase] = reached[name]
            else:
                left_out |= {
                    each.path: f"{', '.join(patterns[phase])} does not find it alone" for each in taken
                }
    names = sorted((name for name, found in files.items() if found), key=natural)
    return Named({name: files[name] for name in names}, patterns, left_out)


class _Taken:
    """A path, taken apart; with people, names of several words are one piece."""

    def __init__(self, path: Path, below: Path, people: bool = False) -> None:
        self.path = path
        self.below = PurePosixPath(below.as_posix())
        name = self.below.name
        self.ending = "".join(self.below.suffixes[-2:]) if name.lower().endswith(".gz") else self.below.suffix
        self.units = units_of(self.below.with_name(name.removesuffix(self.ending)), people)
        self.by_place = {unit.place: unit for unit in self.units if unit.is_word}

    def at(self, place: Place) -> str | None:
        level, number = place
        if number is None:
            parts = [*self.below.parts[:-1], self.below.name.removesuffix(self.ending)]
            return composed(parts[-1 - level]) if level < len(parts) else None
        unit = self.by_place.get((level, number))
        return None if unit is None else composed(unit.text)

    def before(self, place: Place) -> str:
        """The word before a unit, in the same name."""
        level, number = place
        unit = self.by_place.get((level, number - 1)) if number else None
        return "" if unit is None else unit.text

    def tokens(self, place: Place, same: frozenset[tuple[int, int]]) -> list[str]:
        """The path with the participant's name replaced, in pieces."""
        if place[1] is None:
            parts = [*self.below.parts[:-1], self.below.name.removesuffix(self.ending)]
            own = len(parts) - 1 - place[0]
            pieces = [
                [PLACE] if index == own else [unit.text for unit in units_of(PurePosixPath(part))]
                for index, part in enumerate(parts)
            ]
            return [*itertools.chain(*([*piece, "/"] for piece in pieces[:-1])), *pieces[-1], self.ending]
        replaced = {place, *same}
        return [*(PLACE if unit.place in replaced else unit.text for unit in self.units), self.ending]

    def words(self, place: Place, same: frozenset[tuple[int, int]]) -> tuple[str, ...]:
        """What is said beside whose it is, and which run."""
        if place[1] is None:
            units = [unit for unit in self.units if unit.place[0] != place[0]]
        else:
            units = [unit for unit in self.units if unit.place not in {place, *same}]
        words = [unit for unit in units if unit.is_word]
        found = []
        for before, unit in itertools.pairwise([Unit("", (0, 0)), *words]):
            if unit.letters in VERSIONS:
                found.append(unit.text.casefold())
            elif unit.text.isdigit() and before.letters in VERSIONS and before.place[0] == unit.place[0]:
                found.append(before.text.casefold() + unit.text)
            elif not unit.text.isdigit() and not is_run(unit.text, ""):
                found.append(unit.letters)
        return tuple(found)


def _is_a_name(text: str) -> bool:
    return NAME.fullmatch(text) is not None


def _whose(paths: Sequence[tuple[Path, Path]]) -> tuple[list[_Taken], Place]:
    """Paths taken apart, so that the participant's name is one piece, and which one."""
    plain, people = ([_Taken(*each, people=joined) for each in paths] for joined in (False, True))
    ways = [(_score(plain, place), plain, place) for place in _places(plain)]
    ways += [
        (_score(people, place) + FULL, people, place)
        for place in _places(people)
        if _are_of_people([str(each.at(place)) for each in people])
    ]
    _, recordings, place = max(ways, key=lambda way: way[0])
    return recordings, place


def _are_of_people(names: Sequence[str]) -> bool:
    """Whether names of several words are of people, and not of each participant and each of some phases."""
    pairs = {tuple(name.split(" ", 1)) for name in names if " " in name}
    firsts, lasts = ({pair[which] for pair in pairs} for which in (0, 1))
    return bool(pairs) and (len(pairs) == 1 or (len(lasts) > 1 and len(pairs) < len(firsts) * len(lasts)))


def _places(recordings: Sequence[_Taken]) -> list[Place]:
    """Where the participant's name could be."""
    units = set.intersection(*(set(each.by_place) for each in recordings))
    depth = min(len(each.below.parts) for each in recordings)
    found: list[Place] = [(level, number) for level, number in sorted(units) if level <= MOST_DEPTH]
    return [*found, *((level, None) for level in range(min(depth, MOST_DEPTH)))]


def _score(recordings: Sequence[_Taken], place: Place) -> float:
    """How much it looks as if the participant's name were there."""
    level, number = place
    names = [str(each.at(place)) for each in recordings]
    if not any(map(_is_a_name, names)):
        return -10.0
    different = {*names}
    befores = [each.before(place) for each in recordings]
    score = -0.1 * (number or 0) + 0.01 * level
    if number is None:
        score -= 1.5
        pieces = [
            unit.letters for each in different for unit in units_of(PurePosixPath(each)) if unit.is_word
        ]
        score -= 4 * any(piece in PHASES for piece in pieces)
    else:
        score -= 4 * any(Unit(name, (0, 0)).letters in PHASES for name in different)
        score -= 4 * all(map(is_run, names, befores))
        score -= 2 * all(map(is_date, names))
        score += 3 * all(map(is_participant, names, befores))
    score += all(re.search(r"\d", name) is not None for name in names)
    score -= 3 * (sum(not _is_a_name(name) for name in names) / len(names))
    score -= 2 * (len(different) == 1 < len(recordings))
    whose: dict[str, list[_Taken]] = defaultdict(list)
    for name, each in zip(names, recordings, strict=True):
        whose[name].append(each)
    same = _same_places(whose, place)
    cells = {(name, each.words(place, same)) for name, taken in whose.items() for each in taken}
    kinds = {words for _, words in cells}
    apart = {word for kind in kinds for word in kind if any(word not in other for other in kinds)}
    score -= 4 * (
        not GROUPS.isdisjoint(apart) or not GROUPS.isdisjoint(name.casefold() for name in different)
    )
    score += 3 * len(cells) / (len(different) * len(kinds))
    return score - min(0.3 * (len(kinds) - 1), 3.0)


def _same_places(whose: dict[str, list[_Taken]], place: Place) -> frozenset[tuple[int, int]]:
    """Other units that are the participant's name in every file that has them."""
    if place[1] is None:
        return frozenset()
    always: dict[tuple[int, int], bool] = {}
    for name, taken in whose.items():
        for each in taken:
            for where, unit in each.by_place.items():
                always[where] = always.get(where, True) and composed(unit.text) == name
    if len(whose) == 1:  # one that is called 1 has a session 1
        always = {where: same for where, same in always.items() if not next(iter(whose)).isdigit()}
    return frozenset(where for where, same in always.items() if same)


def _phases(words: dict[_Taken, tuple[str, ...]]) -> dict[_Taken, str]:
    """The phase of each recording, called as what only its files say."""
    kinds = [*dict.fromkeys(words.values())]
    common = set.intersection(*(set(kind) for kind in kinds)) if kinds else set()
    names: dict[tuple[str, ...], str] = {}
    for kind in kinds:
        own = [word for word in kind if word not in common]
        if len(kinds) == 1:
            own = [word for word in kind if word in PHASES][:1]
        name = as_name("-".join(dict.fromkeys(filter(None, map(as_name, own)))), ONLY)
        numbers = (f"{name}-{number}" for number in itertools.count(2))
        names[kind] = (
            name if name not in names.values() else next(n for n in numbers if n not in names.values())
        )
    return {each: names[kind] for each, kind in words.items()}


def _patterns(
    root: Path,
    phase: str,
    found: dict[str, list[_Taken]],
    place: Place,
    same: frozenset[tuple[int, int]],
) -> tuple[list[str], dict[str, list[Path]]]:
    """Paths of a phase as a study file has them, and the files of those participants whom they find right."""
    tokens = {name: [each.tokens(place, same) for each in taken] for name, taken in found.items()}
    literal = {
        name: tuple(sorted(("".join(each) for each in every), key=natural)) for name, every in tokens.items()
    }
    every = [each for of_one in tokens.values() for each in of_one]
    usual, count = Counter(literal.values()).most_common(1)[0]
    ways = [[_with_wildcards(every)]]
    if len(usual) <= FEW and (count == len(found) or count > 1):
        ways.insert(0 if count == len(found) else 1, list(usual))
    best: tuple[list[str], dict[str, list[Path]]] = ([], {})
    for patterns in ways:
        reached = {
            name: files
            for name, taken in found.items()
            if (files := _reached(root, phase, patterns, name, taken))
        }
        if not best[0] or len(reached) > len(best[1]):
            best = patterns, reached
    return best


def _reached(
    root: Path, phase: str, patterns: list[str], name: str, taken: list[_Taken]
) -> list[Path] | None:
    try:
        files = find_files(root, patterns, participant=name, phase=phase, folders=ENDINGS)
    except InputError:
        return None
    return files if {*files} == {each.path for each in taken} else None


def _with_wildcards(every: list[list[str]]) -> str:
    """One path for all: where pieces differ, a wildcard."""
    if len({len(each) for each in every}) == 1:
        pieces = [_one_piece([*{*column}]) for column in zip(*every, strict=True)]
    else:
        start = [each[0] for each in itertools.takewhile(lambda c: len({*c}) == 1, zip(*every))]
        rest = [each[len(start) :] for each in every]
        end = [
            each[0] for each in itertools.takewhile(lambda c: len({*c}) == 1, zip(*(r[::-1] for r in rest)))
        ]
        pieces = [*start, "*", *end[::-1]]
    return re.sub(r"\*(?:[^\w/{}.]?\*)+", "*", "".join(pieces))


def _one_piece(texts: list[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    if len({text.casefold() for text in texts}) == 1:  # endings in upper and lower case
        return "".join(signs[0] if len({*signs}) == 1 else "?" for signs in zip(*texts, strict=True))
    letters = {DIGITS.sub("", text) for text in texts}
    return f"{letters.pop()}*" if len(letters) == 1 else "*"
