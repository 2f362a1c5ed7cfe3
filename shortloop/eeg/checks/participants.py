"""Names of participants, with accents and spaces, however file systems encode them."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticCustomError

NAME = re.compile(r"[^\W_](?:[\w .+'-]*[\w.+'-])?")  # letters of any script, digits, some signs and spaces


def composed(text: str) -> str:
    """Compose accents: some systems write an accented letter as two characters."""
    return unicodedata.normalize("NFC", text)


def _named(text: str) -> str:
    if not NAME.fullmatch(text):
        raise PydanticCustomError(
            "name",
            "letters and digits, with spaces and _ . + - ' between them, the first a letter or a digit",
        )
    return text


Participant = Annotated[
    str,
    BeforeValidator(lambda text: composed(text) if isinstance(text, str) else text),
    AfterValidator(_named),
]


def key_of(name: str) -> str:
    """Write a name as a key in TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'


def alike(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Group names that differ only in case; BIDS forbids them, and many systems treat them as equal."""
    same: dict[str, list[str]] = defaultdict(list)
    for name in dict.fromkeys(names):
        same[composed(name).casefold()].append(name)
    return [tuple(each) for each in same.values() if len(each) > 1]


def natural(text: str) -> list[tuple[int, str]]:
    """Sort key that puts P2 before P10."""
    return [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in re.split(r"(\d+)", text)]


def as_written(folder: Path, below: str) -> Path:
    """Resolve a path with accents as this file system encodes them."""
    path = Path(folder)
    for part in Path(below).parts:
        same = []
        if not part.isascii() and not (path / part).exists() and path.is_dir():
            same = [each for each in path.iterdir() if composed(each.name) == composed(part)]
        path = same[0] if len(same) == 1 else path / part
    return path
