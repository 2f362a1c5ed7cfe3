"""Options of plain exax methods, as passed to them and as stored in keys.

exax turns what it is given into what a method declares, and refuses what does not fit. So does this, with
exax's own code, before anything is built. A key holds the content of files, where exax is given their paths.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections import OrderedDict
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from shortloop.base.errors import InputError
from shortloop.base.plain import Plain
from shortloop.keys.code import says_code
from shortloop.keys.hashing import canonical
from shortloop.keys.methods import find_method
from shortloop.keys.options import check_options
from shortloop.plan.pipeline import Built
from shortloop.project.project import configuration, project_directory
from shortloop.stages.inputs import File

__all__ = ["Given", "options_given"]

PLANNED = "planned-0"  # in place of the id of a job that is not built yet
FILE_OF_A_JOB = ("name", "sliced", "extra")  # what exax's JobWithFile has beside the job


class Given(NamedTuple):
    """The options of a job.

    sent: as exax is given them.
    keyed: as the key of the job holds them: converted as exax does it, with the content of files.
    jobs: jobs whose files are options, by the name of the option.
    paths: content of each file that exax is given as a path.
    """

    sent: dict[str, Plain]
    keyed: dict[str, Plain]
    jobs: dict[str, list[Built]]
    paths: dict[str, str]


def options_given(method: str, declared: Mapping[str, object], options: Mapping[str, object]) -> Given:
    """What exax and the key of a job are given for the options in a build script."""
    walk = _Walk(method)
    pairs = {name: walk.pair(name, value) for name, value in options.items()}
    sent = {name: pair[0] for name, pair in pairs.items()}
    check_options(method, sent)
    converted = _converted(method, declared, sent)
    keyed = {name: _with_contents(pair[1], converted[name]) for name, pair in pairs.items()}
    return Given(sent, keyed, walk.jobs, walk.paths)


class _Content(NamedTuple):
    """What a key holds in place of what exax is given."""

    plain: Plain


class _Walk:
    """Goes through what a build script gives; notes jobs whose files are options."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.jobs: dict[str, list[Built]] = {}
        self.paths: dict[str, str] = {}
        file = find_method(method)[1]
        self._theirs = not says_code(file)  # others find files by their paths, not by `locate`
        self._asks = b"input_filename" in file.read_bytes()  # for a name in the input directory

    def pair(self, option: str, value: Any) -> tuple[Any, Any]:
        """As exax is given it, and as the key holds it, if that is another."""
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
            raise _refused(
                self.method,
                option,
                f"the job {value.job or value.stage}",
                "an option; jobs are given by the names that the method has for jobs and datasets",
                'give `(job, "name of its file")` where the method declares a file of a job',
            )
        if type(value) is dict:
            each = {name: self.pair(option, inner) for name, inner in value.items()}
            return {name: pair[0] for name, pair in each.items()}, {n: pair[1] for n, pair in each.items()}
        if type(value) in (list, tuple):
            pairs = [self.pair(option, inner) for inner in value]
            return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        if type(value) in (set, frozenset):
            inside = [self.pair(option, inner) for inner in value]
            check_options(self.method, {option: [pair[0] for pair in inside]})
            inside.sort(key=lambda pair: canonical(pair[0]))
            return [pair[0] for pair in inside], [pair[1] for pair in inside]
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
            raise _refused(
                self.method, option, repr(tuple(more)), "(job, name of its file, whether sliced, more)", ""
            )
        check_options(self.method, {option: more})
        self.jobs.setdefault(option, []).append(made)
        return [made.job or PLANNED, *more], _Content(dict(zip(FILE_OF_A_JOB, more)))

    def _of_time(self, option: str, value: Any) -> Plain:
        from accelerator.setupfile import copy_json_safe

        if getattr(value, "tzinfo", None) is not None:
            raise _refused(
                self.method, option, repr(value), "a time without a zone, as exax drops it", "give it in UTC"
            )
        return cast("Plain", copy_json_safe(value))

    def _refuse_path(self, option: str, text: str) -> None:
        """A file that is named where its content would count for nothing."""
        if not os.path.isabs(text) and not self._asks:
            return
        directory = configuration().get("input_directory") or project_directory()
        if "\0" not in text and os.path.isfile(os.path.join(directory, text)):
            raise _refused(
                self.method,
                option,
                f"the path of a file: {text!r}",
                "the file, so that the job depends on what is in it",
                "give `run.file(…)` of its path",
            )


def _converted(method: str, declared: Mapping[str, object], sent: Mapping[str, Plain]) -> dict[str, Plain]:
    """Options as exax notes them of a job, but for those that are not given."""
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
        raise InputError(
            f"exax does not take the options of {method}",
            field="options",
            found="; ".join([str(error), *why]),
            expected=", ".join(declared) or "none",
            hint=f"change the build script; `ax method {method}` says what each option is",
        ) from None
    return cast("dict[str, Plain]", json.loads(json.dumps(converted)))


def _with_contents(keyed: Any, converted: Any) -> Any:
    """Options as exax notes them, with what the key holds in their place."""
    if isinstance(keyed, _Content):
        return keyed.plain
    if isinstance(keyed, dict) and isinstance(converted, dict):
        return {name: _with_contents(keyed.get(name), each) for name, each in converted.items()}
    if not isinstance(keyed, list) or not isinstance(converted, list) or len(keyed) != len(converted):
        return converted
    if any(isinstance(each, _Content | list | dict) for each in keyed):  # else it may be sorted
        return [_with_contents(*pair) for pair in zip(keyed, converted)]
    return converted


def _refused(method: str, option: str, found: str, expected: str, hint: str) -> InputError:
    return InputError(
        f"an option of {method} has the wrong type or value",
        field=f"option {option}",
        found=found,
        expected=expected,
        hint=hint or "change the build script",
    )
