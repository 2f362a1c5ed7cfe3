"""What was found in a folder of recordings, in lines to be printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from shortloop.eeg.looking.folder import Folder
from shortloop.eeg.looking.looked import Looked
from shortloop.eeg.looking.recorded import Recorded
from shortloop.text import one_line

__all__ = ["left_out", "shown"]

FEW = 8  # of anything that is listed
MANY = 20  # files that are no recordings, of which the number is said


def shown(looked: Looked) -> list[str]:
    """Say what was found.

    Parameters
    ----------
    looked : Looked
        It.

    Returns
    -------
    list of str
        Lines.
    """
    files = len(looked.folder.recordings[looked.format])
    who = [*looked.recorded]
    lines = [
        f"{files:,} {_plural(files, 'file' if looked.kinds else 'recording')} of the format {looked.format}"
    ]
    lines.append(f"{len(who):,} {_plural(len(who), 'participant')}: {_some(who)}")
    for phase, patterns in looked.patterns.items():
        lines += _phase(looked, phase, patterns)
    return [*lines, *_channels(looked), *left_out(looked.folder, looked)]


def left_out(folder: Folder, looked: Looked | None = None) -> list[str]:
    """Say what of a folder is in no study.

    Parameters
    ----------
    folder : Folder
        The folder.
    looked : Looked, optional
        What was made of it.

    Returns
    -------
    list of str
        Lines.
    """
    lines = []
    if looked is not None:
        for format, count in looked.other_formats.items():
            lines.append(
                f"left out: {count:,} {_plural(count, 'recording')} of {format}; a study has one format"
            )
        said: dict[str, list[str]] = {}
        for path, why in looked.files_out.items():
            said.setdefault(why, []).append(_below(path, folder))
        lines += [f"left out: {_some(names)}: {one_line(why)}" for why, names in said.items()]
        for why, who in looked.reasons().items():
            if not _is_broken(why, folder):
                lines.append(f"left out: {_some(who)}: {one_line(why)}")
    for path, error in folder.problems.items():
        found = f" ({one_line(error.found)})" if error.found else ""
        lines.append(f"cannot be read: {_below(path, folder)}: {one_line(error.problem)}{found}")
    lines += _not_read(folder)
    if folder.others:
        endings = Counter(path.suffix.lower() or path.name for path in folder.others)
        kinds = (f"{count:,} × {kind}" for kind, count in endings.most_common())
        lines.append(
            f"no recordings: {_some(kinds)}"
            if len(folder.others) <= MANY
            else f"{len(folder.others):,} files are no recordings: {_some(kinds)}"
        )
    return lines


def _not_read(folder: Folder) -> list[str]:
    """Files that are something known; of many that are alike, one line."""
    alike: dict[tuple[str, str], list[tuple[Path, str]]] = {}
    for path, kind in folder.named.items():
        # Of a .mat file its kind lists the variables, which differ from one to the next.
        what = kind.partition(" with ")[0] if kind.startswith("a .mat file") else kind
        alike.setdefault((path.suffix.lower(), what), []).append((path, kind))
    lines = []
    for (ending, _), files in alike.items():
        if len(files) > FEW:
            kinds = {kind for _, kind in files}
            first = f"{one_line(files[0][1])}{' (the first)' * (len(kinds) > 1)}"
            lines.append(f"not read: {len(files):,} × {ending or 'files'}: {first}")
        else:
            lines += [f"not read: {_below(path, folder)}: {one_line(kind)}" for path, kind in files]
    return lines


def _is_broken(why: str, folder: Folder) -> bool:
    return any(why.startswith(f"{path.name}: ") for path in folder.problems)


def _phase(looked: Looked, phase: str, patterns: Sequence[str]) -> list[str]:
    every = [each for phases in looked.recorded.values() for each in phases.get(phase, ())]
    role = {looked.train: ", trains", looked.decode: ", is decoded"}.get(phase, "")
    lines = [f"phase {phase}{role if looked.train else ''}: {_some(patterns)}"]
    kinds = [kind for kind, files in looked.kinds.items() if phase in files]
    lines += [f"  features: {' and '.join(kinds)}"] * bool(kinds)
    if every:
        events: Counter[str] = Counter()
        for each in every:
            events.update(each.events)
        with_signal = [each for each in every if each.rate]
        if not kinds:
            count = f"{len(every):,} {_plural(len(every), 'recording')}"
            lines.append(f"  {count}, {_facts(with_signal)}".rstrip(", "))
        sources = sorted({each.source for each in every if each.source})
        names = (f"{count:,} × {one_line(name)}" for name, count in events.most_common())
        lines.append(f"  events ({' and '.join(sources)}): {_some(names, 20)}" if events else "  no events")
    return lines


def _channels(looked: Looked) -> list[str]:
    """Which channels are not decoded, and why."""
    every = looked.all_recorded(looked.trials or None)
    if not every:
        return []
    shared, dropped = looked.shared_channels(), looked.channels_to_drop()
    counts = Counter(name for each in every for name in each.channels if name not in shared)
    lines = []
    if counts:
        some = _some((f"{name} (in {count})" for name, count in counts.items()), 20)
        lines.append(f"left out: channels that not all of the {len(every)} recordings have: {some}")
    if dropped:
        lines.append(f"left out: channels that are no EEG by their names: {_some(dropped, 20)}")
    return lines


def _facts(every: Sequence[Recorded]) -> str:
    if not every:
        return ""
    channels = _range([len(each.channels) for each in every], "d")
    of = _range([each.channels_in_file for each in every], "d")
    rates = " and ".join(f"{rate:g}" for rate in sorted({each.rate for each in every}))
    lengths = [each.seconds / 60 for each in every if each.seconds is not None]
    spans = Counter((round(each.start, 4), round(each.stop, 4)) for each in every if each.seconds is None)
    parts = [f"{channels} of {of} channels", f"{rates} Hz"]
    parts += [f"{_range(lengths, '.1f')} min each"] if lengths else []
    parts += [f"epochs from {start:g} to {stop:g} s" for (start, stop), _ in spans.most_common(2)]
    return ", ".join(parts)


def _range(values: Sequence[float], form: str) -> str:
    first, last = format(min(values), form), format(max(values), form)
    return first if first == last else f"{first} to {last}"


def _below(path: Path, folder: Folder) -> str:
    return one_line(path.relative_to(folder.root) if path.is_relative_to(folder.root) else path)


def _some(texts: Iterable[str], most: int = FEW) -> str:
    texts = [one_line(text) for text in texts]
    more = len(texts) - most
    return ", ".join(texts if more <= 0 else [*texts[: most - 1], "…", texts[-1]])


def _plural(count: int, what: str) -> str:
    return what if count == 1 else f"{what}s"
