"""Every field of a study file says what it is, its unit and its default."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from shortloop.eeg.study.schema import Study
from shortloop.settings.fields import documented_fields
from shortloop.settings.records import models_in

TAGS = ("format", "kind")  # which of several tables it is: documented by the table

# Fields that are quantities and the word that gives their unit; numbers that are plain counts, ratios,
# powers or probabilities. A new number has to be put into one of them.
UNITS = {
    "tmin": "s",
    "tmax": "s",
    "onset": "s",
    "offset": "s",
    "delay": "s",
    "baseline": "s",
    "start": "s",
    "stop": "s",
    "sfreq": "Hz",
    "highpass": "Hz",
    "lowpass": "Hz",
    "notch": "Hz",
    "resample": "Hz",
    "reject": "V",
    "flat": "V",
    "fmin": "Hz",
    "fmax": "Hz",
    "fstep": "Hz",
    "strength": "SD",
    "smooth": "bins",
    "truncate": "sigmas",
    "trials": "trials per class",
    "bin_samples": "samples per bin",
    "bin_points": "time points per bin",
    "step": "sample",
    "every": "sample",
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
            yield from records(inner)


FIELDS = [
    pytest.param(name, field, id=f"{model.__name__}.{name}")
    for model in records()
    for name, field in model.model_fields.items()
]


def of_numbers(annotation: Any) -> bool:
    """Whether a field is a number, or a few of them."""
    if annotation in (int, float):
        return True
    return any(of_numbers(argument) for argument in get_args(annotation) if argument not in (bool, str))


def test_all_records_are_seen() -> None:
    names = {model.__name__ for model in records()}
    assert {"Study", "Phases", "AmplitudeSettings", "PowerSettings", "GroupSettings", "EdfInput"} <= names
    assert len(FIELDS) > 60


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_description(name: str, field: FieldInfo) -> None:
    assert field.description
    assert len(field.description.split()) > 1
    assert not field.description.endswith(".")


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_default_is_named(name: str, field: FieldInfo) -> None:
    text = field.description or ""
    default = field.get_default(call_default_factory=True, validated_data={})
    if name in TAGS or isinstance(default, BaseModel):
        return
    if default is PydanticUndefined:
        assert "no default" in text
        return
    assert "default" in text
    if isinstance(default, bool):
        assert f"default {str(default).lower()}" in text
    elif isinstance(default, int | float):
        assert numbers(text.rpartition("default ")[2])[0] == default
    elif isinstance(default, tuple) and default:
        assert tuple(numbers(text.rpartition("default ")[2]))[: len(default)] == default
    elif isinstance(default, str) and default != ".":
        assert re.search(rf"default '?{re.escape(default)}\b|'{re.escape(default)}'.*the default", text)


def numbers(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", text)]


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_unit_is_named(name: str, field: FieldInfo) -> None:
    if not of_numbers(field.annotation) or name == "params":
        return
    assert (name in UNITS) != (name in PLAIN), f"{name}: has it a unit?"
    if name in UNITS:
        assert re.search(rf"\b{UNITS[name]}\b", field.description or "")


def test_fields_are_printed_with_their_descriptions() -> None:
    printed = dict(documented_fields(Study))
    for param in FIELDS:
        name, field = param.values
        assert isinstance(field, FieldInfo)
        assert (name, field.description) in {(key.split(".")[-1], text) for key, text in printed.items()}
