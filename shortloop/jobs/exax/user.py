"""Who runs exax's commands."""

from __future__ import annotations

import getpass
import os

__all__ = ["user"]


def user() -> str:
    """Name that exax signs lists of jobs with.

    Returns
    -------
    str
        Of ``USER``, else of the system; the number of one that the system has no name for.
    """
    try:
        return os.environ.get("USER") or getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
