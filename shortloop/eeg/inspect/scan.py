"""A scan of a folder: all recordings by participant and phase, and lines that describe them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from shortloop.analyses import Tell
from shortloop.base.errors import InputError
from shortloop.base.text import counted, one_line, short_list
from shortloop.eeg.checks.participants import composed
from shortloop.eeg.formats.base import RecordedInput
from shortloop.eeg.formats.bids import entities_of, first_version, versions_of
from shortloop.eeg.inspect.events import Classes, EventNames
from shortloop.eeg.inspect.folder import BIDS, Folder, settings_of
from shortloop.eeg.inspect.format_options import find_options
from shortloop.eeg.inspect.names import read_names, unfit
from shortloop.eeg.inspect.recording import Recorded, parallel_map, read_recording, warm_up
from shortloop.eeg.inspect.rules import as_name

NO_SIGNAL = re.compile(
    r"(?i)((pol|eeg) )?[^a-z]*([vhr]?-?eog|heo|veo|eye|ecg|ekg|emg|gsr|resp|stim?|trig|status|aux|dc ?\d"
    r"|exg(?! channel)|erg\d|plet|bip\d|[se][ap]o2|(et)?co2|photic)"
)
"""Names of channels that are no EEG, whatever a file says; some devices put a word before."""
Files = dict[str, dict[str, list[Path]]]
"""Files by participant and phase."""
FEW = 8  # items that are listed
MANY = 20  # other files, of which the number is given


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
    labels: dict[str, str] = field(default_factory=dict)  # files of their classes, by phase
    sections: dict[str, dict[str, str]] = field(default_factory=dict)  # events around phases, by phase
    versions: dict[str, dict[str, list[str]]] = field(default_factory=dict)  # entities of BIDS, by phase

    def all_recorded(self, participants: Container[str] | None = None) -> list[Recorded]:
        """Return recordings with events in the phases of the study, by default those of all participants."""
        used = {self.train, self.decode} - {None} or {*self.patterns}
        return [
            each
            for who, phases in self.recorded.items()
            for phase, every in phases.items()
            for each in every
            if (participants is None or who in participants) and phase in used and each.rate
        ]

    def study_recordings(self) -> list[Recorded]:
        return self.all_recorded(self.trials or None)

    def reasons(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for who, why in self.left_out.items():
            found.setdefault(why, []).append(who)
        return found

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
        raise InputError(
            "no participant found in file names",
            file=scan.folder.root,
            found="\n".join(f"{path.name}: {why}" for path, why in scan.files_left_out.items()),
            hint="rename the files, or write a study file that names each",
        )
    first = asked[0][-1]
    options = scan.folder.options.setdefault(scan.format, {})
    more, scan.folder.choices = find_options(scan.format, first, options)
    options |= more
    warm_up(settings_of(scan.format, options))
    found = parallel_map(partial(_read, settings_of(scan.format, options)), asked, tell)
    unit = _unit_of_onsets(found)
    if unit:
        scan.folder.choices["event_unit"] = f"{unit}, as in s most events are after the end of recordings"
        options["event_unit"] = unit
        found = parallel_map(partial(_read, settings_of(scan.format, options)), asked, tell)
    for (who, phase, path), one in zip(asked, found, strict=True):
        if isinstance(one, Recorded):
            scan.recorded.setdefault(who, {}).setdefault(phase, []).append(one)
        else:
            scan.folder.problems[path] = one
            scan.left_out[who] = f"{path.name}: {one.problem}"


def _bids_files(scan: Scan) -> Files:
    """Find the participant and the task of each recording of a dataset."""
    files: Files = {}
    for path in scan.folder.recordings[BIDS]:
        who = composed(path.relative_to(scan.folder.root).parts[0].removeprefix("sub-"))
        task = entities_of(path).get("task", "")
        if not task or as_name(task) != task:
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
    without_events = isinstance(found, InputError) and found.field == "input.event_source"
    return Recorded() if without_events else found


def _unit_of_onsets(found: Sequence[Recorded | InputError]) -> str | None:
    """Return the unit of onsets in most tables of events, if it seems not to be s."""
    wrong = [one for one in found if isinstance(one, InputError) and one.field == "input.event_unit"]
    units = Counter(one.problem.rpartition(" ")[2] for one in wrong if "seem to be in" in one.problem)
    return units.most_common(1)[0][0] if 2 * units.total() > len(found) else None


def describe(scan: Scan) -> list[str]:
    files, who = scan.folder.recordings[scan.format], [*scan.recorded]
    lines = [
        f"{counted(len(files), 'file' if scan.kinds else 'recording')} of the format {scan.format}",
        f"{counted(len(who), 'participant')}: {_some(who)}",
    ]
    for phase, patterns in scan.patterns.items():
        lines += _phase(scan, phase, patterns)
    return [*lines, *_channels(scan), *_left_out_of(scan), *describe_left_out(scan.folder)]


def describe_left_out(folder: Folder) -> list[str]:
    lines = []
    for path, error in folder.problems.items():
        found = f" ({one_line(error.found)})" if error.found else ""
        lines.append(f"cannot be read: {_below(path, folder)}: {one_line(error.problem)}{found}")
    lines += _not_read(folder)
    if folder.others:
        endings = Counter(path.suffix.lower() or path.name for path in folder.others)
        kinds = _some(f"{count:,} × {kind}" for kind, count in endings.most_common())
        many = f"{len(folder.others):,} files are " * (len(folder.others) > MANY)
        lines.append(f"{many}no recordings: {kinds}")
    return lines


def _left_out_of(scan: Scan) -> list[str]:
    """Describe other formats, files and participants that are left out, unless the file is a problem."""
    lines = [
        f"left out: {counted(count, 'recording')} of {format}; a study has one format"
        for format, count in scan.other_formats.items()
    ]
    reasons: dict[str, list[str]] = {}
    for path, why in scan.files_left_out.items():
        reasons.setdefault(why, []).append(_below(path, scan.folder))
    broken = tuple(f"{path.name}: " for path in scan.folder.problems)
    reasons |= {why: who for why, who in scan.reasons().items() if not why.startswith(broken)}
    return lines + [f"left out: {_some(names)}: {one_line(why)}" for why, names in reasons.items()]


def _not_read(folder: Folder) -> list[str]:
    """Describe files of each known kind by the first."""
    same: dict[str, tuple[str, list[str]]] = {}
    for path, kind in folder.not_read.items():
        # The kind of a .mat file lists its variables, which differ from one file to the next.
        name = kind.partition(" with ")[0] if kind.startswith("a .mat file") else kind
        same.setdefault(name, (kind, []))[1].append(_below(path, folder))
    return [f"not read: {_some(names)}: {one_line(kind)}" for kind, names in same.values()]


def _phase(scan: Scan, phase: str, patterns: Sequence[str]) -> list[str]:
    every = [each for phases in scan.recorded.values() for each in phases.get(phase, ())]
    role = {scan.train: ", trains", scan.decode: ", is decoded"}.get(phase, "") if scan.train else ""
    lines = [f"phase {phase}{role}: {_some(patterns)}"]
    kinds = [kind for kind, files in scan.kinds.items() if phase in files]
    if kinds:
        lines.append(f"  features: {' and '.join(kinds)}")
    elif every:
        facts = [counted(len(every), "recording"), *_facts([each for each in every if each.rate])]
        lines.append(f"  {', '.join(facts)}")
    if every:
        events = sum((Counter(each.events) for each in every), Counter[str]())
        sources = " and ".join(sorted({each.source for each in every if each.source}))
        names = _some((f"{count:,} × {one_line(name)}" for name, count in events.most_common()), 20)
        lines.append(f"  events ({sources}): {names}" if events else "  no events")
    return lines


def _facts(every: Sequence[Recorded]) -> list[str]:
    if not every:
        return []
    channels = _range([len(each.channels) for each in every], "d")
    rates = " and ".join(f"{rate:g}" for rate in sorted({each.rate for each in every}))
    lengths = [each.seconds / 60 for each in every if each.seconds is not None]
    spans = Counter((round(each.start, 4), round(each.stop, 4)) for each in every if each.seconds is None)
    return [
        f"{channels} of {_range([each.channels_in_file for each in every], 'd')} channels",
        f"{rates} Hz",
        *([f"{_range(lengths, '.1f')} min each"] if lengths else []),
        *(f"epochs from {start:g} to {stop:g} s" for (start, stop), _ in spans.most_common(2)),
    ]


def _channels(scan: Scan) -> list[str]:
    every = scan.study_recordings()
    if not every:
        return []
    shared, dropped = scan.shared_channels(), scan.channels_to_drop()
    counts = Counter(name for each in every for name in each.channels if name not in shared)
    lines = []
    if counts:
        some = _some((f"{name} (in {count})" for name, count in counts.items()), 20)
        lines.append(f"left out: channels that not all of the {len(every)} recordings have: {some}")
    if dropped:
        lines.append(f"left out: channels that are not EEG, by their names: {_some(dropped, 20)}")
    return lines


def _range(values: Sequence[float], form: str) -> str:
    first, last = format(min(values), form), format(max(values), form)
    return first if first == last else f"{first} to {last}"


def _below(path: Path, folder: Folder) -> str:
    return one_line(path.relative_to(folder.root) if path.is_relative_to(folder.root) else path)


def _some(texts: Iterable[str], most: int = FEW) -> str:
    return short_list([*map(one_line, texts)], most)
