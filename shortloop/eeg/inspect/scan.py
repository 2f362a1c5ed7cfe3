"""A scan of a folder: the contents of all recordings, by participant and phase."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from shortloop.analyses import Tell
from shortloop.base.errors import InputError
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
        return [
            each
            for who, phases in self.recorded.items()
            for phase in phases
            for each in phases[phase]
            if (participants is None or who in participants) and phase in self.phases() and each.rate
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
