"""The epochs of one file, trials that are left out, and how several files are joined to one recording."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shortloop.base.errors import InputError, warn
from shortloop.eeg.checks.duplicate_trials import copies_of, trial_digests
from shortloop.eeg.checks.participants import key_of
from shortloop.eeg.checks.plausible import same_rate
from shortloop.eeg.data import Epochs, mean_positions
from shortloop.eeg.formats.recording_format import Part

PARALLEL = 10  # trials; two files that share so many onsets do not by chance
SHARED = 0.9  # of the trials: a few may be left out of one file
AMPLITUDE, FLAT = "amplitude", "flat"
BEYOND, GAP = "beyond the recording", "across a gap in the recording"
CAUSES = {"TOO_SHORT": BEYOND, "NO_DATA": BEYOND, "USER": "left out before it was saved", "BAD boundary": GAP}
NAMED = 5  # channels in a message
Log = Sequence[Sequence[str]]


def join(parts: Sequence[Part], *, participant: str, phase: str, classes: Sequence[str]) -> Epochs:
    """Join the epochs of all files, in the order of the files."""
    first = parts[0]
    parts = [first, *(_in_order(part, first.channels) for part in parts[1:])]
    for part in parts[1:]:
        _check_agree(first, part, participant)
    parts = _without_copies(parts, classes, participant)
    _warn_of_parallel(parts, participant)
    first = parts[0]
    labels = np.concatenate([part.labels for part in parts]).astype(np.int64)
    if missing := [name for index, name in enumerate(classes) if not (labels == index).any()]:
        expected = f"trials of {', '.join(classes)}"
        seen = sum((Counter(part.seen) for part in parts), Counter[str]())
        raise all_left_out([part.account for part in parts], missing, phase, expected) or InputError(
            f"the {phase} phase has no trials of {', '.join(missing)}",
            field="input.events",
            found=", ".join(f"{count} × {name}" for name, count in seen.most_common(20)) or "no events",
            expected=expected,
            hint="name the events of each class under [input.events] in the study file",
        )
    shared = [key for key in first.info if all(key in part.info for part in parts)]
    info = {key: np.concatenate([part.info[key] for part in parts]) for key in shared}
    info["file"] = np.repeat(np.arange(len(parts)), [len(part.labels) for part in parts])
    data = np.concatenate([part.data for part in parts]) if len(parts) > 1 else first.data
    return Epochs(
        data=data.astype(np.float64, copy=False),
        labels=labels,
        classes=tuple(classes),
        times=first.times,
        sfreq=first.sfreq,
        channels=first.channels,
        unit=first.unit,
        trial_info=info,
        accounts=tuple({"file": part.file.name, **part.account} for part in parts if part.account),
        positions=mean_positions([part.positions for part in parts]),
    )


def _in_order(part: Part, channels: tuple[str, ...]) -> Part:
    """Sort the channels of a part like those of another, if both have the same."""
    if part.channels == channels or sorted(part.channels) != sorted({*channels}):
        return part
    order = [part.channels.index(name) for name in channels]
    types = part.account.get("types")
    positions = None if part.positions is None else part.positions[order]
    account = part.account if types is None else {**part.account, "types": [types[at] for at in order]}
    return replace(part, channels=channels, data=part.data[:, order], positions=positions, account=account)


def _check_agree(first: Part, part: Part, participant: str) -> None:
    apart: tuple[str, object, object] | None = None
    if part.channels != first.channels:
        apart = "channels", ", ".join(part.channels), ", ".join(first.channels)
    elif not same_rate(part.sfreq, first.sfreq):
        apart = "sampling rate", f"{part.sfreq:g} Hz", f"{first.sfreq:g} Hz"
    elif len(part.times) != len(first.times) or not any(
        np.allclose(part.times * scale, first.times, rtol=0, atol=0.25 / first.sfreq)
        for scale in (1.0, part.sfreq / first.sfreq)  # as they are, or at one rate
    ):
        spans = [f"{len(t)} samples, {t[0]:g} to {t[-1]:g} s" for t in (part.times, first.times)]
        apart = "times", spans[0], spans[1]
    if apart:
        differ, hint = {*part.channels} ^ {*first.channels}, "make the files alike, or leave one out"
        bads = sorted({*part.account.get("bads", ()), *first.account.get("bads", ())})
        if differ and differ <= {*bads}:
            hint = (
                f"leave out in all what is bad in one (input.preprocessing.bads.{key_of(participant)} = "
                f"{bads}), or interpolate it, which needs positions (input.preprocessing.interpolate = true)"
            )
        problem, expected = f"files of one phase differ in {apart[0]}", f"{apart[2]}, as in {first.file.name}"
        raise InputError(problem, file=part.file, found=apart[1], expected=expected, hint=hint)


def _warn_of_parallel(parts: Sequence[Part], participant: str) -> None:
    """Warn of files whose trials begin together: two recordings of the same moments, or a filtered copy."""
    for one, other in itertools.combinations(parts, 2):
        a, b = _moments(one), _moments(other)
        if (fewer := min(len(a), len(b))) < PARALLEL:
            continue
        same = (np.abs(np.subtract.outer(a, b)) < 1) & np.equal.outer(one.labels, other.labels)
        if (shared := int(same.any(axis=1).sum())) >= SHARED * fewer:
            warn(
                f"{participant}, {other.file.name}: {shared} of {fewer} trials begin when trials of the same "
                f"class begin in {one.file.name}: unless trials have fixed times, both files are of the same "
                "moments (two amplifiers, or one filtered), and a trial is in training and held-out trials "
                "alike; name one of the files"
            )
            return


def _moments(part: Part) -> np.ndarray:
    """Return when trials begin, in samples; none if unknown, as for epochs that are only counted."""
    if "onset" in part.info:
        return part.info["onset"] * part.sfreq
    moments = np.empty(0) if part.moments is None else part.moments
    return moments if len({*np.diff(moments)}) > 1 else np.empty(0)


def _without_copies(parts: Sequence[Part], classes: Sequence[str], participant: str) -> list[Part]:
    # Copies of a trial would be among training and held-out trials.
    places = [(number, index) for number, part in enumerate(parts) for index in range(len(part.labels))]
    copies: dict[int, dict[int, tuple[Part, int]]] = defaultdict(dict)
    for at, original in copies_of(itertools.chain(*trial_digests(*(part.data for part in parts)))).items():
        (number, index), (first, same) = places[at], places[original]
        copies[number][index] = parts[first], same
    return [
        _drop_copies(part, copies[number], classes, participant) if number in copies else part
        for number, part in enumerate(parts)
    ]


def _drop_copies(
    part: Part, copies: Mapping[int, tuple[Part, int]], classes: Sequence[str], participant: str
) -> Part:
    """Leave out trials that are copies; `copies` maps each to the place of the original."""
    number, (other, same) = next(iter(copies.items()))
    where = f"the first is trial {number + 1}, as trial {same + 1} of {other.file.name}"
    if any(first.labels[at] != part.labels[index] for index, (first, at) in copies.items()):
        problem = "a trial is there twice under different classes"
        found = f"{len(copies)} trials that are there twice, {where}"
        hint = "save each trial once, with the class that it has, or leave one of several files out"
        raise InputError(problem, file=part.file, found=found, hint=hint)
    warn(
        f"{participant}, {part.file.name}: {len(copies)} of {len(part.labels)} trials are there twice, "
        f"{where}: left out; they were joined twice, or drawn with replacement to balance the classes"
    )
    fresh = np.setdiff1d(np.arange(len(part.labels)), list(copies))
    of = Counter(classes[part.labels[index]] for index in copies)
    left = [{"class": name, "reason": "there twice", "trials": count} for name, count in of.items()]
    data = part.data[fresh]
    info = {key: values[fresh] for key, values in part.info.items()}
    moments = None if part.moments is None else part.moments[fresh]
    account = {**part.account, "dropped": [*part.account.get("dropped", ()), *left]}
    return replace(part, data=data, labels=part.labels[fresh], info=info, moments=moments, account=account)


def dropped_trials(
    epochs: Any, log: Log, of: list[int], thresholds: Mapping[str, Mapping[str, float]]
) -> tuple[Counter[tuple[int, str]], Counter[str]]:
    """Reject trials by amplitude; count dropped trials by class and reason, and rejections by channel."""
    by_index = {
        index: ", ".join(dict.fromkeys(CAUSES.get(each, f"annotated as {each}") for each in reasons))
        for index, reasons in enumerate(log)
        if reasons
    }
    left = [index for index in range(len(log)) if index not in by_index]
    place = dict(zip(epochs.selection.tolist(), left, strict=True))
    channels: Counter[str] = Counter()
    for step, reason in (("reject", AMPLITUDE), ("flat", FLAT)):
        if thresholds[step] and len(epochs):
            before = epochs.selection
            epochs.drop_bad(**{"reject": None, "flat": None, step: thresholds[step]})
            for number in np.setdiff1d(before, epochs.selection).tolist():
                by_index[place[number]] = reason
                channels.update(epochs.drop_log[number])
    return Counter((of[index], reason) for index, reason in by_index.items()), channels


def warn_of_dropped(dropped: Counter[tuple[int, str]], of: list[int], ends: float | None = None) -> None:
    if dropped:
        reasons: Counter[str] = Counter()
        for (_, reason), count in dropped.items():
            reasons[reason] += count
        why = _counted(reasons) + (f"; {_ends_earlier(ends)}" if ends is not None else "")
        warn(f"{dropped.total()} of {len(of)} trials were left out ({why})")


def all_left_out(
    accounts: Sequence[Mapping[str, Any]], missing: Sequence[str], phase: str, expected: str
) -> InputError | None:
    """Explain why all trials of the missing classes were left out; None if these classes have no events."""
    of: dict[str, Counter[str]] = {name: Counter() for name in missing}
    channels: Counter[str] = Counter()
    for account in accounts:
        channels.update(account.get("rejected_by", {}))
        for each in account.get("dropped", ()):
            if each["class"] in of:
                of[each["class"]][each["reason"]] += each["trials"]
    if not (why_of := {name: why for name, why in of.items() if why}):
        return None
    said = "; ".join(f"{of.total()} of {of.total()} {name} ({_counted(of)})" for name, of in why_of.items())
    if channels:
        said += f"; by channel: {', '.join(f'{name} {count}' for name, count in channels.most_common(NAMED))}"
    reasons = sum(why_of.values(), Counter[str]())
    ends = min((each["fits_until"] for each in accounts if each.get("fits_until") is not None), default=None)
    odd = [name for name, count in channels.most_common() if 2 * count >= max(channels.values())]
    odd = odd if len(odd) < max(len(each.get("types", ())) for each in accounts) else []
    field, hint = _remedy(reasons.most_common(1)[0][0], odd, ends)
    problem = f"all trials of {', '.join(why_of)} in the {phase} phase were left out"
    return InputError(problem, field=field, found=said, expected=expected, hint=hint)


def _remedy(reason: str, channels: Sequence[str], ends: float | None) -> tuple[str, str]:
    """Return the field of the study file, and what to do about it."""
    if reason in (AMPLITUDE, FLAT):
        field = f"input.preprocessing.{'reject' if reason == AMPLITUDE else 'flat'}"
        limit = "raise" if reason == AMPLITUDE else "lower"
        drop = f", or leave channels out (input.drop = {list(channels)})" if channels else ""
        return field, f"{limit} {field}{drop}"
    if reason in (BEYOND, GAP):
        return "input.tmax", _ends_earlier(ends) or "make the epochs shorter: input.tmin, input.tmax"
    return "input.files", "take away the annotations of trials that are good, or the copies of trials"


def _ends_earlier(ends: float | None) -> str:
    """Suggest an end of epochs with which trials are whole; empty if there is none."""
    return "" if ends is None else f"epochs that end earlier are whole: input.tmax = {ends:.7g}"


def _counted(reasons: Counter[str]) -> str:
    return "; ".join(f"{count} × {reason}" for reason, count in reasons.most_common())
