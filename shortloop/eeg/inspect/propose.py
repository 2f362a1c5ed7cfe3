"""Propose a study file for a folder of recordings: `shortloop init --data`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn

from shortloop.analyses import Look, Tell
from shortloop.base.errors import InputError
from shortloop.base.text import one_line, short_list
from shortloop.eeg.checks.plausible import same_rate
from shortloop.eeg.formats.bids import choosing
from shortloop.eeg.formats.files.recognised import recognised
from shortloop.eeg.inspect.choose import epochs_of, scan_recordings, window_of
from shortloop.eeg.inspect.folder import BIDS, FEATURES, find_recordings
from shortloop.eeg.inspect.scan import Scan
from shortloop.eeg.inspect.summary import by_reason, describe, describe_left_out, in_words
from shortloop.settings.changes import toml_key, toml_value
from shortloop.settings.paths import written_path

WIDTH = 100
CLASSES = "classes = []"
TRAIN = '# train = ""'
SECTIONS = "# If each recording holds two phases, as its events say"
MOST_COMMENTED = 20
UNBALANCED = 2.0  # ratio of trials from which AUC is the score
HEAD = """\
# Written by `shortloop init --data` from what is in the recordings. Change what you like:
# `shortloop study` lists all fields, `shortloop study study.toml` opens the recordings and says
# whether they fit."""
PREPROCESSING = """\
# highpass = 0.1          # Hz
# notch = 50              # Hz
# reference = "average"
# reject.eeg = 150e-6     # V, peak to peak"""
WANTED = {  # questions about fields of a format
    "column": "column has the codes of events",
    "event_column": "column of the tables has the events",
    "event_unit": "unit do onsets of events have in the tables",
    "label": "column has the classes",
    "marker": "column has the markers",
    "stream": "stream has the EEG",
    "time_unit": "unit do the times have",
}


def look(folder: Path, project: Path, tell: Tell) -> Look | None:
    """Propose a study of the recordings in a folder; None if there are none."""
    if folder.is_file() and not recognised(folder):
        return None
    found = find_recordings(folder, tell)
    if not (found.recordings or found.problems or found.not_read):
        return None
    scan = scan_recordings(found, tell) if found.recordings else None
    if scan is None or not scan.recorded:
        said = describe_left_out(found) if scan is None else describe(scan)
        _refuse(folder, "there is no recording that can be read", said)
    if not (scan.format in FEATURES or scan.all_recorded()):
        hint = "write NAME_events.tsv with the columns onset (s) and trial_type beside each recording"
        _refuse(folder, "no recording has events", describe(scan), hint)
    if not scan.recorded.keys() - scan.left_out.keys():
        hint = "add what they lack, or look at a part of the folder alone"
        _refuse(folder, "no participant has all that a study needs", describe(scan), hint)
    text = _draft(scan, project.name, project)
    return Look(tuple(describe(scan)), text, tuple(_questions(scan, text.splitlines())))


def _refuse(
    folder: Path, problem: str, found: list[str], hint: str = "mend these, or name another folder"
) -> NoReturn:
    raise InputError(problem, file=folder, found="\n".join(found), hint=hint)


def _questions(scan: Scan, lines: list[str]) -> Iterator[str]:
    """Ask for all that the recordings do not say."""

    def ask(question: str, start: str, answer: str) -> str:
        number = next(number for number, line in enumerate(lines, 1) if line.startswith(start))
        return f"{question}\n  Line {number} of the study file{answer}"

    as_there = "; classes are those of the one there"
    if not scan.train:
        phases = [*map(toml_value, scan.patterns)]
        question = "Which phase trains the classifiers, and which is decoded?"
        example = f", for example: train = {phases[0]}"
        yield ask(f"{question} Found: {', '.join(phases)}.", TRAIN, example)
    if scan.sections:
        starts = " and ".join(toml_value(edges["start"]) for edges in scan.sections.values())
        then = " says what to write then; as it is, all trials are of one phase"
        yield ask(f"Does each recording hold two phases? It has once {starts}.", SECTIONS, then)
    for option, choices in scan.folder.choices.items():
        yield ask(f"Which {WANTED[option]}? Found: {choices}.", f"# {option} = ", as_there)
    for line, choices in _versions(scan):
        question = "Which recordings? Some may be versions of one, not runs of one another."
        yield ask(f"{question} Found: {choices}.", f"# {line}", as_there)
    if not scan.classes.certain:
        counts, likely = in_words(scan.classes.counts.items()), scan.classes.likely()[:2]
        example = f", for example: classes = {toml_value(likely)}"
        if len(likely) < 2:
            table = "a table NAME_events.tsv beside each recording, with the columns onset (s) and trial_type"
            example = f", which takes two or more; {table}, can name them"
        found = counts or "none that are in all recordings"
        yield ask(f"Which events are the classes? Found: {found}.", CLASSES, example)


