"""Planning a build script: its ``main`` is called with a stand-in for exax, so that nothing runs."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import NoReturn

from shortloop.errors import InputError, place_of
from shortloop.jobs.build_scripts import chosen_script
from shortloop.jobs.exax.listener import slices_now
from shortloop.jobs.exax.loading import load_from_source
from shortloop.jobs.lookup import Lookup
from shortloop.jobs.part import choose
from shortloop.jobs.pipeline import Pipeline
from shortloop.jobs.planner import Planner
from shortloop.jobs.project import configuration, import_from_project, in_project
from shortloop.jobs.selection import Selection
from shortloop.jobs.settings_files import SettingsFile
from shortloop.jobs.store.store import Store

__all__ = ["DryRun", "dry_run"]


class DryRun:
    """Given to a build script in place of exax's ``urd``: a pipeline that is run with it is only planned.

    Parameters
    ----------
    planner : type of Planner, optional
        What plans it.
    """

    def __init__(self, planner: type[Planner] = Planner) -> None:
        self._planner = planner
        self.plans: list[Planner] = []
        self.settings: list[SettingsFile | None] = []
        """The settings file of each."""
        self.seconds: dict[str, float] = {}
        """How long a job of each method takes, by its name."""

    def plan(self, pipeline: Pipeline, name: str, settings: SettingsFile | None) -> int:
        """Plan a pipeline.

        Parameters
        ----------
        pipeline, name, settings
            As of `shortloop.jobs.executor.run_pipeline`.

        Returns
        -------
        int
            Exit status, 0.
        """
        with in_project(), Store(slices_now) as store:
            plan = self._planner(Lookup(store, name))
            plan.follow(pipeline)
            plan.jobs[:] = choose(Selection.given(), plan, store.index).plan
            if settings is not None:
                plan.note = _said_of(store, settings)
            self.seconds = store.index.seconds()
        self.plans.append(plan)
        self.settings.append(settings)
        return 0

    def __getattr__(self, name: str) -> NoReturn:
        raise InputError(
            "this build script asks exax itself, so it cannot be planned",
            found=f"urd.{name}",
            expected="a main that only calls `run_pipeline` or what calls it",
        )


def dry_run(script: str, planner: type[Planner] = Planner) -> DryRun:
    """What a build script would do.

    Parameters
    ----------
    script : str
        Its name, as ``ax run`` takes it.
    planner : type of Planner, optional
        What plans its pipelines.

    Returns
    -------
    DryRun
        With a plan for each pipeline that it runs.

    Raises
    ------
    InputError
        If there is no such script, or it does more than run pipelines.
    """
    from accelerator.build import find_automata
    from accelerator.error import BuildError

    load_from_source()  # a script that was just edited is planned as it is
    import_from_project()
    settings = {"method_directories": configuration().method_directories}
    try:
        module = find_automata(SimpleNamespace(config=lambda: settings), script)
    except Exception as error:
        if isinstance(error, BuildError):
            chosen_script(script)  # it says which there are
        raise InputError(
            "the build script cannot be imported",
            file=place_of(error),
            found=f"{type(error).__name__}: {error}",
            hint="mend it",
        ) from error
    main = getattr(module, "main", None)
    if main is None:
        raise InputError(
            "the build script has no main",
            file=module.__file__,
            expected="a function `main(urd)`, or @pipeline",
        )
    dry_run = DryRun(planner)
    status = main(**dict.fromkeys(inspect.signature(main).parameters, dry_run))
    if status:
        raise SystemExit(status)
    if not dry_run.plans:
        raise InputError("the build script runs no pipeline", found=script)
    return dry_run


def _said_of(store: Store, settings: SettingsFile) -> str:
    try:
        return settings.take_over(store.index) or ""
    except InputError as error:
        return f"a run would not begin: {error.message}"
