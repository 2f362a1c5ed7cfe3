"""Why a job is built: what in its key differs from the job that was in its place before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shortloop.jobs.keys import Parts

__all__ = ["Difference", "differences", "one_line"]


@dataclass(frozen=True)
class Difference:
    """One thing that differs between two keys.

    Parameters
    ----------
    kind : str
        ``"code"``, ``"version"``, ``"option"`` or ``"input"``.
    name : str
        Module, library, option with dots for what is inside, or name of the input.
    old, new : object
        What it was and is; None where it was or is not there.
    """

    kind: str
    name: str
    old: Any
    new: Any

    def __str__(self) -> str:
        if self.kind == "code":
            return f"code of {self.name}"
        if self.kind == "input":
            return f"{self.name} came out different"
        old, new = (("none" if each is None else str(each)) for each in (self.old, self.new))
        return f"{self.kind} {self.name}: {old} → {new}"


def differences(old: Parts, new: Parts) -> list[Difference]:
    """What differs between what two keys were made of.

    Parameters
    ----------
    old, new : Parts
        Of the job before, and of the job.

    Returns
    -------
    list of Difference
        Options first, then code, versions and inputs.
    """
    return [
        *_compare("option", dict(_flat(old.options)), dict(_flat(new.options))),
        *_compare("code", old.code, new.code),
        *_compare("version", old.versions, new.versions),
        *_compare("input", old.inputs, new.inputs),
    ]


def one_line(old: Parts | None, new: Parts) -> str:
    """The reason to build a job, in a line.

    Parameters
    ----------
    old : Parts or None
        Of the job in its place before; None if there was none.
    new : Parts
        Of the job.

    Returns
    -------
    str
    """
    if old is None:
        return "new"
    found = [str(each) for each in differences(old, new)]
    if not found:
        return "its result is gone"
    return "; ".join(found[:2]) + (f" and {len(found) - 2} more" if len(found) > 2 else "")


def _compare(kind: str, old: dict[str, Any], new: dict[str, Any]) -> Iterator[Difference]:
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            yield Difference(kind, name, old.get(name), new.get(name))


def _flat(options: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in options.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
