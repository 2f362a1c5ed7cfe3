"""Parameters of a method, and the options of a plain exax method as passed and as stored in keys.

exax turns what it is given into what a method declares, and refuses what does not fit. So does this, with
exax's own code, before anything is built. A key holds the content of files, where exax is given their paths.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import os
import signal
import sys
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple, cast

from shortloop.base.errors import InputError, place_of
from shortloop.base.plain import Plain
from shortloop.exax.tracebacks import user_traceback
from shortloop.keys.code import code_state, declares_code
from shortloop.keys.file_state import once_per_moment
from shortloop.keys.hashing import canonical
from shortloop.keys.methods import STAGE, find_method
from shortloop.keys.options import annotations_of, check_options
from shortloop.plan.pipeline import Built
from shortloop.project.project import configuration, project_directory
from shortloop.stages.inputs import File
from shortloop.stages.stage import CollectingStage, Stage
from shortloop.stages.task import BEFORE, MANY, OPTIONAL, fields_of


class Input(NamedTuple):
    is_list: bool
    is_optional: bool


@dataclass(frozen=True)
class Signature:
    options: dict[str, object]  # defaults, or `REQUIRED`; of a plain exax method as declared
    jobs: dict[str, Input]
    datasets: dict[str, Input]
    siblings: tuple[str, ...]  # options that tell its jobs of one partition apart
    grows: str  # option in which its jobs grow; empty: none
    stage: type[Stage] | None  # None for a plain exax method
    hints: dict[str, object] = field(default_factory=dict)  # types of options, if known without an import

    @property
    def units(self) -> tuple[str, ...] | None:
        """Fields that all units read, if the stage can take over units of an earlier job."""
        stage = self.stage
        return stage.read_by_all() if stage is not None and issubclass(stage, CollectingStage) else None


def signature_of(method: str) -> Signature:
    return once_per_moment((signature_of, method), lambda: _signature_now(method))


def _signature_now(method: str) -> Signature:
    package, file = find_method(method)
    code_state(file)  # says so if it is not Python
    name = f"{package}.{file.stem}"
    try:
        # Of one that is imported already nothing is run, and this is asked for each job.
        with nullcontext() if name in sys.modules else _inheritance_kept():
            return _read(importlib.import_module(name))
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        frame = error.__traceback__
        while frame is not None and frame.tb_frame.f_code.co_filename != str(file):
            frame = frame.tb_next
        found = f"{type(error).__name__}: {error}"
        frames = user_traceback(error.with_traceback(frame or error.__traceback__))
        if frames.count("\n  File ") > 1:  # it came from a helper, a library, or has a cause
            found = frames.replace("\n", "\n    ")
        is_missing = isinstance(error, ModuleNotFoundError)
        install = "install it in Shortloop's environment, or correct its name"
        hint = install if is_missing else "correct it and run again"
        problem = f"the method {method} cannot be imported"
        raise InputError(problem, file=place_of(error), found=found, hint=hint) from None


@contextmanager
def _inheritance_kept() -> Iterator[None]:
    """Restore what child processes would inherit of a method's import."""
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
        jobs = _declared(getattr(module, "jobs", ()), but=BEFORE if grows else "")
        datasets = _declared(getattr(module, "datasets", ()))
        options = dict(getattr(module, "options", {}))
        return Signature(options, jobs, datasets, getattr(module, "siblings", ()), grows, None)
    fields = fields_of(stage)
    jobs, datasets = _of_fields(stage, fields.jobs), _of_fields(stage, fields.datasets)
    how = stage.siblings, stage.grows, stage, annotations_of(stage)
    return Signature(fields.options, jobs, datasets, *how)


