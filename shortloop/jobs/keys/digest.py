"""Plain data to text and to a hash, the same for the same data."""

from __future__ import annotations

import hashlib
import json

from shortloop.plain import Plain

__all__ = ["canonical", "digest"]


def canonical(plain: Plain) -> str:
    """Plain data as text, the same for the same data.

    Parameters
    ----------
    plain : Plain

    Returns
    -------
    str
    """
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def digest(plain: Plain) -> str:
    """A hash of plain data.

    Parameters
    ----------
    plain : Plain

    Returns
    -------
    str
        Hexadecimal.
    """
    return hashlib.blake2b(canonical(plain).encode(), digest_size=20).hexdigest()