def _draft(scan: Scan, name: str, project: Path) -> str:
    lines = [*_head(scan, name), "", "[phases]", *_phases(scan), "", "[input]", _set(scan.format, "format")]
    lines.append(_set(written_path(scan.folder.root, project), "folder"))
    if scan.format in FEATURES:
        for name, files in (*scan.kinds.items(), ("labels", scan.labels)):
            lines += [_set(pattern, name, phase) for phase, pattern in files.items()]
        lines += [*_options(scan), *_feature_kinds(scan)]
    else:
        lines += [*_files(scan), *_options(scan), *_events(scan), *_epochs(scan), *_channels(scan)]
        lines += [*_preprocessing(scan), *_amplitude(scan)]
    return "\n".join([*lines, *_decoding(scan)]) + "\n"


def _head(scan: Scan, name: str) -> Iterator[str]:
    yield from (HEAD, _set(name, "name"))
    yield from _array("participants", scan.trials or scan.recorded)
    for why, who in [*by_reason(scan.left_out).items()][:MOST_COMMENTED]:
        yield f"# left out: {short_list([*map(one_line, who)], MOST_COMMENTED)}: {one_line(why)}"
    classes = scan.classes
    if classes.certain:
        yield _set([*classes.events], "classes")
        yield f"# trials: {in_words(classes.counts.items())}"
    else:
        yield f"{CLASSES}  # fill in two or more"
        yield from (f"# events: {toml_value(each)} {count}" for each, count in classes.counts.items())
    if classes.others:
        yield f"# other events: {in_words(classes.others.items())}"


def _phases(scan: Scan) -> Iterator[str]:
    if not scan.train:
        choices = ", ".join(map(toml_value, scan.patterns))
        yield f"{TRAIN}  # fill in the phase that trains, and remove the first #: {choices}"
        yield '# decode = ""  # the same for the one that is decoded, if it is another'
        return
    yield _set(scan.train, "train")
    if scan.decode:
        yield f"{_set(scan.decode, 'decode')}  # without this line, {scan.train} is, in folds"
    if others := [phase for phase in scan.patterns if phase not in (scan.train, scan.decode)]:
        yield f"# not used: {', '.join(map(toml_value, others))}"


def _files(scan: Scan) -> Iterator[str]:
    for phase, patterns in scan.patterns.items():
        if scan.format != BIDS:
            yield from _array(f"files.{toml_key(phase)}", patterns)
        elif patterns != [phase]:
            yield _set(patterns[0], "tasks", phase)
    for line, choices in _versions(scan):
        yield f"# {line}  # remove the first #, or choose: {choices}"


def _versions(scan: Scan) -> Iterator[tuple[str, str]]:
    """Yield lines that choose among versions of recordings of a phase, and the choices."""
    for phase, patterns in scan.patterns.items():
        if of := scan.versions.get(patterns[0]):
            choices = (f"{key}: {', '.join(map(toml_value, of[key]))}" for key in of)
            yield choosing(phase, of), "; ".join(choices)


def _options(scan: Scan) -> Iterator[str]:
    """Write fields that the format needs, as comments where another choice is as good."""
    for option, value in scan.folder.options.get(scan.format, {}).items():
        choices = scan.folder.choices.get(option)
        if isinstance(value, list):
            yield from _array(option, value)
        elif choices is None:
            yield _set(value, option)
        else:
            yield f"# {_set(value, option)}  # remove the first #, or choose another: {choices}"


def _events(scan: Scan) -> Iterator[str]:
    events = scan.classes.events
    for phase, called in scan.event_names.items():
        for name, event in events.items():
            yield _set(called.get(event, []), "phase_events", phase, name)
    if not scan.event_names and any(event != name for name, event in events.items()):
        yield from (_set([event], "events", name) for name, event in events.items())
    if scan.sections:
        yield from _sections(scan)


def _sections(scan: Scan) -> Iterator[str]:
    """Write what a study of two phases in each recording would have, as comments."""
    train, decode = scan.sections
    only = scan.train or next(iter(scan.patterns))
    bids, patterns = scan.format == BIDS, scan.patterns[only]
    field, files = ("tasks", patterns[0]) if bids else ("files", patterns)
    yield f"{SECTIONS}: write below [phases]"
    yield f"#   {_set(train, 'train')}"
    yield f"#   {_set(decode, 'decode')}"
    yield f"# and here, in place of {field}.{toml_key(only)}:"
    for phase, edges in scan.sections.items():
        yield f"#   {_set(files, field, phase)}"
        yield f"#   {_set(edges, 'sections', phase)}"


