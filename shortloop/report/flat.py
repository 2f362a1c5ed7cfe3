"""Settings laid flat, for tables: dotted names, and values as a reader would write them."""

from __future__ import annotations

from collections.abc import Mapping

from shortloop.plain import Plain

__all__ = ["flat", "shown"]


def flat(settings: Mapping[str, Plain], prefix: str = "") -> list[tuple[str, str]]:
    """Nested settings as pairs of dotted name and text.

    Parameters
    ----------
    settings : mapping
        Plain data.
    prefix : str, default ""
        Put before every name.

    Returns
    -------
    list of (str, str)
        In the order of the settings.
    """
    pairs: list[tuple[str, str]] = []
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            pairs += flat(value, f"{prefix}{name}.")
        else:
            pairs.append((f"{prefix}{name}", shown(value)))
    return pairs


def shown(value: Plain) -> str:
    """A setting as a reader would write it.

    Parameters
    ----------
    value : object
        Plain data.

    Returns
    -------
    str
        ``"none"`` for None, an empty table or an empty list; ``"yes"`` or ``"no"``; a float with at most six
        significant digits; items of a list with commas between, e.g. ``"1, 2, 3"``.
    """
    if value is None or value == {}:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(shown(item) for item in value) if value else "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
