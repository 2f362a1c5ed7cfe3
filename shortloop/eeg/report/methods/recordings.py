"""Methods section: recordings, their preparation, what was left out, and the features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shortloop.base.text import listed
from shortloop.eeg.report.content import ReportContent
from shortloop.eeg.report.recordings import dropped_trials, preparation
from shortloop.eeg.report.sensors import measures, sensors_of
from shortloop.eeg.report.sentences import counted, spread, window

REASONS = {
    "amplitude": "rejected by amplitude",
    "flat": "rejected as flat",
    "there twice": "as the same samples were there already",
}


def recorded(content: ReportContent) -> str:
    """Describe participants, recordings and their preparation."""
    names = {name for kind in content.kinds for name in kind.participants}
    asked = content.settings.get("input", {})
    epochs = [each for each in content.recordings if each["kind"] == "epochs"]
    simulated = asked.get("format") == "simulated"
    measured = measures(content.recordings)
    whose = f"{'Simulated' if simulated else 'The'} {listed(measured)}" if measured else "Ready-made features"
    were = "was" if len(measured) == 1 else "were"
    said = [f"{whose} of {counted(len(names), 'participant')} {were} analysed{_shape(epochs)}."]
    if not measured:
        said.append("They had been computed before, and were used as they were in the files.")
    if any(len(each["accounts"]) > 1 or ", " in each["file"] for each in epochs):
        said.append("Trials of a participant and phase that were in several files were taken together.")
    files = [(each["participant"], each["file"]) for each in epochs]
    if sections := asked.get("sections"):
        phases = "; ".join(_section(phase, each or {}) for phase, each in sections.items())
        said.append(f"Phases were sections of the same recordings: {phases}.")
    elif asked.get("phase_events") and len({*files}) < len(files):
        said.append("Phases were in the same recordings, and had events of their own.")
    if drop := asked.get("drop"):
        said.append(f"{listed(list(drop))} {'was' if len(drop) == 1 else 'were'} not used.")
    if steps := preparation(asked.get("preprocessing") or {}, epochs):
        said.append(f"Recordings were prepared with MNE-Python (Gramfort et al., 2013): {listed(steps)}.")
    if reasons := sum(map(dropped_trials, epochs), dropped_trials({})):
        why = listed([f"{count:,} {REASONS.get(name, name)}" for name, count in reasons.most_common()])
        every = sum(sum(each["trials"].values()) for each in epochs) + reasons.total()
        said.append(f"Of {every:,} trials, {reasons.total():,} were left out ({why}).")
    trials: dict[str, list[int]] = {}
    for each in content.recordings:
        trials.setdefault(each["phase"], []).extend(each["trials"].values())
    if trials:
        counts = listed([f"{spread(of_phase)} in {phase}" for phase, of_phase in trials.items()])
        said.append(f"The number of trials of each class and participant was {counts}.")
    return " ".join(said)


def _shape(epochs: list[Mapping[str, Any]]) -> str:
    if not epochs:
        return ""
    channels = spread([len(each["channels"]) for each in epochs])
    types = {tuple(account.get("types", ())) for each in epochs for account in each["accounts"]}
    parts = sensors_of(types.pop()) if len(types) == 1 else []
    counts = [
        f"{len(each.at)} {each.called if len(each.at) > 1 else each.called.removesuffix('s')}"
        for each in parts
    ]
    of = f" ({listed(counts)})" if parts else ""
    rates = spread([each["sfreq"] for each in epochs])
    spans = {(each["tmin"], each["tmin"] + (each["samples"] - 1) / each["sfreq"]) for each in epochs}
    windows = dict.fromkeys(window(round(start, 3), round(end, 3)) for start, end in sorted(spans))
    cut = f", in epochs of {listed([*windows])}"
    return f": {channels} channel{'s' * (channels != '1')}{of} at {rates} Hz{cut} around the event"


def _section(phase: str, asked: Mapping[str, Any]) -> str:
    start, stop = (asked.get(each) for each in ("start", "stop"))
    begin, end = "with the recording", "where another section began, or the recording ended"
    if start is not None:
        begin = f"with the event “{start}”" if isinstance(start, str) else f"at {start:g} s"
    if stop is not None:
        end = f"before the event “{stop}”" if isinstance(stop, str) else f"at {stop:g} s"
    return f"{phase} began {begin} and ended {end}"


def features(content: ReportContent) -> str:
    """Describe how features were computed from epochs."""
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
