"""What a methods section says of the recordings: whose, what was done to them, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shortloop.eeg.report.content import ReportContent
from shortloop.eeg.report.methods.words import counted, numbers, spread, window
from shortloop.eeg.report.recordings import dropped_trials
from shortloop.eeg.report.sentences import listed
from shortloop.eeg.report.units import limit_text

__all__ = ["recorded"]

REASONS = {"amplitude": "rejected by amplitude", "flat": "rejected as flat"}
EDGES = ("highpass", "lowpass")


def recorded(content: ReportContent) -> str:
    """Participants, recordings and their preparation.

    Parameters
    ----------
    content : ReportContent

    Returns
    -------
    str
        Sentences.
    """
    names = {name for kind in content.kinds for name in kind.participants}
    asked = content.settings.get("input", {})
    epochs = [each for each in content.recordings if each["kind"] == "epochs"]
    simulated = asked.get("format") == "simulated"
    whose = "Simulated EEG" if simulated else "The EEG"
    said = [f"{whose} of {counted(len(names), 'participant')} was analysed{_shape(epochs)}."]
    if content.recordings and not epochs:
        said.append("Features had been computed before, and were used as they were in the files.")
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
    rates = spread([each["sfreq"] for each in epochs])
    spans = {(each["tmin"], each["tmin"] + (each["samples"] - 1) / each["sfreq"]) for each in epochs}
    cut = ", in epochs of " + listed([window(*each) for each in sorted(spans)])
    return f": {channels} channel{'s' * (channels != '1')} at {rates} Hz{cut} around the event"


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
    counts = [len({name for file in each["accounts"] for name in file.get(field, ())}) for each in epochs]
    if not any(counts):
        return []
    of = f"{sum(count > 0 for count in counts)} of {counted(len(counts), 'recording')}"
    became = "interpolated by spherical splines (Perrin et al., 1989)" if interpolate else "left out"
    return [f"bad channels ({spread([count for count in counts if count])} in {of}) were {became}"]


def _left_out(epochs: list[Mapping[str, Any]]) -> list[str]:
    reasons = sum((dropped_trials(each) for each in epochs), dropped_trials({}))
    accounts = [account for each in epochs for account in each["accounts"]]
    if not reasons:
        return []
    why = listed([f"{count:,} {REASONS.get(reason, reason)}" for reason, count in reasons.most_common()])
    every = sum(account.get("trials", 0) for account in accounts)
    return [f"Of {every:,} trials, {reasons.total():,} were left out ({why})."]


def _kept(content: ReportContent) -> list[str]:
    by_phase: dict[str, list[int]] = {}
    for each in content.recordings:
        by_phase.setdefault(each["phase"], []).extend(each["trials"].values())
    said = [f"{spread(counts)} in {phase}" for phase, counts in by_phase.items()]
    return [f"The number of trials of each class and participant was {listed(said)}."] if said else []
