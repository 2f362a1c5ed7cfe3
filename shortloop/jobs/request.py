"""What a pipeline asks for: a stage, and arguments, which the stage sorts into options and jobs."""

from __future__ import annotations

import dataclasses
import importlib
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast

from shortloop.errors import InputError
from shortloop.jobs.exax.method import STAGE
from shortloop.jobs.keys.code import code_state
from shortloop.jobs.keys.digest import canonical, digest
from shortloop.jobs.keys.key import Parts, parts_of
from shortloop.jobs.keys.methods import find_method
from shortloop.jobs.keys.options import check_options
from shortloop.jobs.pipeline import Built, Jobs
from shortloop.jobs.store.places import Place
from shortloop.plain import Plain
from shortloop.worker.fields import BEFORE, REQUIRED, fields_of
from shortloop.worker.inputs import File
from shortloop.worker.stage import Stage
from shortloop.worker.tables import libraries_of_tables

if TYPE_CHECKING:
    from shortloop.jobs.exax.client import JobIds

__all__ = ["Request", "request"]

MODULES = "modules"
"""The option that the frame adds for modules which no code names."""


@dataclass(frozen=True)
class Declared:
    """What a method takes.

    Parameters
    ----------
    options : dict of str to object
        Default of each option, or `REQUIRED`.
    jobs : set of str
        Names of the jobs that it is made from, and of lists of them.
    lists : set of str
        Names of lists of jobs.
    optional : set of str
        Names of jobs that need not be given.
    siblings : tuple of str
        Options that tell its jobs of one partition apart.
    grows : str
        Option in which its jobs grow; empty: none.
    units : tuple of str or None
        Fields that all units read, of a stage that takes over what units of an earlier job gave; else None.
    stage : type of Stage or None
        None of a plain exax method.
    """

    options: dict[str, object]
    jobs: set[str]
    lists: set[str]
    optional: set[str]
    siblings: tuple[str, ...]
    grows: str
    units: tuple[str, ...] | None
    stage: type[Stage] | None


@dataclass(frozen=True)
class Request:
    """A job that a pipeline asks for.

    Parameters
    ----------
    stage : str
        Name of the stage.
    partition : str or None
        Which part of the data; None: all.
    options : dict
        The method's options, plain data, with those that the frame adds: ``partition`` and ``modules``.
    jobs : mapping of str to Built, or to a sequence of them
        What it is made from.
    place : Place
        Its place in the pipeline.
    grows : str
        Option in which it can grow; empty: none.
    units : tuple of str or None
        As of `Declared`.
    modules : tuple of str
        Modules that it imports by a name that is not in its code.
    """

    stage: str
    partition: str | None
    options: dict[str, Plain]
    jobs: Jobs
    place: Place
    grows: str
    units: tuple[str, ...] | None
    modules: tuple[str, ...]

    def parts(self) -> Parts:
        """What its key is made of, with the code as it is now.

        Returns
        -------
        Parts
        """
        inputs = {
            name: made.content if isinstance(made, Built) else [each.content for each in made]
            for name, made in self.jobs.items()
        }
        return parts_of(self.stage, self.options, inputs, self.modules)

    def base(self, parts: Parts) -> str:
        """What all jobs have in common that this one can take something over from.

        Parameters
        ----------
        parts : Parts
            What its key is made of.

        Returns
        -------
        str
            A hash; empty if it takes nothing over.
        """
        if self.grows:
            return parts.key(without=self.grows)
        if self.units is None:
            return ""
        options = {name: each for name, each in parts.options.items() if name in (*self.units, MODULES)}
        inputs = {name: each for name, each in parts.inputs.items() if name in self.units}
        return digest(["units", {**vars(parts), "options": options, "inputs": inputs}])

    def above(self) -> list[Built]:
        """The jobs that it is made from.

        Returns
        -------
        list of Built
        """
        every = self.jobs.values()
        return [one for made in every for one in ([made] if isinstance(made, Built) else made)]

    def ids(self) -> dict[str, JobIds]:
        """Ids of the jobs that it is made from, as exax wants them.

        Returns
        -------
        dict of str to (str or list of str)
            By the names that the stage has for them.
        """
        return {
            name: made.job if isinstance(made, Built) else [each.job for each in made]
            for name, made in self.jobs.items()
        }


