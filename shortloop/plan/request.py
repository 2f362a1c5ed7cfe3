"""A request for a job: a stage and its arguments, sorted into options, files and jobs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Any

from shortloop.base.errors import InputError
from shortloop.base.plain import Plain
from shortloop.base.text import one_line
from shortloop.keys.hashing import canonical
from shortloop.keys.key import Parts, parts_of
from shortloop.keys.options import check_options, plain_of
from shortloop.plan.pipeline import Built, BuiltDataset, Call, Jobs, Made, flat
from shortloop.plan.signature import Given, Input, Signature, options_given, signature_of
from shortloop.project.project import configuration, project_directory
from shortloop.stages.inputs import File, renamed
from shortloop.stages.results import Result
from shortloop.stages.tables import libraries_of_tables
from shortloop.stages.task import REQUIRED, hints_of
from shortloop.store.index import Place
from shortloop.store.loaded import open_any

JobIds = str | list[str]  # of a job or dataset, or of each of some
MODULES = "modules"  # option that the frame adds for modules not named in code


@dataclass(frozen=True)
class Request:
    call: Call = field(compare=False)
    stage: str
    partition: str | None  # None: all of the data
    options: dict[str, Plain]  # with those that the frame adds: ``partition`` and ``modules``
    jobs: Jobs
    place: Place
    grows: str  # option in which it can grow; empty: none
    units: tuple[str, ...] | None
    modules: tuple[str, ...]  # modules imported by names not in its code
    sent: dict[str, Plain]  # the options as exax is given them; of files their paths
    variant: str = ""
    datasets: Jobs = field(default_factory=dict)
    files: Jobs = field(default_factory=dict)  # jobs whose files are options, by the name of the option
    paths: dict[str, str] = field(default_factory=dict)  # content of each file that exax is given as a path
    names: tuple[str, ...] = ()  # names of the input files among the options

    @property
    def sources(self) -> Jobs:
        """All inputs. A dataset may have the name of a job, or of an option with a file."""
        taken = {**self.jobs, **self.files}
        return taken | {f"datasets.{key}" if key in taken else key: of for key, of in self.datasets.items()}

    @property
    def caption(self) -> str:
        return one_line(" ".join(filter(None, (self.stage, self.partition))))

    def parts(self) -> Parts:
        inputs = {
            name: [each.content for each in made] if isinstance(made, Sequence) else made.content
            for name, made in self.sources.items()
        }
        return parts_of(self.stage, self.options, inputs, self.modules)

    def base(self, parts: Parts) -> str:
        """Base of the jobs whose units this one can take over."""
        if self.grows:
            return parts.key(without=self.grows)
        return parts.key_of_units(self.of_units) if self.of_units else ""

    @property
    def of_units(self) -> list[str]:
        """Names of options and inputs that all units read, if others can take over its units."""
        return [] if self.grows or self.units is None else [*self.units, MODULES]

    @property
    def is_unread(self) -> bool:
        """True if the content of one of its files is still unknown."""
        return any(not file.content for file in _files(self.call.arguments))

    def above(self) -> list[Built]:
        return _single(self.sources)

    def ids(self) -> dict[str, JobIds]:
        return _ids(self.jobs)

    def dataset_ids(self) -> dict[str, JobIds]:
        return _ids(self.datasets)


def request(pipeline: str, stage: str, partition: str | None, call: Call, seen: dict[Place, int]) -> Request:
    """Sort the arguments of a pipeline into options and jobs, check them, and give the job its place."""
    signature, arguments, datasets = signature_of(stage), call.arguments, call.datasets
    # A dataset may have the name of an option. Unknown arguments count as options, and are refused below.
    inputs = signature.jobs.keys() | (signature.datasets.keys() - signature.options.keys())
    given = {name: each for name, each in arguments.items() if name not in inputs}
    jobs = _made_from(stage, signature.jobs, arguments, lambda of: of if isinstance(of, Built) else None)
    named = {name: each for name, each in arguments.items() if name not in {*given, *signature.jobs}}
    rows = _made_from(stage, signature.datasets, {**named, **datasets}, _dataset)
    unknown = given.keys() - signature.options.keys() | datasets.keys() - signature.datasets.keys()
    _check_names(stage, signature, unknown, {*given, *jobs, *rows}, named.keys() & datasets.keys())
    if partition is not None and (not isinstance(partition, str) or not partition):
        problem = "a partition's name must be a string"
        hint = "change the build script: str(…), or None for all of the data"
        raise InputError(problem, field="partition", found=repr(partition), hint=hint)
    if partition is not None and (signature.stage is not None or "partition" in signature.options):
        given["partition"] = partition
    passed = _options(stage, signature, given)
    options = passed.keyed
    importing = () if signature.stage is None else signature.stage.modules(options)
    made = _single(jobs)  # reading their tables and objects needs modules that no import names
    tables = libraries_of_tables() if any(each.has_tables for each in made) else []
    objects = sorted({name for each in made for name in each.modules})
    imported = tuple(dict.fromkeys([*call.modules, *importing, *tables, *objects]))
    siblings = [_inside(options, name) for name in signature.siblings]
    sibling = canonical(siblings) if siblings else ""
    place = Place(pipeline, stage, partition, sibling)
    seen[place] = seen.get(place, 0) + 1
    if seen[place] > 1:  # nothing tells them apart but their order
        place = place._replace(sibling=f"{sibling} #{seen[place]}".strip())
    sent = passed.sent
    if signature.stage is not None:
        sent = {**sent, MODULES: list(imported)}
        options = sent if imported else options
    words = (each if isinstance(each, str) else canonical(each) for each in siblings if each is not None)
    how = signature.grows, signature.units, imported, sent, " ".join(words)
    given_files = passed.jobs, passed.paths, names_of(given)
    return Request(call, stage, partition, options, jobs, place, *how, rows, *given_files)


def _options(stage: str, signature: Signature, given: Mapping[str, object]) -> Given:
    if signature.stage is None:
        return options_given(stage, signature.options, given)
    defaults = {name: each for name, each in signature.options.items() if each is not REQUIRED}
    options = {name: _option(stage, signature, name, each) for name, each in {**defaults, **given}.items()}
    return Given(options, options, {}, {})


def _option(stage: str, signature: Signature, name: str, value: object) -> Plain:
    assert signature.stage is not None
    try:
        try:
            option = plain_of(signature.hints.get(name, Any), value)
            check_options(stage, {name: option})
        except InputError:
            if name in signature.hints or name not in signature.options:
                raise
            option = plain_of(hints_of(signature.stage)[name], value)
            check_options(stage, {name: option})
        return option
    except InputError as error:
        given = [*value] if isinstance(value, list | tuple) else [value]
        if jobs := [each for each in given if isinstance(each, Built)]:
            hint = f"write `{name}: {'Job' if value is jobs[0] else 'list[Job]'}` in the stage"
            problem, found = f"an option of {stage} is not plain data", f"a job: {jobs[0]}"
            raise InputError(problem, field=f"option {name}", found=found, hint=hint) from None
        if error.field is not None:
            raise
        problem = f"an option of {stage} has the wrong type or value"
        field = f"option {name}"
        found = error.problem if error.found is None else f"{error.problem}: {error.found}"
        expected = error.expected
        raise InputError(problem, field=field, found=found, expected=expected, hint=error.hint) from None


def _check_names(
    stage: str, signature: Signature, unknown: set[str], given: set[str], twice: set[str]
) -> None:
    inputs = (signature.jobs, signature.datasets)
    required = {name for name, default in signature.options.items() if default is REQUIRED}
    required |= {name for each in inputs for name, of in each.items() if not of.is_optional}
    problems = [*sorted(unknown), *(f"no {name}" for name in sorted(required - given))]
    problems += [f"{name} twice, also in datasets" for name in sorted(twice)]
    if problems:
        names = [*signature.options, *(name for each in inputs for name in sorted(each))]
        data, hint = getattr(signature.stage, "unit_data", None), "change the build script"
        if data in unknown:
            hint = f"the first parameter after `unit` takes what a unit reads: write one before {data}"
        problem = f"wrong arguments for the stage {stage}"
        raise InputError(problem, found=", ".join(problems), expected=", ".join(names) or "none", hint=hint)


def _made_from(
    stage: str, inputs: Mapping[str, Input], given: Mapping[str, object], one: Callable[[object], Made | None]
) -> dict[str, Made | list[Made]]:
    """Input jobs, or datasets, among the arguments."""
    found: dict[str, Made | list[Made]] = {}
    for name in given.keys() & inputs.keys():
        of: Any = given[name]
        is_list = inputs[name].is_list
        if of is None:
            continue
        each = list(of) if is_list and isinstance(of, list | tuple) else [of]
        made = [found for found in map(one, each) if found is not None]
        if len(made) != len(each) or (is_list and not isinstance(of, list | tuple)):
            what = "what `run.build` gave" + (', or `(what it gave, "name")`' if one is _dataset else "")
            problem = f"the stage {stage} is made from {'datasets' if one is _dataset else 'jobs'}"
            expected = f"a list of {what}" if is_list else f"{what}, one job"
            hint = f"write `{name}=[…]`" if is_list and len(made) == 1 else "change the build script"
            if any(isinstance(given, Result) for given in each):
                hint = "give what `run.build` returns for it: `shortloop.load` is for scripts and notebooks"
            raise InputError(problem, field=name, found=repr(of)[:200], expected=expected, hint=hint)
        found[name] = made if is_list else made[0]
    return found


def _dataset(given: object) -> BuiltDataset | None:
    if isinstance(given, Built):
        return BuiltDataset(given)
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], Built):
        name = given[1]
        return BuiltDataset(given[0], name) if isinstance(name, str) and name else None
    return None


def _ids(made: Jobs) -> dict[str, JobIds]:
    def id_of(made: Made) -> str:
        return made.id if isinstance(made, BuiltDataset) else made.job

    return {name: [*map(id_of, of)] if isinstance(of, Sequence) else id_of(of) for name, of in made.items()}


def _single(jobs: Jobs) -> list[Built]:
    return [one.made if isinstance(one, BuiltDataset) else one for one in flat(jobs)]


def _inside(options: Mapping[str, Plain], name: str) -> Plain:
    value: Plain = options
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


PLAIN = {str, int, float, bool, NoneType}


def files_of(arguments: object) -> dict[str, Path]:
    return {file.content: file.path for file in _files(arguments) if file.content}


def options_of(arguments: object) -> list[tuple[str, Path]]:
    """Paths of a job's files by option: first contents, then contents with names."""
    return [*files_of(arguments).items(), *((file.option, file.path) for file in _files(arguments))]


