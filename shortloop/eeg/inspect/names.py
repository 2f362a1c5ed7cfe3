"""Participants and phases of recordings, found in the names of files and folders alone."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from shortloop.base.errors import InputError
from shortloop.eeg.checks.participants import NAME, alike, composed, natural
from shortloop.eeg.formats.files.find import ENDINGS, PLACE, find_files
from shortloop.eeg.inspect.rules import PHASES, as_name, name_means

Place = tuple[int, int | None]
"""Where the participant's name is: the folder, counted upwards from the file name (0), and the number of the
word in it; None: the whole name of the folder."""
Places = frozenset[tuple[int, int]]
ONLY = "recording"  # name of a phase that no word names
FEW = 12  # paths that a phase may list before wildcards replace them
FULL = 0.05  # bonus for a first name with a surname over the first name alone
MOST_DEPTH = 4  # folders above a file whose names are read
LETTER = r"(?:[^\W\d_]|[\u0300-\u036f])"  # some systems write an umlaut as two characters
UNIT = re.compile(rf"{LETTER}+\d*|\d+|.", re.DOTALL)
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class NamedFiles(NamedTuple):
    """Files by participant and phase, patterns by phase, and the reason for each file left out."""

    files: dict[str, dict[str, list[Path]]]
    patterns: dict[str, list[str]]
    left_out: dict[Path, str]


def read_names(root: Path, paths: Sequence[Path]) -> NamedFiles:
    """Find the participant and the phase of each file."""
    split, place = _find_place(root, paths)
    left_out: dict[Path, str] = {}
    by_name = _grouped(split, place)
    for name, why in unfit(by_name).items():
        left_out |= {each.path: why for each in by_name.pop(name)}
    same = _same_places(by_name, place)
    phases = _phases({each: each.words(place, same) for found in by_name.values() for each in found})
    files: dict[str, dict[str, list[Path]]] = {name: {} for name in by_name}
    patterns: dict[str, list[str]] = {}
    for phase in dict.fromkeys(phases.values()):
        found = _grouped((each for each, of in phases.items() if of == phase), place)
        patterns[phase], reached = _patterns(root, found, place, same)
        for name, every in found.items():
            if name in reached:
                files[name][phase] = reached[name]
            else:
                why = f"{', '.join(patterns[phase])} does not find it alone"
                left_out |= dict.fromkeys((each.path for each in every), why)
    order = sorted((name for name, found in files.items() if found), key=natural)
    return NamedFiles({name: files[name] for name in order}, patterns, left_out)


def unfit(names: Iterable[str]) -> dict[str, str]:
    """Return names that no participant may have, or not beside each other, and why."""
    fit = {each: NAME.fullmatch(each) for each in names}
    bad = {each: f"'{each}' cannot be the name of a participant: rename it" for each in fit if not fit[each]}
    for same in alike(each for each in fit if fit[each]):
        bad |= dict.fromkeys(same, f"{' and '.join(same)} differ only by upper and lower case: rename one")
    return bad


class _SplitPath:
    """A path in units: words (letters, then digits) with their places, and other characters."""

    def __init__(self, root: Path, path: Path, people: bool) -> None:
        self.path = path
        self.ending = "".join(path.suffixes[-2:]) if path.name.lower().endswith(".gz") else path.suffix
        self.parts = [*path.relative_to(root).parts[:-1], path.name.removesuffix(self.ending)]
        self.units: list[list[tuple[str, tuple[int, int] | None]]] = []
        for level, part in zip(reversed(range(len(self.parts))), self.parts):
            numbers = itertools.count()
            texts = _units_of(part, people)
            self.units.append([(text, (level, next(numbers)) if _is_word(text) else None) for text in texts])
        self.by_place = {place: text for part in self.units for text, place in part if place}

    def at(self, place: Place) -> str:
        level, number = place
        return composed(self.parts[-1 - level] if number is None else self.by_place[level, number])

    def tokens(self, place: Place, same: Places) -> list[str]:
        """Return the path in pieces, with the participant's name replaced by its placeholder."""
        found: list[str] = []
        for level, part in zip(reversed(range(len(self.parts))), self.units):
            own = [PLACE if at == place or at in same else text for text, at in part]
            found += [*([PLACE] if place == (level, None) else own), "/"]
        return [*found[:-1], self.ending]

    def words(self, place: Place, same: Places) -> tuple[str, ...]:
        """Return the words beside the participant's name and the number of the run."""
        found = []
        before, folder = "", 0
        for at, text in self.by_place.items():
            if at in same or place in (at, (at[0], None)):
                continue
            if "version" in name_means(_letters(text)):
                found.append(text.casefold())
            elif text.isdigit():
                if "version" in name_means(_letters(before)) and folder == at[0]:
                    found.append(before.casefold() + text)
            elif "run" not in name_means(text):
                found.append(_letters(text))
            before, folder = text, at[0]
        return tuple(found)


