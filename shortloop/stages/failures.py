"""Failing units: retries, time limits, and errors that are kept in place of values."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from shortloop.base.errors import InputError
from shortloop.base.plain import Plain
from shortloop.stages.needs import KEEP, Needs, needs_of
from shortloop.stages.records import FAILED_UNITS, OptionalEntries, Pickled
from shortloop.stages.stage import Stage, Values
from shortloop.stages.tables import PANDAS, POLARS, UNIT, Table, library_of, load, unit_text

if TYPE_CHECKING:
    import numpy as np

HAVE_MISSING = "fcmMU"  # kinds of arrays that have a missing value: nan, NaT, an empty text
STUCK = signal.SIGXCPU  # ends a process whose unit ignores its time limit
GRACE = 5.0  # s that such a unit may go on
LONGEST, MOST_TRACEBACK = 300, 20_000  # characters
ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")  # differs between processes
OURS = str(Path(__file__).parent), str(contextlib.__file__)
ERROR = "unit_error"  # column of tables with the error of a unit
NULLABLE = {"b": "boolean", "i": "Int", "u": "UInt"}


class Tried(NamedTuple):
    """Outcome of a unit that has failed at least once; values are None if it failed each time."""

    values: Any
    errors: list[str]
    traceback: str = ""


class _TimeIsUp(BaseException):
    """Raised in a unit that takes too long; no `except Exception` of its own catches it."""


def tried(needs: Needs, compute: Callable[[], Any]) -> Any:
    """Compute a unit as often as its stage allows; return its values, as `Tried` if it ever failed."""
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
    message = message_of(error)
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    line = ADDRESS.sub("0x…", " ".join(text.encode("utf-8", "backslashreplace").decode().split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def message_of(error: BaseException) -> str:
    """Message of an exception, whose type may be the user's own and fail to give one."""
    try:
        return str(error)
    except Exception:
        return "its message cannot be read"


def _traceback_of(error: BaseException) -> str:
    """The traceback from the stage's own code on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next and trace.tb_frame.f_code.co_filename.startswith(OURS):
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace))
    text = text.encode("utf-8", "backslashreplace").decode()
    half = MOST_TRACEBACK // 2
    return text if len(text) <= MOST_TRACEBACK else f"{text[:half]}\n…\n{text[-half:]}"


@contextlib.contextmanager
def _limited(needs: Needs) -> Iterator[None]:
    """Raise TimeoutError in a block that exceeds a stage's time limit; end this process if it goes on."""
    if needs.timeout is None:
        yield
        return

    def stop(*_: object) -> None:
        raise _TimeIsUp

    before = signal.signal(signal.SIGALRM, stop)
    try:
        with _ended_after(needs.timeout + GRACE):
            signal.setitimer(signal.ITIMER_REAL, needs.timeout)
            try:
                yield
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    except _TimeIsUp as up:  # with the traceback to where it was
        raise TimeoutError(f"took over {needs.limit}").with_traceback(up.__traceback__) from None
    finally:
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    """Have the system end this process unless the block ends in time: compiled code sees no exception."""
    import ctypes

    libc, timer = ctypes.CDLL(None), ctypes.c_void_p()
    event = (ctypes.c_int * 16)(0, 0, STUCK)  # struct sigevent: value, signal, notify by a signal
    whole = int(seconds)
    when = (ctypes.c_long * 4)(0, 0, whole, int(1e9 * (seconds - whole)))  # struct itimerspec
    monotonic = 1
    if libc.timer_create(monotonic, event, ctypes.byref(timer)) or libc.timer_settime(timer, 0, when, None):
        raise OSError("the system gives no timer for a unit with a time limit")
    try:
        yield
    finally:
        libc.timer_delete(timer)


def missing(array: np.ndarray) -> Any:
    """The missing value of an array's type, of `HAVE_MISSING`."""
    import numpy as np

    kind = array.dtype.kind
    return "" if kind == "U" else np.array("NaT", array.dtype) if kind in "mM" else np.nan


