"""Every field of a study file says what it is, its unit and its default."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from shortloop.eeg.study.schema import Study
from shortloop.settings.base import kinds_of, models_in
from shortloop.settings.read import documented_fields

TAGS = ("format", "kind")  # which of several tables it is: documented by the table

# Fields that are quantities and the word that gives their unit; numbers that are plain counts, ratios,
# powers or probabilities. A new number has to be put into one of them.
UNITS = {
    **dict.fromkeys(("tmin", "tmax", "onset", "offset", "delay", "baseline", "start", "stop"), "s"),
    **dict.fromkeys(("sfreq", "highpass", "lowpass", "notch", "resample", "fmin", "fmax", "fstep"), "Hz"),
    **dict.fromkeys(("reject", "flat"), "V"),
    **dict.fromkeys(("step", "every"), "sample"),
    "strength": "SD",
    "smooth": "bins",
    "truncate": "sigmas",
    "trials": "trials per class",
    "bin_samples": "samples per bin",
    "bin_points": "time points per bin",
    "cycles": "cycles per wavelet",
}
PLAIN = {
    *("seed", "folds", "inner_folds", "select_alpha", "count", "alpha", "cluster_alpha", "C", "tol"),
    *("order", "column", "bins", "channels", "weakening", "kernel_scale", "shrinkage", "retrained"),
}


def records(model: type[BaseModel] = Study) -> Iterator[type[BaseModel]]:
    yield model
    for field in model.model_fields.values():
        for inner in models_in(field.annotation):
            for kind in kinds_of(inner):
                yield from records(kind)


FIELDS = {(model, name): field for model in records() for name, field in model.model_fields.items()}


def of_numbers(annotation: Any) -> bool:
    """Whether a field is a number, or a few of them."""
    if annotation in (int, float):
        return True
    return any(of_numbers(argument) for argument in get_args(annotation) if argument not in (bool, str))


def test_every_field_has_a_description_that_is_printed() -> None:
    names = {model.__name__ for model in records()}
    assert {"Study", "Phases", "AmplitudeSettings", "PowerSettings", "GroupSettings", "EdfInput"} <= names
    assert len(FIELDS) > 60
    for (model, name), field in FIELDS.items():
        text = field.description or ""
        assert len(text.split()) > 1, (model, name)
        assert not text.endswith("."), (model, name)
    printed = {(key.split(".")[-1], text) for key, text in documented_fields(Study)}
    assert {(name, field.description) for (_, name), field in FIELDS.items()} - printed == set()


def test_default_is_named() -> None:
    for (model, name), field in FIELDS.items():
        default = field.get_default(call_default_factory=True, validated_data={})
        if name not in TAGS and not isinstance(default, BaseModel):
            assert says(field.description or "", default), (model, name)


def says(text: str, default: object) -> bool:
    """Whether a description names a field's default."""
    if default is PydanticUndefined:
        return "no default" in text
    if isinstance(default, bool):
        return f"default {str(default).lower()}" in text
    if isinstance(default, int | float):
        return "default" in text and numbers(text.rpartition("default ")[2])[0] == default
    if isinstance(default, tuple) and default:
        return "default" in text and tuple(numbers(text.rpartition("default ")[2]))[: len(default)] == default
    if isinstance(default, str) and default != ".":
        return bool(re.search(rf"default '?{re.escape(default)}\b|'{re.escape(default)}'.*the default", text))
    return "default" in text


def numbers(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", text)]


def test_unit_is_named() -> None:
    for (model, name), field in FIELDS.items():
        if of_numbers(field.annotation) and name != "params":
            assert (name in UNITS) != (name in PLAIN), f"{model.__name__}.{name}: has it a unit?"
            if name in UNITS:
                assert re.search(rf"\b{UNITS[name]}\b", field.description or ""), (model, name)
