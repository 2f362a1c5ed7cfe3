"""Units of signals as people write them, and the one way in which they are written here."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from typing import Annotated

from pydantic import BeforeValidator

__all__ = ["VOLTS", "Unit", "VoltUnit", "unit_named", "voltages"]

VOLTS = {"V": 1.0, "mV": 1e-3, "µV": 1e-6, "nV": 1e-9}
"""By what samples of each unit are multiplied."""

BASES = {"v": "V", "volt": "V", "volts": "V", "t": "T", "tesla": "T"}
WORDS = {"milli": "m", "micro": "µ", "mikro": "µ", "nano": "n", "pico": "p", "femto": "f"}
PREFIXES = {"": "", "m": "m", "u": "µ", "µ": "µ", "n": "n", "p": "p", "f": "f"}
SURFACES = {"": "", "/m": "/m", "/cm": "/cm", "/m2": "/m²", "/mm2": "/mm²", "/cm2": "/cm²"}
OTHERS = ("µM", "mM", "M", "mm", "°", "%", "dB", "1", "z", "a.u.")
SAME = {
    "au": "a.u.",
    "arbitrary": "a.u.",
    "arbitraryunits": "a.u.",
    "zscore": "z",
    "zscores": "z",
    "db": "dB",
}
SIGNAL = re.compile(
    rf"({'|'.join(WORDS)}|[muµnpf]?)({'|'.join(sorted(BASES, key=len, reverse=True))})(/m|/cm|/m2|/mm2|/cm2)?"
)
EXAMPLES = f"V, mV, µV, nV, T, fT, T/m, fT/cm, µV/m², {', '.join(OTHERS)} (arbitrary: any other)"


def unit_named(text: str) -> str:
    """The unit that is meant."""
    plain = text.strip().replace("\u03bc", "µ").replace("²", "2")
    if plain in OTHERS:
        return plain
    if re.match(r"M\W*(?i:v|t)", plain):  # case tells mega from milli
        raise ValueError(f"{text!r} would be mega, a million; for thousandths, write 'm{plain[1:]}'")
    short = re.sub(r"[\s_^-]+", "", plain).casefold().replace("\u03bc", "µ")  # as casefold writes the sign
    if (same := SAME.get(short.replace(".", ""))) is not None:
        return same
    matched = SIGNAL.fullmatch(short)
    if matched is None:
        raise ValueError(f"{text!r} is no unit that is known; write one of {EXAMPLES}")
    prefix, base, surface = matched.groups()
    return f"{WORDS.get(prefix) or PREFIXES[prefix]}{BASES[base]}{SURFACES[surface or '']}"


def voltages(texts: Iterable[str]) -> set[str]:
    """The units of voltage among what a header says of its channels."""
    found = set()
    for text in texts:
        with contextlib.suppress(ValueError):
            found.add(unit_named(text))
    return found & VOLTS.keys()


def _unit(value: object) -> object:
    return unit_named(value) if isinstance(value, str) else value


def _volts(value: object) -> object:
    named = _unit(value)
    if isinstance(named, str) and named not in VOLTS:
        raise ValueError(f"{value!r} is no unit of voltage; write one of {', '.join(VOLTS)}")
    return named


Unit = Annotated[str, BeforeValidator(_unit)]
"""A unit of any signal."""
VoltUnit = Annotated[str, BeforeValidator(_volts)]
"""A unit of voltage."""