def _units_of(part: str, people: bool = False) -> list[str]:
    """Split a name; with people, a first name and a surname are one unit."""
    pieces = [piece for unit in UNIT.findall(part) for piece in CAMEL.split(unit)]
    joined: list[str] = []
    for piece in pieces:
        if people and joined[1:] and joined[-1] == " " and _is_person(piece) and _is_person(joined[-2]):
            joined[-2:] = [f"{joined[-2]} {piece}"]
        else:
            joined.append(piece)
    return joined


def _is_word(unit: str) -> bool:
    return any(map(str.isalnum, unit))


def _is_person(text: str) -> bool:
    """True if each word begins with a capital and is no word of an experiment."""
    capital = all(word[0].isupper() and word[1:].islower() for word in text.split())
    others = PHASES | {"group", "run"}
    return _is_word(text) and capital and not any(others & name_means(_letters(w)) for w in text.split())


def _letters(text: str) -> str:
    return text.rstrip("0123456789").casefold()


def _grouped(paths: Iterable[_SplitPath], place: Place) -> dict[str, list[_SplitPath]]:
    found: dict[str, list[_SplitPath]] = defaultdict(list)
    for each in paths:
        found[each.at(place)].append(each)
    return found


def _find_place(root: Path, paths: Sequence[Path]) -> tuple[list[_SplitPath], Place]:
    """Split all paths, and find where the participant's name is in them."""
    ways = []
    for people in (False, True):
        split = [_SplitPath(root, path, people) for path in paths]
        ways += [
            (_score(split, place) + FULL * people, split, place)
            for place in _places(split)
            if not people or _are_people([each.at(place) for each in split])
        ]
    _, split, place = max(ways, key=lambda way: way[0])
    return split, place


def _are_people(names: Sequence[str]) -> bool:
    """True unless the second words are phases, which come with each of the first words."""
    pairs = {tuple(name.split(" ", 1)) for name in names if " " in name}
    firsts, lasts = ({pair[which] for pair in pairs} for which in (0, 1))
    return bool(pairs) and (len(pairs) == 1 or (len(lasts) > 1 and len(pairs) < len(firsts) * len(lasts)))


def _places(paths: Sequence[_SplitPath]) -> list[Place]:
    """List the places that all paths have."""
    units = set.intersection(*(set(each.by_place) for each in paths))
    depth = min(MOST_DEPTH, *(len(each.parts) for each in paths))
    words = [place for place in sorted(units) if place[0] <= MOST_DEPTH]
    return [*words, *((level, None) for level in range(depth))]


def _score(paths: Sequence[_SplitPath], place: Place) -> float:
    """Rate how much the words at a place look like names of participants."""
    level, number = place
    by_name = _grouped(paths, place)
    if not any(map(NAME.fullmatch, by_name)):
        return -10.0
    score = -0.1 * (number or 0) + 0.01 * level
    words = [*by_name]
    if number is None:
        score -= 1.5
        words = [unit for name in by_name for unit in _units_of(name) if _is_word(unit)]
    else:
        before = (level, number - 1)
        meanings = [name_means(each.at(place), each.by_place.get(before, "")) for each in paths]
        for meaning, points in (("run", -4), ("date", -2), ("participant", 3)):
            score += points * all(meaning in each for each in meanings)
    score -= 4 * any(PHASES & name_means(_letters(word)) for word in words)
    score += all(re.search(r"\d", name) is not None for name in by_name)
    score -= 3 * sum(len(every) for name, every in by_name.items() if not NAME.fullmatch(name)) / len(paths)
    score -= 2 * (len(by_name) == 1 < len(paths))
    same = _same_places(by_name, place)
    cells = {(name, each.words(place, same)) for name, every in by_name.items() for each in every}
    kinds = {words for _, words in cells}
    apart = {word for kind in kinds for word in kind if any(word not in other for other in kinds)}
    score -= 4 * any("group" in name_means(word) for word in (*apart, *by_name))
    return score + 3 * len(cells) / (len(by_name) * len(kinds)) - min(0.3 * (len(kinds) - 1), 3.0)