def request(
    pipeline: str,
    stage: str,
    partition: str | None,
    arguments: Mapping[str, object],
    modules: Sequence[str],
    seen: dict[Place, int],
) -> Request:
    """Sort the arguments of a pipeline into options and jobs, check them, and give the job its place.

    Parameters
    ----------
    pipeline : str
        Name of the run.
    stage, partition, arguments, modules
        As of `shortloop.jobs.pipeline.Run.build`.
    seen : dict of Place to int
        How often each place was asked for in this run; one is added for this request. Further jobs in one
        place are told apart by their order.

    Returns
    -------
    Request

    Raises
    ------
    InputError
        If the stage knows no such argument, lacks one, or an option is not plain data.
    """
    declared = _declared(stage)
    jobs = {
        name: _made(stage, name, each, name in declared.lists)
        for name, each in arguments.items()
        if name in declared.jobs and each is not None
    }
    given = {name: each for name, each in arguments.items() if name not in declared.jobs}
    _check_names(stage, declared, given, jobs)
    defaults = {name: each for name, each in declared.options.items() if each is not REQUIRED}
    everything = {**(defaults if declared.stage else {}), **given}
    options = {name: plain(each) for name, each in everything.items()}
    if partition is not None:
        if not isinstance(partition, str) or not partition:
            raise InputError(
                "the name of a partition is a text",
                field="partition",
                found=repr(partition),
                hint="change the build script: str(…), or None for all of the data",
            )
        options["partition"] = partition
    check_options(stage, options)
    named = () if declared.stage is None else declared.stage.modules(options)
    imported = tuple(dict.fromkeys([*modules, *named, *_for_tables(jobs)]))
    told_apart = [_inside(options, name) for name in declared.siblings]
    sibling = canonical(told_apart) if told_apart else ""
    place = Place(pipeline, stage, partition, sibling)
    seen[place] = seen.get(place, 0) + 1
    if seen[place] > 1:  # nothing tells them apart but their order
        place = place._replace(sibling=f"{sibling} #{seen[place]}".strip())
    if declared.stage is not None and imported:
        options[MODULES] = list(imported)
    return Request(stage, partition, options, jobs, place, declared.grows, declared.units, imported)


def plain(value: object) -> Plain:
    """Options as plain data: settings records as dicts, files as their content.

    Parameters
    ----------
    value : object
        An option, or what is inside of one.

    Returns
    -------
    object
    """
    if isinstance(value, File):
        return value.content
    if hasattr(value, "model_dump"):
        dumped: Plain = value.model_dump(mode="json")
        return dumped
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if type(value) is dict:
        return {name: plain(each) for name, each in value.items()}
    if type(value) is list or type(value) is tuple:
        return [plain(each) for each in value]
    return cast("Plain", value)  # what is not is refused by `check_options`


def _declared(method: str) -> Declared:
    package, file = find_method(method)
    code_state(file)  # says so if it is not Python
    try:
        return _read(importlib.import_module(f"{package}.{file.stem}"))
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            "methods cannot be imported, so nothing can be built",
            found=f"{file}:\n{_traceback(error, file)}".replace("\n", "\n    "),
            hint="mend them and run again",
        ) from None


@cache
def _read(module: ModuleType) -> Declared:
    stage: type[Stage] | None = getattr(module, STAGE, None)
    if stage is not None:
        fields = fields_of(stage)
        jobs = {*fields.jobs, *fields.lists, *fields.perhaps}
        optional, units = {*fields.perhaps}, stage.unit_fields if stage.collects else None
        return Declared(
            fields.options, jobs, {*fields.lists}, optional, stage.siblings, stage.grows, units, stage
        )
    said = getattr(module, "jobs", ())
    lists = {each[0] for each in said if isinstance(each, list)}
    jobs = lists | {each for each in said if not isinstance(each, list) and each != BEFORE}
    options = dict(getattr(module, "options", {}))
    siblings, grows = getattr(module, "siblings", ()), getattr(module, "grows", "")
    return Declared(options, jobs, lists, jobs, siblings, grows, None, None)


def _traceback(error: Exception, file: Path) -> str:
    """As Python prints it, from the line of the method on."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename != str(file):
        frame = frame.tb_next
    return "".join(traceback.format_exception(error.with_traceback(frame or error.__traceback__))).strip()


def _check_names(
    stage: str, declared: Declared, given: Mapping[str, object], jobs: Mapping[str, object]
) -> None:
    unknown = sorted(given.keys() - declared.options.keys())
    required = {name for name, default in declared.options.items() if default is REQUIRED}
    missing = sorted({*required, *(declared.jobs - declared.optional)} - given.keys() - jobs.keys())
    if unknown or missing:
        raise InputError(
            f"the stage {stage} takes other arguments",
            found=", ".join([*unknown, *(f"no {name}" for name in missing)]),
            expected=", ".join([*declared.options, *sorted(declared.jobs)]) or "none",
            hint="change the build script",
        )


def _made(stage: str, name: str, made: object, is_list: bool) -> Built | Sequence[Built]:
    if isinstance(made, Built) and not is_list:
        return made
    if is_list and isinstance(made, list | tuple) and all(isinstance(one, Built) for one in made):
        return made
    raise InputError(
        f"the stage {stage} is made from jobs",
        field=name,
        found=repr(made)[:200],
        expected="a list of what `run.build` gave" if is_list else "what `run.build` gave, one job",
        hint="change the build script",
    )


def _for_tables(jobs: Jobs) -> list[str]:
    """What reads the tables of the jobs that it is made from, which no import says."""
    made = [one for each in jobs.values() for one in ([each] if isinstance(each, Built) else each)]
    return libraries_of_tables() if any(each.has_tables for each in made) else []


def _inside(options: Mapping[str, Plain], name: str) -> Plain:
    value: Plain = options
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
