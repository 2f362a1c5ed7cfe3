"""What build scripts of this analysis share: reading the settings, and saying what can be measured."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop import study_run
from shortloop.extras import REPORT_LIBRARIES, is_installed
from shortloop.frames.environment import installed_there
from shortloop.frames.runners.registry import LIBRARIES as EVERY
from shortloop.frames.runners.registry import MODIN
from shortloop.jobs.exax.client import Urd
from shortloop.jobs.pipeline import Built, Run
from shortloop.settings.variable import STUDY_VARIABLE
from shortloop.study_run import StudyKind

if TYPE_CHECKING:
    from shortloop.frames.settings import Frames
    from shortloop.worker.inputs import File

__all__ = ["DEFAULT_FRAMES", "FramesRun", "left_out", "modin_environment", "read_frames", "run_frames"]

DEFAULT_FRAMES = Path(__file__).with_name("default.toml")
NEEDED = ("pandas", "pyarrow", "scipy", *REPORT_LIBRARIES)
"""Without them there is no table to measure on, or no report. What else is missing is left out of it."""
LIBRARIES = ("dask", "duckdb", "joblib", "numba", "polars", *NEEDED)
"""What the extra ``frames`` installs, by the names that it is imported by."""


class FramesRun:
    """A run of a pipeline on a comparison.

    Parameters
    ----------
    run : Run
        The run.
    frames : Frames
        What is compared.
    file : Path
        Where it was read from.
    """

    def __init__(self, run: Run, frames: Frames, file: Path) -> None:
        self.frames = frames
        self.file = file
        self.name = run.name
        self.jobs = run.jobs
        self.build = run.build
        self.files = run.files


FramesPipeline = Callable[[FramesRun], Built]
Finish = Callable[[FramesRun, Built, float], None]


def read_frames(path: str | PathLike[str] = DEFAULT_FRAMES) -> Frames:
    """Read and validate a settings file.

    Parameters
    ----------
    path : path-like
        The TOML file; default: the embedded one.

    Returns
    -------
    Frames

    Raises
    ------
    InputError
        If the file is missing, is not TOML, or holds an unknown key or a wrong value.
    """
    from shortloop.frames.settings import Frames
    from shortloop.settings.read import read_settings

    return read_settings(path, Frames, noun="frames", variable=STUDY_VARIABLE)


def run_frames(urd: Urd, pipeline: FramesPipeline, finish: Finish | None = None) -> int:
    """Run a pipeline on a comparison; the ``main`` of a build script.

    Parameters
    ----------
    urd : Urd
        As exax gives it to a build script.
    pipeline : callable
        Takes a `FramesRun`, builds the jobs, returns the last one.
    finish : callable, optional
        Takes the run, the last job and the seconds it all took, when all is built.

    Returns
    -------
    int
        Exit status, as of `shortloop.study_run.run_study`.
    """
    return study_run.run_study(urd, KIND, pipeline, finish)


def _read(file: Path) -> tuple[str, Callable[[Run], FramesRun]]:
    frames = read_frames(file)
    return frames.name, lambda run: FramesRun(run, frames, file)


KIND = StudyKind("frames", DEFAULT_FRAMES, "frames", NEEDED, _read)


def left_out(frames: Frames) -> dict[str, str]:
    """Libraries that are asked for and cannot be measured.

    Parameters
    ----------
    frames : Frames
        What is compared.

    Returns
    -------
    dict of str to str
        Why, by name.
    """
    found: dict[str, str] = {}
    for name in frames.libraries:
        missing = [each for each in EVERY[name].needs if not is_installed(each)]
        if name == MODIN:
            if not frames.modin.environment:
                found[name] = (
                    "it needs pandas < 2.4, and so an environment of its own: `shortloop modin-environment "
                    "FOLDER` makes one; then name it in `modin.environment`"
                )
        elif missing:
            found[name] = f"{', '.join(missing)} missing: `pip install 'shortloop[frames]'`"
    return found


def modin_environment(run: FramesRun) -> tuple[File, dict[str, str]]:
    """The environment that Modin is in.

    Parameters
    ----------
    run : FramesRun
        The run.

    Returns
    -------
    file : File
        Its ``pyvenv.cfg``.
    versions : dict of str to str
        Of what is installed there.

    Raises
    ------
    InputError
        If it is none, or has no Modin.
    """
    from shortloop.settings.paths import expand_path

    what = "the folder of an environment with Modin"
    folder = expand_path(run.frames.modin.environment, run.file, field="modin.environment", what=what)
    versions = installed_there(folder, EVERY[MODIN].needs, run.file)
    (file,) = run.files([folder / "pyvenv.cfg"])
    return file, versions
