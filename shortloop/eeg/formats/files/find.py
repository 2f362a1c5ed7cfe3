"""Find a participant's recordings from patterns of the study file; light, because every run does it."""

from __future__ import annotations

import glob
import re
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.eeg.checks.participants import as_written, composed, natural

PLACE = "{participant}"
ACCENTED = re.compile(r"[^\x00-\x7f]+")
Named = list[tuple[str, Path]]
"""Files of one recording, itself first, each with the name by which the others refer to it, or no name."""
PLAIN = "recording"  # name of a folder where it is read, in place of its own


def find_files(
    folder: Path,
    patterns: Sequence[str],
    *,
    participant: str,
    field: str = "input.files",
    folders: Collection[str] = (),
) -> list[Path]:
    """Find files of one participant; ``{participant}*`` of S1 does not match S10."""
    if not folder.is_dir():
        problem = "the folder of the recordings does not exist"
        hint = "correct it, or put the recordings there"
        raise InputError(problem, participant=participant, file=folder, field="input.folder", hint=hint)
    found = [path for pattern in patterns for path in _expand(folder, pattern, participant, field, folders)]
    return list(dict.fromkeys(found))


def _expand(folder: Path, pattern: str, participant: str, field: str, folders: Collection[str]) -> list[Path]:
    where = {"participant": participant, "field": field}
    named = pattern.replace(PLACE, participant)
    if not any(sign in named for sign in "*?"):
        path = as_written(folder, named)
        if not _is_there(path, folders):
            found, hint = "nothing", "correct the name in the study file, or leave the participant out"
            if path.is_dir():
                found = "a folder without the header of a recording"
                hint = 'write format = "mne"' if path.suffix.lower() in ENDINGS - {*folders} else hint
            raise InputError("a file is missing", file=path, found=found, hint=hint, **where)
        return [path]
    matched = _glob(folder, pattern, participant, folders)
    base = "" if Path(pattern).is_absolute() else folder
    names = {path: composed(path.relative_to(base).as_posix()) for path in matched}
    belongs, looks = (_regex(composed(pattern), composed(participant), numbers=on) for on in (True, False))
    kept = [path for path, name in names.items() if re.fullmatch(belongs, name)]
    near = [path for path, name in names.items() if re.fullmatch(looks, name)]
    if not kept:
        what = f"only files whose number goes on, e.g. {near[0].name}" if near else "nothing"
        advice = "correct the pattern in the study file, or leave the participant out"
        raise InputError("no file matches the pattern", file=folder / named, found=what, hint=advice, **where)
    return kept


def _is_there(path: Path, folders: Collection[str]) -> bool:
    return path.is_file() or (path.suffix.lower() in folders and is_recording(path))


def _glob(folder: Path, pattern: str, participant: str, folders: Collection[str]) -> list[Path]:
    # For users, only * and ? are wildcards, not brackets. An accented letter may be two characters on disk.
    named = pattern.replace("[", "[[]").replace(PLACE, glob.escape(participant))
    escaped = ACCENTED.sub("*", composed(named))
    paths = glob.glob(str(Path(glob.escape(str(folder))) / escaped), recursive=True)
    found = [path for path in map(Path, paths) if _is_there(path, folders)]
    return sorted(found, key=lambda path: (natural(str(path)), path))


def _regex(pattern: str, participant: str, *, numbers: bool) -> str:
    """Convert a pattern; with `numbers`, a number in the participant's name must end or start there."""
    wildcards = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?|\{participant\})", Path(pattern).as_posix())
    found = [wildcards.get(piece, re.escape(piece)) for piece in pieces]
    for at in [at for at, piece in enumerate(pieces) if piece == PLACE]:
        before = numbers and participant[:1].isdigit() and not pieces[at - 1][-1:].isdigit()
        after = numbers and participant[-1:].isdigit() and not pieces[at + 1][:1].isdigit()
        found[at] = r"(?<!\d)" * before + re.escape(participant) + r"(?!\d)" * after
    return "".join(found)


LINKED = re.compile(r"[^\s'\"]*/shortloop-\w{8}/\d+/")  # where files of recordings are linked


@contextmanager
def linked(recordings: Sequence[Named]) -> Iterator[list[Path]]:
    """Link the files of recordings under the names by which they refer to each other."""
    with tempfile.TemporaryDirectory(prefix="shortloop-") as folder:
        places = []
        for number, recording in enumerate(recordings):
            first, place = recording[0]
            if first:
                for name, path in recording:
                    link = Path(folder, str(number), name)
                    link.parent.mkdir(parents=True, exist_ok=True)
                    link.symlink_to(path.absolute())
                place = recording_of(Path(folder, str(number), first))
            places.append(place)
        yield places


# Recordings that are folders, by their endings: EGI and CTF, as MNE reads them. HEADERS are patterns of the
# one file that every such folder has, FILES of all that are read; STEM stands for the name of the header.
HEADERS = {".mff": r"info\.xml", ".ds": r"[^.].*\.res4"}
FILES = {
    ".mff": r"(info\d*|epochs|sensorLayout|coordinates|pnsSet|categories|Events.*)\.xml|signal\d+\.bin",
    ".ds": r"STEM\.(res4|meg4|[1-9]\d*_meg4|hc|eeg)|[^.].*\.pos|MarkerFile\.mrk|BadChannels|bad\.segments",
}
ENDINGS = frozenset(HEADERS)


def is_recording(path: Path) -> bool:
    return path.suffix.lower() in ENDINGS and path.is_dir() and _header(path) is not None


def may_be_recording(path: Path) -> bool:
    """True if a path is a folder with some files of a recording."""
    if path.suffix.lower() not in ENDINGS or not path.is_dir():
        return False
    wanted = re.compile(FILES[path.suffix.lower()].replace("STEM", r"[^.].*"))
    try:
        return any(wanted.fullmatch(each.name) for each in path.iterdir())
    except PermissionError:
        return True  # its files are unknown


def files_in(folder: Path) -> Named:
    header = _header(folder)
    assert header is not None
    stem = header.stem if folder.suffix.lower() == ".ds" else PLAIN  # CTF names files like the folder
    wanted = FILES[folder.suffix.lower()].replace("STEM", re.escape(header.stem))
    others = sorted(path for path in folder.iterdir() if re.fullmatch(wanted, path.name) and path.is_file())
    files = [header, *(path for path in others if path != header)]
    return [(f"{stem}{folder.suffix.lower()}/{path.name}", path) for path in files]


def recording_of(file: Path) -> Path:
    """Return the recording of a file: the folder of a header, else the file."""
    header = HEADERS.get(file.parent.suffix.lower())
    return file.parent if header is not None and re.fullmatch(header, file.name) else file


def _header(folder: Path) -> Path | None:
    """Find the header in a folder, if there is exactly one."""
    header = HEADERS[folder.suffix.lower()]
    found = [path for path in folder.iterdir() if re.fullmatch(header, path.name) and path.is_file()]
    return found[0] if len(found) == 1 else None
