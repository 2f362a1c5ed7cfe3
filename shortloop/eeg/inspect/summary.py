"""Lines that say what is in a folder of recordings, and what is left out of the study."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from shortloop.base.text import counted, one_line, short_list
from shortloop.eeg.inspect.folder import Folder
from shortloop.eeg.inspect.recording import Recorded
from shortloop.eeg.inspect.scan import Scan, total_events

FEW = 8  # items that are listed
MANY = 20  # events that are listed, and other files of which the number is not given


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
        many = f"{len(folder.others):,} files are " * (len(folder.others) > MANY)
        lines.append(f"{many}no recordings: {in_words(endings.most_common(), FEW)}")
    return lines


def by_reason(left_out: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name, why in left_out.items():
        found[why].append(name)
    return found


def in_words(counts: Iterable[tuple[str, int]], most: int = MANY) -> str:
    return _some((f"{count:,} × {name}" for name, count in counts), most)


def _left_out_of(scan: Scan) -> list[str]:
    """Describe other formats, files and participants that are left out, unless the file is a problem."""
    lines = [
        f"left out: {counted(count, 'recording')} of {format}; a study has one format"
        for format, count in scan.other_formats.items()
    ]
    reasons = by_reason({_below(path, scan.folder): why for path, why in scan.files_left_out.items()})
    broken = tuple(f"{path.name}: " for path in scan.folder.problems)
    reasons |= {why: who for why, who in by_reason(scan.left_out).items() if not why.startswith(broken)}
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
    if kinds := [kind for kind, files in scan.kinds.items() if phase in files]:
        lines.append(f"  features: {' and '.join(kinds)}")
    elif every:
        facts = [counted(len(every), "recording"), *_facts([each for each in every if each.rate])]
        lines.append(f"  {', '.join(facts)}")
    if every:
        events = total_events(every)
        sources = " and ".join(sorted({each.source for each in every if each.source}))
        lines.append(f"  events ({sources}): {in_words(events.most_common())}" if events else "  no events")
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
    if not (every := scan.study_recordings()):
        return []
    shared, dropped = scan.shared_channels(), scan.channels_to_drop()
    counts = Counter(name for each in every for name in each.channels if name not in shared)
    some = _some((f"{name} (in {count})" for name, count in counts.items()), 20)
    return [
        *([f"left out: channels that not all of the {len(every)} recordings have: {some}"] if counts else []),
        *([f"left out: channels that are not EEG, by their names: {_some(dropped, 20)}"] if dropped else []),
    ]


def _range(values: Sequence[float], form: str) -> str:
    first, last = format(min(values), form), format(max(values), form)
    return first if first == last else f"{first} to {last}"


def _below(path: Path, folder: Folder) -> str:
    return one_line(path.relative_to(folder.root) if path.is_relative_to(folder.root) else path)


def _some(texts: Iterable[str], most: int = FEW) -> str:
    return short_list([*map(one_line, texts)], most)
