"""Files that were renamed since a text was written: it is read with the names that they have now."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["renamed"]


def renamed(text: str, now: Mapping[str, str]) -> str:
    """A text with other names of files.

    Parameters
    ----------
    text : str
        It may name files.
    now : mapping of str to str
        What is a name or a path of each file today, by what it was.

    Returns
    -------
    str
        Names that only begin or end alike are left as they are.
    """
    if not now:
        return text
    longest = sorted(now, key=len, reverse=True)  # a path before the name in it
    old = re.compile(rf"(?<![\w.-])({'|'.join(map(re.escape, longest))})(?![\w-]|\.\w)")
    return old.sub(lambda found: now[found[0]], text)
