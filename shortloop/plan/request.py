"""A request for a job: a stage and its arguments, sorted into options and jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shortloop.base.errors import InputError
from shortloop.base.plain import Plain
from shortloop.base.text import one_line
from shortloop.keys.hashing import canonical
from shortloop.keys.key import Parts, parts_of
from shortloop.keys.options import check_options
from shortloop.keys.typed_options import settled
from shortloop.plan.method_options import Given, options_given
from shortloop.plan.namesakes import names_of
from shortloop.plan.pipeline import Built, BuiltDataset, Jobs, Made
from shortloop.plan.signature import Inputs, Signature, signature_of
from shortloop.stages.fields import REQUIRED, hints_of
from shortloop.stages.tables import libraries_of_tables
from shortloop.store.places import Place

if TYPE_CHECKING:
    from shortloop.exax.submission import JobIds

__all__ = ["MODULES", "Request", "request"]

MODULES = "modules"
"""The option that the frame adds for modules which no code names."""


@dataclass(frozen=True)
class Request:
    """A job that a pipeline asks for.

    stage: name of the stage.
    partition: which part of the data; None: all.
    options: the method's options, plain data, with those that the frame adds: ``partition`` and ``modules``.
    jobs: what it is made from.
    place: its place in the pipeline.
    grows: option in which it can grow; empty: none.
    modules: modules that it imports by a name that is not in its code.
    sent: the options as exax is given them; of files their paths.
    datasets: what it is made from.
    files: jobs whose files are options, by the name of the option.
    paths: content of each file that exax is given as a path.
    names: names of the input files among the options.
    """

    stage: str
    partition: str | None
    options: dict[str, Plain]
    jobs: Jobs
    place: Place
    grows: str
    units: tuple[str, ...] | None
    modules: tuple[str, ...]
    sent: dict[str, Plain]
    variant: str = ""
    datasets: Jobs = field(default_factory=dict)
    files: Jobs = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()

    @property
    def sources(self) -> Jobs:
        """All that it is made from. A dataset may have the name of a job, or of an option with a file."""
        taken = {**self.jobs, **self.files}
        return taken | {
            f"datasets.{name}" if name in taken else name: of for name, of in self.datasets.items()
        }

    @property
    def caption(self) -> str:
        """Its stage and partition, in one line."""
        return one_line(" ".join(filter(None, (self.stage, self.partition))))

    def parts(self) -> Parts:
        """What its key is made of, with the code as it is now."""
        inputs = {
            name: [each.content for each in made] if isinstance(made, Sequence) else made.content
            for name, made in self.sources.items()
        }
        return parts_of(self.stage, self.options, inputs, self.modules)

    def base(self, parts: Parts) -> str:
        """The base of the jobs that this one can take something over from."""
        if self.grows:
            return parts.key(without=self.grows)
        return parts.key_of_units(self.of_units) if self.of_units else ""

    @property
    def of_units(self) -> list[str]:
        """Names of the options and inputs that all its units read, if others can take over its units."""
        return [] if self.grows or self.units is None else [*self.units, MODULES]

    def above(self) -> list[Built]:
        """The jobs that it is made from."""
        return _single(self.sources)

    def ids(self) -> dict[str, JobIds]:
        """Ids of the jobs that it is made from, as exax wants them."""
        return _ids(self.jobs)

    def dataset_ids(self) -> dict[str, JobIds]:
        """The same of the datasets."""
        return _ids(self.datasets)


def request(
    pipeline: str,
    stage: str,
    partition: str | None,
    arguments: Mapping[str, object],
    modules: Sequence[str],
    seen: dict[Place, int],
    datasets: Mapping[str, object] | None = None,
) -> Request:
    """Sort the arguments of a pipeline into options and jobs, check them, and give the job its place."""
    signature = signature_of(stage)
    given = {name: each for name, each in arguments.items() if _is_option(name, signature)}
    jobs = _made_from(stage, signature.jobs, arguments, _job)
    named = {name: each for name, each in arguments.items() if name not in {*given, *signature.jobs.names}}
    rows = _made_from(stage, signature.datasets, _once(stage, named, datasets or {}), _dataset)
    _check_names(stage, signature, given, {*jobs, *rows}, datasets or {})
    if partition is not None and (not isinstance(partition, str) or not partition):
        raise InputError(
            "a partition's name must be a string",
            field="partition",
            found=repr(partition),
            hint="change the build script: str(…), or None for all of the data",
        )
    if partition is not None and (signature.stage is not None or "partition" in signature.options):
        given["partition"] = partition
    put = _options(stage, signature, given)
    options = put.keyed
    importing = () if signature.stage is None else signature.stage.modules(options)
    imported = tuple(dict.fromkeys([*modules, *importing, *_for_results(jobs)]))
    told_apart = [_inside(options, name) for name in signature.siblings]
    sibling = canonical(told_apart) if told_apart else ""
    place = Place(pipeline, stage, partition, sibling)
    seen[place] = seen.get(place, 0) + 1
    if seen[place] > 1:  # nothing tells them apart but their order
        place = place._replace(sibling=f"{sibling} #{seen[place]}".strip())
    sent = put.sent
    if signature.stage is not None:
        sent = {**sent, MODULES: list(imported)}
        options = sent if imported else options
    return Request(
        stage,
        partition,
        options,
        jobs,
        place,
        signature.grows,
        signature.units,
        imported,
        sent,
        " ".join(_in_words(each) for each in told_apart if each is not None),
        rows,
        put.jobs,
        put.paths,
        names_of(given),
    )


def _is_option(name: str, signature: Signature) -> bool:
    """Whether an argument is one; what has no place is taken for one, and then refused."""
    return name not in signature.jobs.names and (
        name in signature.options or name not in signature.datasets.names
    )


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
            option = settled(signature.hints.get(name, Any), value)
            check_options(stage, {name: option})
        except InputError:
            if name in signature.hints or name not in signature.options:
                raise
            option = settled(hints_of(signature.stage)[name], value)
            check_options(stage, {name: option})
        return option
    except InputError as error:
        if error.field is not None:
            raise
        raise InputError(
            f"an option of {stage} has the wrong type or value",
            field=f"option {name}",
            found=error.problem if error.found is None else f"{error.problem}: {error.found}",
            expected=error.expected,
            hint=error.hint,
        ) from None


def _once(stage: str, named: Mapping[str, object], datasets: Mapping[str, object]) -> Mapping[str, object]:
    """Datasets, each of which is given by its name or in `datasets`."""
    for name in named.keys() & datasets.keys():
        raise InputError(
            f"the stage {stage} is given a dataset twice",
            field=name,
            found=f"{name}=… and datasets={{{name!r}: …}}",
            expected="one of them",
            hint="change the build script",
        )
    return {**named, **datasets}


def _check_names(
    stage: str,
    signature: Signature,
    given: Mapping[str, object],
    made: set[str],
    datasets: Mapping[str, object],
) -> None:
    inputs = (signature.jobs, signature.datasets)
    unknown = sorted(given.keys() - signature.options.keys() | datasets.keys() - signature.datasets.names)
    required = {name for name, default in signature.options.items() if default is REQUIRED}
    required = required.union(*(each.names - each.optional for each in inputs))
    missing = sorted(required - given.keys() - made)
    if unknown or missing:
        names = [*signature.options, *(name for each in inputs for name in sorted(each.names))]
        raise InputError(
            f"wrong arguments for the stage {stage}",
            found=", ".join([*unknown, *(f"no {name}" for name in missing)]),
            expected=", ".join(names) or "none",
            hint="change the build script",
        )


def _made_from(
    stage: str, inputs: Inputs, given: Mapping[str, object], one: Callable[[object], Made | None]
) -> dict[str, Made | list[Made]]:
    """Jobs, or datasets, among what is given."""
    found: dict[str, Made | list[Made]] = {}
    for name in given.keys() & inputs.names:
        of: Any = given[name]
        is_list = name in inputs.lists
        if of is None:
            continue
        each = list(of) if is_list and isinstance(of, list | tuple) else [of]
        made = [found for found in map(one, each) if found is not None]
        if len(made) != len(each) or (is_list and not isinstance(of, list | tuple)):
            what = "what `run.build_job` gave" + (', or `(what it gave, "name")`' if one is _dataset else "")
            raise InputError(
                f"the stage {stage} is made from {'datasets' if one is _dataset else 'jobs'}",
                field=name,
                found=repr(of)[:200],
                expected=f"a list of {what}" if is_list else f"{what}, one job",
                hint="change the build script",
            )
        found[name] = made if is_list else made[0]
    return found


def _job(given: object) -> Built | None:
    return given if isinstance(given, Built) else None


def _dataset(given: object) -> BuiltDataset | None:
    if isinstance(given, Built):
        return BuiltDataset(given)
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], Built):
        name = given[1]
        return BuiltDataset(given[0], name) if isinstance(name, str) and name else None
    return None


def _ids(made: Jobs) -> dict[str, JobIds]:
    return {
        name: [_id(each) for each in of] if isinstance(of, Sequence) else _id(of) for name, of in made.items()
    }


def _for_results(jobs: Jobs) -> list[str]:
    """What reads the tables and objects of the jobs that it is made from, which no import says."""
    made = _single(jobs)
    tables = libraries_of_tables() if any(each.has_tables for each in made) else []
    return [*tables, *sorted({name for each in made for name in each.modules})]


def _single(jobs: Jobs) -> list[Built]:
    """Jobs, those of lists and of datasets among them."""
    made = [one for each in jobs.values() for one in (each if isinstance(each, Sequence) else [each])]
    return [one.made if isinstance(one, BuiltDataset) else one for one in made]


def _id(made: Made) -> str:
    return made.id if isinstance(made, BuiltDataset) else made.job


def _in_words(value: Plain) -> str:
    return value if isinstance(value, str) else canonical(value)


def _inside(options: Mapping[str, Plain], name: str) -> Plain:
    value: Plain = options
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