def named_files(
    contents: Iterable[str], paths: Sequence[Path], addresses: Mapping[Path, str] = MappingProxyType({})
) -> list[File]:
    """Files as stages receive them."""
    above = [str(project_directory()), configuration().get("input_directory") or ""]
    begin = [f"{os.path.abspath(folder)}/" for folder in above if folder]

    def name(path: Path) -> str:
        whole = addresses.get(path) or os.path.abspath(path)
        return next((whole.removeprefix(each) for each in begin if whole.startswith(each)), whole)

    return [File(content, path, name(path)) for content, path in zip(contents, paths, strict=True)]


def names_of(arguments: object) -> tuple[str, ...]:
    return tuple(file.path.name for file in _files(arguments))


def problem_of(rejected: Built, above: Iterable[Built], files: Mapping[str, Path]) -> str:
    """Say why a job rejected its input, with the current names of its files."""
    record = open_any(rejected.path).record
    known = [*record.get("located", {}).items()]
    for job in above:
        named = open_any(job.path).record["facts"].get("files", {})  # of a method of others, none
        lists = named.values() if isinstance(named, dict) else ()
        entries = [each for of in lists if isinstance(of, list) for each in of if isinstance(each, dict)]
        known += [(each["content"], each["name"]) for each in entries if {"name", "content"} <= each.keys()]
    now: dict[str, str] = {}
    for content, old in known:
        if content in files:
            new = files[content]
            now |= {old: str(new.absolute()) if "/" in old else new.name, Path(old).name: new.name}
    return renamed(str(record["problem"]), now)


def _files(value: object) -> Iterator[File]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, File):
            yield each
        elif type(each) not in PLAIN and isinstance(each, list | tuple | Mapping):
            waiting += reversed([*(each.values() if isinstance(each, Mapping) else each)])
