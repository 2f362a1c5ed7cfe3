"""Which files hold a participant's recordings: patterns of the study file in, paths out.
Light, because it is asked on every run, before anything is read."""

from __future__ import annotations

import glob
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from shortloop.eeg.formats.folders import ENDINGS, is_recording
from shortloop.eeg.formats.participants import as_written, composed, natural
from shortloop.errors import InputError

__all__ = ["PLACE", "find_files"]

PLACE = "{participant}"
ACCENTED = re.compile(r"[^\x00-\x7f]+")


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

    Parameters
    ----------
    folder : Path
        Folder of the recordings.
    patterns : sequence of str
        Paths below `folder`. ``{participant}`` stands for the participant's name; ``*`` and ``?`` match
        within a name, ``**`` matches folders. A path without ``*`` and ``?`` must exist.
    participant : str
        Name of the participant.
    phase : str
        Name of the phase, for messages.
    field : str, optional
        Where the study file names the patterns, for messages; default: ``input.files.<phase>``.
    folders : collection of str, default ()
        Endings of folders that are recordings, and are found as files are.

    Returns
    -------
    list of Path
        In the order of `patterns`, within each in natural order (run 2 before run 10), no file twice.

    Raises
    ------
    InputError
        If the folder or a file is missing, or a pattern matches nothing.

    Notes
    -----
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
