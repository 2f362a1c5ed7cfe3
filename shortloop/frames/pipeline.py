"""What build scripts of this analysis share: reading the settings, and saying what can be measured."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.extras import REPORT_LIBRARIES, is_installed
from shortloop.frames.environment import installed_there
from shortloop.frames.runners.registry import LIBRARIES as EVERY
from shortloop.frames.runners.registry import MODIN
from shortloop.settings.variable import STUDY_VARIABLE
from shortloop.study_run import StudyKind, StudyRun

if TYPE_CHECKING:
    from shortloop.frames.settings import Frames
    from shortloop.worker.inputs import File

__all__ = ["DEFAULT_FRAMES", "FramesRun", "left_out", "modin_environment", "read_frames", "run_frames"]

DEFAULT_FRAMES = Path(__file__).with_name("default.toml")
NEEDED = ("pandas", "pyarrow", "scipy", *REPORT_LIBRARIES)
"""Without them there is no table to measure on, or no report. What else is missing is left out of it."""
LIBRARIES = ("dask", "duckdb", "joblib", "numba", "polars", *NEEDED)
"""What the extra ``frames`` installs, by the names that it is imported by."""


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


KIND = StudyKind("frames", DEFAULT_FRAMES, "frames", NEEDED, read_frames)
run_frames = KIND.run
FramesRun = StudyRun["Frames"]


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
    folder = expand_path(run.study.modin.environment, run.file, field="modin.environment", what=what)
    versions = installed_there(folder, EVERY[MODIN].needs, run.file)
    (file,) = run.files([folder / "pyvenv.cfg"])
    return file, versions
