"""Files of a folder, sorted into recordings of each format, other files and problems."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from shortloop.analyses import Tell
from shortloop.base.errors import InputError
from shortloop.base.text import one_line
from shortloop.eeg.formats.bids import recordings_of
from shortloop.eeg.formats.files.delimited import dialect_of, is_of_numbers
from shortloop.eeg.formats.files.find import is_recording, may_be_recording
from shortloop.eeg.formats.files.recognised import ONE_ARRAY, Kind, recognised
from shortloop.eeg.formats.recording_format import RecordedInput
from shortloop.eeg.inspect.format_options import feature_table_settings, recording_settings

BIDS = "bids"
FEATURES = frozenset({"thesis", "arrays", "table"})
"""Formats of ready-made features, where a file has one phase and one kind of features."""
ARRAYS, TABLE, CSV = "arrays", "table", "csv"
TABLES = (".csv", ".tsv", ".txt")
DEFAULTS = {"time_unit": "s", "unit": "µV", "marker": "one column"}
MANY = 100  # rows of numbers that are no list of anything
EMPTY_ROOM = re.compile(r"(?i)(?<![a-z])empty[ _-]?room")


@dataclass
class Folder:
    """Files of a folder; the root of a BIDS dataset is the folder with the participants."""

    root: Path
    recordings: dict[str, list[Path]] = field(default_factory=dict)  # by format
    options: dict[str, dict[str, object]] = field(default_factory=dict)  # fields that a format needs
    choices: dict[str, str] = field(default_factory=dict)  # of fields of the study's format in doubt
    others: list[Path] = field(default_factory=list)  # no recordings
    not_read: dict[Path, str] = field(default_factory=dict)  # files of a known kind, and the kind
    tables: dict[Path, dict[str, object]] = field(default_factory=dict)  # fields that a text file needs
    problems: dict[Path, InputError] = field(default_factory=dict)  # files that cannot be read


def find_recordings(folder: Path, tell: Tell) -> Folder:
    if folder.is_file() or is_recording(folder):
        hint = f"name the folder: {folder.parent}"
        raise InputError("recordings are looked for in a folder", file=folder, hint=hint)
    if not folder.is_dir():
        hint = "name the folder that has the recordings"
        raise InputError("no such folder", file=folder, found="nothing", hint=hint)
    found = _bids_dataset(folder)
    if found is None:
        found = Folder(folder)
        files = [path for path in _files_below(folder, found) if not path.name.startswith(".")]
        for done, path in enumerate(files):
            tell(done, len(files))
            _sort(path, found)
        tell(len(files), len(files))
        _drop_files_beside_recordings(found)
        _choose_options(found)
        _report_unlike_tables(found)
        _drop_parts(found)
        _report_misnamed(found)
    _drop_empty_rooms(found)
    return found


def settings_of(format: str, options: dict[str, object]) -> RecordedInput:
    """Return the settings of a format, before anything is read."""
    return RecordedInput.to_read({"format": format, **options})


def _bids_dataset(folder: Path) -> Folder | None:
    """Return the dataset in a folder, or in the only folder below it."""
    inside = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    for root in (folder, *inside[:1] * (len(inside) == 1)):
        participants = sorted(path for path in root.glob("sub-*") if path.is_dir())
        described = os.path.isfile(root / "dataset_description.json")  # False without permission, too
        if participants and (described or any(map(recordings_of, participants[:3]))):
            return Folder(root, {BIDS: [path for each in participants for path in recordings_of(each)]})
    return None


def _files_below(folder: Path, found: Folder) -> list[Path]:
    """List all files, and folders that are recordings; unreadable folders are problems."""

    def report(error: OSError) -> None:
        path = Path(error.filename)
        found.problems[path] = InputError("the folder cannot be read", file=path, found=error.strerror)

    files = []
    for above, folders, names in os.walk(folder, onerror=report):
        readable = [name for name in folders if os.access(Path(above) / name, os.R_OK | os.X_OK)]
        whole = [name for name in readable if may_be_recording(Path(above) / name)]
        folders[:] = sorted(name for name in folders if not (name.startswith((".", "__")) or name in whole))
        files += [Path(above) / name for name in [*whole, *names]]
    return sorted(files)


def _sort(path: Path, found: Folder) -> None:
    """Add a file to the recordings, the known files, the problems or the others."""
    try:
        str(path).encode()
        if path.is_dir() and not is_recording(path):
            raise InputError("the folder is not a complete recording", file=path)
        if not (path.is_file() or path.is_dir()):
            found.others.append(path)
            return
        if not path.stat().st_size:
            raise InputError("the file is empty", file=path)
        kind = recognised(path)
        format = _format_of(path, kind, found)
    except UnicodeEncodeError:
        found.problems[path] = InputError("its name is not valid UTF-8: rename it", file=path)
    except InputError as error:
        found.problems[path] = error
    except Exception as error:
        if isinstance(error, PermissionError) or path.suffix.lower() in (".mat", ".set"):
            said = getattr(error, "strerror", None) or f"{type(error).__name__}: {one_line(error)[:200]}"
            found.problems[path] = InputError("the file cannot be read", file=path, found=said)
        else:
            found.others.append(path)
    else:
        if format:
            found.recordings.setdefault(format, []).append(path)
        elif kind is None or kind.format or kind.name.startswith("BrainVision markers"):
            found.others.append(path)
        else:
            found.not_read[path] = kind.name + (f": {kind.hint}" if kind.hint else "")


def _format_of(path: Path, kind: Kind | None, found: Folder) -> str:
    """Name of a recording's format; empty for another file."""
    if path.name.lower().endswith(".fif.gz"):
        return "fif"
    if kind is not None or path.suffix.lower() not in TABLES:
        return "" if kind is None else kind.format
    for name, read in ((CSV, recording_settings), (TABLE, feature_table_settings)):
        if isinstance(options := read(path), dict):
            found.tables[path] = options
            return name
    return ""


