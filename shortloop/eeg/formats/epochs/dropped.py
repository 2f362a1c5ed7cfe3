"""Trials that are left out (beyond the recording, across a gap, by annotations or amplitude), and classes
that lose all of their trials."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from shortloop.base.errors import InputError

AMPLITUDE, FLAT = "amplitude", "flat"
BEYOND, GAP = "beyond the recording", "across a gap in the recording"
REASONS = {
    "TOO_SHORT": BEYOND,
    "NO_DATA": BEYOND,
    "USER": "left out before it was saved",
    "BAD boundary": GAP,
}
NAMED = 5  # channels in a message
Log = Sequence[Sequence[str]]


def dropped_trials(
    epochs: Any, log: Log, of: list[int], thresholds: Mapping[str, Mapping[str, float]]
) -> tuple[Counter[tuple[int, str]], Counter[str]]:
    """Reject trials by amplitude; count dropped trials by class and reason, and rejections by channel."""
    by_index = {
        index: ", ".join(dict.fromkeys(REASONS.get(each, f"annotated as {each}") for each in reasons))
        for index, reasons in enumerate(log)
        if reasons
    }
    there = [index for index in range(len(log)) if index not in by_index]
    channels: Counter[str] = Counter()
    for field, reason in (("reject", AMPLITUDE), ("flat", FLAT)):
        if thresholds[field] and len(epochs):
            before = epochs.selection.tolist()
            epochs.drop_bad(**{"reject": None, "flat": None, field: thresholds[field]})
            kept = set(epochs.selection.tolist())
            for index, number in zip(there, before, strict=True):
                if number not in kept:
                    by_index[index] = reason
                    channels.update(epochs.drop_log[number])
            there = [index for index, number in zip(there, before, strict=True) if number in kept]
    return Counter((of[index], reason) for index, reason in by_index.items()), channels


def warn_of_dropped(dropped: Counter[tuple[int, str]], of: list[int], ends: float | None = None) -> None:
    if dropped:
        reasons: Counter[str] = Counter()
        for (_, reason), count in dropped.items():
            reasons[reason] += count
        why = _counted(reasons) + (f"; {_ends_earlier(ends)}" if ends is not None else "")
        warnings.warn(f"{dropped.total()} of {len(of)} trials were left out ({why})", stacklevel=2)


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
    why_of = {name: why for name, why in of.items() if why}
    if not why_of:
        return None
    said = "; ".join(
        f"{why.total()} of {why.total()} {name} ({_counted(why)})" for name, why in why_of.items()
    )
    if channels:
        said += f"; by channel: {', '.join(f'{name} {count}' for name, count in channels.most_common(NAMED))}"
    reasons = sum(why_of.values(), Counter[str]())
    ends = min((each["fits_until"] for each in accounts if each.get("fits_until") is not None), default=None)
    odd = [name for name, count in channels.most_common() if 2 * count >= max(channels.values())]
    odd = odd if len(odd) < max(len(each.get("types", ())) for each in accounts) else []
    field, hint = _remedy(reasons.most_common(1)[0][0], odd, ends)
    return InputError(
        f"all trials of {', '.join(why_of)} in the {phase} phase were left out",
        field=field,
        found=said,
        expected=expected,
        hint=hint,
    )


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
