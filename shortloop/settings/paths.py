"""Paths that are written in a settings file, with variables of the environment in them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from shortloop.errors import InputError

__all__ = ["expand_path", "written_path"]

BESIDE = 1  # folders upwards, of what lies beside the project


def expand_path(written: str, file: str | os.PathLike[str], *, field: str, what: str) -> Path:
    """A path with ``${NAME=default}`` and ``~`` expanded, relative to the settings file.

    Parameters
    ----------
    written : str
        As written in the file.
    file : path-like
        The settings file.
    field : str
        Where in the file it is written, for messages.
    what : str
        What it leads to, for messages, e.g. ``"the folder of the tables"``.

    Returns
    -------
    Path
        Absolute.

    Raises
    ------
    InputError
        If a variable is not set and has no default.
    """

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match["name"]) or match["default"]  # set to nothing is not set
        if found is None:
            raise InputError(
                f"the variable {match['name']} is not set",
                file=file,
                field=field,
                found=written,
                hint=f"set {match['name']} to {what}",
            )
        return found

    expanded = re.sub(r"\$\{(?P<name>\w+)(?:=(?P<default>[^}]*))?\}", value, written)
    return Path(os.path.abspath(Path(file).parent / os.path.expanduser(expanded)))


def written_path(place: Path, project: Path) -> str:
    """How a settings file says where data are.

    Parameters
    ----------
    place : Path
        The data.
    project : Path
        Folder of the settings file.

    Returns
    -------
    str
        From the project, if they are in it or beside it: both may be moved together. Else from the root: the
        project may be moved, and they stay where they are.
    """
    near = os.path.relpath(place, project)
    far = Path(near).parts.count(os.pardir) > BESIDE or "${" in near
    return os.path.abspath(place) if far else near
