"""Ready-made features in a folder: whose each file is, of which phase and kind, and what is in it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.eeg.formats.guarded import read_apart, reading
from shortloop.eeg.formats.thesis import ThesisInput
from shortloop.eeg.looking.at_once import Tell, at_once
from shortloop.eeg.looking.names import ONLY, read_names
from shortloop.eeg.looking.recorded import Recorded
from shortloop.eeg.looking.words import words
from shortloop.errors import InputError

if TYPE_CHECKING:
    from shortloop.eeg.formats.mat_features import Summary
    from shortloop.eeg.looking.looked import Looked

__all__ = ["Have", "leave_out", "read_ready"]

AMPLITUDE, POWER = "amplitude", "power"
CALLED = {
    AMPLITUDE: words("amp amplitude amplitudes erp erps voltage"),
    POWER: words("pow power powers tfr freq frequency wavelet wavelets spectral"),
}
"""Words in names of files that say which kind of features they hold."""
OF_POWER = ("freq", "hz", "pow")  # what names of features of power have in them
Have = Mapping[tuple[str, str], frozenset[str]]
"""Who has a file of each kind and phase."""


def read_ready(looked: Looked, tell: Tell) -> Have:
    """Read all files, on all cores; those that cannot be read are problems of the folder.

    Parameters
    ----------
    looked : Looked
        Gets participants, phases, kinds, and what is left out.
    tell : callable
        Is told how many of the files were read.

    Returns
    -------
    mapping
        Who has a file of each kind and phase.
    """
    named = read_names(looked.folder.root, [*looked.folder.recordings[looked.format]])
    looked.files_out = named.left_out
    settings = ThesisInput(format="thesis")
    settings.warm_up()
    asked = []
    for who, groups in named.files.items():
        for group, files in groups.items():
            if len(files) > 1:
                looked.out[who] = f"{len(files)} files of {group}: features of a phase are one file"
            else:
                asked.append((who, group, files[0]))
    seen = at_once(_look_at, [(who, path) for who, _, path in asked], tell)
    groups_of: dict[str, list[tuple[str, Summary]]] = defaultdict(list)
    for (who, group, path), found in zip(asked, seen, strict=True):
        if isinstance(found, InputError):
            looked.folder.problems[path] = found
            looked.out[who] = f"{path.name}: {found.problem}"
        else:
            groups_of[group].append((who, found))
    have: dict[tuple[str, str], frozenset[str]] = {}
    for group, of_group in groups_of.items():
        kind = _kind(group, [summary for _, summary in of_group])
        phase = _phase(group, kind)
        if phase in looked.kinds.get(kind, ()):
            phase = group
        (pattern,) = named.patterns[group]
        looked.kinds.setdefault(kind, {})[phase] = pattern
        looked.patterns.setdefault(phase, []).append(pattern)
        have[kind, phase] = frozenset(who for who, _ in of_group)
        for who, summary in of_group:
            # Of several kinds, the first says which trials there are.
            looked.recorded.setdefault(who, {}).setdefault(phase, [_recorded(summary)])
    return have


def leave_out(looked: Looked, have: Have) -> None:
    """Leave out kinds that do not train, and who lacks one.

    Parameters
    ----------
    looked : Looked
        Its phases are chosen.
    have : mapping
        As `read_ready` gave it.
    """
    if looked.train:
        looked.kinds = {kind: files for kind, files in looked.kinds.items() if looked.train in files}
    for kind, files in looked.kinds.items():
        for phase in files:
            if looked.train and phase not in (looked.train, looked.decode):
                continue
            for who in looked.recorded.keys() - have[kind, phase]:
                looked.out.setdefault(who, f"no {kind} features of {phase}")


def _look_at(asked: tuple[str, Path]) -> Summary | InputError:
    from shortloop.eeg.formats.mat_features import summary_of

    who, file = asked

    def read() -> Summary:
        with reading(file, who):
            return summary_of(file, who)

    try:
        return read_apart(read, [file], participant=who, declared=ThesisInput(format="thesis").declared)
    except InputError as error:
        return error


def _kind(group: str, every: list[Summary]) -> str:
    if any(sign in each.first.casefold() for each in every for sign in OF_POWER):
        return POWER
    said = [kind for kind, called in CALLED.items() if not called.isdisjoint(group.casefold().split("-"))]
    return said[0] if said else AMPLITUDE


def _phase(group: str, kind: str) -> str:
    """Its name without what says which kind of features."""
    return "-".join(word for word in group.split("-") if word.casefold() not in CALLED[kind]) or ONLY


def _recorded(summary: Summary) -> Recorded:
    return Recorded(0.0, (), 0, None, 0.0, 0.0, "category_name", dict(Counter(summary.trials)))
