"""The recordings as a table: whose, what was in them, what was left out and why, how they were prepared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from shortloop.eeg.report.content import ReportContent
from shortloop.eeg.report.display_units import limit_text
from shortloop.eeg.report.sentences import listed
from shortloop.report.files import TABLES
from shortloop.report.page import PageTable, TableRow
from shortloop.report.tables import csv_text

__all__ = ["dropped_trials", "prepared", "recordings_table"]

Recording = Mapping[str, Any]
FORMATS = {
    "edf": "EDF",
    "brainvision": "BrainVision",
    "eeglab": "EEGLAB",
    "fieldtrip": "FieldTrip",
    "fif": "FIF (MNE)",
    "bids": "BIDS",
    "csv": "text (CSV)",
    "mne": "read by MNE",
    "npz": "NumPy (npz)",
    "thesis": "features (MATLAB)",
    "arrays": "features (NumPy)",
    "table": "features (table)",
    "simulated": "simulated",
}


def recordings_table(content: ReportContent) -> PageTable:
    """A row for each recording of a participant in a phase."""
    epochs = any(each["kind"] == "epochs" for each in content.recordings)
    heads = ["Phase", "Format", "Trials", "Left out"]
    heads += ["Channels", "Rate (Hz)", "Epoch (s)", "Pass band (Hz)"] if epochs else ["Bins", "Features"]
    some = any(each.get("warnings") for each in content.recordings)
    rows = []
    for each in content.recordings:
        cells = [each["phase"], _format(each, content.settings), _trials(each), _left_out(each)]
        if epochs:
            cells += [_channels(each), _rate(each), _span(each), _band(each)]
        else:
            cells += [str(each["bins"]), str(each["features"])]
        if some:
            cells.append("; ".join(each.get("warnings", ())) or "–")
        rows.append(TableRow(each["participant"], tuple(cells)))
    return PageTable(
        title="Trials, channels and preparation",
        caption=prepared(content.settings),
        of="Participant",
        columns=(*heads, "Warnings") if some else tuple(heads),
        rows=tuple(rows),
        file=f"{TABLES}/recordings.csv",
        content=_csv(content),
        words=True,
    )


def prepared(settings: Mapping[str, Any]) -> str:
    """What was asked to be done to all recordings before they were decoded."""
    asked = settings.get("input", {})
    steps = asked.get("preprocessing")
    if asked.get("format") == "simulated":
        return "They are simulated: nobody was recorded."
    if steps is None:
        return "Recordings are used as they are in the files."
    said = []
    if steps.get("montage"):
        said.append(f"positions of channels of {steps['montage']}")
    said += [f"{steps[name]:g} Hz {name}" for name in ("highpass", "lowpass") if steps.get(name)]
    if notch := _frequencies(steps.get("notch")):
        said.append(f"notch at {listed([f'{each:g}' for each in notch])} Hz")
    if steps.get("interpolate"):
        said.append("bad channels interpolated")
    if reference := steps.get("reference"):
        said.append("average reference" if reference == "average" else f"reference {listed(list(reference))}")
    if baseline := steps.get("baseline"):
        said.append(f"baseline {baseline[0]:g} to {baseline[1]:g} s".replace("-", "−"))
    for field, side in (("reject", "above"), ("flat", "below")):
        limits = steps.get(field, {}).items()
        said += [f"trials rejected {side} {limit_text(kind, value)} ({kind})" for kind, value in limits]
    if steps.get("resample"):
        said.append(f"resampled to {steps['resample']:g} Hz")
    if not said:
        return "Nothing was filtered, rejected or referenced anew when the recordings were read."
    return f"Done to each recording, in this order: {'; '.join(said)}."


def dropped_trials(recording: Recording) -> Counter[str]:
    """How many trials were left out, by reason."""
    reasons: Counter[str] = Counter()
    for account in recording.get("accounts", ()):
        for each in account.get("dropped", ()):
            reasons[each["reason"]] += each["trials"]
    return reasons


def _frequencies(notch: float | Sequence[float] | None) -> list[float]:
    return [] if notch is None else [notch] if isinstance(notch, int | float) else list(notch)


def _format(recording: Recording, settings: Mapping[str, Any]) -> str:
    asked = str(settings.get("input", {}).get("format", ""))
    said = FORMATS.get(asked, asked) or "–"
    return said if recording["kind"] == "epochs" else f"{said}, {recording['kind']}"


def _trials(recording: Recording) -> str:
    return ", ".join(f"{count} {name}" for name, count in recording["trials"].items())


def _left_out(recording: Recording) -> str:
    reasons = dropped_trials(recording)
    if not reasons:
        return "none" if recording.get("accounts") else "–"
    return ", ".join(f"{count} × {reason}" for reason, count in reasons.most_common())


def _channels(recording: Recording) -> str:
    said = str(len(recording["channels"]))
    interpolated, bads = _of_files(recording, "interpolated"), _of_files(recording, "bads")
    if interpolated:
        return f"{said}, {listed(interpolated)} interpolated"
    return f"{said}, without bad {listed(bads)}" if bads else said


def _of_files(recording: Recording, name: str) -> list[str]:
    found = (each for account in recording.get("accounts", ()) for each in account.get(name, ()))
    return list(dict.fromkeys(found))


def _rate(recording: Recording) -> str:
    recorded = {account["rate"] for account in recording.get("accounts", ()) if "rate" in account}
    others = sorted(rate for rate in recorded if abs(rate - recording["sfreq"]) > 1e-6 * rate)
    said = f"{recording['sfreq']:g}"
    return f"{said}, recorded at {listed([f'{rate:g}' for rate in others])}" if others else said


def _span(recording: Recording) -> str:
    end = recording["tmin"] + (recording["samples"] - 1) / recording["sfreq"]
    return f"{recording['tmin']:.3g} to {end:.3g}".replace("-", "−")


def _edges(recording: Recording) -> set[tuple[float, float]]:
    return {
        (account["highpass"], account["lowpass"])
        for account in recording.get("accounts", ())
        if "highpass" in account
    }


def _band(recording: Recording) -> str:
    return "; ".join(f"{low:g} to {high:g}" for low, high in sorted(_edges(recording))) or "–"


def _csv(content: ReportContent) -> str:
    classes = list(dict.fromkeys(name for each in content.recordings for name in each["trials"]))
    columns = ["participant", "phase", "format", "file", *(f"trials of {name}" for name in classes)]
    columns += ["trials left out", "why", "channels", "names of channels", "bad channels"]
    columns += ["interpolated channels", "rate (Hz)", "recorded rate (Hz)", "first sample (s)", "samples"]
    columns += ["pass band from (Hz)", "pass band to (Hz)", "bins", "features", "warnings"]
    rows = []
    for each in content.recordings:
        reasons, epochs = dropped_trials(each), each["kind"] == "epochs"
        rates = sorted({account["rate"] for account in each.get("accounts", ()) if "rate" in account})
        edges = sorted(_edges(each))
        rows.append(
            [
                *(each["participant"], each["phase"], _format(each, content.settings), each["file"]),
                *(each["trials"].get(name, 0) for name in classes),
                reasons.total() if each.get("accounts") else None,
                "; ".join(f"{count} {reason}" for reason, count in reasons.most_common()),
                len(each["channels"]) if epochs else None,
                " ".join(each["channels"]),
                " ".join(_of_files(each, "bads")),
                " ".join(_of_files(each, "interpolated")),
                each["sfreq"] if epochs else None,
                "; ".join(f"{rate:g}" for rate in rates),
                each["tmin"] if epochs else None,
                each["samples"] if epochs else None,
                "; ".join(f"{low:g}" for low, _ in edges),
                "; ".join(f"{high:g}" for _, high in edges),
                None if epochs else each["bins"],
                None if epochs else each["features"],
                "; ".join(each.get("warnings", ())),
            ]
        )
    return csv_text(columns, rows)
