"""Files of ready-made features: participant, phase and kind of each, and the trials in it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from shortloop.analyses import Tell
from shortloop.base.errors import InputError
from shortloop.eeg.formats.base import FeaturesInput
from shortloop.eeg.formats.files.process import read_apart
from shortloop.eeg.formats.read import find_trials
from shortloop.eeg.formats.table import TableInput
from shortloop.eeg.inspect.format_options import find_options
from shortloop.eeg.inspect.names import ONLY, NamedFiles, read_names, unfit
from shortloop.eeg.inspect.recording import Recorded, parallel_map
from shortloop.eeg.inspect.rules import as_name, name_means
from shortloop.eeg.inspect.scan import Scan

POWER = ("freq", "hz", "pow")  # parts of names of features of power
ARRAY = ".npy"


@dataclass(frozen=True)
class _File:
    """Features of a participant; patterns are those of a study file."""

    who: str
    group: str  # words of the file's name
    pattern: str
    file: Path
    phase: str = ""  # as the column of phases names it
    labels: Path | None = None  # file of the classes
    labels_pattern: str = ""


def read_features(scan: Scan, tell: Tell) -> None:
    """Read all files in parallel; those that cannot be read are problems of the folder."""
    options = scan.folder.options.setdefault(scan.format, {})
    settings = FeaturesInput.to_read({"format": scan.format, **options})
    settings.warm_up()
    _, scan.folder.choices = find_options(scan.format, scan.folder.recordings[scan.format][0], options)
    files = [*_find_files(scan, settings)]
    groups: dict[str, list[tuple[_File, Counter[str], str]]] = defaultdict(list)
    for one, found in zip(files, parallel_map(partial(_read, settings), files, tell), strict=True):
        if isinstance(found, InputError):
            scan.folder.problems[one.file] = found
            scan.left_out[one.who] = f"{one.file.name}: {found.problem}"
        else:
            groups[one.group].append((one, *found))
    for group, of_group in groups.items():
        first, *_ = of_group[0]
        kind = _kind(group, [name for _, _, name in of_group])
        phase = first.phase or _without(group, {kind, "array"}) or ONLY
        if phase in scan.kinds.get(kind, ()):
            phase = group
        scan.kinds.setdefault(kind, {})[phase] = first.pattern
        scan.patterns.setdefault(phase, []).append(first.pattern)
        if first.labels_pattern:
            scan.labels[phase] = first.labels_pattern
        scan.people[kind, phase] = {one.who for one, _, _ in of_group}
        for one, trials, _ in of_group:  # the trials are those of the first kind
            recorded = Recorded(source=settings.classes_in, events=dict(trials))
            scan.recorded.setdefault(one.who, {}).setdefault(phase, [recorded])


def drop_incomplete(scan: Scan) -> None:
    """Drop kinds of features without the training phase, and participants without one of the others."""
    if scan.train:
        scan.kinds = {kind: files for kind, files in scan.kinds.items() if scan.train in files}
    for kind, files in scan.kinds.items():
        for phase in files:
            if not scan.train or phase in (scan.train, scan.decode):
                for who in scan.recorded.keys() - scan.people[kind, phase]:
                    scan.left_out.setdefault(who, f"no {kind} features of {phase}")


def _read(settings: FeaturesInput, one: _File) -> tuple[Counter[str], str] | InputError:
    """Count the trials of each class, and return the name of the first feature."""

    def read() -> tuple[Counter[str], str]:
        found = find_trials(settings, one.file, one.labels, one.who, one.phase)
        return Counter(found.trials), next(iter(found.features), "")

    files = [one.file] if one.labels is None else [one.file, one.labels]
    try:
        return read_apart(read, files, participant=one.who, declared=settings.declared)
    except InputError as error:
        return error


def _kind(group: str, names: list[str]) -> str:
    if any(part in name.casefold() for name in names for part in POWER):
        return "power"
    meanings = frozenset().union(*map(name_means, group.split("-")))
    return "power" if "power" in meanings and "amplitude" not in meanings else "amplitude"


def _without(group: str, meanings: set[str]) -> str:
    """Return a group without words of these meanings."""
    return "-".join(word for word in group.split("-") if not name_means(word) & meanings)


def _find_files(scan: Scan, settings: FeaturesInput) -> Iterator[_File]:
    """Find the participant and the phase of each file."""
    files = scan.folder.recordings[scan.format]
    if isinstance(settings, TableInput) and settings.holds_several():
        yield from _of_shared_files(scan, settings, files)
        return
    named = read_names(scan.folder.root, files)
    scan.files_left_out = named.left_out
    labels = _groups_of_labels(named)
    for who, groups in named.files.items():
        for group in (group for group in groups if group not in labels.values()):
            found, beside = groups[group], groups.get(labels.get(group, ""), [])
            (pattern, *_), file = named.patterns[group], found[0]
            if len(found) > 1:
                scan.left_out[who] = f"{len(found)} files of {group}: features of a phase are one file"
            elif file.suffix.lower() == ARRAY and len(beside) != 1:
                scan.left_out[who] = f"{file.name}: no file beside it has a class for each trial"
            elif isinstance(settings, TableInput) and settings.phase is not None:
                try:
                    phases = dict.fromkeys(phase for _, phase in settings.participants_in(file))
                except InputError as error:
                    scan.folder.problems[file] = error
                    scan.left_out[who] = f"{file.name}: {error.problem}"
                    continue
                yield from (_File(who, phase, pattern, file, phase) for phase in phases)
            elif beside:
                yield _File(who, group, pattern, file, "", beside[0], named.patterns[labels[group]][0])
            else:
                yield _File(who, group, pattern, file)


def _groups_of_labels(named: NamedFiles) -> dict[str, str]:
    """Return, for each group of single arrays of features, the group with the classes of its trials."""
    from shortloop.eeg.headers.numpy_files import shape_and_type

    def is_list(file: Path) -> bool:
        with file.open("rb") as stream:
            shape, _ = shape_and_type(stream)
        return sum(length > 1 for length in shape) < 2

    files: dict[str, list[Path]] = defaultdict(list)
    for groups in named.files.values():
        for group, found in groups.items():
            files[group] += found
    arrays = {group for group, found in files.items() if all(f.suffix.lower() == ARRAY for f in found)}
    labels = [group for group in files if group in arrays and all(map(is_list, files[group]))]
    return {
        group: of
        for group in arrays.difference(labels)
        for of in labels
        if _without(of, {"array"}).removeprefix(ONLY)
        == _without(group, {"array", "amplitude", "power"}).removeprefix(ONLY)
    }


def _of_shared_files(scan: Scan, settings: TableInput, files: list[Path]) -> list[_File]:
    """Divide files by the column that names the participant of each row."""
    found: list[_File] = []
    for file in files:
        try:
            whose = settings.participants_in(file)
        except InputError as error:
            scan.folder.problems[file] = error
            continue
        pattern = file.relative_to(scan.folder.root).as_posix()
        group = ONLY if len(files) == 1 else as_name("-".join(file.stem.split()), ONLY)
        found += [_File(who, phase or group, pattern, file, phase) for who, phase in whose]
    out = unfit(dict.fromkeys(one.who for one in found))
    scan.left_out |= out
    return [one for one in found if one.who not in out]