def _check_does_something(module: ModuleType) -> None:
    """Refuse a file that exax would take for a job that does nothing: mostly, `@stage` was forgotten."""
    if not any(hasattr(module, name) for name in ("prepare", "analysis", "synthesis")):
        own = [each for each in vars(module).values() if getattr(each, "__module__", None) == module.__name__]
        names = [each.__name__ for each in own if inspect.isroutine(each) or inspect.isclass(each)]
        file = module.__file__
        found = ", ".join(names) or "no function"
        expected = "a function, or a subclass of Stage, decorated with `@stage`"
        hint = "write `from shortloop import stage`, and `@stage` above the function or class"
        raise InputError("the method has no stage", file=file, found=found, expected=expected, hint=hint)


def _of_fields(stage: type[Stage], numbers: Mapping[str, str]) -> dict[str, Input]:
    """Inputs of a stage; a list that has a default need not be given."""
    return {
        name: Input(number == MANY, number == OPTIONAL or (number == MANY and hasattr(stage, name)))
        for name, number in numbers.items()
    }


def _declared(said: Iterable[str | list[str]], but: str = "") -> dict[str, Input]:
    """Inputs as exax reads them; all are optional."""
    named = {each[0] if isinstance(each, list) else each: isinstance(each, list) for each in said}
    return {name: Input(is_list, True) for name, is_list in named.items() if name != but}


PLANNED = "planned-0"  # in place of the id of a job that is not built yet
FILE_OF_A_JOB = ("name", "sliced", "extra")  # what exax's JobWithFile has beside the job


class Given(NamedTuple):
    sent: dict[str, Plain]
    keyed: dict[str, Plain]  # as in the key: converted by exax, with the content of files
    jobs: dict[str, list[Built]]  # jobs whose files are options, by the name of the option
    paths: dict[str, str]  # content of each file that exax is given as a path


def options_given(method: str, declared: Mapping[str, object], options: Mapping[str, object]) -> Given:
    """Options of a build script, as passed to exax and as stored in the key."""
    walk = _Walk(method)
    pairs = {name: walk.pair(name, value) for name, value in options.items()}
    sent = {name: pair[0] for name, pair in pairs.items()}
    check_options(method, sent)
    converted = _converted(method, declared, sent)
    keyed = {name: _with_contents(pair[1], converted[name]) for name, pair in pairs.items()}
    return Given(sent, keyed, walk.jobs, walk.paths)


class _Content(NamedTuple):
    """Replacement of a value in the key."""

    plain: Plain


