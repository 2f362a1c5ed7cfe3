"""A run of an analysis on a study: the file that STUDY names, the project's own, or the embedded one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from shortloop.errors import InputError
from shortloop.extras import need
from shortloop.jobs.exax.client import Urd
from shortloop.jobs.executor import run_pipeline
from shortloop.jobs.pipeline import Built, Run
from shortloop.jobs.project import project_directory, user_directory
from shortloop.jobs.settings_files import SettingsFile
from shortloop.jobs.system_errors import system_error
from shortloop.jobs.termination import say_why
from shortloop.settings.read import settings_path
from shortloop.settings.variable import SETTINGS_VARIABLE, STUDY_VARIABLE

__all__ = ["StudyKind", "run_study"]

R = TypeVar("R")


@dataclass(frozen=True)
class StudyKind(Generic[R]):
    """What an analysis calls a study, and how it reads one.

    Parameters
    ----------
    noun : str
        What messages call it, e.g. ``"panel"``.
    embedded : Path
        The file that comes with the package.
    extra : str
        Name of the extra that installs what the analysis needs.
    libraries : collection of str
        That, by the names that it is imported by.
    read : callable
        Takes the file; gives the name of the study, and what makes the analysis's own run of a `Run`.
    """

    noun: str
    embedded: Path
    extra: str
    libraries: Collection[str]
    read: Callable[[Path], tuple[str, Callable[[Run], R]]]


def run_study(
    urd: Urd,
    kind: StudyKind[R],
    pipeline: Callable[[R], Built],
    finish: Callable[[R, Built, float], None] | None = None,
) -> int:
    """Run a pipeline on a study.

    The study is that of the file which the variable SHORTLOOP_SETTINGS, or STUDY, names, else of
    ``<noun>.toml`` in the folder of the project, else the embedded one.

    Parameters
    ----------
    urd : Urd
        As exax gives it to a build script.
    kind : StudyKind
        Of which analysis.
    pipeline : callable
        Takes the analysis's own run, builds the jobs, returns the last one.
    finish : callable, optional
        Takes the run, the last job and the seconds it all took, when all is built.

    Returns
    -------
    int
        Exit status, as of `shortloop.jobs.executor.run_pipeline`.
    """
    try:
        need(kind.extra, kind.libraries)  # at once, and not job by job
        own = project_directory() / f"{kind.noun}.toml"
        default = own if own.is_file() else kind.embedded
        file = settings_path([SETTINGS_VARIABLE, STUDY_VARIABLE], default, base=user_directory())
        name, on = kind.read(file)
    except Exception as error:
        known = error if isinstance(error, InputError) else system_error(error)
        if known is None:
            raise
        say_why(known)
        return 1
    return run_pipeline(
        urd,
        lambda run: pipeline(on(run)),
        None if finish is None else lambda run, last, seconds: finish(on(run), last, seconds),
        name=f"{pipeline.__module__.rpartition('.')[2]} {name}",
        settings=SettingsFile(name, file, kind.noun, kind.embedded),
    )
