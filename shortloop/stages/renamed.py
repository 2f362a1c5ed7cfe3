"""Apply renames of files to text written earlier."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["renamed"]


def renamed(text: str, now: Mapping[str, str]) -> str:
    """A text with other names of files."""
    if not now:
        return text
    longest = sorted(now, key=len, reverse=True)  # a path before the name in it
    old = re.compile(rf"(?<![\w.-])({'|'.join(map(re.escape, longest))})(?![\w-]|\.\w)")
    return old.sub(lambda found: now[found[0]], text)
