"""Build scripts made from one function: ``@pipeline``, and runs of an analysis on a study file."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import os
import typing
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar, cast, overload

from shortloop.base.errors import InputError
from shortloop.base.extras import LOADED, need
from shortloop.base.text import one_line
from shortloop.exax.client import Urd
from shortloop.plan.pipeline import Built, Run
from shortloop.plan.settings_files import SettingsFile
from shortloop.project.project import cache_directory, configuration, keep, project_directory, user_directory
from shortloop.project.system_errors import system_error
from shortloop.report.deliver import SUMMARY, copy_files, results_folder, run_summary, write_summary
from shortloop.run.executor import run_pipeline
from shortloop.run.termination import print_error
from shortloop.settings.paths import SETTINGS_VARIABLE, STUDY_VARIABLE
from shortloop.store.loaded import facts_as_json, open_any

if TYPE_CHECKING:  # most scripts have no settings
    from pydantic import BaseModel

    from shortloop.settings.base import StudySettings


M = TypeVar("M", bound="BaseModel")
S = TypeVar("S", bound="StudySettings")
Plain = Callable[[Run], Built]
WithSettings = Callable[[Run, M], Built]
Main = Callable[[Urd], int]
Prepared = tuple[Plain, SettingsFile | None]
PACKAGES = "packages.json"  # cache file: packages whose entry points earlier runs used


@overload
def pipeline(function: Plain) -> Main: ...
@overload
def pipeline(*, settings: str) -> Callable[[WithSettings[M]], Main]: ...
def pipeline(
    function: Plain | None = None, *, settings: str = ""
) -> Main | Callable[[WithSettings[M]], Main]:
    """Make a function the ``main`` of a build script.

    It takes a `shortloop.plan.pipeline.Run`, asks it for jobs, and returns the last one. Tables, figures and
    files of that are copied into the folder of results, with a summary of all jobs: into one of the script's
    name, without ``build_``, followed by that of the settings, if this is another. Of a method that others
    wrote, these are the files that it has registered with exax.

    Parameters
    ----------
    function : callable
        What is decorated.
    settings : str, optional
        A TOML file, from the folder of the project. The function then takes what it says as a second
        argument, in the record that this is annotated with, a subclass of ``shortloop.Settings``. ``shortloop
        run --settings FILE`` names another file.

    Returns
    -------
    callable
        ``main``, as exax calls it.

    Examples
    --------
    >>> @pipeline
    ... def main(run):
    ...     panel = run.build("panel", file=run.file("panel.parquet"))
    ...     return run.build("fit", panel=panel, formula="investment ~ value")
    """
    if function is not None:
        return _script(function, lambda: (function, None))
    return lambda decorated: _script(decorated, lambda: _with_settings(decorated, settings))


def _script(function: Callable[..., Built], prepared: Callable[[], Prepared]) -> Main:
    script = function.__module__.rpartition(".")[2]

    def main(urd: Urd) -> int:
        try:
            pipeline, settings = prepared()
        except InputError as error:
            print_error(error)
            return 1
        name = script.removeprefix("build_")
        if settings is not None and settings.name != name:
            name = f"{name}-{settings.name}"  # scripts and settings may be combined freely
        return run_pipeline(
            urd,
            pipeline,
            lambda run, last, seconds: _deliver(run, last, seconds, name),
            name=script if settings is None else f"{script} {settings.name}",
            settings=settings,
        )

    main.__doc__ = function.__doc__
    return main


def _with_settings(function: WithSettings[M], file: str) -> Prepared:
    from pydantic import BaseModel

    from shortloop.settings.changes import changed_name
    from shortloop.settings.read import read_settings, settings_path

    parameters = [*inspect.signature(function).parameters]
    record = typing.get_type_hints(function).get(parameters[1]) if len(parameters) == 2 else None
    if not (inspect.isclass(record) and issubclass(record, BaseModel)):
        raise InputError(
            f"{function.__name__} of a build script has no annotated settings parameter",
            file=inspect.getsourcefile(function),
            found=f"{function.__name__}{inspect.signature(function)}",
            expected="two parameters: the run, and settings annotated with their class",
            hint=f"write e.g. `def {function.__name__}(run, settings: Analysis)`, with a class Analysis of "
            "shortloop.Settings",
        )
    default = project_directory() / file
    path = settings_path([SETTINGS_VARIABLE], default, user_directory())
    found = read_settings(path, record, noun="settings", variable=SETTINGS_VARIABLE)
    name = str(getattr(found, "name", changed_name(path.stem)))

    @functools.wraps(function)
    def pipeline(run: Run) -> Built:
        return function(run, cast("M", found))

    return pipeline, SettingsFile(name, path, "settings", default)


def _deliver(run: Run, last: Built, seconds: float, name: str) -> None:
    """Copy the results of the last job."""
    result, folder = open_any(last.path), results_folder(name)
    figures = [f"{name}{ending}" for name in result.figures for ending in (".png", ".pdf")]
    names = [*result.files, *figures, *(f"{name}.parquet" for name in result.tables)]
    copy_files(result.path, names, folder)
    done = run_summary(run.jobs, last, seconds, names)
    write_summary(folder, {"pipeline": run.name, **done, "facts": facts_as_json(result.record)})
    where = os.path.relpath(folder, configuration().project_directory)
    print(one_line(f"results: {where}: {', '.join(names) or SUMMARY}"))


class StudyRun(Generic[S]):
    """A run of a pipeline on the study in a file."""

    def __init__(self, run: Run, study: S, file: Path) -> None:
        self.study = study
        self.file = file
        self.name = run.name
        self.jobs = run.jobs
        self.build = run.build
        self.files = run.files


@dataclass(frozen=True)
class StudyKind(Generic[S]):
    """How an analysis names and reads a study."""

    noun: str  # in messages, e.g. "panel"
    embedded: Path  # default file of the package
    extra: str  # that installs the libraries of the analysis
    libraries: Collection[str]  # names of modules
    read: Callable[[Path], S]

    def run(
        self,
        urd: Urd,
        pipeline: Callable[[StudyRun[S]], Built],
        finish: Callable[[StudyRun[S], Built, float], None] | None = None,
    ) -> int:
        """Run a pipeline on a study; the ``main`` of a build script.

        Its file is that of the variable SHORTLOOP_SETTINGS or STUDY, else ``<noun>.toml`` in the project,
        else the embedded one.
        """
        from shortloop.settings.read import settings_path

        try:
            need(self.extra, self.libraries)  # before any job needs them
            own = project_directory() / f"{self.noun}.toml"
            default = own if own.is_file() else self.embedded
            file = settings_path([SETTINGS_VARIABLE, STUDY_VARIABLE], default, user_directory())
            study = self.read(file)
        except Exception as error:
            known = error if isinstance(error, InputError) else system_error(error)
            if known is None:
                raise
            _name_package(known)
            print_error(known)
            return 1
        if LOADED:
            keep(cache_directory("code") / PACKAGES, json.dumps({**_packages(), **LOADED}))
        return run_pipeline(
            urd,
            lambda run: pipeline(StudyRun(run, study, file)),
            None
            if finish is None
            else lambda run, last, seconds: finish(StudyRun(run, study, file), last, seconds),
            name=f"{pipeline.__module__.rpartition('.')[2]} {study.name}",
            settings=SettingsFile(study.name, file, self.noun, self.embedded),
        )


def _name_package(error: InputError) -> None:
    """Name the package of an entry point that an earlier run found, and this one did not."""
    for call, package in _packages().items():
        if error.hint and call in error.hint:
            error.hint = error.hint.replace(call, f"{call}: {package} in an earlier run")


def _packages() -> dict[str, str]:
    with contextlib.suppress(OSError, ValueError, InputError):
        found: dict[str, str] = json.loads((cache_directory("code") / PACKAGES).read_text(encoding="utf-8"))
        return found
    return {}
