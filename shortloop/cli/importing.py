"""Import path of the ``shortloop`` command."""

from __future__ import annotations

import sys
from contextlib import suppress

from shortloop.base.errors import InputError
from shortloop.project.project import project_directory

__all__ = ["set_path"]


def set_path() -> None:
    """Import from the project, too, and not from the directory of the command or the current one.

    The project comes last: whoever only looks at one, perhaps somebody else's, runs no code of it. A run has
    it first.
    """
    if not sys.flags.safe_path:
        del sys.path[0]
    with suppress(InputError, OSError):  # no project: the command says so if it needs one
        sys.path.append(str(project_directory()))
