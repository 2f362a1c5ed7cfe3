"""Units are taken as people write them, if it is clear which they mean."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from shortloop.eeg.formats.base import InputSettings
from shortloop.eeg.headers.units import VOLTS, unit_named, voltage

MICRO, MU = "\u00b5V", "\u03bcV"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *((text, MICRO) for text in ("uv", "uV", "UV", MICRO, MU, f" {MU} ", "\u039cV", "micro volt")),
        *((text, MICRO) for text in ("microvolts", "micro-Volts", "Micro Volt", "µ volt", "u V")),
        *((text, "mV") for text in ("mV", "mv", "milli volts", "Millivolt")),
        *((text, "V") for text in ("V", "v", "volts", "Volt")),
        *((text, "nV") for text in ("nV", "nanovolt")),
        *((text, "fT/cm") for text in ("fT/cm", "ft / cm")),
        *((text, "µV/m²") for text in ("µV/m²", "uV/m^2", "uV/m2")),
        *((text, "a.u.") for text in ("a.u.", "AU", "arbitrary units")),
        *((text, "z") for text in ("z", "z-score", "z scores")),
        ("µM", "µM"),
        ("\u03bcM", "µM"),
        ("%", "%"),
    ],
)
def test_what_is_clear_is_taken(written: str, meant: str) -> None:
    assert unit_named(written) == meant


@pytest.mark.parametrize("text", ["MV", "Mv", "M V", "Mvolt"])
def test_mega_is_not_milli(text: str) -> None:
    with pytest.raises(ValueError, match="mega, a million"):
        unit_named(text)


@pytest.mark.parametrize("text", ["micovolt", "", "meV", "megavolt", "uV2", "ADC", "µ"])
def test_what_is_not_clear_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"unknown unit .*; write one of V, mV, µV"):
        unit_named(text)


def test_every_voltage_is_one() -> None:
    assert {unit_named(text) for text in VOLTS} == set(VOLTS)
    assert [*map(voltage, ["uV", MU, "unknown", "T"])] == [MICRO, MICRO, "", ""]


@pytest.mark.parametrize("unit", ["uv", MU, "micro volt"])
def test_a_study_may_say_it_in_any_of_these_ways(unit: str, tmp_path: object) -> None:
    for name in ("npz", "csv", "fieldtrip"):
        read_as = InputSettings.model_validate({"format": name, "files": {"run": ("x",)}, "unit": unit})
        assert read_as.how_to_read("S1")["unit"] == MICRO


@pytest.mark.parametrize(("name", "unit"), [("npz", "micovolt"), ("csv", "fT"), ("fieldtrip", "MV")])
def test_a_study_with_another_unit_is_refused(name: str, unit: str) -> None:
    with pytest.raises(ValidationError, match=unit):
        InputSettings.model_validate({"format": name, "files": {"run": ("x",)}, "unit": unit})
