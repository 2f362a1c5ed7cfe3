"""Texts that are probably meant as something else: numbers, or one name that is written in two ways."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

__all__ = ["numbers_among", "twins"]

NUMBER = re.compile(r"[-+−]?[$€£]?\s*(\d[\d.,'\u00a0\u202f ]*|[.,]\d+)([eE][-+]?\d+)?\s*[%$€£]?")
SHOWN = 3
"""Texts that are shown."""


def numbers_among(texts: Sequence[str]) -> str:
    """What there is to say of texts that are numbers for the most part."""
    numbers = [text for text in texts if NUMBER.fullmatch(text.strip())]
    if len(texts) < 2 or 2 * len(numbers) < len(texts):
        return ""
    others = [text for text in texts if not NUMBER.fullmatch(text.strip())]
    if not others:
        return f"taken as texts, and all of them are numbers, e.g. {_some(numbers)}"
    return f"taken as texts, of which {len(numbers)} of {len(texts)} are numbers, but not {_some(others)}"


def twins(texts: Iterable[str]) -> tuple[str, str] | None:
    """Two texts that look the same: with spaces around them, or letters put together in two ways."""
    seen: dict[str, str] = {}
    for text in texts:
        looks = text if text.isascii() else unicodedata.normalize("NFC", text)
        other = seen.setdefault(" ".join(looks.split()), text)
        if other != text:
            return other, text
    return None


def _some(texts: Sequence[str]) -> str:
    return ", ".join(map(repr, texts[:SHOWN])) + " …" * (len(texts) > SHOWN)
