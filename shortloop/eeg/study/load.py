"""Reading of study files, and the folder of their recordings."""

from __future__ import annotations

import os
from pathlib import Path

from shortloop.eeg.study.schema import Study
from shortloop.settings.paths import STUDY_VARIABLE, expand_path
from shortloop.settings.read import read_settings

DEFAULT_STUDY = Path(__file__).with_name("default.toml")


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
    """Expand ``${NAME=default}`` in the folder of the recordings, which is relative to the study file."""
    return expand_path(folder, study_file, field="input.folder", what="the folder of the recordings")
