"""Times and rates in the wrong unit, such as milliseconds in place of seconds."""

from __future__ import annotations

import math
from typing import TypeVar

from shortloop.base.errors import InputError

T = TypeVar("T")
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}  # factor of each unit
FAR = 100.0  # s; no epoch reaches further from its event, and windows in ms mostly do

# Hz. Recordings of 250 to 1000 Hz with times in ms, and all with sample numbers as times, seem to have at
# most one sample a second. Those of up to 5000 Hz seem to have up to 5, and epochs of minutes; slow signals,
# such as near-infrared light and haemodynamics, have shorter epochs. Two minutes in ms seem to be more than a
# day. Amplifiers sample at up to 50 kHz.
SLOWEST, SLOW, FASTEST = 1.0, 5.0, 100e3
DAY = 86_400.0  # s
USUAL = (50.0, 50e3)  # Hz
SAME = 1e-3  # relative: clocks differ, so that a rate measured by times of samples is never quite nominal
NOMINAL = tuple(sorted({base * 2**n for base in (100, 120, 125, 128, 150, 312.5) for n in range(-1, 8)}))


def check_rate(
    sfreq: float, seconds: float, *, continuous: bool = False, believed: bool = False, field: str = "sfreq"
) -> None:
    """Refuse a sampling rate that only makes sense with times in another unit."""
    long = FAR if not continuous else DAY
    slow = sfreq <= SLOWEST or (sfreq <= SLOW and seconds >= long)
    if believed or not (slow or sfreq > FASTEST):
        return
    meant = [unit for unit, scale in SECONDS.items() if USUAL[0] <= sfreq / scale <= USUAL[1]] if slow else []
    rates = ", ".join(f"{sfreq / SECONDS[unit]:.6g} Hz with times in {unit}" for unit in meant[:1])
    raise InputError(
        "the sampling rate cannot be meant in Hz: times are in another unit than seconds, or are no times",
        field=field,
        found=f"{sfreq:.6g} Hz over {seconds:.6g} s" + (f"; it would be {rates}" if rates else ""),
        expected=f"more than {SLOWEST:g} Hz, more than {SLOW:g} Hz over {long:g} s, "
        f"at most {FASTEST / 1e3:g} kHz",
        hint="save times in seconds and rates in Hz, or, in csv and npz, say their unit: "
        "input.time_unit = 'ms'; a unit that is said is believed",
    )


def same_rate(one: float, other: float) -> bool:
    """True if two sampling rates differ by no more than clocks do."""
    return math.isclose(one, other, rel_tol=SAME)


def nominal(rate: float) -> float:
    """Return the nominal rate near a measured one, if any."""
    near = min(NOMINAL, key=lambda each: abs(each - rate))
    return near if same_rate(near, rate) else rate


def in_seconds(value: T) -> T:
    """Validate a setting in seconds; refuse values that must be in milliseconds."""
    for each in value if isinstance(value, tuple) else (value,):
        if isinstance(each, int | float) and abs(each) >= FAR:
            meant = f"for {each:g} ms, write {each / 1000:g}"
            raise ValueError(f"{each:g} s is further from the event than epochs reach, {FAR:g} s; {meant}")
    return value
