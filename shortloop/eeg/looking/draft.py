"""The study file of recordings that were looked at, with comments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from shortloop.eeg.formats.plausible import same_rate
from shortloop.eeg.looking.folder import BIDS, FEATURES
from shortloop.eeg.looking.looked import Looked
from shortloop.eeg.looking.windows import epochs_of, window_of
from shortloop.errors import InputError
from shortloop.settings.paths import written_path
from shortloop.text import one_line

__all__ = ["draft", "questions"]

WIDTH = 100
CLASSES = "classes = []"
TRAIN = '# train = ""'
MOST_COMMENTED = 20
SECTIONS = "# If each recording holds two phases, as its events say"
WANTED = {
    "column": "column has the codes of events",
    "event_column": "column of the tables has the events",
    "event_unit": "unit do onsets of events have in the tables",
    "label": "column has the classes",
    "marker": "column has the markers",
    "stream": "stream has the EEG",
    "time_unit": "unit do the times have",
}
"""Of options that could as well be otherwise, what is asked."""
UNBALANCED = 2.0  # from this ratio of trials on, a score that forgives it is chosen


def draft(looked: Looked, name: str, project: Path) -> str:
    """Write a study file.

    Parameters
    ----------
    looked : Looked
        What was found.
    name : str
        Name of the study.
    project : Path
        Folder that the file will be in.

    Returns
    -------
    str
        TOML. What nobody can tell from the recordings is empty, with the choices beside it.
    """
    ready = looked.format in FEATURES
    parts = [
        _head(looked, name),
        _phases(looked),
        _ready_input(looked, project) if ready else _input(looked, project),
        _ready_features(looked) if ready else _features(looked),
        _decoding(looked),
    ]
    return "\n".join(parts) + "\n"


def questions(looked: Looked, text: str) -> list[str]:
    """What the recordings do not say.

    Parameters
    ----------
    looked : Looked
        What was found.
    text : str
        What `draft` wrote.

    Returns
    -------
    list of str
        Each with the line to fill in, its number and the choices.
    """
    found = []
    if not looked.train:
        choices = ", ".join(map(_quoted, looked.patterns))
        first = next(iter(looked.patterns))
        found.append(
            f"Which phase trains the classifiers, and which is decoded? Found: {choices}.\n"
            f"  Line {_line(text, TRAIN)} of the study file, for example: train = {_quoted(first)}"
        )
    if looked.sections:
        starts = " and ".join(_quoted(edges["start"]) for edges in looked.sections.values())
        found.append(
            f"Does each recording hold two phases? It has once {starts}.\n"
            f"  Line {_line(text, SECTIONS)} of the study file says what to write then; as it is, all trials "
            "are of one phase"
        )
    for option, choices in looked.folder.doubts.items():
        found.append(
            f"Which {WANTED[option]}? Found: {choices}.\n"
            f"  Line {_line(text, f'# {option} = ')} of the study file; classes are those of the one there"
        )
    for line, said in _versions(looked):
        found.append(
            f"Which recordings? Some may be versions of one, not runs of one another. Found: {said}.\n"
            f"  Line {_line(text, f'# {line}')} of the study file; classes are those of the one there"
        )
    if not looked.classes.certain:
        counts, likely = _counted(looked.classes.counts), looked.classes.likely()[:2]
        remedy = f"for example: classes = {_list(likely)}"
        if len(likely) < 2:
            remedy = (
                "which takes two or more: a table NAME_events.tsv beside each recording can name them, "
                "with the columns onset (s) and trial_type"
            )
        found.append(
            f"Which events are the classes? Found: {counts or 'none that are in all recordings'}.\n"
            f"  Line {_line(text, CLASSES)} of the study file, {remedy}"
        )
    return found


def _line(text: str, start: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if line.startswith(start))


def _head(looked: Looked, name: str) -> str:
    lines = [
        "# Written by `shortloop init --data` from what is in the recordings. Change what you like:",
        "# `shortloop study` lists all fields, `shortloop study study.toml` opens the recordings and says",
        "# whether they fit.",
        f"name = {_quoted(name)}",
        *_array("participants", looked.trials or looked.recorded),
    ]
    reasons = [
        f"# left out: {_few(map(one_line, who))}: {one_line(why)}" for why, who in looked.reasons().items()
    ]
    lines += reasons[:MOST_COMMENTED]
    classes = looked.classes
    if classes.certain:
        lines.append(f"classes = {_list(classes.events)}")
        lines.append(f"# trials: {_counted(classes.counts)}")
        if classes.others:
            lines.append(f"# other events: {_counted(classes.others)}")
    else:
        lines.append(f"{CLASSES}  # fill in two or more")
        lines += [f"# events: {_quoted(each)} {count}" for each, count in classes.counts.items()]
        lines += [f"# other events: {_counted(classes.others)}"] * bool(classes.others)
    return "\n".join(lines)


def _phases(looked: Looked) -> str:
    choices = ", ".join(map(_quoted, looked.patterns))
    if not looked.train:
        train = f"{TRAIN}  # fill in the phase that trains, and remove the first #: {choices}"
        return f'\n[phases]\n{train}\n# decode = ""  # the same for the one that is decoded, if it is another'
    lines = ["", "[phases]", f"train = {_quoted(looked.train)}"]
    if looked.decode:
        lines.append(f"decode = {_quoted(looked.decode)}  # without this line, {looked.train} is, in folds")
    others = [phase for phase in looked.patterns if phase not in (looked.train, looked.decode)]
    lines += [f"# not used: {', '.join(map(_quoted, others))}"] * bool(others)
    return "\n".join(lines)


def _input(looked: Looked, project: Path) -> str:
    lines = [
        "",
        "[input]",
        f"format = {_quoted(looked.format)}",
        f"folder = {_quoted(written_path(looked.folder.root, project))}",
    ]
    for phase, patterns in looked.patterns.items():
        if looked.format != BIDS:
            lines += _array(f"files.{_key(phase)}", patterns)
        elif patterns != [phase]:
            lines.append(f"tasks.{_key(phase)} = {_quoted(patterns[0])}")
    lines += [f"# {line}  # remove the first #, or choose: {said}" for line, said in _versions(looked)]
    lines += _options(looked)
    events = looked.classes.events
    for phase, called in looked.event_names.items():
        for name, of in events.items():
            lines.append(
                f"phase_events.{_key(phase)}.{_key(name)} = "
                f"{_list(each for part in of for each in called.get(part, ()))}"
            )
    if not looked.event_names and any(of != (name,) for name, of in events.items()):
        lines += [f"events.{_key(name)} = {_list(of)}" for name, of in events.items()]
    lines += _sections(looked)
    every = looked.all_recorded(looked.trials or None)
    spans = {(each.start, each.stop) for each in every if each.seconds is None}
    if any(each.seconds is not None for each in every):
        start, stop = _span(looked)
        lines += [f"tmin = {start:g}  # s, relative to the events", f"tmax = {stop:g}"]
    elif len(spans) > 1:
        start, stop = _span(looked)
        lines += [f"tmin = {start:.6g}  # s; what all recordings have", f"tmax = {stop:.6g}"]
    shared = looked.shared_channels()
    drop = looked.channels_to_drop()
    if any(each.channels != every[0].channels for each in every):
        kept = [name for name in shared if name not in drop]
        same = all({*each.channels} == {*shared} for each in every)
        why = "are in several orders: this is that of all" if same else "differ: these are in all"
        lines += [f"# channels of recordings {why}", *_array("picks", kept)]
    elif drop:
        lines += [f"drop = {_list(drop)}  # no EEG, by their names"]
    if looked.format == "npz":
        return "\n".join(line for line in lines if not line.startswith("picks"))
    return "\n".join([*lines, "", *_preprocessing(looked)])


def _versions(looked: Looked) -> list[tuple[str, str]]:
    """The line that chooses among several versions of recordings of a phase, and what there is."""
    from shortloop.eeg.formats.bids import choosing

    return [
        (
            choosing(phase, versions),
            "; ".join(f"{key}: {', '.join(map(_quoted, versions[key]))}" for key in versions),
        )
        for phase in looked.patterns
        if (versions := looked.versions.get(looked.patterns[phase][0]))
    ]


def _sections(looked: Looked) -> list[str]:
    """What would be said of two phases in each recording, as comments."""
    if not looked.sections:
        return []
    train, decode = looked.sections
    only = looked.train or next(iter(looked.patterns))
    lines = [f"{SECTIONS}: write below [phases]"]
    lines += [f"#   train = {_quoted(train)}", f"#   decode = {_quoted(decode)}"]
    lines.append(f"# and here, in place of {'files' if looked.format != BIDS else 'tasks'}.{_key(only)}:")
    for phase, edges in looked.sections.items():
        if looked.format != BIDS:
            lines.append(f"#   files.{_key(phase)} = {_list(looked.patterns[only])}")
        else:
            lines.append(f"#   tasks.{_key(phase)} = {_quoted(looked.patterns[only][0])}")
        said = ", ".join(f"{edge} = {_quoted(edges[edge])}" for edge in ("start", "stop") if edge in edges)
        lines.append(f"#   sections.{_key(phase)} = {{{said}}}")
    return lines


def _options(looked: Looked) -> list[str]:
    """What has to be said of the format; a line that is a comment, where it could as well be otherwise."""
    lines = []
    for option, value in looked.folder.options.get(looked.format, {}).items():
        if isinstance(value, list):
            lines += _array(option, value)
            continue
        given = f"{option} = {_quoted(value) if isinstance(value, str) else value}"
        doubt = looked.folder.doubts.get(option)
        lines.append(
            given if doubt is None else f"# {given}  # remove the first #, or choose another: {doubt}"
        )
    return lines


def _ready_input(looked: Looked, project: Path) -> str:
    lines = ["", "[input]", f"format = {_quoted(looked.format)}"]
    lines.append(f"folder = {_quoted(written_path(looked.folder.root, project))}")
    for kind, files in looked.kinds.items():
        lines += [f"{kind}.{_key(phase)} = {_quoted(pattern)}" for phase, pattern in files.items()]
    lines += [f"labels.{_key(phase)} = {_quoted(pattern)}" for phase, pattern in looked.labels.items()]
    lines += _options(looked)
    return "\n".join(lines)


def _ready_features(looked: Looked) -> str:
    """Tables of the kinds that there are; what the features are is in the files."""
    lines = []
    for kind, files in looked.kinds.items():
        lines += ["", f"[features.{kind}]  # bins are those of the files"]
        if looked.train and (looked.decode or looked.train) not in files:
            lines.append("apply = false  # there are none of the phase that is decoded")
    return "\n".join(lines)


def _preprocessing(looked: Looked) -> list[str]:
    rates = {each.rate for each in looked.all_recorded(looked.trials or None)}
    lines = ["[input.preprocessing]  # nothing is done that is not asked for"]
    if not same_rate(min(rates), max(rates)):
        lines.append(
            f"resample = {min(rates):g}  # Hz; recordings have {_few(f'{rate:g}' for rate in sorted(rates))}"
        )
    return [
        *lines,
        "# highpass = 0.1          # Hz",
        "# notch = 50              # Hz",
        '# reference = "average"',
        "# reject.eeg = 150e-6     # V, peak to peak",
    ]


def _features(looked: Looked) -> str:
    start, stop = _span(looked)
    rate = min(each.rate for each in looked.all_recorded(looked.trials or None) if each.rate)
    window = window_of(start, stop, rate)
    amplitude = window.amplitude
    baseline = (
        "false" if amplitude.baseline is None else f"[{amplitude.baseline[0]}, {amplitude.baseline[1]}]"
    )
    lines = [
        "",
        "[features.amplitude]",
        f"baseline = {baseline}{'' if amplitude.baseline is None else '  # s'}",
        f"lowpass = {'false' if amplitude.lowpass is None else amplitude.lowpass}",
        f"start = {amplitude.start}",
        f"bins = {amplitude.bins}  # to {window.stop:.3g} s",
        f"bin_samples = {amplitude.bin_samples}  # {window.milliseconds:.3g} ms",
        f"step = {amplitude.step}"
        + (f"  # {rate / amplitude.step:g} Hz are enough" if amplitude.step > 1 else ""),
    ]
    return "\n".join(lines)


def _decoding(looked: Looked) -> str:
    counts = looked.classes.counts
    lines = ["", "[decoding]"]
    folds = looked.folds or 10
    lines.append(
        f"folds = {folds}" + ("  # the fewest trials of a participant allow no more" if folds < 10 else "")
    )
    if looked.classes.certain and max(counts.values()) >= UNBALANCED * min(counts.values()):
        lines.append('score = "auc"  # classes differ in size, which hides effects from accuracy')
    if looked.estimator:
        lines += [
            "",
            "[estimator]",
            f"kind = {_quoted(looked.estimator)}  # few trials: none are left for inner folds",
        ]
    lines += ["", "[permutations]", "count = 1000"]
    if len(looked.trials) == 1:
        lines.append(
            '# null = "test-labels"  # in seconds, but one participant\'s p values are then too small'
        )
    return "\n".join(lines)


def _span(looked: Looked) -> tuple[float, float]:
    """Epochs that all recordings give."""
    every = [each for each in looked.all_recorded(looked.trials or None) if each.rate]
    if any(each.seconds is not None for each in every):
        return epochs_of(sorted({each.rate for each in every}))
    start, stop = max(each.start for each in every), min(each.stop for each in every)
    if stop <= start:
        raise InputError(
            "the epochs of the recordings have no time in common",
            found=f"from {start:g} s at the latest, to {stop:g} s at the earliest",
            hint="look at their phases apart: give --data the folder, or a folder with links, of one of them",
        )
    return start, stop


def _array(key: str, values: Iterable[str]) -> list[str]:
    """A line, or one for each so many."""
    values = [_quoted(each) for each in values]
    line = f"{key} = [{', '.join(values)}]"
    if len(line) <= WIDTH:
        return [line]
    lines = [f"{key} = ["]
    row = "   "
    for value in values:
        if len(row) + len(value) > WIDTH and row.strip():
            lines.append(row)
            row = "   "
        row += f" {value},"
    return [*lines, row, "]"]


def _list(values: Iterable[str]) -> str:
    return f"[{', '.join(map(_quoted, values))}]"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _counted(counts: Mapping[str, int]) -> str:
    return _few(f"{count:,} × {one_line(name)}" for name, count in counts.items())


def _few(texts: Iterable[str]) -> str:
    texts = list(texts)
    return ", ".join(texts[:MOST_COMMENTED]) + (
        f", and {len(texts) - MOST_COMMENTED} more" if len(texts) > MOST_COMMENTED else ""
    )
