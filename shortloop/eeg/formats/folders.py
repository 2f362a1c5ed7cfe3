"""Recordings that are folders: how they are told from others, and which of their files are read. Light,
because it is asked on every run, before anything is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shortloop.eeg.formats.base import Named

__all__ = ["ENDINGS", "files_in", "is_recording", "may_be_recording", "whole"]

PLAIN = "recording"  # what the folder is called where it is read: its own name says nothing


@dataclass(frozen=True)
class _Kind:
    """A format whose recordings are folders.

    Parameters
    ----------
    header : str
        Pattern of the name of the one file that every such folder has.
    files : str
        Pattern of the names of all files that are read; ``STEM`` stands for the name of the header.
    """

    header: str
    files: str


KINDS = {
    ".mff": _Kind(
        r"info\.xml",
        r"(info\d*|epochs|sensorLayout|coordinates|pnsSet|categories|Events.*)\.xml|signal\d+\.bin",
    ),
    ".ds": _Kind(
        r"[^.].*\.res4",
        r"STEM\.(res4|meg4|[1-9]\d*_meg4|hc|eeg)|[^.].*\.pos|MarkerFile\.mrk|BadChannels|bad\.segments",
    ),
}
"""By the ending of the folder: of EGI, and of CTF, as MNE reads them."""
ENDINGS = frozenset(KINDS)


def is_recording(path: Path) -> bool:
    """Whether a path is a folder that is a recording.

    Parameters
    ----------
    path : Path
        Any path.

    Returns
    -------
    bool
    """
    return path.suffix.lower() in KINDS and path.is_dir() and _header(path) is not None


def may_be_recording(path: Path) -> bool:
    """Whether a path is a folder with some files of a recording.

    Parameters
    ----------
    path : Path
        Any path.

    Returns
    -------
    bool
    """
    kind = KINDS.get(path.suffix.lower())
    if kind is None or not path.is_dir():
        return False
    wanted = re.compile(kind.files.replace("STEM", r"[^.].*"))
    try:
        return any(wanted.fullmatch(each.name) for each in path.iterdir())
    except PermissionError:
        return True  # and what is in it cannot be read


def files_in(folder: Path) -> Named:
    """The files of a recording that is a folder.

    Parameters
    ----------
    folder : Path
        The folder.

    Returns
    -------
    list of (str, Path)
        Those that are read, the header first, with the names that they have where they are read. These do not
        depend on how the folder is called.
    """
    header = _header(folder)
    assert header is not None
    stem = header.stem if folder.suffix.lower() == ".ds" else PLAIN  # CTF's files are called as the folder
    wanted = KINDS[folder.suffix.lower()].files.replace("STEM", re.escape(header.stem))
    others = sorted(path for path in folder.iterdir() if re.fullmatch(wanted, path.name) and path.is_file())
    files = [header, *(path for path in others if path != header)]
    return [(f"{stem}{folder.suffix.lower()}/{path.name}", path) for path in files]


def whole(file: Path) -> Path:
    """The recording that a file stands for.

    Parameters
    ----------
    file : Path
        A recording, or the header of one that is a folder.

    Returns
    -------
    Path
        The folder, or the file itself.
    """
    kind = KINDS.get(file.parent.suffix.lower())
    return file.parent if kind is not None and re.fullmatch(kind.header, file.name) else file


def _header(folder: Path) -> Path | None:
    """The file that makes a folder a recording, if there is one and no other."""
    header = KINDS[folder.suffix.lower()].header
    found = [path for path in folder.iterdir() if re.fullmatch(header, path.name) and path.is_file()]
    return found[0] if len(found) == 1 else None