def check_missing(stage: str, outputs: Mapping[str, np.ndarray]) -> None:
    """Refuse outputs that have no missing value for a unit that fails."""
    for name, array in outputs.items():
        if array.dtype.kind not in HAVE_MISSING:
            problem = "an output has no missing value, which units that fail would leave in it"
            found = f'{array.dtype}, with on_error = "keep"'
            hint = "make it an output of floats, times or texts, or leave out on_error"
            raise InputError(problem, stage=stage, field=f"output {name}", found=found, hint=hint)


def check_without_units(stage: type, file: str) -> None:
    """Refuse ``on_error = "keep"`` of a stage without units."""
    if needs_of(stage).on_error == KEEP:
        problem = 'on_error = "keep" is for stages of units: those that do not fail are kept'
        hint = "leave it out, or make units of the work: `@stage(units=…)`"
        raise InputError(problem, file=file, stage=stage.__name__, field="on_error", hint=hint)


class Failures:
    """Units of a job that failed at least once, by their number."""

    def __init__(self, stage: Stage, units: int) -> None:
        self._stage, self._units = stage, units
        self._tried: dict[int, Tried] = {}
        self._lost: dict[int, list[str]] = {}

    def note(self, unit: int, tried: Tried) -> None:
        """Note a unit that failed, each time or at first."""
        self._tried[unit] = tried

    def given_up(self, unit: int, how: str, lost: Exception, again: bool) -> Tried | None:
        """Outcome of a unit whose process ended; None if it is to be computed again."""
        needs = needs_of(type(self._stage))
        text = f"the process that computed it ended: {how}"
        if needs.timeout is not None and STUCK.name in how:
            text = f"TimeoutError: took over {needs.limit}, and did not end when it was told to"
        errors = self._lost.setdefault(unit, [])
        errors.append(text)
        if again and len(errors) <= needs.retries:
            return None
        if needs.on_error != KEEP:
            raise lost
        return Tried(None, [errors.pop()])

    @property
    def errors(self) -> dict[int, str]:
        """The last error of each unit that failed each time."""
        failed = {unit: each.errors[-1] for unit, each in self._tried.items() if each.values is None}
        return dict(sorted(failed.items()))

    def check(self) -> None:
        """Raise RuntimeError if all units failed: then their types and shapes are unknown."""
        if self._units and len(self.errors) == self._units:
            first = self._tried[min(self._tried)]
            said = first.traceback or first.errors[-1]
            raise RuntimeError(f"all units failed ({self._units}); {self._stage.unit_name(0)}:\n{said}")

    def of_record(self) -> OptionalEntries:
        """Entries for the record: errors, if the stage keeps them, and the attempts at each unit."""
        names = self._stage.unit_names() if self._tried or self._lost else []
        labels = range(self._units) if names is None else names
        tried = {unit: each.errors for unit, each in self._tried.items()}
        for unit, lost in self._lost.items():
            tried[unit] = [*lost, *tried.get(unit, [])]
        found: OptionalEntries = {}
        if needs_of(type(self._stage)).on_error == KEEP:
            failed = [[labels[unit], error] for unit, error in self.errors.items()]
            found["errors"] = {"units": self._units, "failed": failed}
        if tried:
            found["attempts"] = [[labels[unit], errors] for unit, errors in sorted(tried.items())]
        return found

    def write(self, known: bytes | None, files: Sequence[str]) -> list[str]:
        """Write a file by which a later job computes failed units alone, if there are any; list it."""
        if not self.errors:
            return []
        tracebacks = [[unit, self._tried[unit].traceback] for unit in self.errors]
        plain = {"known": known.hex() if known else "", "files": [*files], "tracebacks": tracebacks}
        Path(FAILED_UNITS).write_text(json.dumps(plain), encoding="utf-8")
        return [FAILED_UNITS]


def failed_units(errors: Mapping[str, Any], most: int) -> str:
    """Sentence on the failed units of a record's ``errors``, naming at most some."""
    names = [str(unit) for unit, _ in errors["failed"]]
    more = [f"and {len(names) - most} more"] if len(names) > most else []
    named = ", ".join(names[:most] + more)
    return f"{len(names)} of {errors['units']} units failed" + (f": {named}" if named else "")


