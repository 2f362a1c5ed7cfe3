"""`shortloop study` checks a study file and lists its fields, each with its unit and default."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from command_line import ROOT, forked
from on_a_terminal import on_a_terminal
from pydantic import BaseModel
from pydantic_core import PydanticUndefined
from python_process import ended

from shortloop.cli.study import check_file
from shortloop.eeg.analysis import ANALYSIS
from shortloop.eeg.study.load import DEFAULT_STUDY
from shortloop.eeg.study.schema import Study
from shortloop.settings.base import kinds_of, models_in
from shortloop.settings.read import documented_fields


def test_it_lists_whole_fields_on_a_narrow_terminal(tmp_path: Path) -> None:
    code = f"import os, runpy, sys; os.chdir({str(tmp_path)!r}); sys.argv[1:] = ['study']"
    said = on_a_terminal(f"{code}; runpy.run_module('shortloop', run_name='__main__')", 80)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said).splitlines()
    assert max(map(len, lines)) <= 80
    for field, _ in documented_fields(Study):
        assert any(line.split() and line.split()[0] == field for line in lines)


READY = [DEFAULT_STUDY, *sorted((ROOT / "studies").glob("*.toml"))]


@pytest.mark.parametrize("file", READY, ids=lambda file: file.stem)
def test_it_accepts_the_ready_studies(tmp_path: Path, file: Path) -> None:
    done = forked(tmp_path, "study", str(file), "--quick")  # recordings are not everywhere
    assert done.returncode == 0, done.stderr
    assert "is fine" in done.stdout
    assert done.stderr == ""


def test_the_name_of_a_study_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / os.fsdecode(b"\x1b[2J\n" + b"\xff.toml")
    file.write_bytes(DEFAULT_STUDY.read_bytes())
    assert ANALYSIS.settings is not None
    check_file(ANALYSIS.settings, file)
    assert r"\x1b[2J\n\udcff.toml is fine" in capsys.readouterr().out


def test_an_output_that_cannot_hold_every_letter(tmp_path: Path) -> None:
    (tmp_path / "µ.toml").write_bytes(DEFAULT_STUDY.read_bytes())
    done = ended(["-m", "shortloop", "study", "µ.toml"], tmp_path, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(r"\xb5.toml is fine")


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


def test_default_and_unit_are_named() -> None:
    for (model, name), field in FIELDS.items():
        default = field.get_default(call_default_factory=True, validated_data={})
        if name not in TAGS and not isinstance(default, BaseModel):
            assert says(field.description or "", default), (model, name)
    for (model, name), field in FIELDS.items():
        if of_numbers(field.annotation) and name != "params":
            assert (name in UNITS) != (name in PLAIN), f"{model.__name__}.{name}: has it a unit?"
            if name in UNITS:
                assert re.search(rf"\b{UNITS[name]}\b", field.description or ""), (model, name)


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
