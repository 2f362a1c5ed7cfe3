"""Reading a study file: TOML in, a validated `Study` out, or one message that says what to mend."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from shortloop.eeg.study.explain import explain, models_in
from shortloop.eeg.study.schema import Study
from shortloop.errors import InputError
from shortloop.settings.variable import SETTINGS_VARIABLE as STUDY_VARIABLE

__all__ = ["DEFAULT_STUDY", "STUDY_VARIABLE", "data_folder", "models_in", "read_study", "study_path"]

DEFAULT_STUDY = Path(__file__).with_name("default.toml")


def study_path(environ: Mapping[str, str] = os.environ, *, base: Path | None = None) -> Path:
    """The study file that a run uses: the variable STUDY, else the embedded default.

    Parameters
    ----------
    environ : mapping of str to str
        Environment variables; default: those of the process.
    base : Path, optional
        Folder that a relative path starts from; default: the current one.

    Returns
    -------
    Path
        Absolute.
    """
    given = environ.get(STUDY_VARIABLE)
    return Path(os.path.abspath((base or Path.cwd()) / os.path.expanduser(given))) if given else DEFAULT_STUDY


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
    path = Path(path)
    text = _read(path)
    try:
        content = tomllib.loads(text)
        try:
            return Study.model_validate(_as_tuples(content), strict=True)  # strict: "10" and true are not 10
        except ValidationError as error:
            raise explain(error, content, path) from None
    except InputError:
        raise
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            "the study file is not valid TOML", file=path, found=str(error), hint="mend that line"
        ) from None
    except (ValueError, OverflowError, RecursionError) as error:  # of thousands of digits, or of brackets
        raise InputError(
            "the study file holds a number too large, or tables or arrays in each other too deep",
            file=path,
            found=str(error),
            hint="correct the value",
        ) from None


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

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match["name"]) or match["default"]  # set to nothing is not set
        if found is None:
            raise InputError(
                f"the variable {match['name']} is not set",
                file=study_file,
                field="input.folder",
                found=folder,
                hint=f"set {match['name']} to the folder of the recordings",
            )
        return found

    expanded = re.sub(r"\$\{(?P<name>\w+)(?:=(?P<default>[^}]*))?\}", value, folder)
    return Path(os.path.abspath(Path(study_file).parent / os.path.expanduser(expanded)))


def _read(path: Path) -> str:
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe would be waited for
            raise InputError("the study file is no file", file=path, hint="name a TOML file")
        return path.read_bytes().decode("utf-8-sig")  # some editors write a byte order mark
    except OSError as error:
        raise InputError(
            f"the study file cannot be read ({error.strerror})",
            file=path,
            hint=f"set {STUDY_VARIABLE}=path/to/study.toml to a file that exists",
        ) from None
    except UnicodeDecodeError as error:
        raise InputError(
            "the study file is not valid TOML", file=path, found=str(error), hint="save it as UTF-8"
        ) from None


def _as_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_tuples(each) for key, each in value.items()}
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value