def with_failed(
    names: Sequence[Plain],
    arrays: Mapping[str, Values],
    tables: Mapping[str, Table],
    objects: Mapping[str, Pickled],
    errors: Mapping[int, str],
) -> tuple[dict[str, Values], dict[str, Table], dict[str, Pickled]]:
    """Put missing values, a row with its error, or no object for each failed unit; types never vary."""
    taken = [f"{name} of each unit" for name in (*arrays, *tables) if name == ERROR]
    taken += [f"table {name}" for name, table in tables.items() if ERROR in table.columns]
    if taken:
        problem = 'a stage with on_error = "keep" gives a value of its own the name of the errors'
        raise InputError(problem, field=taken[0], found=ERROR, hint="give it another name")
    return (
        {name: _whole(name, each, len(names), errors) for name, each in arrays.items()},
        {name: _with_rows(each, names, errors) for name, each in tables.items()},
        {name: _with_none(each, len(names), errors) for name, each in objects.items()},
    )


def _with_none(given: Pickled, units: int, errors: Mapping[int, str]) -> Pickled:
    sizes = iter(given.described["units"])
    spread = [0 if unit in errors else next(sizes) for unit in range(units)]
    return Pickled(given.data, {**given.described, "units": spread})


def _whole(name: str, given: Values, units: int, errors: Mapping[int, str]) -> Values:
    import numpy as np

    values = cast("np.ndarray", given.values)
    if values.dtype.kind in NULLABLE:
        floats = values.astype("f8")
        if not np.array_equal(floats.astype(values.dtype), values):
            problem = "whole numbers are too large to be kept beside missing values"
            found = f"{values.dtype} up to {abs(values).max()}"
            hint = "give texts or numbers below 2**53, of which floats are made, or leave out on_error"
            raise InputError(problem, field=name, found=found, hint=hint)
        values = floats
    whole = np.full((units, *values.shape[1:]), missing(values), values.dtype)
    whole[[unit for unit in range(units) if unit not in errors]] = values
    return Values(whole, given.axes, given.description, given.unit)


def _with_rows(table: Table, names: Sequence[Plain], errors: Mapping[int, str]) -> Table:
    texts = [unit_text(each) for each in names]
    failed = [texts[unit] for unit in errors]
    frame: Any = table
    if library_of(table) == POLARS:
        polars = load(POLARS)
        types = {UNIT: frame.schema[UNIT], ERROR: polars.String}
        rows = polars.DataFrame({UNIT: failed, ERROR: [*errors.values()]}, schema=types)
        frame = polars.concat([frame, rows], how="diagonal")  # which fills in nulls
        return cast("Table", frame[_order(frame[UNIT].to_list(), texts)])
    pandas = load(PANDAS)
    for column in frame.columns[1:]:
        kind = frame[column].dtype
        if getattr(kind, "isbuiltin", 0) == 1 and kind.kind in NULLABLE:  # of NumPy
            bits = "" if kind.kind == "b" else str(8 * kind.itemsize)
            frame[column] = frame[column].astype(f"{NULLABLE[kind.kind]}{bits}")
    whole = frame.reindex(range(len(frame) + len(errors)))  # with missing values at the end
    for column in frame.columns[1:]:
        if frame[column].dtype == object:
            whole[column] = pandas.Series([*frame[column], *[None] * len(errors)], dtype=object)
    if errors:
        whole[UNIT] = [*frame[UNIT], *failed]
    whole[ERROR] = pandas.Series([*[None] * len(frame), *errors.values()], dtype="string")
    return cast("Table", whole.iloc[_order(whole[UNIT].tolist(), texts)].reset_index(drop=True))


def _order(units: Sequence[object], names: Sequence[object]) -> list[int]:
    """Rows in the order of their units."""
    places = {name: place for place, name in enumerate(names)}
    return sorted(range(len(units)), key=lambda row: places[units[row]])
