"""What the recordings of a study must have in common. Light: works on summaries alone."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from shortloop.base.errors import InputError
from shortloop.eeg.checks.plausible import same_rate
from shortloop.eeg.checks.summary import RecordingSummary

__all__ = ["Refuse", "check_alike", "check_scales", "check_trials", "first_ends", "uneven_classes"]

Refuse = Callable[[InputError], None]
"""Is told of each problem. What comes back from it goes on, and finds the others."""

# How many times a signal is larger than another. Caps, gels, references and people make a factor of ten at
# most, and artefacts as much once more.
ODD, IMPOSSIBLE = 100.0, 1e5
# How many times as large a class is. Of an effect that is decoded at 75 % with even classes, the default
# estimator leaves 73 % at 2 to 1, 66 % at 3 to 1 and 59 % at 5 to 1, with class weights 72, 69 and 69 %.
UNEVEN = 2


def first_ends(error: InputError) -> None:
    """A `Refuse` that raises the first problem."""
    raise error


def check_alike(summaries: Iterable[RecordingSummary], refuse: Refuse = first_ends) -> list[RecordingSummary]:
    """Check that recordings of one kind have the same shape in all participants and phases."""
    kinds: dict[str, list[RecordingSummary]] = {}
    for summary in summaries:
        kinds.setdefault(summary.kind, []).append(summary)
    same = []
    for alike in kinds.values():
        differ = {number for field in _FIELDS for number in _check_same(alike, field, refuse)}
        for phase in dict.fromkeys(summary.phase for summary in alike):
            own = [
                number
                for number, summary in enumerate(alike)
                if summary.phase == phase and number not in differ
            ]
            later = _check_same([alike[number] for number in own], "times", refuse) if own else []
            differ |= {own[number] for number in later}
        same += [summary for number, summary in enumerate(alike) if number not in differ]
    return same


def check_scales(summaries: Iterable[RecordingSummary], refuse: Refuse = first_ends) -> dict[int, str]:
    """Check that signals are of about the same size in all participants and phases."""
    known = {number: each for number, each in enumerate(summaries) if each.amplitude > 0}
    if not known:
        return {}
    usual = statistics.median(math.log10(each.amplitude) for each in known.values())
    model = min(known.values(), key=lambda each: abs(math.log10(each.amplitude) - usual))
    odd = {}
    for number, each in known.items():
        apart = each.amplitude / model.amplitude
        times = max(apart, 1 / apart)
        if times < ODD:
            continue
        found = f"{each.amplitude:.3g} {each.unit}"
        expected = f"{model.amplitude:.3g} {model.unit}, as in {model.participant}, {model.phase}"
        if times < IMPOSSIBLE:
            size = "larger" if apart > 1 else "smaller"
            odd[number] = (
                f"the signal is {times:.3g} times {size} than usual: its deviation in a trial is {found}, "
                f"not {expected}; is it in another unit (mV beside µV), or full of artefacts?"
            )
            continue
        refuse(
            InputError(
                f"signals differ {times:.2g}-fold in size: some are probably in V, and others in µV",
                participant=each.participant,
                file=each.file or None,
                field="unit",
                found=f"a typical deviation of {found} within a trial of the {each.phase} phase",
                expected=f"about {expected}",
                hint="export all in the same unit, or scale those that are not",
            )
        )
    return odd


def check_trials(
    summaries: Iterable[RecordingSummary],
    *,
    folds: int,
    inner_folds: int | None,
    refuse: Refuse = first_ends,
) -> None:
    """Check that every class has enough trials for the folds."""
    for summary in summaries:
        for name, count in summary.trials.items():
            if _enough(count, folds, inner_folds):
                continue
            needed = next(n for n in itertools.count(folds) if _enough(n, folds, inner_folds))
            inner = f" and {inner_folds} inner folds" if inner_folds else ""
            refuse(
                InputError(
                    f"too few trials of a class in the {summary.phase} phase",
                    participant=summary.participant,
                    file=summary.file or None,
                    field="decoding.folds",
                    found=f"{count} trials of {name}",
                    expected=f"at least {needed} for {folds} folds{inner}",
                    hint="ask for fewer folds, or leave the participant out",
                )
            )


def uneven_classes(summary: RecordingSummary) -> str:
    """What is odd about the numbers of trials that train."""
    few, many = min(summary.trials.values()), max(summary.trials.values())
    if many < UNEVEN * few:
        return ""
    counts = ", ".join(f"{count} {name}" for name, count in summary.trials.items())
    return (
        f"classes of {counts}: classifiers call most trials the largest class, which hides an effect from "
        "accuracy and balanced accuracy; say decoding.class_weight = 'balanced', decoding.subsample = true, "
        "or decoding.score = 'auc'"
    )


def _enough(count: int, folds: int, inner_folds: int | None) -> bool:
    # A stratified fold takes at most ceil(count / folds) trials of a class.
    left = count - -(-count // folds)
    return count >= folds and (inner_folds is None or left >= inner_folds)


_FIELDS = {
    "channels": "channels",
    "sfreq": "sampling rate (Hz)",
    "tmin": "start of the epochs (s)",
    "samples": "samples per epoch",
    "bins": "number of bins",
    "features": "features per bin",
    "names": "names of features",
}
_SAID = {**_FIELDS, "times": "times of bins"}
SHOWN = 8  # names in a message


def _check_same(summaries: Sequence[RecordingSummary], field: str, refuse: Refuse) -> list[int]:
    """Numbers of those that differ."""
    usual = Counter(getattr(summary, field) for summary in summaries).most_common(1)[0][0]
    model = next(summary for summary in summaries if getattr(summary, field) == usual)
    differ = [number for number, summary in enumerate(summaries) if not _same(summary, model, field)]
    for summary in (summaries[number] for number in differ):
        if _follows_from_the_rate(summary, model, field):
            continue
        found, expected = getattr(summary, field), getattr(model, field)
        hint = "make the recordings alike, or leave the participant out"
        if field == "channels":
            hint = _same_channels(summary, model)
        if field in ("channels", "names"):
            if field == "names" and len(found) != len(expected):  # which is said
                continue
            found, expected = _names_apart(found, expected, "channels" if field == "channels" else "features")
        if field == "times":
            found, expected = (f"{each[0]:g} to {each[-1]:g}" for each in (found, expected))
        refuse(
            InputError(
                f"{_SAID[field]} of the {summary.phase} phase ({summary.kind}) differ from the others",
                participant=summary.participant,
                file=summary.file or None,
                field=field,
                found=found,
                expected=f"{expected}, as in {model.participant}, {model.phase}",
                hint=hint,
            )
        )
    return differ


def _follows_from_the_rate(one: RecordingSummary, other: RecordingSummary, field: str) -> bool:
    """Whether a difference is there only as their rates differ, which is said."""
    if _same(one, other, "sfreq"):
        return False
    near = abs(one.tmin - other.tmin) * min(one.sfreq, other.sfreq) <= 1
    return field == "samples" or (field == "tmin" and near)


def _same(one: RecordingSummary, other: RecordingSummary, field: str) -> bool:
    if field == "sfreq":
        return same_rate(one.sfreq, other.sfreq)
    if field == "tmin":
        return abs(one.tmin - other.tmin) * other.sfreq < 0.5
    if field == "times":
        step = min((b - a for a, b in itertools.pairwise(other.times)), default=1.0)
        pairs = zip(one.times, other.times, strict=False)  # how many there are is compared, too
        return all(abs(a - b) < 0.25 * step for a, b in pairs)
    return bool(getattr(one, field) == getattr(other, field))


def _names_apart(found: Sequence[str], expected: Sequence[str], what: str) -> tuple[str, str]:
    if set(found) == set(expected):
        first = next(number for number, pair in enumerate(zip(found, expected)) if pair[0] != pair[1])
        start = first if first >= SHOWN else 0
        others = [_few(each[start:], "…, " * (start > 0)) for each in (found, expected)]
        return f"another order: {others[0]}", others[1]
    lacking = [name for name in expected if name not in found]
    extra = [name for name in found if name not in expected]
    parts = [f"without {_few(lacking)}"] * bool(lacking) + [f"with {_few(extra)}"] * bool(extra)
    return f"{len(found)} {what}, {' and '.join(parts)}", f"{len(expected)} {what}"


def _same_channels(one: RecordingSummary, other: RecordingSummary) -> str:
    """Say how two recordings come to the same channels; only what MNE reads can be told which to take."""
    in_order = sorted(one.channels) == sorted(other.channels)
    if not any("types" in account for account in one.accounts):
        return f"save {'channels in one order' if in_order else 'the same channels'} in all files"
    if in_order:
        return f"name the channels in the order that all shall have: input.picks = {list(other.channels)}"
    apart = sorted({*one.channels} ^ {*other.channels})
    bads = {name for each in (one, other) for account in each.accounts for name in account.get("bads", ())}
    if bads.issuperset(apart):
        return (
            f"leave out in all what is bad in some (input.drop = {apart}), or interpolate it, which needs "
            "positions (input.preprocessing.interpolate = true)"
        )
    shared = [name for name in other.channels if name in one.channels]
    if not shared:
        return "make the recordings alike, or leave the participant out"
    return f"take the channels that both have (input.picks = {shared}), or leave the participant out"


def _few(names: Sequence[str], before: str = "") -> str:
    return before + ", ".join(names[:SHOWN]) + f" and {len(names) - SHOWN} more" * (len(names) > SHOWN)