class _Walk:
    """Walks through options of a build script; collects jobs whose files are options."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.jobs: dict[str, list[Built]] = {}
        self.paths: dict[str, str] = {}
        file = find_method(method)[1]
        self._theirs = not declares_code(file)  # others find files by their paths, not by `locate`
        self._asks = b"input_filename" in file.read_bytes()  # for a name in the input directory

    def pair(self, option: str, value: Any) -> tuple[Any, Any]:
        """A value as passed to exax, and as stored in the key."""
        from accelerator.extras import OptionEnumValue

        if isinstance(value, File):
            if not self._theirs:
                return value.option, value.option
            path = os.path.abspath(value.path)
            self.paths[path] = value.content
            return path, _Content(value.option)
        if isinstance(value, tuple) and value and isinstance(value[0], Built):
            return self._file_of_a_job(option, value)
        if isinstance(value, Built):
            expected = "an option; jobs are given by the names that the method has for jobs and datasets"
            hint = 'give `(job, "name of its file")` where the method declares a file of a job'
            raise self._refused(option, f"the job {value.job or value.stage}", expected, hint)
        if type(value) is dict:
            each = {name: self.pair(option, inner) for name, inner in value.items()}
            return {name: pair[0] for name, pair in each.items()}, {n: pair[1] for n, pair in each.items()}
        if type(value) in (list, tuple, set, frozenset):
            pairs = [self.pair(option, inner) for inner in value]
            if type(value) in (set, frozenset):
                check_options(self.method, {option: [pair[0] for pair in pairs]})
                pairs.sort(key=lambda pair: canonical(pair[0]))
            return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        if type(value) in (date, datetime, time, timedelta):
            value = self._of_time(option, value)
        elif isinstance(value, OptionEnumValue):
            value = str(value)
        elif type(value) is str:
            self._refuse_path(option, value)
        elif hasattr(value, "model_dump"):
            value = value.model_dump(mode="json")
        return value, value

    def _file_of_a_job(self, option: str, value: tuple[Any, ...]) -> tuple[list[Any], _Content]:
        made, *more = value
        if not 1 <= len(more) <= len(FILE_OF_A_JOB) or not isinstance(more[0], str):
            raise self._refused(option, repr(tuple(more)), "(job, name of its file, whether sliced, more)")
        check_options(self.method, {option: more})
        self.jobs.setdefault(option, []).append(made)
        return [made.job or PLANNED, *more], _Content(dict(zip(FILE_OF_A_JOB, more)))

    def _of_time(self, option: str, value: Any) -> Plain:
        from accelerator.setupfile import copy_json_safe

        if getattr(value, "tzinfo", None) is not None:
            expected = "a time without a zone, as exax drops it"
            raise self._refused(option, repr(value), expected, "give it in UTC")
        return cast("Plain", copy_json_safe(value))

    def _refuse_path(self, option: str, text: str) -> None:
        """Refuse a path where the content of the file would not be in the key."""
        if not os.path.isabs(text) and not self._asks:
            return
        directory = configuration().get("input_directory") or project_directory()
        if "\0" not in text and os.path.isfile(os.path.join(directory, text)):
            expected = "the file, so that the job depends on what is in it"
            hint = "give `run.file(…)` of its path"
            raise self._refused(option, f"the path of a file: {text!r}", expected, hint)

    def _refused(
        self, option: str, found: str, expected: str, hint: str = "change the build script"
    ) -> InputError:
        problem = f"an option of {self.method} has the wrong type or value"
        return InputError(problem, field=f"option {option}", found=found, expected=expected, hint=hint)


def _converted(method: str, declared: Mapping[str, object], sent: Mapping[str, Plain]) -> dict[str, Plain]:
    from accelerator.deptree import DepTree
    from accelerator.extras import DotDict
    from accelerator.methods import options2required, params2defaults
    from accelerator.setupfile import copy_json_safe

    takes = DotDict(options=dict(declared), datasets=(), jobs=())
    takes.defaults, takes.required = params2defaults(takes), options2required(takes.options)
    given = json.loads(json.dumps(sent), object_pairs_hook=OrderedDict)
    asked = DotDict(method=method, options=given, datasets={}, jobs={})
    said = io.StringIO()  # it prints tracebacks
    try:
        with contextlib.redirect_stderr(said):
            tree = DepTree(SimpleNamespace(params={method: takes}), asked)
            converted = copy_json_safe(tree.params["options"])
            tree.fill_in_default_options()  # it misses what has to be given
    except Exception as error:  # of many kinds
        why = said.getvalue().strip().splitlines()[-1:]
        problem = f"exax does not take the options of {method}"
        found = "; ".join([str(error), *why])
        expected = ", ".join(declared) or "none"
        hint = f"change the build script; `ax method {method}` says what each option is"
        raise InputError(problem, field="options", found=found, expected=expected, hint=hint) from None
    return cast("dict[str, Plain]", json.loads(json.dumps(converted)))


def _with_contents(keyed: Any, converted: Any) -> Any:
    """Put contents into options as exax stores them."""
    if isinstance(keyed, _Content):
        return keyed.plain
    if isinstance(keyed, dict) and isinstance(converted, dict):
        return {name: _with_contents(keyed.get(name), each) for name, each in converted.items()}
    if not isinstance(keyed, list) or not isinstance(converted, list) or len(keyed) != len(converted):
        return converted
    if any(isinstance(each, _Content | list | dict) for each in keyed):  # else it may be sorted
        return [_with_contents(*pair) for pair in zip(keyed, converted)]
    return converted
