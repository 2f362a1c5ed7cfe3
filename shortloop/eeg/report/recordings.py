"""Recordings: their table and methods text: contents, preparation, what was left out, and features."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shortloop.base.text import counted, listed
from shortloop.eeg.report.content import ReportContent
from shortloop.eeg.report.labels import limit_text
from shortloop.eeg.report.sensors import measures, sensors_of
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
REASONS = {
    "amplitude": "rejected by amplitude",
    "flat": "rejected as flat",
    "there twice": "as the same samples were there already",
}


def recordings_table(content: ReportContent) -> PageTable:
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
    if said := preparation(steps, [each for each in content.recordings if each["kind"] == "epochs"]):
        return f"Preparation of each recording, in this order: {'; '.join(said)}."
    return "Nothing was filtered, rejected or referenced anew when the recordings were read."


def preparation(asked: Mapping[str, Any], epochs: Sequence[Recording]) -> list[str]:
    steps = []
    if montage := asked.get("montage"):
        steps.append(f"positions of channels were those of {montage}")
    edges = [(end, asked.get(f"{end}pass")) for end in ("high", "low")]
    if band := [f"{end}-pass filtered at {edge:g} Hz" for end, edge in edges if edge]:
        steps.append(f"signals were {' and '.join(band)} (zero-phase FIR filter, Hamming window)")
    notch = asked.get("notch")
    if notch := [notch] if isinstance(notch, int | float) else notch:
        steps.append(f"line noise was removed at {listed([f'{hertz:g}' for hertz in notch])} Hz")
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
        found.setdefault((each["participant"], each["file"]), set()).update(_of_files(each, field))
    counts = [len(names) for names in found.values()]
    if not any(counts):
        return []
    of = f"{sum(count > 0 for count in counts)} of {counted(len(counts), 'recording')}"
    became = "interpolated by spherical splines (Perrin et al., 1989)" if interpolate else "left out"
    return [f"bad channels ({spread([count for count in counts if count])} in {of}) were {became}"]


def dropped_trials(recording: Recording) -> Counter[str]:
    reasons: Counter[str] = Counter()
    for each in _of_files(recording, "dropped"):
        reasons[each["reason"]] += each["trials"]
    return reasons


def _cells(recording: Recording, settings: Mapping[str, Any], epochs: bool, warned: bool) -> dict[str, str]:
    left_out = ", ".join(f"{count} × {reason}" for reason, count in dropped_trials(recording).most_common())
    cells = {
        "Phase": recording["phase"],
        "Format": _format(recording, settings),
        "Trials": ", ".join(f"{count} {name}" for name, count in recording["trials"].items()),
        "Left out": left_out or ("none" if recording.get("accounts") else "–"),
    }
    if epochs:
        end = recording["tmin"] + (recording["samples"] - 1) / recording["sfreq"]
        band = "; ".join(f"{low:g} to {high:g}" for low, high in _pass_bands(recording))
        rate = recording["sfreq"]
        others = [f"{each:g}" for each in _rates(recording) if abs(each - rate) > 1e-6 * each]
        cells["Channels"] = _channels(recording)
        cells["Rate (Hz)"] = f"{rate:g}, recorded at {listed(others)}" if others else f"{rate:g}"
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
    if interpolated := _names(recording, "interpolated"):
        return f"{said}, {listed(interpolated)} interpolated"
    bads = _names(recording, "bads")
    return f"{said}, without bad {listed(bads)}" if bads else said


def _of_files(recording: Recording, field: str) -> list[Any]:
    """Join a list that the account of each file has."""
    return [each for account in recording.get("accounts", ()) for each in account.get(field, ())]


def _names(recording: Recording, field: str) -> list[str]:
    return list(dict.fromkeys(_of_files(recording, field)))


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
        bands = _pass_bands(each)
        row = {
            "participant": each["participant"],
            "phase": each["phase"],
            "format": _format(each, content.settings),
            "file": each["file"],
            **{f"trials of {name}": each["trials"].get(name, 0) for name in classes},
            "trials left out": reasons.total() if each.get("accounts") else None,
            "why": "; ".join(f"{count} {reason}" for reason, count in reasons.most_common()),
            "channels": len(each["channels"]) if epochs else None,
            "names of channels": " ".join(each["channels"]),
            "bad channels": " ".join(_names(each, "bads")),
            "interpolated channels": " ".join(_names(each, "interpolated")),
            "rate (Hz)": each["sfreq"] if epochs else None,
            "recorded rate (Hz)": "; ".join(f"{rate:g}" for rate in _rates(each)),
            "first sample (s)": each["tmin"] if epochs else None,
            "samples": each["samples"] if epochs else None,
            "pass band from (Hz)": "; ".join(f"{low:g}" for low, _ in bands),
            "pass band to (Hz)": "; ".join(f"{high:g}" for _, high in bands),
            "bins": None if epochs else each["bins"],
            "features": None if epochs else each["features"],
            "warnings": "; ".join(each.get("warnings", ())),
        }
        rows.append(row)
    return csv_text([*rows[0]], [[*row.values()] for row in rows])


def recorded(content: ReportContent) -> Iterator[str]:
    names = {name for kind in content.kinds for name in kind.participants}
    asked = content.settings.get("input", {})
    epochs = [each for each in content.recordings if each["kind"] == "epochs"]
    simulated = asked.get("format") == "simulated"
    measured = measures(content.recordings)
    whose = f"{'Simulated' if simulated else 'The'} {listed(measured)}" if measured else "Ready-made features"
    were = "was" if len(measured) == 1 else "were"
    yield f"{whose} of {counted(len(names), 'participant')} {were} analysed{_shape(epochs)}."
    if not measured:
        yield "They had been computed before, and were used as they were in the files."
    if any(len(each["accounts"]) > 1 or ", " in each["file"] for each in epochs):
        yield "Trials of a participant and phase that were in several files were taken together."
    files = [(each["participant"], each["file"]) for each in epochs]
    if sections := asked.get("sections"):
        phases = "; ".join(_section(phase, each or {}) for phase, each in sections.items())
        yield f"Phases were sections of the same recordings: {phases}."
    elif asked.get("phase_events") and len({*files}) < len(files):
        yield "Phases were in the same recordings, and had events of their own."
    if drop := asked.get("drop"):
        yield f"{listed(list(drop))} {'was' if len(drop) == 1 else 'were'} not used."
    if steps := preparation(asked.get("preprocessing") or {}, epochs):
        yield f"Recordings were prepared with MNE-Python (Gramfort et al., 2013): {listed(steps)}."
    if reasons := sum(map(dropped_trials, epochs), dropped_trials({})):
        why = listed([f"{count:,} {REASONS.get(name, name)}" for name, count in reasons.most_common()])
        every = sum(sum(each["trials"].values()) for each in epochs) + reasons.total()
        yield f"Of {every:,} trials, {reasons.total():,} were left out ({why})."
    trials: dict[str, list[int]] = {}
    for each in content.recordings:
        trials.setdefault(each["phase"], []).extend(each["trials"].values())
    if trials:
        counts = listed([f"{spread(of_phase)} in {phase}" for phase, of_phase in trials.items()])
        yield f"The number of trials of each class and participant was {counts}."


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


def features(content: ReportContent) -> Iterator[str]:
    asked = content.settings.get("features", {})
    if not (epochs := [each for each in content.recordings if each["kind"] == "epochs"]):
        return
    rates, channels = {each["sfreq"] for each in epochs}, [len(each["channels"]) for each in epochs]
    rate = rates.pop() if len(rates) == 1 else None
    if asked.get("amplitude"):
        yield _amplitude(asked["amplitude"], rate, channels)
    if asked.get("power"):
        yield _power(asked["power"], rate, channels)


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
    width = [] if rate is None else [_ms(every * step / rate)]
    width += [f"1 of {step} kept"] * (step > 1)
    count, said = spread([every * number for number in channels]), f" ({', '.join(width)})" if width else ""
    return (
        f"Amplitude features: {before}{counted(asked['bins'], 'bin')} of {counted(every, 'sample')}{said} "
        f"from {1000 * asked['start']:.4g} ms on gave {count} features each (channels × samples)."
    ).replace("from -", "from −")


def _power(asked: Mapping[str, Any], rate: float | None, channels: list[int]) -> str:
    count = math.floor((asked["fmax"] - asked["fmin"]) / asked["fstep"] + 1e-9) + 1
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


def spread(values: Sequence[float]) -> str:
    ends = min(values), max(values)
    low, high = (f"{each:,.0f}" if each == round(each) else f"{each:g}" for each in ends)
    return low if low == high else f"{low} to {high}"


def window(start: float, end: float) -> str:
    return f"{1000 * start:.5g} to {1000 * end:.5g} ms".replace("-", "−")
