"""A harmless change declared for a job, stored in its manifest."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from shortloop.keys.key import Parts

__all__ = ["Change", "Harmless"]

Change = dict[str, list[str | None]]
"""By name what it was and what it is; None where it was or is not there."""


@dataclass(frozen=True)
class Harmless:
    """What changed since a job was made, and does not change its result, as somebody says.

    why: the reason, as it was given.
    when: seconds since 1970.
    what: what changed, in a line.
    code: hashes of modules.
    versions: versions of Python and of libraries.
    """

    why: str
    when: float
    what: str
    code: Change
    versions: Change

    @classmethod
    def between(cls, made_of: Parts, now: Parts, why: str, what: str) -> Harmless:
        """What changed between what a job was made of and what it would be made of now."""
        code, versions = _change(made_of.code, now.code), _change(made_of.versions, now.versions)
        return cls(why, round(time.time(), 3), what, code, versions)

    @property
    def line(self) -> str:
        """All of it but hashes and versions, in a line."""
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.when))
        return f"declared harmless on {day}: {self.why} ({self.what})"

    def applied(self, made_of: Parts) -> Parts:
        """What a job counts as made of, from then on."""
        code, versions = _applied(made_of.code, self.code), _applied(made_of.versions, self.versions)
        return replace(made_of, code=code, versions=versions)


def _change(old: Mapping[str, str], new: Mapping[str, str]) -> Change:
    names = sorted({*old, *new})
    return {name: [old.get(name), new.get(name)] for name in names if old.get(name) != new.get(name)}


def _applied(old: Mapping[str, str], change: Change) -> dict[str, str]:
    found = dict(old)
    for name, (before, after) in change.items():
        if found.pop(name, None) != before:
            raise ValueError(f"{name} was not {before}")
        if after is not None:
            found[name] = after
    return found
