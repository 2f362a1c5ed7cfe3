"""FieldTrip's structs in .mat files: raw data and timelocked trials.

Oostenveld et al. 2011, Comput. Intell. Neurosci. 2011:156869.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.base.text import short_list
from shortloop.eeg.formats.recording_format import FilesInput
from shortloop.eeg.formats.signals import SignalInput
from shortloop.eeg.headers.mat import listed, read_struct, variables
from shortloop.eeg.headers.units import VOLTS, VoltUnit, voltage

if TYPE_CHECKING:
    import numpy as np

METRES = {"m": 1.0, "dm": 1e-1, "cm": 1e-2, "mm": 1e-3}
TYPES = {"eog": "eog", "ecg": "ecg", "emg": "emg", "megmag": "mag", "megplanar": "grad", "meggrad": "grad"}
TYPES |= {"trigger": "stim", "refmag": "ref_meg", "refgrad": "ref_meg"}
OTHERS = {"EOG": "eog", "HEOG": "eog", "VEOG": "eog", "ECG": "ecg", "EMG": "emg", "STI": "stim"}
"""Types of channels by prefixes of their names."""
SHOWN = 6  # codes of a column in a message


class FieldtripInput(SignalInput, FilesInput):
    """What ft_preprocessing and ft_timelockanalysis gave, saved by any version of MATLAB.

    Events are the numbers in a column of ``trialinfo``. A single trial is a continuous recording. Channels
    are of the types that the header names, else EEG, but for names that begin with EOG, ECG or EMG.
    """

    format: Literal["fieldtrip"] = Field(description="FieldTrip's raw and timelock structs (.mat)")
    variable: str | None = Field(None, description="name of the struct; default: the only one in the file")
    column: int | None = Field(
        None, ge=1, description="column of trialinfo with codes, from 1; default: the only one of integers"
    )
    unit: VoltUnit | None = Field(None, description="unit of the EEG; default: as the header says, else µV")

    def warm_up(self) -> None:
        import h5py  # noqa: F401
        import pymatreader  # noqa: F401
        import scipy.io  # noqa: F401

        super().warm_up()

    def open(self, file: Path, participant: str) -> Any:
        import mne
        import numpy as np
        import pandas as pd

        struct = self._struct(file)
        names = [str(name) for name in listed(struct["label"])]
        trials, times = _trials(struct, self.tmin, self.tmax)
        sfreq = float(f"{(len(times) - 1) / (times[-1] - times[0]):.12g}")
        info = mne.create_info(names, sfreq, _types(struct, names))
        _place(info, struct)
        factors = self._factors(struct, names)
        scale = np.where(np.isin(info.get_channel_types(), ("eeg", "eog", "ecg", "emg")), factors, 1.0)
        data = np.stack(trials) * scale[:, np.newaxis]
        if len(data) == 1:
            return mne.io.RawArray(data[0], info)
        table = table_of(struct)
        codes = _codes_of(table, self.column, len(data))
        events = np.c_[np.arange(len(data)), np.zeros_like(codes), codes]
        ids = {str(code): int(code) for code in np.unique(codes)}
        columns = [f"trialinfo {number}" for number in range(1, table.shape[1] + 1)]
        metadata = pd.DataFrame(table, columns=columns)
        return mne.EpochsArray(data, info, events, float(times[0]), ids, metadata=metadata)

    def _struct(self, file: Path) -> dict[str, Any]:
        found = variables(file)
        name = self.variable or (found[0] if len(found) == 1 else "data")
        struct = read_struct(file, name) if name in found else None
        if isinstance(struct, dict) and {"label", "time"} <= struct.keys():
            return struct
        problem, what = "the struct is not in the file", ", ".join(found)
        if name in found:
            problem, what = "the variable is no struct of FieldTrip", f"{name}: {_fields(struct)}"
        expected = f"{name}, a struct with label, time and trial"
        hint = "name the variable (input.variable)"
        raise InputError(problem, field="input.variable", found=what, expected=expected, hint=hint)

    def _factors(self, struct: dict[str, Any], names: list[str]) -> list[float]:
        """Return each channel's factor: from its own unit in the header, else that of all, else of µV."""
        if self.unit is not None:
            return [VOLTS[self.unit]] * len(names)
        for holder in ("hdr", "elec"):
            held = _inner(struct, holder)
            said = [voltage(str(each)) for each in listed(held.get("chanunit", ()))]
            if known := {*said} - {""}:
                common = known.pop() if len(known) == 1 else "µV"
                own = dict(zip(map(str, listed(held.get("label", ()))), said, strict=False))
                return [VOLTS[own.get(name) or common] for name in names]
        return [VOLTS["µV"]] * len(names)


