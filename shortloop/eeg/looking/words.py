"""Names of files taken apart: what in them is a participant's name, a word of the experiment, a number."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import PurePosixPath

__all__ = [
    "DECODED",
    "GROUPS",
    "NAME",
    "PHASES",
    "TRAINING",
    "VERSIONS",
    "Unit",
    "as_name",
    "is_date",
    "is_participant",
    "is_run",
    "units_of",
    "words",
]

LETTER = r"(?:[^\W\d_]|[\u0300-\u036f])"  # some systems write an umlaut as two characters
UNIT = re.compile(rf"{LETTER}+\d*|\d+|/|.", re.DOTALL)
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")


def words(text: str) -> frozenset[str]:
    """Words to compare with.

    Parameters
    ----------
    text : str
        With spaces between them.

    Returns
    -------
    frozenset of str
    """
    return frozenset(text.split())


PARTICIPANTS = words(
    "s ss su sub subj subject subjects p pp pat patient part participant participants ppt vp vpn proband "
    "probandin id suj sujet person pers"
)
EXPERIMENTS = words("p3 p1 p2 p300 p600")  # which look as if they were participants
RUNS = words(
    "ses sess session sessions sitzung run runs r block blocks blk b day tag visit v rec recording part split"
)
VERSIONS = words("acq proc desc version")
"""Words whose number tells versions of one recording apart, not runs."""
TRAINING = words(
    "train training trn study encoding encode enc learn learning localizer localiser loc perception "
    "perceived executed execution viewing calibration acquisition exposure lernen enkodierung"
)
DECODED = words(
    "test testing tst retrieval retrieve ret recall recognition recog imagery imagined imagination decode "
    "eval evaluation probe online feedback delay replay sleep abruf"
)
GROUPS = words(
    "control controls ctrl patient patients hc healthy group kontrolle kontrollen patienten young old"
)
PHASES = TRAINING | DECODED | words("rest resting baseline practice oddball task memory pre post")


@dataclass(frozen=True)
class Unit:
    """A piece of a path: letters with the number behind them, a number, or one other character.

    Parameters
    ----------
    text : str
        As it is written.
    place : tuple of (int, int)
        Of one with letters or digits: folder it is in, counted from the file's own name upwards, and its
        number there; of others (-1, -1).
    """

    text: str
    place: tuple[int, int]

    @property
    def is_word(self) -> bool:
        """Whether it has letters or digits."""
        return self.place[0] >= 0

    @property
    def letters(self) -> str:
        """Its letters, in lower case."""
        return self.text.rstrip("0123456789").casefold()


def units_of(path: PurePosixPath, people: bool = False) -> list[Unit]:
    """Take a path apart.

    Parameters
    ----------
    path : PurePosixPath
        Without the ending of the name.
    people : bool, default False
        Whether words with a capital letter and a space between them, "Anna Müller", are one piece.

    Returns
    -------
    list of Unit
        Joined, their texts are the path.
    """
    found: list[Unit] = []
    parts = path.parts
    for level, part in enumerate(parts):
        number = 0
        pieces = [piece for match in UNIT.findall(part) for piece in CAMEL.split(match)]
        for text in _with_people(pieces) if people else pieces:
            is_word = any(sign.isalnum() for sign in text)
            found.append(Unit(text, (len(parts) - 1 - level, number) if is_word else (-1, -1)))
            number += is_word
        if level < len(parts) - 1:
            found.append(Unit("/", (-1, -1)))
    return found


def _with_people(pieces: list[str]) -> list[str]:
    joined: list[str] = []
    for piece in pieces:
        if len(joined) > 1 and joined[-1] == " " and _is_capital(piece) and _is_capital(joined[-2]):
            joined[-2:] = [f"{joined[-2]} {piece}"]
        else:
            joined.append(piece)
    return joined


def _is_capital(text: str) -> bool:
    """Whether a piece could be a name of somebody, or several."""
    return all(
        word[0].isupper() and word[1:].islower() and word.casefold() not in PHASES | GROUPS | RUNS
        for word in text.split(" ")
        if word
    ) and bool(text.strip())


def is_participant(text: str, before: str) -> bool:
    """Whether a unit looks like a participant's name.

    Parameters
    ----------
    text : str
        The unit.
    before : str
        The word before it.

    Returns
    -------
    bool
    """
    if text.casefold() in EXPERIMENTS and text.casefold() != "p3":
        return False
    return _is_numbered(text, before, PARTICIPANTS)


def is_run(text: str, before: str) -> bool:
    """Whether a unit is the number of a session, a run and the like.

    Parameters
    ----------
    text, before : str
        As of `is_participant`.

    Returns
    -------
    bool
    """
    return _is_numbered(text, before, RUNS) or (len(text) > 1 and text.casefold() in RUNS)


def _is_numbered(text: str, before: str, words: frozenset[str]) -> bool:
    letters = text.rstrip("0123456789")
    if letters == text:
        return False
    return letters.casefold() in words if letters else before.casefold() in words


def is_date(text: str) -> bool:
    """Whether a unit is a number that is probably a date or a time.

    Parameters
    ----------
    text : str
        The unit.

    Returns
    -------
    bool
    """
    return text.isdigit() and (len(text) in (6, 8, 12, 14) or re.fullmatch(r"(19|20)\d\d", text) is not None)


def as_name(text: str, default: str = "") -> str:
    """A text as a name that a study file may have.

    Parameters
    ----------
    text : str
        Any.
    default : str
        What to call it if nothing is left.

    Returns
    -------
    str
        Letters without accents, digits, and ``_.+-`` between them.
    """
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss")).encode("ascii", "ignore").decode()
    kept = re.sub(r"[^A-Za-z0-9_.+-]+", "", plain).lstrip("_.+-")
    return kept if NAME.fullmatch(kept) else default