def _epochs(scan: Scan) -> Iterator[str]:
    every = scan.study_recordings()
    start, stop = _span(scan)
    continuous = any(each.seconds is not None for each in every)
    if continuous or len({(each.start, each.stop) for each in every}) > 1:
        said = ", relative to the events" if continuous else "; what all recordings have"
        yield from (f"tmin = {start:g}  # s{said}", f"tmax = {stop:g}")


def _channels(scan: Scan) -> Iterator[str]:
    every, shared, drop = scan.study_recordings(), scan.shared_channels(), scan.channels_to_drop()
    if all(each.channels == every[0].channels for each in every):
        if drop:
            yield f"{_set(drop, 'drop')}  # not EEG, by their names"
    elif scan.format != "npz":  # which has no picks
        same = all({*each.channels} == {*shared} for each in every)
        why = "are in several orders: this is that of all" if same else "differ: these are in all"
        yield f"# channels of recordings {why}"
        yield from _array("picks", [name for name in shared if name not in drop])


def _preprocessing(scan: Scan) -> Iterator[str]:
    if scan.format == "npz":
        return
    yield from ("", "[input.preprocessing]  # nothing is done that is not asked for")
    rates = sorted({each.rate for each in scan.study_recordings()})
    if not same_rate(rates[0], rates[-1]):
        several = short_list([f"{rate:g}" for rate in rates], 8)
        yield f"resample = {rates[0]:g}  # Hz; recordings have {several}"
    yield PREPROCESSING


def _amplitude(scan: Scan) -> Iterator[str]:
    rate = min(each.rate for each in scan.study_recordings())
    amplitude = window_of(*_span(scan), rate)
    baseline, length = amplitude.baseline, amplitude.bin_samples * amplitude.step / rate  # s
    yield from ("", "[features.amplitude]")
    yield "baseline = false" if baseline is None else f"{_set(baseline, 'baseline')}  # s"
    yield _set(False if amplitude.lowpass is None else amplitude.lowpass, "lowpass")
    yield _set(amplitude.start, "start")
    yield f"bins = {amplitude.bins}  # to {amplitude.start + amplitude.bins * length:.3g} s"
    yield f"bin_samples = {amplitude.bin_samples}  # {1000 * length:.3g} ms"
    enough = f"  # {rate / amplitude.step:g} Hz are enough" if amplitude.step > 1 else ""
    yield f"step = {amplitude.step}{enough}"


def _span(scan: Scan) -> tuple[float, float]:
    """Return start and stop (s) of epochs that all recordings give."""
    every = scan.study_recordings()
    if any(each.seconds is not None for each in every):
        return epochs_of(sorted({each.rate for each in every}))
    start, stop = max(each.start for each in every), min(each.stop for each in every)
    if stop <= start:
        found = f"from {start:g} s at the latest, to {stop:g} s at the earliest"
        hint = "look at their phases apart: give --data the folder, or a folder with links, of one of them"
        raise InputError("the epochs of the recordings have no time in common", found=found, hint=hint)
    return start, stop


def _feature_kinds(scan: Scan) -> Iterator[str]:
    for kind, files in scan.kinds.items():
        yield from ("", f"[features.{kind}]  # bins are those of the files")
        if scan.train and (scan.decode or scan.train) not in files:
            yield "apply = false  # there are none of the phase that is decoded"


def _decoding(scan: Scan) -> Iterator[str]:
    counts, folds = scan.classes.counts, scan.folds or 10
    few = "  # the fewest trials of a participant allow no more" if folds < 10 else ""
    yield from ("", "[decoding]", f"folds = {folds}{few}")
    if scan.classes.certain and max(counts.values()) >= UNBALANCED * min(counts.values()):
        yield 'score = "auc"  # classes differ in size, which hides effects from accuracy'
    if scan.estimator:
        kind = _set(scan.estimator, "kind")
        yield from ("", "[estimator]", f"{kind}  # few trials: none are left for inner folds")
    yield from ("", "[permutations]", "count = 1000")
    if len(scan.trials) == 1:
        yield '# null = "test-labels"  # in seconds, but one participant\'s p values are then too small'


def _set(value: object, *keys: str) -> str:
    return f"{'.'.join(map(toml_key, keys))} = {toml_value(value)}"


def _array(key: str, values: Iterable[str]) -> Iterator[str]:
    """Write an array in as many lines as it takes."""
    line = f"{key} = {toml_value([*values])}"
    if len(line) <= WIDTH:
        yield line
        return
    yield f"{key} = ["
    row = "   "
    for value in map(toml_value, values):
        if len(row) + len(value) > WIDTH and row.strip():
            yield row
            row = "   "
        row += f" {value},"
    yield from (row, "]")
