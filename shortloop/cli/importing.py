"""Where the `shortloop` command imports from."""

from __future__ import annotations

import sys
from contextlib import suppress

from shortloop.errors import InputError
from shortloop.jobs.project import import_from_project

__all__ = ["import_as_exax"]


def import_as_exax() -> None:
    """Import from the project first, and not from the directory of the command or the current one."""
    if not sys.flags.safe_path:
        del sys.path[0]
    with suppress(InputError, OSError):  # no project: the command says so if it needs one
        import_from_project()
