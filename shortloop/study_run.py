"""Run an analysis on a study file: STUDY, the project's own, or the embedded default."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from shortloop.base.errors import InputError
from shortloop.base.extras import LOADED, need
from shortloop.exax.client import Urd
from shortloop.plan.pipeline import Built, Run
from shortloop.plan.settings_files import SettingsFile
from shortloop.project.project import cache_directory, keep, project_directory, user_directory
from shortloop.project.system_errors import system_error
from shortloop.run.executor import run_pipeline
from shortloop.run.termination import print_error
from shortloop.settings.base import StudySettings
from shortloop.settings.paths import SETTINGS_VARIABLE, STUDY_VARIABLE
from shortloop.settings.read import settings_path

S = TypeVar("S", bound="StudySettings")
PACKAGES = "packages.json"  # cache file: packages whose entry points earlier runs used


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
