"""All that was found in a folder of recordings, and what a study of it is made of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.formats.base import Named, RecordedInput
from shortloop.eeg.formats.events_table import COLUMNS
from shortloop.eeg.formats.participants import NAME, alike, composed
from shortloop.eeg.looking.at_once import Tell, at_once
from shortloop.eeg.looking.classes import Classes, find_classes
from shortloop.eeg.looking.folder import BIDS, FEATURES, Folder, settings_of
from shortloop.eeg.looking.in_turn import are_in_turn
from shortloop.eeg.looking.names import read_names
from shortloop.eeg.looking.options import EVENT_COLUMN, doubts_of, options_of
from shortloop.eeg.looking.phases import EventNames, by_phase, phases_in, sections_in
from shortloop.eeg.looking.ready import Have, leave_out, read_ready
from shortloop.eeg.looking.recorded import Recorded, look_at
from shortloop.eeg.looking.warm import warm_up
from shortloop.eeg.looking.windows import folds_for
from shortloop.eeg.looking.words import DECODED, TRAINING, as_name
from shortloop.errors import InputError

__all__ = ["Looked", "look_into"]

NO_SIGNAL = re.compile(
    r"(?i)((pol|eeg) )?[^a-z]*([vhr]?-?eog|heo|veo|eye|ecg|ekg|emg|gsr|resp|stim?|trig|status|aux|dc ?\d"
    r"|exg(?! channel)|erg\d|plet|bip\d|[se][ap]o2|(et)?co2|photic)"
)
"""What names of channels begin with that are no EEG, whatever a file says; some devices put a word before."""
WITHOUT_INNER_FOLDS = "lda"
MOST_NAMED = 6  # events of a participant who has not those of the others


@dataclass
class Looked:
    """What was found.

    Parameters
    ----------
    folder : Folder
        The folder.
    format : str
        Format of the study.
    patterns : dict of str to list of str
        Files of each phase, as a study has them; of BIDS its task.
    recorded : dict of str to dict of str to list of Recorded
        Of each participant and phase.
    train, decode : str or None
        Phases that train and are decoded; no `train`: nobody can tell.
    classes : Classes
        Events.
    event_names : dict of str to dict of str to list of str
        Of phases that are in the same recordings: how their events are called there.
    trials : dict of str to dict of str to int
        Of each participant who is in the study, those of each class in the phase that trains.
    folds : int
        How many they have trials for.
    estimator : str
        Kind of the estimator; empty: the default.
    out : dict of str to str
        Participants who are not in the study, and why.
    files_out : dict of Path to str
        Files that are not, and why.
    other_formats : dict of str to int
        Recordings of formats that are not the study's.
    kinds : dict of str to dict of str to str
        Of ready-made features, the file of each kind and phase, as a study has it.
    sections : dict of str to dict of str to str
        Of phases that may be in the same recordings, the event at the start of each, and perhaps at its stop.
    labels : dict of str to str
        The same of files of the classes of their trials, by phase, where these are others.
    versions : dict of str to dict of str to list of str
        Of BIDS: by phase, the entities by which one of several versions of recordings is chosen.
    """

    folder: Folder
    format: str
    patterns: dict[str, list[str]]
    recorded: dict[str, dict[str, list[Recorded]]]
    train: str | None = None
    decode: str | None = None
    classes: Classes = field(default_factory=lambda: Classes({}, {}, False, {}))
    event_names: EventNames = field(default_factory=dict)
    trials: dict[str, dict[str, int]] = field(default_factory=dict)
    folds: int = 0
    estimator: str = ""
    out: dict[str, str] = field(default_factory=dict)
    files_out: dict[Path, str] = field(default_factory=dict)
    other_formats: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, dict[str, str]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    sections: dict[str, dict[str, str]] = field(default_factory=dict)
    versions: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def all_recorded(self, participants: Mapping[str, object] | None = None) -> list[Recorded]:
        """Recordings with events of participants, default all, in the phases of the study."""
        used = {self.train, self.decode} - {None} or {*self.patterns}
        return [
            each
            for who, phases in self.recorded.items()
            if participants is None or who in participants
            for phase, every in phases.items()
            if phase in used
            for each in every
            if each.rate
        ]

    def reasons(self) -> dict[str, list[str]]:
        """Participants who are not in the study, by the reason."""
        found: dict[str, list[str]] = {}
        for who, why in self.out.items():
            found.setdefault(why, []).append(who)
        return found

    def order(self, phase: str) -> int:
        """Where a phase stands among the others: the one that trains comes first."""
        return [self.train, self.decode, phase].index(phase)

    def channels_to_drop(self) -> list[str]:
        """Channels that all recordings have and that are no EEG by their names."""
        shared = self.shared_channels()
        named = [name for name in shared if NO_SIGNAL.match(name)]
        return named if len(named) < len(shared) else []

    def shared_channels(self) -> list[str]:
        """Channels that all recordings of the study have."""
        every = self.all_recorded(self.trials or None)
        return [name for name in every[0].channels if all(name in each.channels for each in every)]


def look_into(folder: Folder, tell: Tell) -> Looked:
    """Read all recordings of a folder, at least one, and see what a study of them could be."""
    counts = {format: len(files) for format, files in folder.recordings.items()}
    formats = sorted(counts, key=lambda each: -counts[each])
    first, *others = (partial(_look_into, folder, format, counts, tell) for format in formats)
    looked = first()
    for of_another in others:
        if looked.recorded or looked.format in FEATURES:
            break
        another = of_another()  # of the first, nothing can be read
        looked = another if another.recorded else looked
    return looked


def _look_into(folder: Folder, format: str, counts: Mapping[str, int], tell: Tell) -> Looked:
    """The same of the recordings of one format."""
    looked = Looked(folder, format, {}, {}, other_formats={k: v for k, v in counts.items() if k != format})
    have: Have = {}
    if format in FEATURES:
        have = read_ready(looked, tell)
    else:
        _read(looked, _of_bids(looked) if format == BIDS else _by_names(looked), tell)
    if format in FEATURES or not _two_in_one(looked):
        _choose(looked, have)
        if len(looked.patterns) == 1 and looked.all_recorded() and format not in FEATURES:
            looked.sections = sections_in(looked.all_recorded())
    return looked


def _choose(looked: Looked, have: Have) -> None:
    _choose_phases(looked)
    looked.patterns = {phase: looked.patterns[phase] for phase in sorted(looked.patterns, key=looked.order)}
    leave_out(looked, have)
    _choose_classes(looked)
    options = looked.folder.options.get(looked.format, {})
    usual = f"{COLUMNS[0]}: " in looked.folder.doubts.get(EVENT_COLUMN, "")
    if (
        looked.classes.certain and options.get(EVENT_COLUMN) in COLUMNS and not usual
    ):  # nobody doubts the usual one then
        del options[EVENT_COLUMN]
        looked.folder.doubts.pop(EVENT_COLUMN, None)


def _two_in_one(looked: Looked) -> bool:
    """Whether all recordings hold two phases, told apart by the names of events; they are chosen then."""
    names = phases_in({name for each in looked.all_recorded() for name in each.events})
    if len(looked.patterns) > 1 or not names:
        return False
    ((only, patterns),) = looked.patterns.items()
    before = looked.patterns, looked.recorded, dict(looked.out)
    looked.patterns, looked.event_names = dict.fromkeys(names, patterns), names
    looked.recorded = {who: by_phase(phases[only], names) for who, phases in looked.recorded.items()}
    _choose(looked, {})
    if looked.classes.certain and looked.trials:
        return True
    looked.patterns, looked.recorded, looked.out = before
    looked.event_names = {}
    return False


def _by_names(looked: Looked) -> dict[str, dict[str, list[Path]]]:
    named = read_names(looked.folder.root, looked.folder.recordings[looked.format])
    looked.patterns, looked.files_out = named.patterns, named.left_out
    return named.files


def _of_bids(looked: Looked) -> dict[str, dict[str, list[Path]]]:
    from shortloop.eeg.formats.bids import first_version, task_of, versions_of

    files: dict[str, dict[str, list[Path]]] = {}
    for path in looked.folder.recordings[BIDS]:
        who = path.relative_to(looked.folder.root).parts[0].removeprefix("sub-")
        who = composed(who)
        task = task_of(path)
        if not NAME.fullmatch(who):
            looked.files_out[path] = f"'{who}' cannot be the name of a participant: rename it"
            continue
        if as_name(task) != task or not task:
            looked.files_out[path] = "its name has no task"
            continue
        looked.patterns[task] = [task]
        files.setdefault(who, {}).setdefault(task, []).append(path)
    for names in alike(files):
        for who in names:
            said = f"{' and '.join(names)} differ only by upper and lower case: rename one"
            looked.files_out |= {path: said for every in files.pop(who).values() for path in every}
    for phases in files.values():
        for task, every in phases.items():
            for key, values in versions_of(every).items():
                known = looked.versions.setdefault(task, {}).setdefault(key, [])
                known += [value for value in values if value not in known]
    for phases in files.values():
        for task, versions in looked.versions.items():
            phases[task] = first_version(phases.get(task, ()), versions)
    return {who: {task: every for task, every in of.items() if every} for who, of in files.items()}


def _read(looked: Looked, files: dict[str, dict[str, list[Path]]], tell: Tell) -> None:
    """Read what is in each recording, on all cores; those that cannot be read are problems of the folder."""
    first = next((path for phases in files.values() for every in phases.values() for path in every), None)
    if first is None:
        raise InputError(
            "names of recordings tell no participant",
            file=looked.folder.root,
            found="\n".join(f"{path.name}: {why}" for path, why in looked.files_out.items()),
            hint="rename the files, or write a study file that names each",
        )
    options = looked.folder.options.setdefault(looked.format, {})
    options |= options_of(looked.format, first)
    looked.folder.doubts = doubts_of(looked.format, first, options)
    settings = settings_of(looked.format, options)
    warm_up(settings)
    asked = [
        (who, phase, path)
        for who, phases in files.items()
        for phase, every in phases.items()
        for path in every
    ]
    files_of = [(who, path) for who, _, path in asked]
    found = at_once(partial(_look_at, settings), files_of, tell)
    unit = _unit_of_onsets(found)
    if unit:
        looked.folder.doubts["event_unit"] = f"{unit}, as in s most events are after the end of recordings"
        settings = settings_of(looked.format, options | {"event_unit": unit})
        options["event_unit"] = unit
        found = at_once(partial(_look_at, settings), files_of, tell)
    broken: dict[str, Path] = {}
    for (who, phase, path), one in zip(asked, found, strict=True):
        if isinstance(one, Recorded):
            looked.recorded.setdefault(who, {}).setdefault(phase, []).append(one)
        else:
            looked.folder.problems[path] = one
            broken[who] = path
    for who, path in broken.items():
        looked.out[who] = f"{path.name}: {looked.folder.problems[path].problem}"


def _unit_of_onsets(found: Iterable[Recorded | InputError]) -> str | None:
    """The unit that onsets in most tables of events seem to have, if it is not s."""
    every = [*found]
    wrong = [each for each in every if isinstance(each, InputError) and each.field == "input.event_unit"]
    units = Counter(each.problem.rpartition(" ")[2] for each in wrong if "seem to be in" in each.problem)
    return units.most_common(1)[0][0] if 2 * sum(units.values()) > len(every) else None


def _look_at(settings: RecordedInput, asked: tuple[str, Path]) -> Recorded | InputError:
    who, path = asked
    try:
        named: Named = settings.together(path)
    except OSError as error:
        return InputError("the file cannot be read", participant=who, file=path, found=error.strerror)
    found = look_at(settings, named, who)
    if isinstance(found, InputError) and found.field == "input.event_source":
        return Recorded(0.0, (), 0, None, 0.0, 0.0, "", {})
    return found


def _choose_phases(looked: Looked) -> None:
    """Which phase trains and which is decoded, as far as their names or their events say it."""
    with_events = {
        phase
        for phases in looked.recorded.values()
        for phase, every in phases.items()
        if any(each.events for each in every)
    }
    phases = [phase for phase in looked.patterns if phase in with_events] or list(looked.patterns)
    if len(phases) == 1:
        looked.train = phases[0]
        return
    trains = [phase for phase in phases if not TRAINING.isdisjoint(re.split(r"[-\d]+", phase.casefold()))]
    decoded = [phase for phase in phases if not DECODED.isdisjoint(re.split(r"[-\d]+", phase.casefold()))]
    if len(trains) == 1 and (len(decoded) == 1 or len(phases) == 2):
        looked.train = trains[0]
        looked.decode = next(phase for phase in decoded or phases if phase != looked.train)
    elif len(decoded) == 1 and len(phases) == 2:
        looked.decode = decoded[0]
        looked.train = next(phase for phase in phases if phase != looked.decode)


def _choose_classes(looked: Looked) -> None:
    """Classes, and participants who have enough trials of them."""
    used = [phase for phase in (looked.train, looked.decode) if phase] or list(looked.patterns)
    complete = {who: phases for who, phases in looked.recorded.items() if who not in looked.out}
    for who, phases in complete.items():
        missing = [phase for phase in used if phase not in phases]
        if missing and looked.train:
            looked.out[who] = f"nothing of {' and '.join(missing)}"
    seen = {who: _events(phases) for who, phases in looked.recorded.items() if who not in looked.out}
    if not seen:
        return
    of_phase = [{who: events[phase] for who, events in seen.items() if phase in events} for phase in used]
    looked.classes = find_classes([each for each in of_phase if each])
    if looked.classes.certain and _in_turn(looked):
        looked.classes = replace(looked.classes, certain=False)
    if not (looked.train and looked.classes.certain):
        looked.trials = {who: {} for who in seen}
        _choose_folds(looked, _trials(looked, seen, looked.classes.likely()))
        return
    trials = _trials(looked, seen, looked.classes.events)
    lacking = _choose_folds(looked, trials)
    for who, events in seen.items():
        for phase in filter(None, (looked.decode, looked.train)):
            none = [name for name, of in looked.classes.events.items() if not _count(events[phase], of)]
            if none:
                has = ", ".join(f"{count} × {name}" for name, count in events[phase].most_common(MOST_NAMED))
                lacking[who] = f"none of {', '.join(none)} in {phase}, which has {has or 'no events'}"
    looked.trials = {who: counts for who, counts in trials.items() if who not in lacking}
    looked.out |= {who: f"too few trials: {said}" for who, said in lacking.items()}


def _in_turn(looked: Looked) -> bool:
    """Whether in most recordings the classes are parts of one trial."""
    every = [each for each in looked.all_recorded() if each.onsets]
    found = 0
    for each in every:
        times = {
            name: [at for event, samples in each.onsets.items() if _count({event: 1}, of) for at in samples]
            for name, of in looked.classes.events.items()
        }
        found += are_in_turn(times)
    return 2 * found > len(every)


def _trials(
    looked: Looked, seen: Mapping[str, Mapping[str, Counter[str]]], names: Iterable[str]
) -> dict[str, dict[str, int]]:
    """Of each participant those of each class, in the phase that trains; if that is open, the fewest."""
    return {
        who: {
            name: min(
                _count(counts, looked.classes.events[name])
                for phase, counts in events.items()
                if phase == looked.train or not looked.train
            )
            for name in names
        }
        for who, events in seen.items()
    }


def _choose_folds(looked: Looked, trials: dict[str, dict[str, int]]) -> dict[str, str]:
    """As many as trials allow, with inner folds if they do; who has too few for any."""
    looked.folds, lacking = folds_for(trials, LinearSvmSettings().nested_folds)
    if len(lacking) == len(trials):  # without inner folds, trials may do
        looked.estimator = WITHOUT_INNER_FOLDS
        looked.folds, lacking = folds_for(trials, None)
    return lacking


def _events(phases: Mapping[str, list[Recorded]]) -> dict[str, Counter[str]]:
    return {
        phase: sum((Counter(each.events) for each in every), Counter()) for phase, every in phases.items()
    }


def _count(seen: Mapping[str, int], events: tuple[str, ...]) -> int:
    return sum(
        count for name, count in seen.items() if any(e == name or e in name.split("/") for e in events)
    )
