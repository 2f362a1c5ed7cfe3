"""Plain data to text and to a hash, the same for the same data."""

from __future__ import annotations

import hashlib
import json
from typing import Any

__all__ = ["canonical", "digest"]


def canonical(plain: Any) -> str:
    """Plain data as text, the same for the same data.

    Parameters
    ----------
    plain : object
        What JSON can hold.

    Returns
    -------
    str
    """
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def digest(plain: Any) -> str:
    """A hash of plain data.

    Parameters
    ----------
    plain : object
        What JSON can hold.

    Returns
    -------
    str
        Hexadecimal.
    """
    return hashlib.blake2b(canonical(plain).encode(), digest_size=20).hexdigest()