def _same_places(by_name: dict[str, list[_SplitPath]], place: Place) -> Places:
    """Find other places where every file has the participant's name."""
    # Participant 1 alone has a session 1.
    if place[1] is None or (len(by_name) == 1 and next(iter(by_name)).isdigit()):
        return frozenset()
    paths = [(name, each) for name, every in by_name.items() for each in every]
    others = {at for name, each in paths for at, text in each.by_place.items() if composed(text) != name}
    return frozenset(at for _, each in paths for at in each.by_place) - others


def _phases(words: dict[_SplitPath, tuple[str, ...]]) -> dict[_SplitPath, str]:
    """Name the phase of each file by the words that only its files have."""
    kinds = [*dict.fromkeys(words.values())]
    common = set.intersection(*map(set, kinds)) if kinds else set()
    names: dict[tuple[str, ...], str] = {}
    for kind in kinds:
        own = [word for word in kind if word not in common]
        if len(kinds) == 1:
            own = [word for word in kind if PHASES & name_means(word)][:1]
        names[kind] = unique("-".join(dict.fromkeys(filter(None, map(as_name, own)))) or ONLY, names.values())
    return {each: names[kind] for each, kind in words.items()}


def unique(name: str, taken: Iterable[str]) -> str:
    """Return the name, with a number if it is taken."""
    taken = {*taken}
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(each for each in itertools.chain([name], numbered) if each not in taken)


def _patterns(
    root: Path, found: dict[str, list[_SplitPath]], place: Place, same: Places
) -> tuple[list[str], dict[str, list[Path]]]:
    """Return patterns of a phase for a study file, and the files that they find, by participant."""
    tokens = {name: [each.tokens(place, same) for each in every] for name, every in found.items()}
    literal = [tuple(sorted(("".join(each) for each in every), key=natural)) for every in tokens.values()]
    usual, count = Counter(literal).most_common(1)[0]
    ways = [[_with_wildcards([*itertools.chain(*tokens.values())])]]
    if len(usual) <= FEW and (count == len(found) or count > 1):
        ways.insert(0 if count == len(found) else 1, list(usual))
    tried = []
    for patterns in ways:
        reached = {name: _reached(root, patterns, name, every) for name, every in found.items()}
        tried.append((patterns, {name: files for name, files in reached.items() if files}))
    return max(tried, key=lambda each: len(each[1]))


def _reached(root: Path, patterns: list[str], name: str, own: list[_SplitPath]) -> list[Path]:
    """Return the files that the patterns find; none if these are not the participant's own."""
    try:
        files = find_files(root, patterns, participant=name, folders=ENDINGS)
    except InputError:
        return []
    return files if {*files} == {each.path for each in own} else []


def _with_wildcards(every: list[list[str]]) -> str:
    """Return one path for all, with wildcards where pieces differ."""
    if len({len(each) for each in every}) == 1:
        pieces = [_one_piece([*{*column}]) for column in zip(*every, strict=True)]
    else:
        start = _common_start(every)
        pieces = [*start, "*", *_common_start([each[len(start) :][::-1] for each in every])[::-1]]
    return re.sub(r"\*(?:[^\w/{}.]?\*)+", "*", "".join(pieces))


def _common_start(every: list[list[str]]) -> list[str]:
    return [each[0] for each in itertools.takewhile(lambda column: len({*column}) == 1, zip(*every))]


def _one_piece(texts: list[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    if len({text.casefold() for text in texts}) == 1:  # endings in upper and lower case
        return "".join(signs[0] if len({*signs}) == 1 else "?" for signs in zip(*texts, strict=True))
    letters = {re.sub(r"\d+", "", text) for text in texts}
    return f"{letters.pop()}*" if len(letters) == 1 else "*"
