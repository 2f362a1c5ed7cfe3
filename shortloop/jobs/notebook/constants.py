"""Constants of a notebook: plain values, as text that says all of them."""

from __future__ import annotations

import math

__all__ = ["literal"]

LONGEST = 10_000  # letters; what is longer is data
SINGLE = (type(None), bool, int, str, bytes, type(...))


def literal(value: object) -> str | None:
    """A plain value as Python writes it, the same in every process.

    Parameters
    ----------
    value : object
        Any value.

    Returns
    -------
    str or None
        None if it is more than numbers, texts, and tuples, lists, sets and dicts of these, or is long.
    """
    try:
        text = _text(value)
    except RecursionError:
        return None
    return text if text is not None and len(text) <= LONGEST else None


def _text(value: object) -> str | None:
    kind = type(value)  # not isinstance: what else a kind of its own holds would be lost
    if isinstance(value, float) and kind is float:
        return repr(value) if math.isfinite(value) else f"float({str(value)!r})"
    if kind in SINGLE:
        return repr(value)
    if isinstance(value, dict) and kind is dict:
        pairs = [(_text(key), _text(each)) for key, each in value.items()]
        return "{" + ", ".join(f"{key}: {each}" for key, each in pairs) + "}" if _all(pairs) else None
    if isinstance(value, tuple | list | set | frozenset) and kind in (tuple, list, set, frozenset):
        if len(value) > LONGEST:
            return None
        texts = [text for each in value if (text := _text(each)) is not None]
        if len(texts) < len(value):
            return None
        if isinstance(value, set | frozenset):
            return f"{kind.__name__}([{', '.join(sorted(texts))}])"
        if isinstance(value, tuple):
            return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
        return f"[{', '.join(texts)}]"
    return None


def _all(pairs: list[tuple[str | None, str | None]]) -> bool:
    return all(None not in pair for pair in pairs)
