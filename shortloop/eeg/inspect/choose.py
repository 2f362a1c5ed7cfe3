"""Choose phases, classes, participants, epochs and folds that fit the contents of recordings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from shortloop.analyses import Tell
from shortloop.base.errors import InputError
from shortloop.eeg.checks.consistency import trials_needed
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.features.bins import check_bins_fit
from shortloop.eeg.features.settings import AmplitudeSettings
from shortloop.eeg.formats.epochs.events_tsv import COLUMNS
from shortloop.eeg.inspect.events import are_in_turn, find_classes, matching, phases_in, sections_in
from shortloop.eeg.inspect.folder import FEATURES, Folder
from shortloop.eeg.inspect.format_options import EVENT_COLUMN
from shortloop.eeg.inspect.recording import Recorded
from shortloop.eeg.inspect.rules import with_role
from shortloop.eeg.inspect.scan import Scan, read_features, read_recordings, total_events

WITHOUT_INNER_FOLDS = "lda"
MOST_NAMED = 6  # events of a participant without those of the others
BEFORE, AFTER = -0.2, 0.8  # epochs of continuous recordings, s relative to their events
BIN = 0.04  # s
MOST_BINS = 30
SEARCHED = 2000  # epochs that are tried, in steps of 1 ms
CLOSE = 0.4  # largest difference of the first times, in samples
ENOUGH = 250.0  # Hz, for a signal below 30 Hz
LOWPASS = 30.0
FOLDS = (DecodingSettings().folds, 5, 4, 3, 2)


def scan_recordings(folder: Folder, tell: Tell) -> Scan:
    """Read the recordings of the most frequent format that can be read, and choose a study of them."""
    counts = {format: len(files) for format, files in folder.recordings.items()}
    chosen = None
    for format in sorted(counts, key=lambda each: -counts[each]):
        scan = Scan(folder, format, other_formats={k: v for k, v in counts.items() if k != format})
        read = read_features if format in FEATURES else read_recordings
        read(scan, tell)
        if both := _with_both_phases(scan):
            scan = both
        else:
            _choose(scan)
            if len(scan.patterns) == 1 and scan.all_recorded():
                scan.sections = sections_in(each.events for each in scan.all_recorded())
        if chosen is None or scan.recorded:
            chosen = scan
        if scan.recorded or chosen.format in FEATURES:
            break
    assert chosen is not None
    return chosen


def _choose(scan: Scan) -> None:
    _choose_phases(scan)
    scan.patterns = {phase: scan.patterns[phase] for phase in dict.fromkeys([*scan.phases(), *scan.patterns])}
    _drop_incomplete(scan)
    _choose_classes(scan)
    options, choices = scan.folder.options.get(scan.format, {}), scan.folder.choices
    default = options.get(EVENT_COLUMN) in COLUMNS and f"{COLUMNS[0]}: " not in choices.get(EVENT_COLUMN, "")
    if scan.classes.certain and default:
        del options[EVENT_COLUMN]
        choices.pop(EVENT_COLUMN, None)


def _with_both_phases(scan: Scan) -> Scan | None:
    """Choose two phases in each recording, if the names of events tell them apart."""
    names = phases_in({name for each in scan.all_recorded() for name in each.events})
    if len(scan.patterns) > 1 or not names:
        return None
    ((only, patterns),) = scan.patterns.items()
    recorded = {who: _by_phase(phases[only], names) for who, phases in scan.recorded.items()}
    both = replace(scan, patterns=dict.fromkeys(names, patterns), recorded=recorded, event_names=names)
    both.left_out = {**scan.left_out}
    _choose(both)
    return both if both.classes.certain and both.trials else None


def _by_phase(recorded: list[Recorded], names: dict[str, dict[str, list[str]]]) -> dict[str, list[Recorded]]:
    """Divide the events of one participant's recordings among phases."""
    found = {}
    for phase, events in names.items():
        counts = [
            Counter({rest: sum(each.events.get(n, 0) for n in called) for rest, called in events.items()})
            for each in recorded
        ]
        if any(map(Counter.total, counts)):
            found[phase] = [replace(each, events=dict(+of)) for each, of in zip(recorded, counts)]
    return found


def _choose_phases(scan: Scan) -> None:
    """Choose the phase that trains and the decoded one, as far as names or events tell."""
    with_events = {phase for of in scan.recorded.values() for phase, each in of.items() if total_events(each)}
    phases = [phase for phase in scan.patterns if phase in with_events] or [*scan.patterns]
    if len(phases) == 1:
        scan.train = phases[0]
        return
    trains, decoded = with_role(phases, "training"), with_role(phases, "decoded")
    if trains == decoded:  # nothing, or one phase whose name has words of both
        return
    if len(trains) == 1 and (len(decoded) == 1 or len(phases) == 2):
        scan.train = trains[0]
        scan.decode = next(phase for phase in decoded or phases if phase != scan.train)
    elif len(decoded) == 1 and len(phases) == 2:
        scan.decode = decoded[0]
        scan.train = next(phase for phase in phases if phase != scan.decode)


def _drop_incomplete(scan: Scan) -> None:
    """Drop kinds of features without the training phase, and participants without one of the others."""
    if scan.train:
        scan.kinds = {kind: files for kind, files in scan.kinds.items() if scan.train in files}
    for kind, files in scan.kinds.items():
        for phase in files:
            if phase in scan.phases():
                for who in scan.recorded.keys() - scan.people[kind, phase]:
                    scan.left_out.setdefault(who, f"no {kind} features of {phase}")


