"""The table of recordings: contents, preparation, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from shortloop.base.text import listed
from shortloop.eeg.report.content import ReportContent
from shortloop.eeg.report.labels import limit_text
from shortloop.eeg.report.sentences import counted, numbers, spread, window
from shortloop.report.files import TABLES
from shortloop.report.page import PageTable, TableRow, csv_text

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
    """List the recording of each participant and phase."""
    epochs = any(each["kind"] == "epochs" for each in content.recordings)
    warned = any(each.get("warnings") for each in content.recordings)
    shown = [_cells(each, content.settings, epochs, warned) for each in content.recordings]
    return PageTable(
        title="Trials, channels and preparation",
        caption=_caption(content),
        of="Participant",
        columns=tuple(shown[0]),
        rows=tuple(
            TableRow(each["participant"], tuple(cells.values()))
            for each, cells in zip(content.recordings, shown, strict=True)
        ),
        file=f"{TABLES}/recordings.csv",
        content=_csv(content),
        words=True,
    )


def _caption(content: ReportContent) -> str:
    asked = content.settings.get("input", {})
    steps = asked.get("preprocessing")
    if asked.get("format") == "simulated":
        return "They are simulated: nobody was recorded."
    if steps is None:
        return "Recordings are used as they are in the files."
    said = preparation(steps, [each for each in content.recordings if each["kind"] == "epochs"])
    if not said:
        return "Nothing was filtered, rejected or referenced anew when the recordings were read."
    return f"Preparation of each recording, in this order: {'; '.join(said)}."


def preparation(asked: Mapping[str, Any], epochs: Sequence[Recording]) -> list[str]:
    """List the steps of the preparation, in their order."""
    steps = []
    if montage := asked.get("montage"):
        steps.append(f"positions of channels were those of {montage}")
    edges = [(end, asked.get(f"{end}pass")) for end in ("high", "low")]
    if band := [f"{end}-pass filtered at {edge:g} Hz" for end, edge in edges if edge]:
        steps.append(f"signals were {' and '.join(band)} (zero-phase FIR filter, Hamming window)")
    notch = asked.get("notch")
    if notch := [notch] if isinstance(notch, int | float) else notch:
        steps.append(f"line noise was removed at {numbers(notch)} Hz")
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


def _bads(interpolate: bool, epochs: Sequence[Recording]) -> list[str]:
    field = "interpolated" if interpolate else "bads"
    found: dict[tuple[str, str], set[str]] = {}
    for each in epochs:  # several may be of one recording
        bad = {name for account in each.get("accounts", ()) for name in account.get(field, ())}
        found.setdefault((each["participant"], each["file"]), set()).update(bad)
    counts = [len(names) for names in found.values()]
    if not any(counts):
        return []
    of = f"{sum(count > 0 for count in counts)} of {counted(len(counts), 'recording')}"
    became = "interpolated by spherical splines (Perrin et al., 1989)" if interpolate else "left out"
    return [f"bad channels ({spread([count for count in counts if count])} in {of}) were {became}"]


def dropped_trials(recording: Recording) -> Counter[str]:
    """Count the trials that were left out, by reason."""
    reasons: Counter[str] = Counter()
    for account in recording.get("accounts", ()):
        for each in account.get("dropped", ()):
            reasons[each["reason"]] += each["trials"]
    return reasons


def _cells(recording: Recording, settings: Mapping[str, Any], epochs: bool, warned: bool) -> dict[str, str]:
    reasons = dropped_trials(recording)
    left_out = ", ".join(f"{count} × {reason}" for reason, count in reasons.most_common())
    cells = {
        "Phase": recording["phase"],
        "Format": _format(recording, settings),
        "Trials": ", ".join(f"{count} {name}" for name, count in recording["trials"].items()),
        "Left out": left_out or ("none" if recording.get("accounts") else "–"),
    }
    if epochs:
        end = recording["tmin"] + (recording["samples"] - 1) / recording["sfreq"]
        band = "; ".join(f"{low:g} to {high:g}" for low, high in _pass_bands(recording))
        cells["Channels"] = _channels(recording)
        cells["Rate (Hz)"] = _rate(recording)
        cells["Epoch (s)"] = f"{recording['tmin']:.3g} to {end:.3g}".replace("-", "−")
        cells["Pass band (Hz)"] = band or "–"
    else:
        cells |= {"Bins": str(recording["bins"]), "Features": str(recording["features"])}
    if warned:
        cells["Warnings"] = "; ".join(recording.get("warnings", ())) or "–"
    return cells


def _format(recording: Recording, settings: Mapping[str, Any]) -> str:
    asked = str(settings.get("input", {}).get("format", ""))
    said = FORMATS.get(asked, asked) or "–"
    return said if recording["kind"] == "epochs" else f"{said}, {recording['kind']}"


def _channels(recording: Recording) -> str:
    said = str(len(recording["channels"]))
    if interpolated := _of_files(recording, "interpolated"):
        return f"{said}, {listed(interpolated)} interpolated"
    bads = _of_files(recording, "bads")
    return f"{said}, without bad {listed(bads)}" if bads else said


def _rate(recording: Recording) -> str:
    others = [rate for rate in _rates(recording) if abs(rate - recording["sfreq"]) > 1e-6 * rate]
    said = f"{recording['sfreq']:g}"
    return f"{said}, recorded at {listed([f'{rate:g}' for rate in others])}" if others else said


def _of_files(recording: Recording, name: str) -> list[str]:
    found = (each for account in recording.get("accounts", ()) for each in account.get(name, ()))
    return list(dict.fromkeys(found))


def _rates(recording: Recording) -> list[float]:
    return sorted({account["rate"] for account in recording.get("accounts", ()) if "rate" in account})


def _pass_bands(recording: Recording) -> list[tuple[float, float]]:
    accounts = [account for account in recording.get("accounts", ()) if "highpass" in account]
    return sorted({(account["highpass"], account["lowpass"]) for account in accounts})


def _csv(content: ReportContent) -> str:
    classes = list(dict.fromkeys(name for each in content.recordings for name in each["trials"]))
    rows: list[dict[str, Any]] = []
    for each in content.recordings:
        reasons, epochs = dropped_trials(each), each["kind"] == "epochs"
        row = {name: each[name] for name in ("participant", "phase")}
        row |= {"format": _format(each, content.settings), "file": each["file"]}
        row |= {f"trials of {name}": each["trials"].get(name, 0) for name in classes}
        row["trials left out"] = reasons.total() if each.get("accounts") else None
        row["why"] = "; ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        row["channels"] = len(each["channels"]) if epochs else None
        row["names of channels"] = " ".join(each["channels"])
        row["bad channels"] = " ".join(_of_files(each, "bads"))
        row["interpolated channels"] = " ".join(_of_files(each, "interpolated"))
        row["rate (Hz)"] = each["sfreq"] if epochs else None
        row["recorded rate (Hz)"] = "; ".join(f"{rate:g}" for rate in _rates(each))
        row["first sample (s)"] = each["tmin"] if epochs else None
        row["samples"] = each["samples"] if epochs else None
        row["pass band from (Hz)"] = "; ".join(f"{low:g}" for low, _ in _pass_bands(each))
        row["pass band to (Hz)"] = "; ".join(f"{high:g}" for _, high in _pass_bands(each))
        row["bins"] = None if epochs else each["bins"]
        row["features"] = None if epochs else each["features"]
        row["warnings"] = "; ".join(each.get("warnings", ()))
        rows.append(row)
    return csv_text([*rows[0]], [[*row.values()] for row in rows])
