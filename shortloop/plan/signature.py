"""Parameters of a method: fields of a stage, or declarations of a plain exax method."""

from __future__ import annotations

import importlib
import inspect
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType

from shortloop.base.errors import InputError, place_of
from shortloop.exax.method import STAGE
from shortloop.exax.tracebacks import user_traceback
from shortloop.keys.code import code_state
from shortloop.keys.file_state import moment
from shortloop.keys.methods import find_method
from shortloop.keys.typed_options import annotations_of
from shortloop.stages.fields import BEFORE, MANY, OPTIONAL, fields_of
from shortloop.stages.stage import CollectingStage, Stage

__all__ = ["Inputs", "Signature", "signature_of"]


@dataclass(frozen=True)
class Inputs:
    """Names of what a method is made from: of jobs, or of datasets.

    names: all names, of single ones and of lists.
    lists: names of lists.
    optional: names of what need not be given.
    """

    names: frozenset[str]
    lists: frozenset[str]
    optional: frozenset[str]


@dataclass(frozen=True)
class Signature:
    """What a method takes.

    options: default of each option, or `REQUIRED`; of a plain exax method what it declares.
    jobs, datasets: what it is made from.
    siblings: options that tell its jobs of one partition apart.
    grows: option in which its jobs grow; empty: none.
    stage: none of a plain exax method.
    hints: types of the options of a stage, as far as they are known without an import.
    """

    options: dict[str, object]
    jobs: Inputs
    datasets: Inputs
    siblings: tuple[str, ...]
    grows: str
    stage: type[Stage] | None
    hints: dict[str, object] = field(default_factory=dict)

    @property
    def units(self) -> tuple[str, ...] | None:
        """Fields that all units read, of a stage that takes over what units of an earlier job gave."""
        stage = self.stage
        return stage.read_by_all() if stage is not None and issubclass(stage, CollectingStage) else None


def signature_of(method: str) -> Signature:
    """What a method takes."""
    seen = moment()
    if seen is not None and (signature_of, method) in seen:
        known: Signature = seen[signature_of, method]
        return known
    package, file = find_method(method)
    code_state(file)  # says so if it is not Python
    name = f"{package}.{file.stem}"
    try:
        # Of one that is imported already nothing is run, and this is asked for each job.
        with nullcontext() if name in sys.modules else _inheritance_kept():
            found = _read(importlib.import_module(name))
        if seen is not None:
            seen[signature_of, method] = found
        return found
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {error}"
        frames = _traceback(error, file)
        if frames.count("\n  File ") > 1:  # it came from a helper, a library, or has a cause
            said = f"{frames}".replace("\n", "\n    ")
        raise InputError(
            f"the method {method} cannot be imported",
            file=place_of(error),
            found=said,
            hint="install it in Shortloop's environment, or correct its name"
            if isinstance(error, ModuleNotFoundError)
            else "correct it and run again",
        ) from None


@contextmanager
def _inheritance_kept() -> Iterator[None]:
    """Put back what processes that are started later would inherit of what a method does when imported."""
    folder, environment, mask = os.getcwd(), dict(os.environ), os.umask(0o077)
    os.umask(mask)
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    try:
        yield
    finally:
        os.chdir(folder)
        os.umask(mask)
        if environment != os.environ:
            os.environ.clear()
            os.environ.update(environment)
        for number, handler in handlers.items():
            if signal.getsignal(number) != handler:
                signal.signal(number, handler)


@cache
def _read(module: ModuleType) -> Signature:
    stage: type[Stage] | None = getattr(module, STAGE, None)
    if stage is None:
        _check_does_something(module)
        grows = getattr(module, "grows", "")
        return Signature(
            dict(getattr(module, "options", {})),
            _declared(getattr(module, "jobs", ()), but=BEFORE if grows else ""),
            _declared(getattr(module, "datasets", ())),
            getattr(module, "siblings", ()),
            grows,
            None,
        )
    fields = fields_of(stage)
    jobs, datasets = _of_fields(stage, fields.jobs), _of_fields(stage, fields.datasets)
    return Signature(
        fields.options, jobs, datasets, stage.siblings, stage.grows, stage, annotations_of(stage)
    )


def _check_does_something(module: ModuleType) -> None:
    """Refuse what exax would take for a job that does nothing: mostly, `@stage` was forgotten."""
    own = [each for each in vars(module).values() if getattr(each, "__module__", None) == module.__name__]
    if not any(hasattr(module, name) for name in ("prepare", "analysis", "synthesis")):
        raise InputError(
            "the method has no stage",
            file=module.__file__,
            found=", ".join(each.__name__ for each in own if inspect.isroutine(each) or inspect.isclass(each))
            or "no function",
            expected="a function, or a subclass of Stage, decorated with `@stage`",
            hint="write `from shortloop import stage`, and `@stage` above the function or class",
        )


def _of_fields(stage: type[Stage], numbers: Mapping[str, str]) -> Inputs:
    lists = {name for name, number in numbers.items() if number == MANY}
    # A list that has a default need not be given.
    optional = {name for name, number in numbers.items() if number == OPTIONAL}
    optional |= {name for name in lists if hasattr(stage, name)}
    return Inputs(frozenset(numbers), frozenset(lists), frozenset(optional))


def _declared(said: Iterable[str | list[str]], but: str = "") -> Inputs:
    """As exax means it; none has to be given."""
    lists = frozenset(each[0] for each in said if isinstance(each, list))
    names = lists | {each for each in said if isinstance(each, str) and each != but}
    return Inputs(names, lists, names)


def _traceback(error: BaseException, file: Path) -> str:
    """As Python prints it, from the line of the method on."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename != str(file):
        frame = frame.tb_next
    return user_traceback(error.with_traceback(frame or error.__traceback__))
