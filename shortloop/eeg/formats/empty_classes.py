"""Classes all of whose trials were left out: why, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["AMPLITUDE", "BEYOND", "FLAT", "GAP", "LeftOut", "counted", "ends_earlier", "left_out"]

AMPLITUDE, FLAT = "amplitude", "flat"
BEYOND, GAP = "beyond the recording", "across a gap in the recording"
NAMED = 5  # channels


@dataclass(frozen=True)
class LeftOut:
    """Classes all of whose trials were left out, and why."""

    classes: tuple[str, ...]
    field: str
    found: str
    hint: str


def left_out(accounts: Sequence[Mapping[str, Any]], missing: Sequence[str]) -> LeftOut | None:
    """Say why trials of classes were left out; None if one of them has no events either."""
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
        f"{why.total()} of {why.total()} {name} ({counted(why)})" for name, why in why_of.items()
    )
    if channels:
        said += f"; by channel: {', '.join(f'{name} {count}' for name, count in channels.most_common(NAMED))}"
    reasons = sum(why_of.values(), Counter[str]())
    ends = min((each["fits_until"] for each in accounts if each.get("fits_until") is not None), default=None)
    odd = [name for name, count in channels.most_common() if 2 * count >= max(channels.values())]
    odd = odd if len(odd) < max(len(each.get("types", ())) for each in accounts) else []
    field, hint = _remedy(reasons.most_common(1)[0][0], odd, ends)
    return LeftOut(tuple(why_of), field, said, hint)


def _remedy(reason: str, channels: Sequence[str], ends: float | None) -> tuple[str, str]:
    """Field of the study file and what to do about it."""
    if reason in (AMPLITUDE, FLAT):
        field = f"input.preprocessing.{'reject' if reason == AMPLITUDE else 'flat'}"
        limit = "raise" if reason == AMPLITUDE else "lower"
        drop = f", or leave channels out (input.drop = {list(channels)})" if channels else ""
        return field, f"{limit} {field}{drop}"
    if reason in (BEYOND, GAP):
        return "input.tmax", ends_earlier(ends) or "make the epochs shorter: input.tmin, input.tmax"
    return "input.files", "take away the annotations of trials that are good, or the copies of trials"


def ends_earlier(ends: float | None) -> str:
    """Say where epochs would have to end for trials to be whole; empty if that is not it."""
    return "" if ends is None else f"epochs that end earlier are whole: input.tmax = {ends:.7g}"


def counted(reasons: Counter[str]) -> str:
    """Say how often each reason was one."""
    return "; ".join(f"{count} × {reason}" for reason, count in reasons.most_common())
