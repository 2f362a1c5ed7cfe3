"""Units of channels in EDF, BDF, GDF and BrainVision: MNE knows few, and takes others for volts."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from shortloop.eeg.formats.channel_units import VOLTS, unit_named
from shortloop.eeg.headers.brainvision_header import units_of
from shortloop.eeg.headers.edf_header import READERS, EdfHeader

__all__ = ["in_volts"]

OF_MNE = {"\u03bcV": 1e-6, "\u00b5V": 1e-6, "\x83\xcaV": 1e-6, "uV": 1e-6, "mV": 1e-3}
"""What MNE multiplies by; it reads Latin-1."""
OF_GDF = {4256: b"V", 4274: b"mV", 4275: b"uV", 4276: b"nV", 0: b"", 512: b""}
"""Codes of GDF from version 1.9 on; MNE multiplies by those of mV and uV."""
DATA = frozenset({"eeg", "seeg", "ecog", "dbs"})
# The letter µ in Shift JIS, in the code page of DOS, and in that of Greek, as they look in Latin-1.
MICRO = {"\x83\xca": "µ", "\xe6": "µ", "\xec": "µ", "\xc2": ""}
TEMPERATURES, PRESSURES = {"degc", "°c", "c", "degf", "celsius"}, {"mmhg", "cmh2o", "kpa"}
FLOWS, OTHERS = (
    {"l/min", "l/s", "ml"},
    {"bpm", "1/min", "hz", "g", "m/s2", "m/s^2", "rpm", "lx", "ohm", "kohm"},
)
NUMBERED = 1.9  # version of GDF from which on units are codes
NO_VOLTAGE = TEMPERATURES | PRESSURES | FLOWS | OTHERS


def in_volts(raw: Any, file: Path, participant: str) -> None:
    """Scale channels to volts by their units, and take those of other units out of the EEG."""
    kind = type(raw).__name__
    if kind not in (*READERS, "RawGDF", "RawBrainVision"):
        return
    (read,) = map(Path, raw.filenames)
    own = _written(raw, kind, file if kind == "RawBrainVision" else read)
    written = {name: unit for name, (unit, _) in zip(raw.ch_names, own, strict=True)}
    types = dict(zip(raw.ch_names, raw.get_channel_types(), strict=True))
    volts = {name: _volts(text) for name, text in written.items() if types[name] != "stim"}
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
        warnings.warn(
            f"{participant}, {file.name}: channels whose unit is no voltage were left out: {named}; if they "
            "are EEG, correct their units in the file",
            stacklevel=2,
        )


def _written(raw: Any, kind: str, file: Path) -> list[tuple[bytes, float]]:
    """The unit of each channel as its header has it, and by what MNE multiplied."""
    if kind == "RawBrainVision":
        units = units_of(file)
        units += ["V"] * (len(raw.ch_names) - len(units))  # the channel of an accelerometer that MNE adds
        return [
            (unit.encode(), float(each["range"])) for unit, each in zip(units, raw.info["chs"], strict=True)
        ]
    chosen = [raw._raw_extras[0]["sel"][each["logno"] - 1] for each in raw.info["chs"]]  # noqa: SLF001  MNE has it there
    if kind in READERS:
        texts = EdfHeader.read(file).units
        return [(texts[at], OF_MNE.get(texts[at].decode("latin-1"), 1.0)) for at in chosen]
    return [_units_of_gdf(file)[at] for at in chosen]


def _units_of_gdf(file: Path) -> list[tuple[bytes, float]]:
    with file.open("rb") as stream:
        start = stream.read(256)
        new = float(start[4:8]) >= NUMBERED
        signals = int.from_bytes(start[252 : 254 if new else 256], "little")
        stream.seek(256 + (102 if new else 96) * signals)
        fields = [stream.read(2 if new else 8) for _ in range(signals)]
    if not new:
        texts = [each.strip(b" \0") for each in fields]
        return [(text, 1e-6 if text.startswith(b"uV") else 1.0) for text in texts]
    codes = [int.from_bytes(each, "little") for each in fields]
    return [(OF_GDF.get(code, b"code %d" % code), {4274: 1e-3, 4275: 1e-6}.get(code, 1.0)) for code in codes]


def _text(unit: bytes) -> str:
    """A unit as somebody wrote it, in whatever encoding."""
    try:
        text = unit.decode("utf-8")
    except UnicodeDecodeError:
        text = unit.decode("latin-1")
    for sign, meant in MICRO.items():
        text = text.replace(sign, meant)
    return text.strip(" \0")


def _volts(unit: bytes) -> float | None:
    """By what samples in a unit are multiplied; None: it is no voltage."""
    try:
        return VOLTS.get(unit_named(_text(unit)))
    except ValueError:
        return None


def _is_no_voltage(unit: bytes) -> bool:
    """True if a unit is known, and of something else."""
    text = _text(unit).casefold().replace(" ", "")
    try:
        return text in NO_VOLTAGE or unit_named(text) not in VOLTS
    except ValueError:
        return False
