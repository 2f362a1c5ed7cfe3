"""Handle failing units: retries, time limits and kept errors."""

from __future__ import annotations

import contextlib
import re
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shortloop.base.errors import InputError
from shortloop.stages.needs import KEEP, Needs, needs_of

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "FAILED_UNITS",
    "HAVE_MISSING",
    "STUCK",
    "Tried",
    "check_missing",
    "check_without_units",
    "lost_text",
    "message_of",
    "missing",
    "text_of",
    "tried",
]

FAILED_UNITS = "failed_units.json"
"""File of a job that has failed units: which, and their tracebacks."""
HAVE_MISSING = "fcmMU"
"""Kinds of arrays that have a missing value: nan, NaT, an empty text."""
STUCK = signal.SIGXCPU
"""Ends a process whose unit does not end when it is told to."""
GRACE = 5.0  # s that a unit may take to end
LONGEST, MOST_TRACEBACK = 300, 20_000  # characters
ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")  # another one in each process
OURS = str(Path(__file__).parent), str(contextlib.__file__)


class Tried(NamedTuple):
    """What came of a unit that has failed at least once; values are None if it failed each time."""

    values: Any
    errors: list[str]
    traceback: str = ""


class _TimeIsUp(BaseException):
    """Raised in a unit that takes too long; no `except Exception` of its own takes it for another error."""


def tried(needs: Needs, compute: Callable[[], Any]) -> Any:
    """Compute a unit as often as its stage says; what it gave, as `Tried` if it failed at least once."""
    errors: list[str] = []
    while True:
        try:
            with _limited(needs):
                values = compute()
        except Exception as error:
            errors.append(text_of(error))
            if len(errors) <= needs.retries:
                continue
            if needs.on_error != KEEP:
                if errors[1:]:
                    error.add_note(f"computed {len(errors)} times: {'; '.join(errors)}")
                raise
            return Tried(None, errors, _traceback_of(error))
        return Tried(values, errors) if errors else values


def text_of(error: BaseException) -> str:
    """Type and message of an exception in one line, the same in each process."""
    said = message_of(error)
    return _cut(f"{type(error).__name__}: {said}" if said else type(error).__name__)


def message_of(error: BaseException) -> str:
    """What an exception says, which may be of somebody's own making and raise."""
    try:
        return str(error)
    except Exception:
        return "its message cannot be read"


def lost_text(how: str, needs: Needs) -> str:
    """The error of a unit whose process ended."""
    if needs.timeout is not None and STUCK.name in how:
        return f"TimeoutError: took over {needs.limit}, and did not end when it was told to"
    return f"the process that computed it ended: {how}"


def missing(array: np.ndarray) -> Any:
    """The missing value of an array's type, of `HAVE_MISSING`."""
    import numpy as np

    kind = array.dtype.kind
    return "" if kind == "U" else np.array("NaT", array.dtype) if kind in "mM" else np.nan


def check_missing(stage: str, outputs: Mapping[str, np.ndarray]) -> None:
    """Refuse outputs that have no value for a unit which failed."""
    for name, array in outputs.items():
        if array.dtype.kind not in HAVE_MISSING:
            raise InputError(
                "an output has no missing value, which units that fail would leave in it",
                stage=stage,
                field=f"output {name}",
                found=f'{array.dtype}, with on_error = "keep"',
                expected="floats, times or texts",
                hint=f'make {name} an output of "f8", or leave out on_error',
            )


def check_without_units(stage: type, file: str) -> None:
    """Refuse to keep errors of units for a stage that has none."""
    if needs_of(stage).on_error == KEEP:
        raise InputError(
            'on_error = "keep" is for stages of units: those that do not fail are kept',
            file=file,
            stage=stage.__name__,
            field="on_error",
            hint="leave it out, or make units of the work: `@stage(units=…)`",
        )


@contextlib.contextmanager
def _limited(needs: Needs) -> Iterator[None]:
    """Raise TimeoutError in a block that takes longer than a stage says; end this process if it goes on."""
    if needs.timeout is None:
        yield
        return
    before = signal.signal(signal.SIGALRM, _raise)
    end = _Timer()
    try:
        try:
            end.set(needs.timeout + GRACE)
            signal.setitimer(signal.ITIMER_REAL, needs.timeout)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            end.close()
            signal.signal(signal.SIGALRM, before)
    except _TimeIsUp as up:  # with the traceback to where it was
        raise TimeoutError(f"took over {needs.limit}").with_traceback(up.__traceback__) from None


def _raise(*_: object) -> None:
    raise _TimeIsUp


class _Timer:
    """A timer of the system that ends this process, whatever it does: compiled code sees no exception."""

    def __init__(self) -> None:
        import ctypes

        self._libc = ctypes.CDLL(None)
        event = (ctypes.c_int * 16)(0, 0, STUCK)  # struct sigevent: value, signal, notify by a signal
        self._timer = ctypes.c_void_p()
        self._check(self._libc.timer_create(1, event, ctypes.byref(self._timer)))  # CLOCK_MONOTONIC

    def set(self, seconds: float) -> None:
        """End this process in some time."""
        import ctypes

        whole = int(seconds)
        when = (ctypes.c_long * 4)(0, 0, whole, int(1e9 * (seconds - whole)))  # struct itimerspec
        self._check(self._libc.timer_settime(self._timer, 0, when, None))

    def close(self) -> None:
        """Do not end it."""
        self._libc.timer_delete(self._timer)

    def _check(self, status: int) -> None:
        if status:
            raise OSError("the system gives no timer for a unit with a time limit")


def _traceback_of(error: BaseException) -> str:
    """The traceback from the stage's own code on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next and trace.tb_frame.f_code.co_filename.startswith(OURS):
        trace = trace.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, trace))
    except Exception:
        text = text_of(error)
    text = text.encode("utf-8", "backslashreplace").decode()
    half = MOST_TRACEBACK // 2
    return text if len(text) <= MOST_TRACEBACK else f"{text[:half]}\n…\n{text[-half:]}"


def _cut(text: str) -> str:
    line = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    line = ADDRESS.sub("0x…", line)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
