"""Variables by which Python itself computes otherwise: of the job, wherever its units are computed."""

from __future__ import annotations

import os
from collections.abc import Mapping

__all__ = ["surroundings_here", "with_surroundings"]

NAMES = ("TZ", "LANG", "LANGUAGE", "PYTHONCOERCECLOCALE", "PYTHONHASHSEED", "PYTHONUTF8")
PREFIX = "LC_"


def surroundings_here() -> dict[str, str]:
    """Time zone, locale, encoding and hashes of texts, as the environment of this process says.

    Returns
    -------
    dict of str to str
        Variables that are set, with their values.
    """
    return {name: os.environ[name] for name in sorted(os.environ) if _counts(name)}


def with_surroundings(surroundings: Mapping[str, str]) -> dict[str, str]:
    """The environment of this process, with the surroundings of another one.

    Parameters
    ----------
    surroundings : mapping of str to str
        As of `surroundings_here`.

    Returns
    -------
    dict of str to str
        All variables.
    """
    return {name: each for name, each in os.environ.items() if not _counts(name)} | {**surroundings}


def _counts(name: str) -> bool:
    return name in NAMES or name.startswith(PREFIX)
