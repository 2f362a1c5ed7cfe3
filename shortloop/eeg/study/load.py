"""The study that a run is of: where its file is, and where its recordings are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from shortloop.eeg.study.schema import Study
from shortloop.settings.paths import expand_path
from shortloop.settings.read import read_settings, settings_path
from shortloop.settings.variable import SETTINGS_VARIABLE

__all__ = ["DEFAULT_STUDY", "STUDY_VARIABLE", "data_folder", "read_study", "study_path"]

STUDY_VARIABLE = "STUDY"
DEFAULT_STUDY = Path(__file__).with_name("default.toml")


def study_path(
    environ: Mapping[str, str] = os.environ, *, base: Path | None = None, default: Path = DEFAULT_STUDY
) -> Path:
    """The study file that a run uses: the one that the variable SHORTLOOP_SETTINGS, or STUDY, names, else a
    default.

    Parameters
    ----------
    environ : mapping of str to str
        Environment variables; default: those of the process.
    base : Path, optional
        Folder that a relative path starts from; default: the current one.
    default : Path
        Absolute. Default: the embedded simulated study.

    Returns
    -------
    Path
        Absolute.
    """
    return settings_path([SETTINGS_VARIABLE, STUDY_VARIABLE], default, environ, base=base)


def read_study(path: str | os.PathLike[str] = DEFAULT_STUDY) -> Study:
    """Read and validate a study file.

    Parameters
    ----------
    path : path-like
        The TOML file; default: the embedded simulated study.

    Returns
    -------
    Study

    Raises
    ------
    InputError
        If the file is missing, is not TOML, or holds an unknown key or a wrong value.
    """
    return read_settings(path, Study, noun="study", variable=STUDY_VARIABLE)


def data_folder(folder: str, study_file: str | os.PathLike[str]) -> Path:
    """The folder of the recordings: ``${NAME=default}`` expanded, relative to the study file.

    Parameters
    ----------
    folder : str
        As written in the study file.
    study_file : path-like
        The study file.

    Returns
    -------
    Path
        Absolute.

    Raises
    ------
    InputError
        If a variable is not set and has no default.
    """
    return expand_path(folder, study_file, field="input.folder", what="the folder of the recordings")
