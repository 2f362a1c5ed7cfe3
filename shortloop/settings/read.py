"""Read a settings file into a validated record."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, time
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from shortloop.base.errors import InputError
from shortloop.base.plain import with_tuples
from shortloop.settings.changes import Changes
from shortloop.settings.engine import ENGINE_TABLE, engine_settings
from shortloop.settings.explain import explain
from shortloop.settings.record_by_kind import with_offered

__all__ = ["read_settings", "settings_path"]

M = TypeVar("M", bound=BaseModel)


def settings_path(
    variables: Sequence[str],
    default: Path,
    environ: Mapping[str, str] = os.environ,
    *,
    base: Path | None = None,
) -> Path:
    """The settings file that a run uses."""
    given = next((environ[each] for each in variables if environ.get(each)), None)
    return Path(os.path.abspath((base or Path.cwd()) / os.path.expanduser(given))) if given else default


def read_settings(path: str | os.PathLike[str], model: type[M], *, noun: str, variable: str) -> M:
    """Read and validate a settings file."""
    path = Path(path)
    text = _text(path, noun, variable)
    try:
        content = _changed(tomllib.loads(text), path, model)
        if ENGINE_TABLE not in model.model_fields and isinstance(engine := content.get(ENGINE_TABLE), dict):
            engine_settings(engine, path, {})  # it is for the run, not for the analysis
            del content[ENGINE_TABLE]
        model = with_offered(model, content)
        try:
            validated = _validated(content, model)
            # JSON has no dates, so that a field could not tell one from a text.
            return model.model_validate(content) if _holds_times(content) else validated
        except ValidationError as error:
            raise explain(error, content, path, model, noun) from None
    except InputError:
        raise
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            f"the {noun} file is not valid TOML", file=path, found=str(error), hint="correct that line"
        ) from None
    except (ValueError, OverflowError, RecursionError) as error:  # of thousands of digits, or of brackets
        raise InputError(
            f"the {noun} file holds a number too large, or tables or arrays in each other too deep",
            file=path,
            found=str(error),
            hint="correct the value",
        ) from None


def _changed(content: dict[str, object], path: Path, model: type[BaseModel]) -> dict[str, object]:
    """With what a run of a sweep changes."""
    changes = Changes.given()
    if changes is None:
        return content
    field = model.model_fields.get("name")
    if field is not None and not field.is_required():  # else all runs of a sweep would have one name
        content = {"name": field.get_default(call_default_factory=True), **content}
    return changes.applied(content, path)


def _text(path: Path, noun: str, variable: str) -> str:
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe would be waited for
            raise InputError(f"the {noun} file is not a regular file", file=path, hint="name a TOML file")
        return path.read_bytes().decode("utf-8-sig")  # some editors write a byte order mark
    except OSError as error:
        raise InputError(
            f"the {noun} file cannot be read ({error.strerror})",
            file=path,
            hint=f"give an existing file: --settings FILE, or {variable}=FILE in the environment",
        ) from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"the {noun} file is not valid TOML", file=path, found=str(error), hint="save it as UTF-8"
        ) from None


def _validated(content: Mapping[str, object], model: type[M]) -> M:
    """As strict JSON: "10" and true are not 10, but a list may be a set, and a table a dataclass."""
    try:
        return model.model_validate_json(_as_json(content), strict=True)
    except ValidationError as error:
        if all(each["type"] != "tuple_type" for each in error.errors()):
            raise
        # What a validator that comes first returns counts as Python, where no list is a tuple.
        return model.model_validate(with_tuples(content), strict=True)


def _as_json(content: Mapping[str, object]) -> str:
    return json.dumps(content, default=lambda time: time.isoformat())


def _holds_times(value: object) -> bool:
    if isinstance(value, dict | list):
        return any(map(_holds_times, value.values() if isinstance(value, dict) else value))
    return isinstance(value, date | time)
