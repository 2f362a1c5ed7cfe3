"""Plan a build script by calling its ``main`` with a stand-in for exax."""

from __future__ import annotations

import ast
import inspect
import io
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from types import ModuleType, SimpleNamespace
from typing import NoReturn

from shortloop.base.errors import InputError, place_of
from shortloop.exax.listener import nobody_answers, slices_now
from shortloop.exax.patches.loading import load_from_source
from shortloop.keys.methods import chosen_script
from shortloop.keys.own_code import PACKAGE
from shortloop.plan.pipeline import Pipeline, as_reused
from shortloop.plan.planner import Planner
from shortloop.plan.selected_part import choose
from shortloop.plan.selection import Selection
from shortloop.plan.settings_files import SettingsFile, cache_of
from shortloop.project.project import configuration, import_from_project, in_project, project_directory
from shortloop.store.shared_cache import SharedCache
from shortloop.store.store import Store

MADE_HERE = f"{PACKAGE}.script"


class ServerNeeded(BaseException):
    """A run has something to build, or only exax can tell."""


class DryRun:
    """Replacement of exax's ``urd`` for a build script whose pipelines are only planned."""

    goes_on = False  # True if the run follows its plan

    def __init__(self, reads: bool = False) -> None:
        self._reads = reads  # input files
        self.plans: list[Planner] = []
        self.settings: list[SettingsFile | None] = []  # of each plan
        self.seconds: dict[str, float] = {}  # mean duration of a job, by method

    def plan(self, pipeline: Pipeline, name: str, settings: SettingsFile | None) -> int:
        with in_project(), Store(slices_now) as store:
            if not self.goes_on and (cache := cache_of(settings)).remote:  # else the run itself asks
                store.shared = SharedCache(cache)
            plan = Planner.of(pipeline, store, name, self._reads)
            chosen = choose(Selection.given(), plan, store.index).plan
            plan.jobs[:] = as_reused(chosen)
            if settings is not None:
                try:
                    plan.note = settings.take_over(store.index) or ""
                except InputError as error:
                    plan.note = f"a run would not begin: {error.message}"
            self.seconds = store.index.seconds()
        self.plans.append(plan)
        self.settings.append(settings)
        return 0

    def __getattr__(self, name: str) -> NoReturn:
        problem = "this build script calls exax directly, so it cannot be planned"
        expected = "a main that calls only `run_pipeline` or @pipeline functions"
        raise InputError(problem, found=f"urd.{name}", expected=expected)


class Reusing(DryRun):
    """A dry run that becomes the run if all its jobs exist; else it raises before doing anything."""

    goes_on = True

    def plan(self, pipeline: Pipeline, name: str, settings: SettingsFile | None) -> int:
        said, warned = io.StringIO(), io.StringIO()
        with redirect_stdout(said), redirect_stderr(warned):
            super().plan(pipeline, name, settings)
        plan = self.plans[-1]
        if not plan.is_there or plan.note:
            raise ServerNeeded
        os.chdir(project_directory())  # as the folder of no job
        sys.stdout.write(said.getvalue())
        sys.stderr.write(warned.getvalue())
        return 0

    def __getattr__(self, name: str) -> NoReturn:
        raise ServerNeeded


def run_without_server(script: str) -> int | None:
    """Run a build script while a server is only starting, if all its jobs exist."""
    if Selection.given().words:
        return None
    try:
        with nobody_answers():
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                main = _script(script).main
            return int(main(Reusing())) if _only_runs_pipelines(main) else None
    except (Exception, ServerNeeded):  # the run itself says what is wrong
        return None


def _only_runs_pipelines(main: Callable[..., object]) -> bool:
    """True if main can be called twice: it comes from this package, or only passes exax's ``urd`` to it."""
    if main.__module__ == MADE_HERE:
        return True
    match ast.parse(inspect.getsource(main)).body[0]:
        case ast.FunctionDef(args=ast.arguments(args=[_]), body=[ast.Return(value=ast.Call() as called)]):
            function = inspect.unwrap(main).__globals__.get(getattr(called.func, "id", ""))
            is_ours = getattr(function, "__module__", "").startswith(f"{PACKAGE}.")
            given = [*called.args, *(each.value for each in called.keywords)]
            return is_ours and all(isinstance(each, ast.Name | ast.Constant) for each in given)
    return False


def dry_run(script: str, reads: bool = False) -> DryRun:
    from accelerator.error import BuildError

    try:
        module = _script(script)
    except Exception as error:
        if isinstance(error, BuildError):
            chosen_script(script)  # it says which there are
        problem = "the build script cannot be imported"
        found = f"{type(error).__name__}: {error}"
        hint = "correct it and run again"
        raise InputError(problem, file=place_of(error), found=found, hint=hint) from error
    if (main := getattr(module, "main", None)) is None:
        expected = "a function `main(urd)`, or @pipeline"
        raise InputError("the build script has no main", file=module.__file__, expected=expected)
    dry_run = DryRun(reads)
    if status := main(**dict.fromkeys(inspect.signature(main).parameters, dry_run)):
        raise SystemExit(status)
    if not dry_run.plans:
        raise InputError("the build script runs no pipeline", found=script)
    return dry_run


def _script(script: str) -> ModuleType:
    from accelerator.build import find_automata

    load_from_source()  # a script that was just edited is planned as it is
    import_from_project()
    settings = {"method_directories": configuration().method_directories}
    found: ModuleType = find_automata(SimpleNamespace(config=lambda: settings), script)
    return found
