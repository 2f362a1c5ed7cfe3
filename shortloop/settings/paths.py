"""Paths and environment variables in settings files."""

from __future__ import annotations

import os
import re
from pathlib import Path

from shortloop.base.errors import InputError

BESIDE = 1  # folders upwards, of what lies beside the project
SETTINGS_VARIABLE = "SHORTLOOP_SETTINGS"  # environment variable for all build scripts
STUDY_VARIABLE = "STUDY"  # environment variable for the built-in analyses


def expand_path(
    written: str, file: str | os.PathLike[str], *, field: str, what: str, remote: bool = False
) -> Path:
    """Expand ``${NAME=default}`` and ``~`` in a path relative to the settings file, or in an address."""

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match["name"]) or match["default"]  # set to nothing is not set
        if found is None:
            problem = f"the variable {match['name']} is not set"
            hint = f"set {match['name']} to {what}"
            raise InputError(problem, file=file, field=field, found=written, hint=hint)
        return found

    expanded = re.sub(r"\$\{(?P<name>\w+)(?:=(?P<default>[^}]*))?\}", value, written)
    if remote and "://" in expanded:
        return Path(expanded)
    return Path(os.path.abspath(Path(file).parent / os.path.expanduser(expanded)))


def written_path(place: Path, project: Path) -> str:
    """Write the path of data for a settings file."""
    near = os.path.relpath(place, project)
    far = Path(near).parts.count(os.pardir) > BESIDE or "${" in near
    return os.path.abspath(place) if far else near
