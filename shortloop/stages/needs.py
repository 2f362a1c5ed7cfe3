"""Resources and error handling of a stage: cores, memory, retries, timeout, on_error.

`cores`, `memory`, `retries` and `timeout` are part of no key, so nothing that a stage computes may depend on
them: a class gives them up when it is made, and its code cannot read them.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass
from typing import Any

from shortloop.base.errors import InputError

__all__ = ["KEEP", "NOT_IN_KEY", "STOP", "Hidden", "Needs", "bytes_of", "declared", "needs_of", "seconds_of"]

STOP, KEEP = "stop", "keep"
"""What becomes of a job with a failing unit: it ends, or the unit leaves an error in place of its values."""
NOT_IN_KEY = ("cores", "memory", "retries", "timeout")
AMOUNT = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]+)\s*")
SECONDS = {
    "s": 1,
    "sec": 1,
    "second": 1,
    "min": 60,
    "minute": 60,
    "h": 3600,
    "hour": 3600,
    "d": 86400,
    "day": 86400,
}
BYTES = {
    **{f"{prefix}B": 1000**power for power, prefix in enumerate(("", "k", "M", "G", "T"))},
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate(("K", "M", "G", "T"), 1)},
}


@dataclass(frozen=True)
class Needs:
    """What a stage says of how its jobs are computed; `timeout` in seconds, `memory` in bytes."""

    cores: int = 1
    memory: int = 0
    retries: int = 0
    timeout: float | None = None
    on_error: str = STOP

    @property
    def guards(self) -> bool:
        """True if a unit that fails does not simply end its job."""
        return bool(self.retries or self.timeout is not None or self.on_error == KEEP)

    @property
    def limit(self) -> str:
        """The time limit in words, e.g. ``5 min``."""
        seconds = self.timeout or 0.0
        sizes = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
        size, unit = next(
            ((size, unit) for size, unit in sizes if seconds >= size and not seconds % size), (1, "s")
        )
        return f"{seconds / size:g} {unit}"


class Hidden:
    """In place of what a stage gives up when its class is made: its code cannot read it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, stage: object, kind: type) -> Any:
        raise AttributeError(
            f"{self._name} of {kind.__name__} cannot be read: it is not part of the key, so no result may "
            "depend on it; for a number that results may depend on, add an option of another name"
        )


def declared(kind: type, before: Needs) -> Needs:
    """Take what the class of a stage declares, checked, beside what its base class does; it gives that up."""
    found = {}
    for name in (*NOT_IN_KEY, "on_error"):
        annotation = str(vars(kind).get("__annotations__", {}).get(name, "ClassVar"))
        if not annotation.startswith(("ClassVar", "typing.ClassVar")):
            raise _refused(
                kind,
                name,
                f"an option: {name}: {annotation}",
                f"`{name}` says how the stage is computed, and is no option",
                f"write `{name}: ClassVar[…] = …`, or give the option another name",
            )
        if name in vars(kind):
            found[name] = _checked(kind, name, vars(kind)[name])
            if name in NOT_IN_KEY:
                delattr(kind, name)
    return Needs(**{**vars(before), **found}) if found else before


def needs_of(stage: type) -> Needs:
    """What a class of a stage declares."""
    found: Needs = stage._needs  # type: ignore[attr-defined]  # noqa: SLF001  set in stage.py
    return found


def seconds_of(text: str) -> float | None:
    """Seconds of a duration such as ``"5 min"``; None if it is none."""
    found = AMOUNT.fullmatch(text)
    size = found and (SECONDS.get(found[2]) or SECONDS.get(found[2].removesuffix("s")))
    return float(found[1]) * size if found and size else None


def bytes_of(text: str) -> int | None:
    """Bytes of a size such as ``"30 GB"``; None if it is none."""
    found = AMOUNT.fullmatch(text)
    size = found and BYTES.get(found[2])
    return round(float(found[1]) * size) if found and size else None


def _checked(kind: type, name: str, value: Any) -> Any:
    if name == "on_error":
        if value in (STOP, KEEP):
            return value
        raise _refused(kind, name, repr(value), '"stop" or "keep"')
    if name in ("cores", "retries"):
        least = 1 if name == "cores" else 0
        if type(value) is int and value >= least:
            return value
        raise _refused(kind, name, repr(value), f"a whole number, {least} at least")
    if name == "memory":
        size: Any = bytes_of(value) if isinstance(value, str) else value
        if type(size) in (int, float) and 0 <= size < math.inf and size == int(size):
            return int(size)
        raise _refused(kind, name, repr(value), 'a number of bytes, or e.g. "30 GB"')
    seconds: Any = seconds_of(value) if isinstance(value, str) else value
    if value is None or (type(seconds) in (int, float) and 0 < seconds < math.inf):
        return None if value is None else float(seconds)
    expected = 'seconds, more than 0, or e.g. "90 s", "5 min", "2 h"; None for no limit'
    raise _refused(kind, name, repr(value), expected)


def _refused(kind: type, name: str, found: str, expected: str, hint: str | None = None) -> InputError:
    return InputError(
        f"{name} of a stage cannot be this",
        file=getattr(sys.modules.get(kind.__module__), "__file__", None),
        stage=kind.__name__,
        field=name,
        found=found,
        expected=expected,
        hint=hint,
    )
