"""A run of an analysis on a study: the file that STUDY names, the project's own, or the embedded one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

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

if TYPE_CHECKING:
    from shortloop.settings.base import StudySettings

__all__ = ["StudyKind", "StudyRun"]


S = TypeVar("S", bound="StudySettings")


class StudyRun(Generic[S]):
    """A run of a pipeline on a study.

    Parameters
    ----------
    run : Run
        The run.
    study : object
        What its file says.
    file : Path
        The file.
    """

    def __init__(self, run: Run, study: S, file: Path) -> None:
        self.study = study
        self.file = file
        self.name = run.name
        self.jobs = run.jobs
        self.build = run.build
        self.files = run.files


@dataclass(frozen=True)
class StudyKind(Generic[S]):
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
        Reads a file.
    """

    noun: str
    embedded: Path
    extra: str
    libraries: Collection[str]
    read: Callable[[Path], S]

    def run(
        self,
        urd: Urd,
        pipeline: Callable[[StudyRun[S]], Built],
        finish: Callable[[StudyRun[S], Built, float], None] | None = None,
    ) -> int:
        """Run a pipeline on a study; the ``main`` of a build script.

        The study is that of the file which the variable SHORTLOOP_SETTINGS, or STUDY, names, else of
        ``<noun>.toml`` in the folder of the project, else the embedded one.

        Parameters
        ----------
        urd, pipeline, finish
            As of `shortloop.jobs.executor.run_pipeline`, but that what they take is a `StudyRun`.

        Returns
        -------
        int
            Exit status, as there.
        """
        try:
            need(self.extra, self.libraries)  # at once, and not job by job
            own = project_directory() / f"{self.noun}.toml"
            default = own if own.is_file() else self.embedded
            file = settings_path([SETTINGS_VARIABLE, STUDY_VARIABLE], default, base=user_directory())
            study = self.read(file)
        except Exception as error:
            known = error if isinstance(error, InputError) else system_error(error)
            if known is None:
                raise
            say_why(known)
            return 1
        return run_pipeline(
            urd,
            lambda run: pipeline(StudyRun(run, study, file)),
            None
            if finish is None
            else lambda run, last, seconds: finish(StudyRun(run, study, file), last, seconds),
            name=f"{pipeline.__module__.rpartition('.')[2]} {study.name}",
            settings=SettingsFile(study.name, file, self.noun, self.embedded),
        )
