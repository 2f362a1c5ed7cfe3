"""What a methods section says of the recordings: whose, what was done to them, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shortloop.eeg.report.content import ReportContent
from shortloop.eeg.report.display_units import limit_text
from shortloop.eeg.report.methods.words import counted, numbers, spread, window
from shortloop.eeg.report.recordings import dropped_trials
from shortloop.eeg.report.sensors import Sensors, measures, sensors_of
from shortloop.eeg.report.sentences import listed

__all__ = ["recorded"]

REASONS = {
    "amplitude": "rejected by amplitude",
    "flat": "rejected as flat",
    "there twice": "as the same samples were there already",
}
EDGES = ("highpass", "lowpass")


def recorded(content: ReportContent) -> str:
    """Participants, recordings and their preparation."""
    names = {name for kind in content.kinds for name in kind.participants}
    asked = content.settings.get("input", {})
    epochs = [each for each in content.recordings if each["kind"] == "epochs"]
    simulated = asked.get("format") == "simulated"
    recorded = measures(content.recordings)
    whose = f"{'Simulated' if simulated else 'The'} {listed(recorded)}"
    if not recorded:
        whose = "Ready-made features"
    were = "was" if len(recorded) == 1 else "were"
    said = [f"{whose} of {counted(len(names), 'participant')} {were} analysed{_shape(epochs)}."]
    if not recorded:
        said.append("They had been computed before, and were used as they were in the files.")
    said += _joined(epochs)
    said += _in_one(asked, epochs)
    if drop := asked.get("drop"):
        said.append(f"{listed(list(drop))} {'was' if len(drop) == 1 else 'were'} not used.")
    steps = _steps(asked.get("preprocessing") or {}, epochs)
    if steps:
        said.append(f"Recordings were prepared with MNE-Python (Gramfort et al., 2013): {listed(steps)}.")
    said += _left_out(epochs)
    said += _kept(content)
    return " ".join(said)


def _shape(epochs: list[Mapping[str, Any]]) -> str:
    if not epochs:
        return ""
    channels = spread([len(each["channels"]) for each in epochs])
    types = {tuple(account.get("types", ())) for each in epochs for account in each["accounts"]}
    parts = sensors_of(types.pop()) if len(types) == 1 else []
    of = f" ({listed([_of_them(each) for each in parts])})" if parts else ""
    rates = spread([each["sfreq"] for each in epochs])
    spans = {(each["tmin"], each["tmin"] + (each["samples"] - 1) / each["sfreq"]) for each in epochs}
    cut = ", in epochs of " + listed([*dict.fromkeys(_whole(*each) for each in sorted(spans))])
    return f": {channels} channel{'s' * (channels != '1')}{of} at {rates} Hz{cut} around the event"


def _of_them(sensors: Sensors) -> str:
    count = len(sensors.at)
    return f"{count} {sensors.called.removesuffix('s') if count == 1 else sensors.called}"


def _whole(start: float, end: float) -> str:
    """Edges of epochs are samples, which need no fractions of a millisecond."""
    return window(round(start, 3), round(end, 3))


def _joined(epochs: list[Mapping[str, Any]]) -> list[str]:
    if not any(len(each["accounts"]) > 1 or ", " in each["file"] for each in epochs):
        return []
    return ["Trials of a participant and phase that were in several files were taken together."]


def _in_one(asked: Mapping[str, Any], epochs: list[Mapping[str, Any]]) -> list[str]:
    """How phases are told apart that are in one recording."""
    if sections := asked.get("sections"):
        said = "; ".join(_section(phase, each or {}) for phase, each in sections.items())
        return [f"Phases were sections of the same recordings: {said}."]
    files = [(each["participant"], each["file"]) for each in epochs]
    if asked.get("phase_events") and len({*files}) < len(files):
        return ["Phases were in the same recordings, and had events of their own."]
    return []


def _section(phase: str, asked: Mapping[str, Any]) -> str:
    start, stop = (asked.get(each) for each in ("start", "stop"))
    begin, end = "with the recording", "where another section began, or the recording ended"
    if start is not None:
        begin = f"with the event “{start}”" if isinstance(start, str) else f"at {start:g} s"
    if stop is not None:
        end = f"before the event “{stop}”" if isinstance(stop, str) else f"at {stop:g} s"
    return f"{phase} began {begin} and ended {end}"


def _steps(asked: Mapping[str, Any], epochs: list[Mapping[str, Any]]) -> list[str]:
    """In the order in which they are taken."""
    steps = []
    band = [f"{name[:-4]}-pass filtered at {asked[name]:g} Hz" for name in EDGES if asked.get(name)]
    if band:
        steps.append(f"they were {' and '.join(band)} (zero-phase FIR filter, Hamming window)")
    if (notch := asked.get("notch")) is not None:
        steps.append(f"line noise was removed at {numbers(notch if isinstance(notch, list) else [notch])} Hz")
    steps += _bads(bool(asked.get("interpolate")), epochs)
    if reference := asked.get("reference"):
        to = "the average of all EEG channels" if reference == "average" else listed(list(reference))
        steps.append(f"the EEG was referenced to {to}")
    if baseline := asked.get("baseline"):
        steps.append(f"the mean of {window(*baseline)} was subtracted from each epoch")
    for field, side in (("reject", "above"), ("flat", "below")):
        for kind, value in (asked.get(field) or {}).items():
            limit = limit_text(kind, value)
            steps.append(f"epochs with a peak-to-peak amplitude {side} {limit} ({kind}) were rejected")
    if asked.get("resample"):
        steps.append(f"epochs were resampled to {asked['resample']:g} Hz")
    return steps


def _bads(interpolate: bool, epochs: list[Mapping[str, Any]]) -> list[str]:
    field = "interpolated" if interpolate else "bads"
    found: dict[tuple[str, str], set[str]] = {}
    for each in epochs:  # of which several may be of one recording
        bad = {name for account in each["accounts"] for name in account.get(field, ())}
        found.setdefault((each["participant"], each["file"]), set()).update(bad)
    counts = [len(names) for names in found.values()]
    if not any(counts):
        return []
    of = f"{sum(count > 0 for count in counts)} of {counted(len(counts), 'recording')}"
    became = "interpolated by spherical splines (Perrin et al., 1989)" if interpolate else "left out"
    return [f"bad channels ({spread([count for count in counts if count])} in {of}) were {became}"]


def _left_out(epochs: list[Mapping[str, Any]]) -> list[str]:
    reasons = sum((dropped_trials(each) for each in epochs), dropped_trials({}))
    if not reasons:
        return []
    why = listed([f"{count:,} {REASONS.get(reason, reason)}" for reason, count in reasons.most_common()])
    every = sum(sum(each["trials"].values()) for each in epochs) + reasons.total()
    return [f"Of {every:,} trials, {reasons.total():,} were left out ({why})."]


def _kept(content: ReportContent) -> list[str]:
    by_phase: dict[str, list[int]] = {}
    for each in content.recordings:
        by_phase.setdefault(each["phase"], []).extend(each["trials"].values())
    said = [f"{spread(counts)} in {phase}" for phase, counts in by_phase.items()]
    return [f"The number of trials of each class and participant was {listed(said)}."] if said else []
