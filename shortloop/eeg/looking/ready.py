"""Ready-made features in a folder: whose each file is, of which phase and kind, and what is in it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from shortloop.eeg.formats.base import InputSettings
from shortloop.eeg.formats.base_features import FeaturesInput
from shortloop.eeg.formats.guarded import read_apart, reading
from shortloop.eeg.looking.at_once import Tell, at_once
from shortloop.eeg.looking.feature_table import labels_in
from shortloop.eeg.looking.names import ONLY
from shortloop.eeg.looking.ready_files import CALLED, OF_ARRAYS, Asked, files_of_features
from shortloop.eeg.looking.recorded import Recorded
from shortloop.errors import InputError

if TYPE_CHECKING:
    from shortloop.eeg.looking.looked import Looked

__all__ = ["Have", "leave_out", "read_ready"]

OF_POWER = ("freq", "hz", "pow")  # what names of features of power have in them
Have = Mapping[tuple[str, str], frozenset[str]]
"""Who has a file of each kind and phase."""


@dataclass(frozen=True)
class _Summary:
    """How many trials of each class there are, and the name of the first feature."""

    trials: Mapping[str, int]
    first: str


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
    options = looked.folder.options.setdefault(looked.format, {})
    settings = InputSettings.to_read({"format": looked.format, **options})
    assert isinstance(settings, FeaturesInput)
    settings.warm_up()
    if "label" in options:
        several = labels_in(looked.folder.recordings[looked.format][0])
        looked.folder.doubts = {"label": ", ".join(several)} if len(several) > 1 else {}
    asked = files_of_features(looked, settings)
    seen = at_once(partial(_look_at, settings), asked, tell)
    groups_of: dict[str, list[tuple[Asked, _Summary]]] = defaultdict(list)
    for one, found in zip(asked, seen, strict=True):
        if isinstance(found, InputError):
            looked.folder.problems[one.file] = found
            looked.out[one.who] = f"{one.file.name}: {found.problem}"
        else:
            groups_of[one.group].append((one, found))
    have: dict[tuple[str, str], frozenset[str]] = {}
    for group, of_group in groups_of.items():
        first, _ = of_group[0]
        kind = _kind(group, [summary for _, summary in of_group])
        phase = first.phase or _phase(group, kind)
        if phase in looked.kinds.get(kind, ()):
            phase = group
        looked.kinds.setdefault(kind, {})[phase] = first.pattern
        looked.patterns.setdefault(phase, []).append(first.pattern)
        if first.labels_pattern:
            looked.labels[phase] = first.labels_pattern
        have[kind, phase] = frozenset(one.who for one, _ in of_group)
        for one, summary in of_group:
            # Of several kinds, the first says which trials there are.
            recorded = Recorded(0.0, (), 0, None, 0.0, 0.0, settings.classes_in, dict(summary.trials))
            looked.recorded.setdefault(one.who, {}).setdefault(phase, [recorded])
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


def _look_at(settings: FeaturesInput, asked: Asked) -> _Summary | InputError:
    def read() -> _Summary:
        with reading(asked.file, asked.who):
            found = settings.find_in(asked.file, asked.labels, asked.who, asked.phase)
            return _Summary(Counter(found.trials), found.features[0] if found.features else "")

    files = [asked.file] if asked.labels is None else [asked.file, asked.labels]
    try:
        return read_apart(read, files, participant=asked.who, declared=settings.declared)
    except InputError as error:
        return error


def _kind(group: str, every: list[_Summary]) -> str:
    if any(sign in each.first.casefold() for each in every for sign in OF_POWER):
        return "power"
    said = [kind for kind, called in CALLED.items() if not called.isdisjoint(group.casefold().split("-"))]
    return said[0] if said else "amplitude"


def _phase(group: str, kind: str) -> str:
    """Its name without what says which kind of features, or which of two arrays."""
    without = CALLED[kind] | OF_ARRAYS
    return "-".join(word for word in group.split("-") if word.casefold() not in without) or ONLY