def _drop_files_beside_recordings(found: Folder) -> None:
    """Drop tables, such as answers, and single arrays beside recordings, and one table of no participant."""
    tables = found.recordings.get(TABLE, [])
    if len(found.recordings) > 1 or (len(tables) == 1 and "participant" not in found.tables[tables[0]]):
        found.others += found.recordings.pop(TABLE, [])
    alone = [path for path in found.recordings.get(ARRAYS, ()) if path.suffix.lower() == ".npy"]
    if alone and len(found.recordings) > 1:
        found.not_read |= dict.fromkeys(alone, ONE_ARRAY)
        found.recordings[ARRAYS] = [path for path in found.recordings[ARRAYS] if path not in alone]


def _choose_options(found: Folder) -> None:
    """Choose the options of most text files, as a study has one set; the other files are problems."""
    for format in (CSV, TABLE):
        files = found.recordings.get(format, [])
        if not (every := [found.tables[path] for path in files]):
            continue
        usual = max(every, key=every.count)
        found.options[format] = dict(usual)
        for path in [path for path in files if found.tables[path] != usual]:
            files.remove(path)
            own = found.tables[path]
            differ = [name for name in {**usual, **own} if usual.get(name) != own.get(name)]
            problem = "its columns or units differ from those of most other files"
            said = "; ".join(f"{n} is {_value(own, n)}, of the others {_value(usual, n)}" for n in differ)
            found.problems[path] = InputError(problem, file=path, found=said)


def _value(options: dict[str, object], name: str) -> str:
    value = options.get(name, DEFAULTS.get(name, "not there"))
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _report_unlike_tables(found: Folder) -> None:
    """Report text files that are no recordings, but have the name or columns of one."""

    def pattern(path: Path) -> str:
        return re.sub(r"\d+", "#", path.name.lower())

    def columns(path: Path) -> tuple[str, ...]:
        dialect = dialect_of(path)
        return () if dialect is None else dialect.names

    format = CSV if found.recordings.get(CSV) else TABLE
    files = found.recordings.get(format, [])
    patterns = set(map(pattern, files))
    known = {name for path in files[:1] for name in columns(path)}
    for path in [path for path in found.others if path.suffix.lower() in TABLES and files]:
        shared = len(known.intersection(columns(path))) > len(known) / 2
        if shared or pattern(path) in patterns or is_of_numbers(path, MANY):
            found.others.remove(path)
            why = recording_settings(path) if format == CSV else "no rows with a class and features"
            found.problems[path] = InputError("it looks like a recording, but is not", file=path, found=why)


def _drop_parts(found: Folder) -> None:
    """Drop files that are a part of another recording, such as further parts of a split one."""
    for format, files in found.recordings.items():
        if format in FEATURES:
            continue
        settings = settings_of(format, found.options.get(format, {}))
        parts: set[Path] = set()
        for path in sorted(files, key=lambda path: (len(path.name), path)):
            if path not in parts:
                try:
                    parts |= {other for _, other in settings.together(path)} - {path}
                except (OSError, ValueError):  # the reader says what is wrong
                    continue
        found.recordings[format] = [path for path in files if path not in parts]
        found.others = [path for path in found.others if path not in parts]
        for path in parts:
            found.not_read.pop(path, None)


def _report_misnamed(found: Folder) -> None:
    """Report files with the ending of the recordings that are none; .mat files may hold anything."""
    endings = {path.suffix.lower() for files in found.recordings.values() for path in files}
    for path in [*found.others, *found.not_read]:
        if path.suffix.lower() in endings - {".mat", *TABLES}:
            kind = found.not_read.pop(path, None)
            found.problems[path] = InputError("the file is not what its name says", file=path, found=kind)
    found.others = [path for path in found.others if path not in found.problems]


def _drop_empty_rooms(found: Folder) -> None:
    """Drop recordings of the noise of a room, which MEG laboratories make."""
    for files in found.recordings.values():
        for path in [path for path in files if EMPTY_ROOM.search(str(path.relative_to(found.root)))]:
            files.remove(path)
            found.not_read[path] = "noise of an empty room, by its name"
    found.recordings = {format: files for format, files in found.recordings.items() if files}
