"""Resources and error handling of a stage: cores, memory, gpus, retries, timeout, on_error.

`cores`, `memory`, `gpus`, `retries` and `timeout` are part of no key, so nothing that a stage computes may
depend on them: a class gives them up when it is made, and its code cannot read them.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass
from typing import Any

from shortloop.base.errors import InputError

STOP, KEEP = "stop", "keep"  # at a failing unit a job ends, or keeps an error in place of its values
NOT_IN_KEY = ("cores", "memory", "gpus", "retries", "timeout")
AMOUNT = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]+)\s*")
DURATIONS = ((86400, "d day"), (3600, "h hour"), (60, "min minute"), (1, "s sec second"))
SECONDS = {name + s: seconds for seconds, names in DURATIONS for name in names.split() for s in ("", "s")}
BYTES = {
    **{f"{prefix}B": 1000**power for power, prefix in enumerate(("", "k", "M", "G", "T"))},
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate(("K", "M", "G", "T"), 1)},
}
UNITS = {"memory": BYTES, "timeout": SECONDS}


@dataclass(frozen=True)
class Needs:
    """Declared resources and error handling of a stage; `timeout` in seconds, `memory` in bytes."""

    cores: int = 1
    memory: int = 0
    gpus: int = 0
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
        sizes = (each for each in DURATIONS if seconds >= each[0] and not seconds % each[0])
        size, names = next(sizes, DURATIONS[-1])
        return f"{seconds / size:g} {names.split()[0]}"


class Hidden:
    """Placeholder for a declaration that is in no key: code of the stage cannot read it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, stage: object, kind: type) -> Any:
        raise AttributeError(
            f"{self._name} of {kind.__name__} cannot be read: it is not part of the key, so no result may "
            "depend on it; for a number that results may depend on, add an option of another name"
        )


def declared(kind: type, before: Needs) -> Needs:
    """Check and remove the declarations of a stage's class; combine them with those of its base class."""
    found = {}
    for name in (*NOT_IN_KEY, "on_error"):
        annotation = str(vars(kind).get("__annotations__", {}).get(name, "ClassVar"))
        if not annotation.startswith(("ClassVar", "typing.ClassVar")):
            expected = f"`{name}` says how the stage is computed, and is no option"
            hint = f"write `{name}: ClassVar[…] = …`, or give the option another name"
            raise _refused(kind, name, found=f"an option: {name}: {annotation}", expected=expected, hint=hint)
        if name in vars(kind):
            found[name] = _checked(kind, name, vars(kind)[name])
            if name in NOT_IN_KEY:
                delattr(kind, name)
    return Needs(**{**vars(before), **found}) if found else before


def needs_of(stage: type) -> Needs:
    """The declarations of a stage's class."""
    found: Needs = stage._needs  # type: ignore[attr-defined]  # noqa: SLF001  set in stage.py
    return found


def amount_of(name: str, text: str) -> float | None:
    """Bytes of a memory such as ``"30 GB"``, or seconds of a timeout such as ``"5 min"``; None if none."""
    found = AMOUNT.fullmatch(text)
    size = found and UNITS[name].get(found[2])
    return float(found[1]) * size if found and size else None


def _checked(kind: type, name: str, value: Any) -> Any:
    size: Any = value
    is_text = isinstance(value, str) and name in UNITS
    if is_text:
        size = amount_of(name, value)
    is_finite = type(size) in (int, float) and 0 <= size < math.inf
    is_count = is_finite and type(size) is int
    fits, expected = {
        "cores": (is_count and size >= 1, "a whole number, 1 at least"),
        **dict.fromkeys(("gpus", "retries"), (is_count, "a whole number, 0 at least")),
        "memory": (is_finite and (is_text or size == int(size)), 'a number of bytes, or e.g. "30 GB"'),
        "timeout": (
            value is None or (is_finite and size > 0),
            'seconds, more than 0, or e.g. "90 s", "5 min", "2 h"; None for no limit',
        ),
        "on_error": (value in (STOP, KEEP), '"stop" or "keep"'),
    }[name]
    if not fits:
        raise _refused(kind, name, found=repr(value), expected=expected)
    if name == "memory":
        return round(size)
    return float(size) if name == "timeout" and size is not None else size


def _refused(kind: type, name: str, **facts: str) -> InputError:
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    problem = f"{name} of a stage cannot be this"
    return InputError(problem, file=file, stage=kind.__name__, field=name, **facts)
