"""What a pipeline asks for: a stage, and arguments, which the stage sorts into options and jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shortloop.errors import InputError
from shortloop.jobs.keys.digest import canonical
from shortloop.jobs.keys.key import Parts, parts_of
from shortloop.jobs.keys.options import check_options
from shortloop.jobs.keys.typed_options import settled
from shortloop.jobs.method_options import Given, options_given
from shortloop.jobs.namesakes import names_of
from shortloop.jobs.pipeline import Built, BuiltDataset, Jobs, Made
from shortloop.jobs.signature import Inputs, Signature, signature_of
from shortloop.jobs.store.places import Place
from shortloop.plain import Plain
from shortloop.worker.fields import REQUIRED, hints_of
from shortloop.worker.tables import libraries_of_tables

if TYPE_CHECKING:
    from shortloop.jobs.exax.client import JobIds

__all__ = ["MODULES", "Request", "request"]

MODULES = "modules"
"""The option that the frame adds for modules which no code names."""


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
        As of `shortloop.jobs.signature.Signature`.
    modules : tuple of str
        Modules that it imports by a name that is not in its code.
    sent : dict
        The options as exax is given them; of files their paths.
    variant : str
        As of `shortloop.jobs.pipeline.Built`.
    datasets : mapping of str to BuiltDataset, or to a sequence of them
        What it is made from.
    files : mapping of str to a sequence of Built
        Jobs whose files are options, by the name of the option.
    paths : dict of str to str
        Content of each file that exax is given as a path.
    names : tuple of str
        Names of the input files among the options.
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

    def parts(self) -> Parts:
        """What its key is made of, with the code as it is now.

        Returns
        -------
        Parts
        """
        inputs = {
            name: [each.content for each in made] if isinstance(made, Sequence) else made.content
            for name, made in self.sources.items()
        }
        return parts_of(self.stage, self.options, inputs, self.modules)

    def base(self, parts: Parts) -> str:
        """The base of the jobs that this one can take something over from.

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
        return parts.key_of_units(self.of_units) if self.of_units else ""

    @property
    def of_units(self) -> list[str]:
        """Names of the options and inputs that all its units read, if others can take over its units.

        Returns
        -------
        list of str
        """
        return [] if self.grows or self.units is None else [*self.units, MODULES]

    def above(self) -> list[Built]:
        """The jobs that it is made from.

        Returns
        -------
        list of Built
        """
        return _single(self.sources)

    def ids(self) -> dict[str, JobIds]:
        """Ids of the jobs that it is made from, as exax wants them.

        Returns
        -------
        dict of str to (str or list of str)
            By the names that the stage has for them.
        """
        return _ids(self.jobs)

    def dataset_ids(self) -> dict[str, JobIds]:
        """The same of the datasets.

        Returns
        -------
        dict of str to (str or list of str)
        """
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
    """Sort the arguments of a pipeline into options and jobs, check them, and give the job its place.

    Parameters
    ----------
    pipeline : str
        Name of the run.
    stage, partition, arguments, modules, datasets
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
    signature = signature_of(stage)
    given = {name: each for name, each in arguments.items() if _is_option(name, signature)}
    jobs = _made_from(stage, signature.jobs, arguments, _job)
    named = {name: each for name, each in arguments.items() if name not in {*given, *signature.jobs.names}}
    rows = _made_from(stage, signature.datasets, _once(stage, named, datasets or {}), _dataset)
    _check_names(stage, signature, given, {*jobs, *rows}, datasets or {})
    if partition is not None and (not isinstance(partition, str) or not partition):
        raise InputError(
            "the name of a partition is a text",
            field="partition",
            found=repr(partition),
            hint="change the build script: str(…), or None for all of the data",
        )
    if partition is not None and (signature.stage is not None or "partition" in signature.options):
        given["partition"] = partition
    put = _options(stage, signature, given)
    options = put.keyed
    importing = () if signature.stage is None else signature.stage.modules(options)
    imported = tuple(dict.fromkeys([*modules, *importing, *_for_tables(jobs)]))
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
            f"an option of {stage} is not what it must be",
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
            f"the stage {stage} takes other arguments",
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
            what = "what `run.build` gave" + (', or `(what it gave, "name")`' if one is _dataset else "")
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


def _for_tables(jobs: Jobs) -> list[str]:
    """What reads the tables of the jobs that it is made from, which no import says."""
    return libraries_of_tables() if any(each.has_tables for each in _single(jobs)) else []


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
