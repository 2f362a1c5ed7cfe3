"""What a methods section says of the features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shortloop.eeg.report.content import ReportContent
from shortloop.eeg.report.methods.words import counted, spread, window

__all__ = ["features"]


def features(content: ReportContent) -> str:
    """How features were made of epochs."""
    asked = content.settings.get("features", {})
    epochs = [each for each in content.recordings if each["kind"] == "epochs"]
    if not epochs:
        return ""
    rates, channels = {each["sfreq"] for each in epochs}, [len(each["channels"]) for each in epochs]
    rate = rates.pop() if len(rates) == 1 else None
    said = []
    if amplitude := asked.get("amplitude"):
        said.append(_amplitude(amplitude, rate, channels))
    if power := asked.get("power"):
        said.append(_power(power, rate, channels))
    return " ".join(said)


def _amplitude(asked: Mapping[str, Any], rate: float | None, channels: list[int]) -> str:
    steps = []
    if asked.get("baseline"):
        steps.append(f"the mean of {window(*asked['baseline'])} was subtracted from each epoch and channel")
    if asked.get("lowpass"):
        steps.append(
            f"the signal was low-pass filtered at {asked['lowpass']:g} Hz with a Butterworth filter of order "
            f"{asked['order']}, run forwards and backwards (as in FieldTrip; Oostenveld et al., 2011)"
        )
    before = f"{', and '.join(steps)}; " if steps else ""
    every, step = asked["bin_samples"], asked["step"]
    kept = "" if step == 1 else f", every {_ordinal(step)} one kept"
    width = f" ({kept[2:]})" if step > 1 else ""
    if rate is not None:
        width = f" ({_ms(every * step / rate)}{kept})"
    count = spread([every * number for number in channels])
    return (
        f"Amplitude features: {before}{counted(asked['bins'], 'bin')} of {counted(every, 'sample')}{width} "
        f"from {1000 * asked['start']:.4g} ms on gave {count} features each (channels × samples)."
    ).replace("from -", "from −")


def _power(asked: Mapping[str, Any], rate: float | None, channels: list[int]) -> str:
    count = round((asked["fmax"] - asked["fmin"]) / asked["fstep"] + 1e-9) + 1
    while asked["fmin"] + (count - 1) * asked["fstep"] > asked["fmax"] + 1e-9:
        count -= 1
    points = asked["bin_points"]
    apart = "" if rate is None else f", {_ms(asked['every'] / rate)} apart"
    number = spread([count * points * each for each in channels])
    return (
        f"Power features: the squared magnitude of the signal convolved with complex Morlet wavelets of "
        f"{asked['cycles']:g} cycles (Tallon-Baudry et al., 1997) at {count} frequencies from "
        f"{asked['fmin']:g} to {asked['fmin'] + (count - 1) * asked['fstep']:g} Hz; "
        f"{counted(asked['bins'], 'bin')} of {counted(points, 'point')}{apart}, from "
        f"{1000 * asked['start']:.4g} ms on gave {number} features each (channels × frequencies × points)."
    ).replace("from -", "from −")


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms"


def _ordinal(number: int) -> str:
    return {2: "second", 3: "third"}.get(number, f"{number}th")
