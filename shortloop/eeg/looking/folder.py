"""Which files of a folder are recordings, and of which format."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from shortloop.eeg.formats.base import InputSettings, RecordedInput
from shortloop.eeg.formats.delimited import dialect_of, is_of_numbers
from shortloop.eeg.formats.folders import is_recording, may_be_recording
from shortloop.eeg.formats.recognised import ONE_ARRAY, recognised
from shortloop.eeg.looking.at_once import Tell
from shortloop.eeg.looking.feature_table import feature_table_settings
from shortloop.eeg.looking.table import table_settings, why_no_recording
from shortloop.errors import InputError

__all__ = ["BIDS", "FEATURES", "Folder", "look_through", "settings_of"]

BIDS = "bids"
FEATURES = frozenset({"thesis", "arrays", "table"})
"""Ready-made features: a file is no recording, but of a phase and a kind of features."""
ARRAYS, TABLE, CSV = "arrays", "table", "csv"
PACKED_FIF = ".fif.gz"
TABLES = (".csv", ".tsv", ".txt")
BIDS_SIGN = "dataset_description.json"
WAYS = {
    "time_unit": "its times are in {}, those of the others in {}: call its column time_ms if they are in ms",
    "unit": "its values are in {}, those of the others in {}: save all in one unit",
    "marker": "its markers may be in {}, those of the others in {}: take the other columns out",
    "label": "its classes are in {}, those of the others in {}: rename the column",
    "participant": "its participants are in {}, those of the others in {}: rename the column",
    "phase": "its phases are in {}, those of the others in {}: rename the column",
    "drop": "columns that are no features are {}, in the others {}: save the same columns",
}
MANY = 100  # rows of numbers that are no list of anything
USUAL = {"time_unit": "s", "unit": "µV", "marker": "one column"}
EMPTY_ROOM = re.compile(r"(?i)(?<![a-z])empty[ _-]?room")


@dataclass
class Folder:
    """What is in a folder.

    Parameters
    ----------
    root : Path
        The folder; of BIDS the one that has the participants.
    recordings : dict of str to list of Path
        By format, sorted; without the files that belong to another one.
    options : dict of str to dict
        What has to be said of a format for its files to be read.
    doubts : dict of str to str
        Of those of the study's format that could as well be others, what there is to choose from.
    others : list of Path
        Files that are no recordings.
    named : dict of Path to str
        Files that are something known which is not read, and what.
    tables : dict of Path to dict
        Of text files, what has to be said of each for it to be read.
    problems : dict of Path to InputError
        Files that cannot be read.
    """

    root: Path
    recordings: dict[str, list[Path]] = field(default_factory=dict)
    options: dict[str, dict[str, object]] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)
    others: list[Path] = field(default_factory=list)
    named: dict[Path, str] = field(default_factory=dict)
    tables: dict[Path, dict[str, object]] = field(default_factory=dict)
    problems: dict[Path, InputError] = field(default_factory=dict)


def look_through(folder: Path, tell: Tell) -> Folder:
    """Find the recordings in a folder and those below it.

    Parameters
    ----------
    folder : Path
        The folder. If it, or the only folder in it, is of BIDS, its participants' folders count alone.
    tell : callable
        Is told how many files of how many were looked at.

    Returns
    -------
    Folder

    Raises
    ------
    InputError
        If there is no such folder.
    """
    if not folder.is_dir():
        raise InputError(
            "there is no such folder",
            file=folder,
            found="a file" if folder.is_file() else "nothing",
            hint="name the folder that has the recordings",
        )
    if is_recording(folder):
        raise InputError(
            "recordings are looked for in a folder", file=folder, hint=f"name the folder: {folder.parent}"
        )
    root = _root_of_bids(folder)
    if root is not None:
        found = _of_bids(root)
        _leave_empty_rooms(found)
        return found
    found = Folder(folder)
    files = [path for path in _files_below(folder, found) if not path.name.startswith(".")]
    for done, path in enumerate(files):
        tell(done, len(files))
        _sort(path, found)
    tell(len(files), len(files))
    _leave_what_is_beside_recordings(found)
    _agree(found)
    _name_those_alike(found)
    _without_those_beside(found)
    _refuse_misnamed(found)
    _leave_empty_rooms(found)
    return found


def settings_of(format: str, options: dict[str, object]) -> RecordedInput:
    """How recordings of a format are read, as far as it is known before anything is read.

    Parameters
    ----------
    format : str
        Its name.
    options : dict
        What has to be said of it.

    Returns
    -------
    RecordedInput
    """
    settings = InputSettings.to_read({"format": format, **options})
    assert isinstance(settings, RecordedInput)
    return settings


def _files_below(folder: Path, found: Folder) -> list[Path]:
    """All files, and folders that are recordings; folders that cannot be read are problems."""

    def locked(error: OSError) -> None:
        found.problems[Path(error.filename)] = _unreadable("the folder", Path(error.filename), error)

    files = []
    for above, folders, names in os.walk(folder, onerror=locked):
        whole = [name for name in folders if _is_whole(Path(above) / name)]
        folders[:] = sorted(
            name for name in folders if not name.startswith((".", "__")) and name not in whole
        )
        files += [Path(above) / name for name in [*whole, *names]]
    return sorted(files)


def _is_whole(folder: Path) -> bool:
    """Whether a folder is a recording, as far as it may be read."""
    return os.access(folder, os.R_OK | os.X_OK) and may_be_recording(folder)


def _unreadable(what: str, path: Path, error: OSError) -> InputError:
    return InputError(f"{what} cannot be read", file=path, found=error.strerror)


def _sort(path: Path, found: Folder) -> None:
    """Put a file where it belongs."""
    ending = path.suffix.lower()
    try:
        if not str(path).isprintable() and not _is_text(str(path)):
            found.problems[path] = InputError("its name is no text in UTF-8: rename it", file=path)
            return
        if path.is_dir() and not is_recording(path):
            found.problems[path] = InputError("the folder is no whole recording", file=path)
            return
        if not (path.is_file() or is_recording(path)):
            found.others.append(path)
            return
        if not path.stat().st_size:
            found.problems[path] = InputError("the file is empty", file=path)
            return
        kind = recognised(path)
    except InputError as error:
        found.problems[path] = error
        return
    except PermissionError as error:
        found.problems[path] = _unreadable("the file", path, error)
        return
    except Exception as error:
        if ending in (".mat", ".set"):
            found.problems[path] = InputError(
                "the file cannot be read",
                file=path,
                found=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
            )
        else:
            found.others.append(path)
        return
    format = "fif" if path.name.lower().endswith(PACKED_FIF) else "" if kind is None else kind.format
    if kind is None and ending in TABLES:
        for each, settings in ((CSV, table_settings), (TABLE, feature_table_settings)):
            options = settings(path) if not format else None
            if options is not None:
                format, found.tables[path] = each, options
    if format:
        found.recordings.setdefault(format, []).append(path)
    elif kind is not None and not (kind.format or kind.name.startswith("BrainVision markers")):
        found.named[path] = kind.name + (f": {kind.hint}" if kind.hint else "")
    else:
        found.others.append(path)


def _leave_what_is_beside_recordings(found: Folder) -> None:
    """Tables are of answers and the like, single arrays are anything; one table may be of no participant."""
    of_all = [path for path in found.recordings.get(TABLE, ()) if "participant" in found.tables[path]]
    of_one = len(found.recordings.get(TABLE, ())) == 1 and not of_all
    if len(found.recordings) > 1 or of_one:
        found.others += found.recordings.pop(TABLE, [])
    alone = [path for path in found.recordings.get(ARRAYS, ()) if path.suffix.lower() == ".npy"]
    if alone and len(found.recordings) > 1:
        found.named |= dict.fromkeys(alone, ONE_ARRAY)
        found.recordings[ARRAYS] = [path for path in found.recordings[ARRAYS] if path not in alone]
    found.recordings = {format: files for format, files in found.recordings.items() if files}


def _agree(found: Folder) -> None:
    """A study says once how its text files are read: those that most others are unlike are problems."""
    for format in (CSV, TABLE):
        files = found.recordings.get(format, [])
        ways = [found.tables[path] for path in files]
        if not ways:
            continue
        usual = max(ways, key=lambda way: (ways.count(way), -ways.index(way)))
        found.options[format] = dict(usual)
        for path in [path for path in files if found.tables[path] != usual]:
            files.remove(path)
            own = found.tables[path]
            differ = [name for name in {**usual, **own} if usual.get(name) != own.get(name)]
            found.problems[path] = InputError(
                "it is written otherwise than most of the others",
                file=path,
                found="; ".join(WAYS[name].format(*map(_said, (own, usual), 2 * [name])) for name in differ),
            )


def _said(way: dict[str, object], name: str) -> str:
    value = way.get(name, USUAL.get(name, "not there"))
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _name_those_alike(found: Folder) -> None:
    """Text files that are called as recordings or have their columns, and are none, do not vanish."""
    format = CSV if found.recordings.get(CSV) else TABLE
    files = found.recordings.get(format, [])
    called = {_pattern(path) for path in files}
    known = {name for path in files[:1] for name in _columns(path)}
    for path in [path for path in found.others if path.suffix.lower() in TABLES and files]:
        names = _columns(path)
        shared = len(known.intersection(names)) > len(known) / 2
        if shared or _pattern(path) in called or is_of_numbers(path, MANY):
            found.others.remove(path)
            why = why_no_recording(path) if format == CSV else "no rows with a class and features"
            found.problems[path] = InputError("it is like a recording, and is none", file=path, found=why)


def _pattern(path: Path) -> str:
    return re.sub(r"\d+", "#", path.name.lower())


def _columns(path: Path) -> tuple[str, ...]:
    dialect = dialect_of(path)
    return () if dialect is None else dialect.names


def _is_text(name: str) -> bool:
    try:
        return bool(name.encode())
    except UnicodeEncodeError:
        return False


def _without_those_beside(found: Folder) -> None:
    """Leave out files that are a part of another recording, as further parts of one that is split."""
    for format, files in found.recordings.items():
        if format in FEATURES:
            continue
        together: Callable[[Path], list[tuple[str, Path]]] = settings_of(
            format, found.options.get(format, {})
        ).together
        beside: set[Path] = set()
        for path in sorted(files, key=lambda path: (len(path.name), path)):
            if path not in beside:
                try:
                    beside |= {other for _, other in together(path)} - {path}
                except (OSError, ValueError):  # reading it says more
                    continue
        found.recordings[format] = [path for path in files if path not in beside]
        found.others = [path for path in found.others if path not in beside]
        for path in beside:
            found.named.pop(path, None)


def _refuse_misnamed(found: Folder) -> None:
    """Files that end as recordings do and are none are damaged; .mat files may hold anything."""
    endings = {path.suffix.lower() for files in found.recordings.values() for path in files}
    endings -= {".mat", *TABLES}
    for path in [*found.others, *found.named]:
        if path.suffix.lower() in endings:
            found.problems[path] = InputError(
                "the file is not what its name says", file=path, found=found.named.pop(path, None)
            )
    found.others = [path for path in found.others if path not in found.problems]


def _leave_empty_rooms(found: Folder) -> None:
    """Laboratories of MEG record the noise of the room, too; nobody takes part in that."""
    for files in found.recordings.values():
        for path in [path for path in files if EMPTY_ROOM.search(str(path.relative_to(found.root)))]:
            files.remove(path)
            found.named[path] = "noise of an empty room, by its name"
    found.recordings = {format: files for format, files in found.recordings.items() if files}


def _root_of_bids(folder: Path) -> Path | None:
    inside = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    for root in (folder, *inside[:1] * (len(inside) == 1)):
        participants = [path for path in root.glob("sub-*") if path.is_dir()]
        sign = os.path.isfile(root / BIDS_SIGN)  # False, too, if nobody may look
        if participants and (sign or any(_recordings_of_bids(each) for each in participants[:3])):
            return root
    return None


def _of_bids(root: Path) -> Folder:
    found = Folder(root)
    folders = sorted(path for path in root.glob("sub-*") if path.is_dir())
    found.recordings[BIDS] = [path for folder in folders for path in _recordings_of_bids(folder)]
    return found


def _recordings_of_bids(folder: Path) -> list[Path]:
    from shortloop.eeg.formats.bids import recordings_of

    return recordings_of(folder)
