"""Build scripts made from one function: ``@pipeline``."""

from __future__ import annotations

import functools
import inspect
import os
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast, overload

from shortloop.base.errors import InputError
from shortloop.base.text import one_line
from shortloop.exax.client import Urd
from shortloop.plan.pipeline import Built, Run
from shortloop.plan.settings_files import SettingsFile
from shortloop.project.project import configuration, project_directory, user_directory
from shortloop.report.deliver import SUMMARY, copy_files, results_folder, run_summary, write_summary
from shortloop.run.executor import run_pipeline
from shortloop.run.termination import print_error
from shortloop.settings.paths import SETTINGS_VARIABLE
from shortloop.store.loaded import facts_as_json, open_any

if TYPE_CHECKING:  # most scripts have no settings
    from pydantic import BaseModel

M = TypeVar("M", bound="BaseModel")
Plain = Callable[[Run], Built]
WithSettings = Callable[[Run, M], Built]
Main = Callable[[Urd], int]
Prepared = tuple[Plain, SettingsFile | None]


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