def _choose_classes(scan: Scan) -> None:
    """Choose classes, and participants with enough trials of them."""
    seen = {}
    for who, phases in scan.recorded.items():
        if missing := [phase for phase in scan.phases() if scan.train and phase not in phases]:
            scan.left_out.setdefault(who, f"nothing of {' and '.join(missing)}")
        if who not in scan.left_out:
            seen[who] = {phase: total_events(every) for phase, every in phases.items()}
    if not seen:
        return
    of_phase = [{who: of[phase] for who, of in seen.items() if phase in of} for phase in scan.phases()]
    scan.classes = find_classes([each for each in of_phase if each])
    if scan.classes.certain and _are_parts_of_trials(scan):
        scan.classes = replace(scan.classes, certain=False)
    sure = scan.train and scan.classes.certain
    trials = _trials(scan, seen, scan.classes.events if sure else scan.classes.likely())
    scan.folds, lacking = folds_for(trials, LinearSvmSettings().nested_folds)
    if len(lacking) == len(trials):
        scan.estimator = WITHOUT_INNER_FOLDS
        scan.folds, lacking = folds_for(trials, None)
    if not sure:
        scan.trials = {who: {} for who in seen}
        return
    for who, events in seen.items():
        for phase in filter(None, (scan.decode, scan.train)):
            none = [name for name, event in scan.classes.events.items() if not matching(event, events[phase])]
            if none:
                has = ", ".join(f"{count} × {name}" for name, count in events[phase].most_common(MOST_NAMED))
                lacking[who] = f"none of {', '.join(none)} in {phase}, which has {has or 'no events'}"
    scan.trials = {who: counts for who, counts in trials.items() if who not in lacking}
    scan.left_out |= {who: f"too few trials: {said}" for who, said in lacking.items()}


def _are_parts_of_trials(scan: Scan) -> bool:
    """True if in most recordings the classes follow each other in each trial."""
    every = [each.onsets for each in scan.all_recorded() if each.onsets]
    found = 0
    for onsets in every:
        classes = {name: matching(event, onsets) for name, event in scan.classes.events.items()}
        found += are_in_turn({name: [at for one in of for at in onsets[one]] for name, of in classes.items()})
    return 2 * found > len(every)


def _trials(
    scan: Scan, seen: Mapping[str, Mapping[str, Counter[str]]], names: Iterable[str]
) -> dict[str, dict[str, int]]:
    """Count each participant's trials of each class in the training phase; if that is open, the fewest."""

    def fewest(event: str, counts: Collection[Counter[str]]) -> int:
        return min(sum(of[each] for each in matching(event, of)) for of in counts)

    counts = {who: [of[scan.train]] if scan.train else [*of.values()] for who, of in seen.items()}
    called = {name: scan.classes.events[name] for name in names}
    return {who: {name: fewest(event, of) for name, event in called.items()} for who, of in counts.items()}


def window_of(start: float, stop: float, rate: float) -> AmplitudeSettings:
    """Return amplitude features that fit epochs from `start` to `stop` (s) at `rate` (Hz)."""
    begin = max(start, BEFORE) if stop > 0 else start
    step = max(1, round(rate / ENOUGH))
    points = int((stop - begin) * rate / step + 1e-6) + 1
    width = max(BIN, (stop - begin) / MOST_BINS)
    size = max(1, min(round(width * rate / step), points // 2))
    samples = round((stop - start) * rate) + 1
    order = AmplitudeSettings().order
    begin = start + round((begin - start) * rate) / rate
    baseline = (round(begin, 4), 0.0) if begin + 2 / rate < 0 <= stop else None
    amplitude = AmplitudeSettings(
        baseline=baseline,
        lowpass=LOWPASS if rate > 2 * LOWPASS and samples > 3 * (order + 1) else None,
        start=round(begin, 4),
        bins=max(1, points // size),
        bin_samples=size,
        step=step,
    )
    while True:  # rounding may cost the last bin
        try:
            check_bins_fit("amplitude", amplitude, tmin=start, sfreq=rate, samples=samples)
            return amplitude
        except InputError:
            if amplitude.bins == 1:
                raise
            amplitude = amplitude.model_copy(update={"bins": amplitude.bins - 1})


def epochs_of(rates: Collection[float]) -> tuple[float, float]:
    """Return start and stop (s) of epochs that have equal lengths once resampled to the lowest rate."""
    lowest = min(rates)
    for tried in range(SEARCHED):
        start, stop = BEFORE - tried // 20 / 1000, AFTER - tried % 20 / 1000
        firsts = [round(start * rate) / rate for rate in rates]
        counts = [round(stop * rate) - round(start * rate) + 1 for rate in rates]
        resampled = {round(count * lowest / rate) for count, rate in zip(counts, rates, strict=True)}
        if len(resampled) == 1 and (max(firsts) - min(firsts)) * lowest < CLOSE:
            return start, stop
    return BEFORE, AFTER  # `shortloop study` names recordings that are too short


def folds_for(trials: Mapping[str, Mapping[str, int]], inner_folds: int | None) -> tuple[int, dict[str, str]]:
    """Return folds that most participants have trials for, and the others with the reason."""
    needed = {folds: trials_needed(folds, inner_folds) for folds in FOLDS}
    fewest = {who: min(counts.values(), default=math.inf) for who, counts in trials.items()}
    lacking = {}
    for who, counts in trials.items():
        if fewest[who] < min(needed.values()):
            name = next(name for name in counts if counts[name] == fewest[who])
            lacking[who] = f"{fewest[who]} trials of {name}, at least {min(needed.values())} are needed"
    rest = min((fewest[who] for who in trials if who not in lacking), default=math.inf)
    return next((folds for folds in FOLDS if rest >= needed[folds]), FOLDS[-1]), lacking
