"""What build scripts of panels share: reading the panel file, and bringing its rows in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike, environ
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.errors import InputError
from shortloop.extras import REPORT_LIBRARIES, need
from shortloop.jobs.exax.client import Urd
from shortloop.jobs.executor import run_pipeline
from shortloop.jobs.pipeline import Built, Run
from shortloop.jobs.project import project_directory, user_directory
from shortloop.jobs.settings_files import SettingsFile
from shortloop.jobs.termination import say_why

if TYPE_CHECKING:
    from shortloop.panel.settings import Panel

__all__ = ["DEFAULT_PANEL", "PanelRun", "import_panel", "read_panel", "run_panel"]

OWN = "panel.toml"
DEFAULT_PANEL = Path(__file__).with_name("default.toml")
VARIABLE = "STUDY"
LIBRARIES = ("formulaic", "numba", "pandas", "pyarrow", "scipy", "statsmodels", *REPORT_LIBRARIES)
"""What the extra ``panel`` installs, by the names that it is imported by."""


class PanelRun:
    """A run of a pipeline on a panel.

    Parameters
    ----------
    run : Run
        The run.
    panel : Panel
        The panel.
    file : Path
        Where it was read from.
    """

    def __init__(self, run: Run, panel: Panel, file: Path) -> None:
        self.panel = panel
        self.file = file
        self.name = run.name
        self.jobs = run.jobs
        self.build = run.build
        self.files = run.files


PanelPipeline = Callable[[PanelRun], Built]
Finish = Callable[[PanelRun, Built, float], None]


def read_panel(path: str | PathLike[str] = DEFAULT_PANEL) -> Panel:
    """Read and validate a panel file.

    Parameters
    ----------
    path : path-like
        The TOML file; default: the embedded simulated panel.

    Returns
    -------
    Panel

    Raises
    ------
    InputError
        If the file is missing, is not TOML, or holds an unknown key or a wrong value.
    """
    from shortloop.panel.settings import Panel
    from shortloop.settings.read import read_settings

    return read_settings(path, Panel, noun="panel", variable=VARIABLE)


def panel_path(environ: Mapping[str, str] = environ) -> Path:
    """The panel file that a run uses: the one that the variable SHORTLOOP_SETTINGS, or STUDY, names, else
    ``panel.toml`` in the folder of the project, else the embedded one.

    Parameters
    ----------
    environ : mapping of str to str
        Environment variables; default: those of the process.

    Returns
    -------
    Path
        Absolute.
    """
    from shortloop.settings.read import settings_path
    from shortloop.settings.variable import SETTINGS_VARIABLE

    own = project_directory() / OWN
    default = own if own.is_file() else DEFAULT_PANEL
    return settings_path([SETTINGS_VARIABLE, VARIABLE], default, environ, base=user_directory())


def run_panel(urd: Urd, pipeline: PanelPipeline, finish: Finish | None = None) -> int:
    """Run a pipeline on a panel; the ``main`` of a build script.

    Parameters
    ----------
    urd : Urd
        As exax gives it to a build script.
    pipeline : callable
        Takes a `PanelRun`, builds the jobs, returns the last one.
    finish : callable, optional
        Takes the run, the last job and the seconds it all took, when all is built.

    Returns
    -------
    int
        Exit status, as of `shortloop.jobs.executor.run_pipeline`.
    """
    try:
        need("panel", LIBRARIES)  # at once, and not job by job
        file = panel_path()
        panel = read_panel(file)
    except InputError as error:
        say_why(error)
        return 1

    def on_panel(run: Run) -> PanelRun:
        return PanelRun(run, panel, file)

    return run_pipeline(
        urd,
        lambda run: pipeline(on_panel(run)),
        None if finish is None else lambda run, last, seconds: finish(on_panel(run), last, seconds),
        name=f"{pipeline.__module__.rpartition('.')[2]} {panel.name}",
        settings=SettingsFile(panel.name, file, "panel", DEFAULT_PANEL),
    )


def import_panel(run: PanelRun) -> Built:
    """Rows of all groups.

    Parameters
    ----------
    run : PanelRun
        The run.

    Returns
    -------
    Built

    Raises
    ------
    InputError
        If the file is missing, or what it holds is not as it must be.
    """
    from shortloop.panel.formats.base import FileInput
    from shortloop.settings.paths import expand_path

    panel, file = run.panel, None
    if isinstance(panel.input, FileInput):
        if not panel.input.file:
            raise InputError("the file of the rows is not named", file=run.file, field="input.file")
        path = expand_path(panel.input.file, run.file, field="input.file", what="the file of the rows")
        (file,) = run.files([path])
    return run.build(
        "import_panel",
        settings=panel.input.how_to_read(),
        file=file,
        by=list(panel.groups.by),
        blocks=panel.groups.blocks,
        seed=panel.seed if file is None else 0,
        modules=panel.input.modules(),
    )
