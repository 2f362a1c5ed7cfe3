"""One study file for each name of a study: results go to a folder of that name, and the jobs of its last run
are looked up by it, so a second file of the same name would overwrite the one and give up the other."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.errors import InputError
from shortloop.jobs.project import project_directory
from shortloop.jobs.store.places import Places

if TYPE_CHECKING:
    from shortloop.eeg.study.schema import Study

__all__ = ["TAKE_OVER", "note_study_file", "take_over_study"]

TAKE_OVER = "SHORTLOOP_TAKE_OVER"
"""Variable that says, set to anything, that a study file takes over a name that another one has."""
EMBEDDED = ""


def take_over_study(
    places: Places, study: Study, file: Path, environ: Mapping[str, str] = os.environ
) -> str | None:
    """Whether a study may be run from a file.

    Parameters
    ----------
    places : Places
        Where it is noted what studies were run from.
    study : Study
        The study.
    file : Path
        Its file.
    environ : mapping of str to str
        Environment variables.

    Returns
    -------
    str or None
        What to say if the name is taken over from another file; None if it was this file's, or nobody's.

    Raises
    ------
    InputError
        If another file has the name.
    """
    noted = places.study_file(study.name)
    if noted is None or noted == _noted(file):
        return None
    before = _path(noted)
    if before.exists() and before.samefile(file):
        return None
    other = _words(before)
    if environ.get(TAKE_OVER) or not _has_name(before, study.name):
        return f"the study {study.name} was run from {other} before; it is that of {_words(file)} from now on"
    raise InputError(
        f"another study file has the name {study.name} too: each run would overwrite the other's results",
        file=_words(file),
        field="name",
        found=f"{study.name}, which is the name of {other}",
        hint="give one of the two another name; if this one is to take over, run it once with "
        f"`shortloop run --take-over`, or with {TAKE_OVER}=1",
    )


def note_study_file(places: Places, study: Study, file: Path) -> None:
    """Note the file that a study is run from.

    Parameters
    ----------
    places : Places
        Where that is noted.
    study : Study
        The study.
    file : Path
        Its file.
    """
    places.put_study_file(study.name, _noted(file))


def _has_name(file: Path, name: str) -> bool:
    """Whether a study file is there, and of a name."""
    try:
        return bool(tomllib.loads(file.read_bytes().decode("utf-8-sig")).get("name") == name)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):  # it may be in the middle of an edit
        return True


def _noted(file: Path) -> str:
    """As a study file is noted: what moves with the project stays the same."""
    from shortloop.eeg.study.load import DEFAULT_STUDY

    if os.path.realpath(file) == os.path.realpath(DEFAULT_STUDY):
        return EMBEDDED
    project = Path(os.path.realpath(project_directory()))
    path = Path(os.path.realpath(file.parent), file.name)  # a link stays one, whatever it leads to
    return str(path.relative_to(project) if path.is_relative_to(project) else path)


def _path(noted: str) -> Path:
    from shortloop.eeg.study.load import DEFAULT_STUDY

    return DEFAULT_STUDY if noted == EMBEDDED else Path(os.path.realpath(project_directory()), noted)


def _words(file: Path) -> str:
    return "the embedded study" if _noted(file) == EMBEDDED else str(file)
