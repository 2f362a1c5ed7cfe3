"""Rows of the tables that say where numbers come from: jobs with their options, and settings laid flat."""

from __future__ import annotations

import json
from typing import Any

from shortloop.eeg.report.content import Source

__all__ = ["flat", "provenance_rows", "shown"]


def provenance_rows(sources: tuple[Source, ...]) -> list[dict[str, Any]]:
    """Jobs that share a stage, its options and its versions, in one row.

    Parameters
    ----------
    sources : tuple of Source
        In the order of the stages.

    Returns
    -------
    list of dict
        ``stage`` with the kind; ``jobs``: pairs of participant and job id; ``options`` and ``versions``:
        pairs of name and text. An option that only repeats the participant's name is left out, so that
        the same stage of all participants makes one row.
    """
    rows: dict[str, dict[str, Any]] = {}
    for source in sources:
        options = [
            (name, text) for name, text in flat(source.options) if not (text and text == source.participant)
        ]
        versions = sorted((name, str(version)) for name, version in source.versions.items())
        key = json.dumps([source.stage, source.kind, options, versions])
        stage = source.stage if source.kind in ("", source.stage) else f"{source.stage}, {source.kind}"
        row = rows.setdefault(key, {"stage": stage, "jobs": [], "options": options, "versions": versions})
        row["jobs"].append((source.participant, source.job))
    return list(rows.values())


def flat(settings: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested settings as pairs of dotted name and text.

    Parameters
    ----------
    settings : dict
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


def shown(value: Any) -> str:
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
