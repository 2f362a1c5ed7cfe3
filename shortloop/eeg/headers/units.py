"""Units of signals, scaled to volts: MNE knows few of those in EDF, GDF and BrainVision files."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator

from shortloop.base.errors import warn
from shortloop.eeg.headers.brainvision import units_of
from shortloop.eeg.headers.edf import READERS, EdfHeader, decoded

VOLTS = {"V": 1.0, "mV": 1e-3, "µV": 1e-6, "nV": 1e-9}  # factor of each unit

BASES = {"v": "V", "volt": "V", "volts": "V", "t": "T", "tesla": "T"}
WORDS = {"milli": "m", "micro": "µ", "mikro": "µ", "nano": "n", "pico": "p", "femto": "f"}
OTHERS = ("µM", "mM", "M", "mm", "°", "%", "dB", "1", "z", "a.u.")
SAME = dict.fromkeys(("au", "arbitrary", "arbitraryunits"), "a.u.")
SAME |= {"zscore": "z", "zscores": "z", "db": "dB"}
SIGNAL = re.compile(
    rf"({'|'.join(WORDS)}|[muµnpf]?)({'|'.join(sorted(BASES, key=len, reverse=True))})(/m|/cm|/m2|/mm2|/cm2)?"
)
EXAMPLES = f"V, mV, µV, nV, T, fT, T/m, fT/cm, µV/m², {', '.join(OTHERS)} (arbitrary: any other)"
OF_GDF = {4256: b"V", 4274: b"mV", 4275: b"uV", 4276: b"nV", 0: b"", 512: b""}  # codes of GDF
DATA = frozenset({"eeg", "seeg", "ecog", "dbs"})
# The letter µ of Shift JIS and of the DOS and Greek code pages, read as Latin-1.
MICRO = {"\x83\xca": "µ", "\xe6": "µ", "\xec": "µ", "\xc2": ""}
NUMBERED = 1.9  # version of GDF from which on units are codes
NO_VOLTAGE = {
    *("degc", "°c", "c", "degf", "celsius", "mmhg", "cmh2o", "kpa", "l/min", "l/s", "ml"),
    *("bpm", "1/min", "hz", "g", "m/s2", "m/s^2", "rpm", "lx", "ohm", "kohm"),
}


def unit_named(text: str) -> str:
    """Return the standard spelling of a unit, or raise ValueError."""
    if (plain := text.strip().replace("\u03bc", "µ").replace("²", "2")) in OTHERS:
        return plain
    if re.match(r"M\W*(?i:v|t)", plain):  # case tells mega from milli
        raise ValueError(f"{text!r} would be mega, a million; for thousandths, write 'm{plain[1:]}'")
    short = re.sub(r"[\s_^-]+", "", plain).casefold().replace("\u03bc", "µ")  # as casefold writes the sign
    if (same := SAME.get(short.replace(".", ""))) is not None:
        return same
    if (matched := SIGNAL.fullmatch(short)) is None:
        raise ValueError(f"unknown unit {text!r}; write one of {EXAMPLES}")
    prefix, base, surface = matched.groups()
    return WORDS.get(prefix, prefix.replace("u", "µ")) + BASES[base] + (surface or "").replace("2", "²")


def voltage(text: str) -> str:
    """Return the unit of voltage that a text of a header is; empty if it is none."""
    with contextlib.suppress(ValueError):
        if (unit := unit_named(text)) in VOLTS:
            return unit
    return ""


def _volt_unit(text: str) -> str:
    if (unit := unit_named(text)) not in VOLTS:
        raise ValueError(f"{text!r} is not a unit of voltage; write one of {', '.join(VOLTS)}")
    return unit


Unit = Annotated[str, AfterValidator(unit_named)]
VoltUnit = Annotated[str, AfterValidator(_volt_unit)]


def scale_to_volts(raw: Any, file: Path) -> None:
    """Scale channels to volts by their units, and take channels of other units out of the EEG."""
    if (kind := type(raw).__name__) not in (*READERS, "RawGDF", "RawBrainVision"):
        return
    (read,) = map(Path, raw.filenames)
    own = _written(raw, kind, file if kind == "RawBrainVision" else read)
    written = {name: unit for name, (unit, _) in zip(raw.ch_names, own, strict=True)}
    types = dict(zip(raw.ch_names, raw.get_channel_types(), strict=True))
    volts = {name: VOLTS.get(voltage(_text(text))) for name, text in written.items() if types[name] != "stim"}
    for name, (_, of_mne) in zip(raw.ch_names, own, strict=True):
        factor = volts.get(name)
        if factor is not None and factor != of_mne:
            by = factor / of_mne
            raw.load_data().apply_function(lambda signal, by=by: signal * by, picks=[name])
        if factor is not None and kind == "RawBrainVision" and types[name] == "misc":
            raw.set_channel_types({name: "eeg"}, on_unit_change="ignore")
            types[name] = "eeg"
    aside = {"misc"} if kind == "RawBrainVision" else set()
    data = [name for name in volts if types[name] in DATA | aside]
    known = 2 * sum(volts[name] is not None for name in data) > len(data)
    others = [name for name in data if volts[name] is None and (known or _is_no_voltage(written[name]))]
    if others:
        raw.set_channel_types(dict.fromkeys(others, "misc"), on_unit_change="ignore")
        named = ", ".join(f"{name} ({_text(written[name]) or 'no unit'})" for name in others)
        warn(
            f"channels whose unit is not a voltage were left out: {named}; if they are EEG, correct their "
            "units in the file"
        )


def _written(raw: Any, kind: str, file: Path) -> list[tuple[bytes, float]]:
    """Return each channel's unit as the header has it, and the factor that MNE used."""
    if kind == "RawBrainVision":
        units = units_of(file)
        units += ["V"] * (len(raw.ch_names) - len(units))  # MNE adds a channel of an accelerometer
        return [*zip(map(str.encode, units), [float(each["range"]) for each in raw.info["chs"]], strict=True)]
    extras = raw._raw_extras[0]  # noqa: SLF001  no public access
    texts = EdfHeader.read(file).units if kind in READERS else _units_of_gdf(file)
    places = [each["logno"] - 1 for each in raw.info["chs"]]
    return [(texts[extras["sel"][at]], float(extras["units"][at])) for at in places]


def _units_of_gdf(file: Path) -> list[bytes]:
    with file.open("rb") as stream:
        start = stream.read(256)
        new = float(start[4:8]) >= NUMBERED
        signals = int.from_bytes(start[252 : 254 if new else 256], "little")
        stream.seek(256 + (102 if new else 96) * signals)
        fields = [stream.read(2 if new else 8) for _ in range(signals)]
    if not new:
        return [each.strip(b" \0") for each in fields]
    codes = [int.from_bytes(each, "little") for each in fields]
    return [OF_GDF.get(code, b"code %d" % code) for code in codes]


def _text(unit: bytes) -> str:
    text = decoded(unit)
    for sign, meant in MICRO.items():
        text = text.replace(sign, meant)
    return text.strip(" \0")


def _is_no_voltage(unit: bytes) -> bool:
    """True if a unit is known and no voltage."""
    text = _text(unit).casefold().replace(" ", "")
    try:
        return text in NO_VOLTAGE or unit_named(text) not in VOLTS
    except ValueError:
        return False
