"""A scan of a folder: the contents of all recordings or features, by participant and phase."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from numpy.lib import format as npy

from shortloop.analyses import Tell
from shortloop.base.errors import InputError
from shortloop.eeg.checks.participants import composed
from shortloop.eeg.formats.bids import entities_of, first_version, versions_of
from shortloop.eeg.formats.files.process import read_apart
from shortloop.eeg.formats.read import find_trials
from shortloop.eeg.formats.recording_format import FeaturesInput, RecordedInput
from shortloop.eeg.formats.table import TableInput
from shortloop.eeg.inspect.events import Classes, EventNames
from shortloop.eeg.inspect.folder import BIDS, Folder, settings_of
from shortloop.eeg.inspect.format_options import find_options
from shortloop.eeg.inspect.names import ONLY, NamedFiles, read_names, unfit
from shortloop.eeg.inspect.recording import Recorded, parallel_map, read_recording, warm_up
from shortloop.eeg.inspect.rules import as_name, name_means

NO_SIGNAL = re.compile(  # channels that are no EEG, whatever a file says; some devices put a word before
    r"(?i)((pol|eeg) )?[^a-z]*([vhr]?-?eog|heo|veo|eye|ecg|ekg|emg|gsr|resp|stim?|trig|status|aux|dc ?\d"
    r"|exg(?! channel)|erg\d|plet|bip\d|[se][ap]o2|(et)?co2|photic)"
)
POWER = ("freq", "hz", "pow")  # parts of names of features of power
ARRAY = ".npy"


@dataclass
class Scan:
    """Contents of a folder, and the study that is proposed for it."""

    folder: Folder
    format: str
    patterns: dict[str, list[str]] = field(default_factory=dict)  # by phase; of BIDS its task
    recorded: dict[str, dict[str, list[Recorded]]] = field(default_factory=dict)  # by participant and phase
    train: str | None = None  # None: nobody can tell
    decode: str | None = None
    classes: Classes = field(default_factory=Classes)
    event_names: EventNames = field(default_factory=dict)  # if recordings hold both phases
    trials: dict[str, dict[str, int]] = field(default_factory=dict)  # by participant and class, of `train`
    folds: int = 0
    estimator: str = ""  # empty: the default
    left_out: dict[str, str] = field(default_factory=dict)  # participants, and why
    files_left_out: dict[Path, str] = field(default_factory=dict)
    other_formats: dict[str, int] = field(default_factory=dict)  # numbers of recordings
    kinds: dict[str, dict[str, str]] = field(default_factory=dict)  # files of features, by kind and phase
    people: dict[tuple[str, str], set[str]] = field(default_factory=dict)  # with features of a kind and phase
    labels: dict[str, str] = field(default_factory=dict)  # files of their classes, by phase
    sections: dict[str, dict[str, str]] = field(default_factory=dict)  # events around phases, by phase
    versions: dict[str, dict[str, list[str]]] = field(default_factory=dict)  # entities of BIDS, by phase

    def phases(self) -> list[str]:
        """Return the phase that trains and the decoded one; all, if nobody can tell."""
        return [*filter(None, (self.train, self.decode))] or [*self.patterns]

    def all_recorded(self, participants: Container[str] | None = None) -> list[Recorded]:
        """Return recordings with events in the phases of the study, by default those of all participants."""
        chosen = [of for who, of in self.recorded.items() if participants is None or who in participants]
        return [
            one for of in chosen for phase in of if phase in self.phases() for one in of[phase] if one.rate
        ]

    def study_recordings(self) -> list[Recorded]:
        return self.all_recorded(self.trials or None)

    def shared_channels(self) -> list[str]:
        every = self.study_recordings()
        return [name for name in every[0].channels if all(name in each.channels for each in every)]

    def channels_to_drop(self) -> list[str]:
        """Return shared channels that are not EEG, by their names."""
        shared = self.shared_channels()
        named = [name for name in shared if NO_SIGNAL.match(name)]
        return named if len(named) < len(shared) else []


def read_recordings(scan: Scan, tell: Tell) -> None:
    """Read all recordings in parallel; those that cannot be read are problems of the folder."""
    if scan.format == BIDS:
        files = _bids_files(scan)
    else:
        named = read_names(scan.folder.root, scan.folder.recordings[scan.format])
        scan.patterns, scan.files_left_out, files = named.patterns, named.left_out, named.files
    asked = [(who, phase, path) for who, of in files.items() for phase, every in of.items() for path in every]
    if not asked:
        said = "\n".join(f"{path.name}: {why}" for path, why in scan.files_left_out.items())
        hint = "rename the files, or write a study file that names each"
        raise InputError("no participant found in file names", file=scan.folder.root, found=said, hint=hint)
    options = scan.folder.options.setdefault(scan.format, {})
    more, scan.folder.choices = find_options(scan.format, asked[0][-1], options)
    options |= more
    warm_up(settings_of(scan.format, options))
    found = parallel_map(partial(_read, settings_of(scan.format, options)), asked, tell)
    if unit := _unit_of_onsets(found):
        scan.folder.choices["event_unit"] = f"{unit}, as in s most events are after the end of recordings"
        options["event_unit"] = unit
        found = parallel_map(partial(_read, settings_of(scan.format, options)), asked, tell)
    for (who, phase, path), one in zip(asked, found, strict=True):
        if isinstance(one, Recorded):
            scan.recorded.setdefault(who, {}).setdefault(phase, []).append(one)
        else:
            scan.folder.problems[path] = one
            scan.left_out[who] = f"{path.name}: {one.problem}"


def _bids_files(scan: Scan) -> dict[str, dict[str, list[Path]]]:
    """Find the participant and the task of each recording of a dataset."""
    files: dict[str, dict[str, list[Path]]] = {}
    for path in scan.folder.recordings[BIDS]:
        who = composed(path.relative_to(scan.folder.root).parts[0].removeprefix("sub-"))
        if not (task := entities_of(path).get("task", "")) or as_name(task) != task:
            scan.files_left_out[path] = "its name has no task"
        else:
            scan.patterns[task] = [task]
            files.setdefault(who, {}).setdefault(task, []).append(path)
    for who, why in unfit(files).items():
        scan.files_left_out |= {path: why for every in files.pop(who).values() for path in every}
    for phases in files.values():
        for task, every in phases.items():
            for key, values in versions_of(every).items():
                known = scan.versions.setdefault(task, {}).setdefault(key, [])
                known += [value for value in values if value not in known]
    for phases in files.values():
        for task, versions in scan.versions.items():
            phases[task] = first_version(phases.get(task, ()), versions)
    return files


def _read(settings: RecordedInput, asked: tuple[str, str, Path]) -> Recorded | InputError:
    who, _, path = asked
    try:
        named = settings.together(path)
    except OSError as error:
        return InputError("the file cannot be read", participant=who, file=path, found=error.strerror)
    found = read_recording(settings, named, who)
    return Recorded() if isinstance(found, InputError) and found.field == "input.event_source" else found


def _unit_of_onsets(found: Sequence[Recorded | InputError]) -> str | None:
    """Return the unit of onsets in most tables of events, if it seems not to be s."""
    wrong = [one for one in found if isinstance(one, InputError) and one.field == "input.event_unit"]
    units = Counter(one.problem.rpartition(" ")[2] for one in wrong if "seem to be in" in one.problem)
    return units.most_common(1)[0][0] if 2 * units.total() > len(found) else None


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
    for one, found in zip(files, parallel_map(partial(_read_trials, settings), files, tell), strict=True):
        if isinstance(found, InputError):
            scan.folder.problems[one.file] = found
            scan.left_out[one.who] = f"{one.file.name}: {found.problem}"
        else:
            groups[one.group].append((one, *found))
    for group, of_group in groups.items():
        first, *_ = of_group[0]
        meanings = frozenset[str]().union(*map(name_means, group.split("-")))
        is_power = any(part in name.casefold() for _, _, name in of_group for part in POWER)
        is_power = is_power or ("power" in meanings and "amplitude" not in meanings)
        kind = "power" if is_power else "amplitude"
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


def _read_trials(settings: FeaturesInput, one: _File) -> tuple[Counter[str], str] | InputError:
    """Count the trials of each class, and return the name of the first feature."""

    def read() -> tuple[Counter[str], str]:
        found = find_trials(settings, one.file, one.labels, one.who, one.phase)
        return Counter(found.trials), next(iter(found.features), "")

    files = [one.file] if one.labels is None else [one.file, one.labels]
    try:
        return read_apart(read, files, participant=one.who, declared=settings.declared)
    except InputError as error:
        return error


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

    def is_list(file: Path) -> bool:
        with file.open("rb") as stream:
            version = npy.read_magic(stream)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, _, _ = read(stream)
        return sum(length > 1 for length in shape) < 2

    files: dict[str, list[Path]] = defaultdict(list)
    for groups in named.files.values():
        for group, found in groups.items():
            files[group] += found
    arrays = {group for group, found in files.items() if all(f.suffix.lower() == ARRAY for f in found)}
    labels = [group for group in files if group in arrays and all(map(is_list, files[group]))]
    kinds = {"array", "amplitude", "power"}
    of_name = {_without(of, {"array"}).removeprefix(ONLY): of for of in labels}
    rests = {of: _without(of, kinds).removeprefix(ONLY) for of in arrays.difference(labels)}
    return {group: of_name[rest] for group, rest in rests.items() if rest in of_name}


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


def total_events(every: Iterable[Recorded]) -> Counter[str]:
    return sum((Counter(each.events) for each in every), Counter[str]())
