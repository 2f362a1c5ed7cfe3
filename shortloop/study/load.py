"""Reading a study file: TOML in, a validated `Study` out, or one message that says what to mend."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from shortloop.errors import InputError
from shortloop.study.schema import Study

__all__ = ["DEFAULT_STUDY", "STUDY_VARIABLE", "data_folder", "models_in", "read_study", "study_path"]

DEFAULT_STUDY = Path(__file__).with_name("default.toml")
STUDY_VARIABLE = "STUDY"


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
    return (base or Path.cwd()) / Path(given).expanduser() if given else DEFAULT_STUDY


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
    try:
        text = path.read_bytes().decode("utf-8")
        content = tomllib.loads(text)
    except OSError as error:
        raise InputError(
            f"the study file cannot be read ({error.strerror})",
            file=path,
            hint=f"set {STUDY_VARIABLE}=path/to/study.toml to a file that exists",
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(
            "the study file is not valid TOML", file=path, found=str(error), hint="mend that line"
        ) from None
    try:
        return Study.model_validate(content)
    except ValidationError as error:
        raise _explain(error, path) from None


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
        found = os.environ.get(match["name"], match["default"])
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
    return Path(os.path.abspath(Path(study_file).parent / Path(expanded).expanduser()))


def _explain(error: ValidationError, path: Path) -> InputError:
    first, *others = error.errors(include_url=False)
    location = [part for part in first["loc"] if isinstance(part, int) or part not in _TAGS]
    field = ".".join(map(str, location)) or None
    more = f" (and {len(others)} more)" if others else ""
    if first["type"] == "extra_forbidden":
        known = _known_keys([str(part) for part in location[:-1]])
        near = difflib.get_close_matches(str(location[-1]), known, n=1)
        return InputError(
            f"the study file has an unknown key{more}",
            file=path,
            field=field,
            found=location[-1],
            expected=", ".join(known) or None,
            hint=f"did you mean '{near[0]}'?" if near else "remove the key",
        )
    if first["type"] == "missing":
        return InputError(
            f"the study file lacks a key{more}", file=path, field=field, hint=f"add '{location[-1]}'"
        )
    found = None if isinstance(first["input"], dict | BaseModel) else repr(first["input"])
    return InputError(
        f"the study file has a wrong value{more}",
        file=path,
        field=field,
        found=found,
        expected=first["msg"].removeprefix("Value error, "),
        hint="correct the value" if field else "correct the study file",
    )


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """Records that a field may hold, from its annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in models_in(argument)]


def _known_keys(location: list[str]) -> list[str]:
    """Keys that the study file may have at a place."""
    models: list[type[BaseModel]] = [Study]
    for part in location:
        models = [
            inner
            for model in models
            if part in model.model_fields
            for inner in models_in(model.model_fields[part].annotation)
        ]
    return sorted({key for model in models for key in model.model_fields})


# pydantic puts the tag of a chosen alternative into the location of an error; no user wrote it.
_TAGS = {"simulated", "thesis", "edf", "fif", "npz", "linear-svm", "matlab-svm", "sklearn"}
