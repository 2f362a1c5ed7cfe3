"""Which files hold a participant's recordings: patterns of the study file in, paths out.
Light, because it is asked on every run, before anything is read."""

from __future__ import annotations

import glob
import re
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.eeg.checks.participants import as_written, composed, natural

__all__ = [
    "ENDINGS",
    "PLACE",
    "Named",
    "files_in",
    "find_files",
    "is_recording",
    "may_be_recording",
    "placed",
    "whole",
]

PLACE = "{participant}"
ACCENTED = re.compile(r"[^\x00-\x7f]+")
Named = list[tuple[str, Path]]
"""The files of one recording, itself first, each with the name by which the others know it; a name that is
empty does not matter."""
PLAIN = "recording"  # what the folder is called where it is read: its own name says nothing


def find_files(
    folder: Path,
    patterns: Sequence[str],
    *,
    participant: str,
    phase: str,
    field: str | None = None,
    folders: Collection[str] = (),
) -> list[Path]:
    """Files of one participant in one phase.

    ``{participant}*`` of participant S1 does not match files of S10: a digit at the end (or the start)
    of the name is the last (the first) of its number where a wildcard adjoins it.
    """
    field = field or f"input.files.{phase}"
    if isinstance(patterns, str):
        patterns = (patterns,)
    if not Path(folder).is_dir():
        raise InputError(
            "the folder of the recordings does not exist",
            participant=participant,
            file=folder,
            field="input.folder",
            hint="correct input.folder in the study file, or put the recordings there",
        )
    found = [
        path for pattern in patterns for path in _expand(Path(folder), pattern, participant, field, folders)
    ]
    if not found:
        raise InputError(
            f"no files are named for the {phase} phase",
            participant=participant,
            file=folder,
            field=field,
            hint="name at least one file or pattern",
        )
    return list(dict.fromkeys(found))


def _expand(folder: Path, pattern: str, participant: str, field: str, folders: Collection[str]) -> list[Path]:
    named = pattern.replace(PLACE, participant)
    if not any(sign in named for sign in "*?"):
        path = as_written(folder, named)
        if not _is_there(path, folders):
            raise InputError(
                "a file is missing",
                participant=participant,
                file=path,
                field=field,
                **_instead(path, folders),
            )
        return [path]
    matched = _glob(folder, pattern, participant, folders)
    base = "" if Path(pattern).is_absolute() else folder
    names = {path: composed(path.relative_to(base).as_posix()) for path in matched}
    belongs, looks = (
        _regex(composed(pattern), composed(participant), numbers=each) for each in (True, False)
    )
    kept = [path for path, name in names.items() if re.fullmatch(belongs, name)]
    near = [path for path, name in names.items() if re.fullmatch(looks, name)]
    if not kept:
        raise InputError(
            "no file matches the pattern",
            participant=participant,
            file=folder / named,
            field=field,
            found=f"only files whose number goes on, e.g. {near[0].name}" if near else "nothing",
            hint="correct the pattern in the study file, or leave the participant out",
        )
    return kept


def _is_there(path: Path, folders: Collection[str]) -> bool:
    return path.is_file() or (path.suffix.lower() in folders and is_recording(path))


def _instead(path: Path, folders: Collection[str]) -> dict[str, str]:
    """What is there in place of a file."""
    usual = "correct the name in the study file, or leave the participant out"
    if not path.is_dir():
        return {"found": "nothing", "hint": usual}
    if path.suffix.lower() not in ENDINGS:
        return {"found": "a folder", "hint": usual}
    if path.suffix.lower() in folders:
        return {
            "found": "a folder without the header of a recording",
            "hint": "copy it again from its source",
        }
    return {"found": "a folder that may be a recording", "hint": 'write format = "mne"'}


def _glob(folder: Path, pattern: str, participant: str, folders: Collection[str]) -> list[Path]:
    # Only * and ? are wildcards to the user: a bracket in a name is a bracket. A letter with an accent may be
    # two characters there.
    named = pattern.replace("[", "[[]").replace(PLACE, glob.escape(participant))
    escaped = ACCENTED.sub("*", composed(named))
    paths = glob.glob(str(Path(glob.escape(str(folder))) / escaped), recursive=True)
    found = [path for path in map(Path, paths) if _is_there(path, folders)]
    return sorted(found, key=lambda path: (natural(str(path)), path))


def _regex(pattern: str, participant: str, *, numbers: bool) -> str:
    """The pattern as a regular expression in which, with `numbers`, the participant's must not go on."""
    before = r"(?<!\d)" if numbers and participant[:1].isdigit() else ""
    after = r"(?!\d)" if numbers and participant[-1:].isdigit() else ""
    wildcards = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?|\{participant\})", Path(pattern).as_posix())
    for index, piece in enumerate(pieces):
        if piece == PLACE:
            wild_before = index > 1 and not pieces[index - 1] and pieces[index - 2] in wildcards
            wild_after = index + 2 < len(pieces) and not pieces[index + 1] and pieces[index + 2] in wildcards
            pieces[index] = (
                (before if wild_before else "") + re.escape(participant) + (after if wild_after else "")
            )
        elif piece not in wildcards:
            pieces[index] = re.escape(piece)
    return "".join(wildcards.get(piece, piece) for piece in pieces)


@contextmanager
def placed(recordings: Sequence[Named]) -> Iterator[list[Path]]:
    """Put recordings where they can be read."""
    with tempfile.TemporaryDirectory(prefix="shortloop-") as folder:
        yield [_place(Path(folder) / str(number), each) for number, each in enumerate(recordings)]


def _place(folder: Path, recording: Named) -> Path:
    if not recording[0][0]:
        return recording[0][1]
    for name, path in recording:
        link = folder / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path.absolute())
    return whole(folder / recording[0][0])


@dataclass(frozen=True)
class _Kind:
    """A format whose recordings are folders.

    header: pattern of the name of the one file that every such folder has.
    files: pattern of the names of all files that are read; ``STEM`` stands for the name of the header.
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
    """Whether a path is a folder that is a recording."""
    return path.suffix.lower() in KINDS and path.is_dir() and _header(path) is not None


def may_be_recording(path: Path) -> bool:
    """Whether a path is a folder with some files of a recording."""
    kind = KINDS.get(path.suffix.lower())
    if kind is None or not path.is_dir():
        return False
    wanted = re.compile(kind.files.replace("STEM", r"[^.].*"))
    try:
        return any(wanted.fullmatch(each.name) for each in path.iterdir())
    except PermissionError:
        return True  # and what is in it cannot be read


def files_in(folder: Path) -> Named:
    """The files of a recording that is a folder."""
    header = _header(folder)
    assert header is not None
    stem = header.stem if folder.suffix.lower() == ".ds" else PLAIN  # CTF's files are called as the folder
    wanted = KINDS[folder.suffix.lower()].files.replace("STEM", re.escape(header.stem))
    others = sorted(path for path in folder.iterdir() if re.fullmatch(wanted, path.name) and path.is_file())
    files = [header, *(path for path in others if path != header)]
    return [(f"{stem}{folder.suffix.lower()}/{path.name}", path) for path in files]


def whole(file: Path) -> Path:
    """The recording that a file stands for."""
    kind = KINDS.get(file.parent.suffix.lower())
    return file.parent if kind is not None and re.fullmatch(kind.header, file.name) else file


def _header(folder: Path) -> Path | None:
    """The file that makes a folder a recording, if there is one and no other."""
    header = KINDS[folder.suffix.lower()].header
    found = [path for path in folder.iterdir() if re.fullmatch(header, path.name) and path.is_file()]
    return found[0] if len(found) == 1 else None
