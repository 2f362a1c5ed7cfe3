"""Optional libraries, and the extra to install if one is missing."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Collection

from shortloop.base.errors import TransientError

REPORT_LIBRARIES = ("fontTools", "jinja2", "markupsafe", "matplotlib")
"""What the extra ``report`` installs, by the names that it is imported by."""


def need(extra: str, libraries: Collection[str]) -> None:
    """Check that the libraries of an extra are installed, before one of them is imported."""
    missing = [name for name in libraries if not is_installed(name)]
    if missing:
        raise TransientError(
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed",
            hint=f"`pip install 'shortloop[{extra}]'`",
        )


def is_installed(name: str) -> bool:
    """True if a library is installed; it is not imported."""
    if sys.modules.get(name) is not None:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