def _trials(
    struct: dict[str, Any], tmin: float | None, tmax: float | None
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return arrays of channels × samples, and their times; trials of unequal length are cut as asked."""
    import numpy as np

    if "trial" not in struct:
        problem = "no trials in the struct: averages and spectra cannot be decoded"
        advice = "save what ft_preprocessing gave, or set cfg.keeptrials = 'yes'"
        raise InputError(problem, found=_fields(struct), expected="trial", hint=advice)
    trials = [np.asarray(each, dtype=np.float64) for each in _arrays(struct["trial"])]
    times = [np.asarray(each, dtype=np.float64) for each in _arrays(struct["time"], 1)]
    if len(times) == 1:
        times *= len(trials)
    first, channels = times[0], len(listed(struct["label"]))
    step = (first[-1] - first[0]) / max(len(first) - 1, 1)
    pairs = [*zip(trials, times, strict=True)]
    same = [
        (trial.shape, time.shape) == ((channels, len(first)), first.shape)
        and bool(abs(time - first).max() <= step / 4)
        for trial, time in pairs
    ]
    if all(same):
        return trials, first
    hint = "cut them alike: ft_redefinetrial with cfg.toilim"
    even = all(
        len(time) > 0
        and trial.shape == (channels, len(time))
        and np.allclose(np.diff(time), step, rtol=1e-3, atol=0)
        for trial, time in pairs
    )
    starts = [round((time[0] - first[0]) / step) for time in times] if even else [0]
    begin, end = max(starts), min(start + len(time) for start, time in zip(starts, times, strict=False))
    if even and end - begin > 1:
        low, high = first[0] + begin * step, first[0] + (end - 1) * step  # what all trials have
        if tmin is not None and tmax is not None and low - step / 2 <= tmin and tmax <= high + step / 2:
            begin, end = round((tmin - first[0]) / step), round((tmax - first[0]) / step) + 1
            cut = [trial[:, begin - start : end - start] for trial, start in zip(trials, starts, strict=True)]
            return cut, first[0] + np.arange(begin, end) * step
        span = f"input.tmin = {low:.4f} and input.tmax = {high:.4f}"
        hint = f"name what all trials have, at most {span}; or leave short trials out, and {hint}"
    odd = same.index(False)
    problem = "trials differ in length or time"
    found = f"trial {odd + 1}: {' × '.join(map(str, trials[odd].shape))}, {len(times[odd])} times"
    found += "".join(f" from {time:g} s" for time in times[odd][:1])
    expected = f"{channels} channels × {len(first)} samples from {first[0]:g} s, as the first"
    raise InputError(problem, field="trial", found=found, expected=expected, hint=hint)


def _arrays(value: Any, dimensions: int = 2) -> list[Any]:
    """List a cell array of arrays, or an array with one more dimension."""
    return [value] if getattr(value, "ndim", 0) == dimensions else list(value)


def _types(struct: dict[str, Any], names: list[str]) -> list[str]:
    header = _inner(struct, "hdr")
    kinds = map(str, listed(header.get("chantype", ())))
    said = dict(zip(listed(header.get("label", ())), kinds, strict=False))
    named = [
        next((kind for start, kind in OTHERS.items() if name.upper().startswith(start)), "eeg")
        for name in names
    ]
    return [TYPES.get(said.get(name, ""), kind) for name, kind in zip(names, named, strict=True)]


def _place(info: Any, struct: dict[str, Any]) -> None:
    import mne
    import numpy as np

    electrodes = _inner(struct, "elec")
    if not {"label", "chanpos", "unit"} <= electrodes.keys():
        return
    scale = METRES.get(str(electrodes["unit"]), 1.0)
    at = dict(zip(listed(electrodes["label"]), np.atleast_2d(electrodes["chanpos"]) * scale, strict=True))
    types = dict(zip(info.ch_names, info.get_channel_types(), strict=True))
    if at := {name: place for name, place in at.items() if types.get(name) == "eeg"}:
        info.set_montage(mne.channels.make_dig_montage(at, coord_frame="head"), on_missing="ignore")


def _inner(struct: dict[str, Any], name: str) -> dict[str, Any]:
    found = struct.get(name)
    return found if isinstance(found, dict) else {}


def _fields(struct: object) -> str:
    return ", ".join(struct) if isinstance(struct, dict) else type(struct).__name__


def table_of(struct: dict[str, Any]) -> np.ndarray:
    """Return trialinfo as a matrix, trials × columns; empty if there is none."""
    import numpy as np

    table = np.asarray(struct.get("trialinfo", ()))
    return table[:, np.newaxis] if table.ndim == 1 else table


def code_columns(table: np.ndarray) -> dict[int, Counter[int]]:
    """Count the values of each distinct column of whole numbers."""
    import numpy as np

    if table.ndim != 2 or table.dtype.kind not in "biuf":
        return {}
    found: dict[int, Counter[int]] = {}
    before: list[np.ndarray] = []
    for number, values in enumerate(table.T, start=1):
        if not np.isfinite(values).all() or (values != np.round(values)).any():
            continue
        if not any(np.array_equal(values, other) for other in before):
            before.append(values)
            found[number] = Counter(sorted(values.astype(int).tolist()))
    return found


def in_words(columns: Mapping[Any, Counter[Any]]) -> str:
    """List the values of columns, which have names or numbers, with their counts."""
    values = {
        name: short_list([f"{value} ({count} times)" for value, count in counts.most_common()], SHOWN)
        for name, counts in columns.items()
    }
    return "; ".join(f"{'column ' * isinstance(name, int)}{name}: {said}" for name, said in values.items())


def _codes_of(table: np.ndarray, column: int | None, trials: int) -> np.ndarray:
    found = code_columns(table) if len(table) == trials else {}
    if column is None and len(found) > 1:
        problem = "several columns of trialinfo could be the codes of events"
        hint = f"name the column in the study file, for example: column = {min(found)}"
        raise InputError(problem, field="input.column", found=in_words(found), hint=hint)
    wanted = column or next(iter(found), 1)
    fits = table.ndim == 2 and wanted <= table.shape[1] and len(table) == trials
    if not fits or not code_columns(table[:, wanted - 1 : wanted]):
        problem = "no event code for each trial"
        what = "no trialinfo, from which classes come"
        if table.size:
            what = f"trialinfo: {' × '.join(map(str, table.shape))} of {table.dtype}"
        expected = f"trialinfo with {trials} rows of numbers, whole ones in column {wanted}"
        hint = "set cfg.trialdef, or data.trialinfo, before saving; a table has to become a matrix"
        raise InputError(problem, field="input.column", found=what, expected=expected, hint=hint)
    return table[:, wanted - 1].astype(int)
