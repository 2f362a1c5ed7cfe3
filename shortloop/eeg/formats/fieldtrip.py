"""FieldTrip's structs in .mat files: raw data and timelocked trials (Oostenveld et al. 2011, Comput. Intell.
Neurosci. 2011:156869)."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.eeg.formats.base import FilesInput
from shortloop.eeg.formats.signals import SignalInput
from shortloop.eeg.headers.mat import declared, read_struct, variables
from shortloop.eeg.headers.units import VOLTS, VoltUnit, voltages

if TYPE_CHECKING:
    import numpy as np


METRES = {"m": 1.0, "dm": 1e-1, "cm": 1e-2, "mm": 1e-3}
TYPES = {"eog": "eog", "ecg": "ecg", "emg": "emg", "megmag": "mag", "megplanar": "grad", "meggrad": "grad"}
TYPES |= {"trigger": "stim", "refmag": "ref_meg", "refgrad": "ref_meg"}
OTHERS = re.compile(r"[HV]?EOG|ECG|EMG|STI")  # prefixes of channels that are no EEG
AVERAGES, SPECTRA = ("avg", "individual"), ("powspctrm", "fourierspctrm", "crsspctrm")
SHOWN = 6  # codes of a column in a message


class FieldtripInput(SignalInput, FilesInput):
    """What ft_preprocessing and ft_timelockanalysis gave, saved by any version of MATLAB.

    Events are the numbers in a column of ``trialinfo``. A single trial is a continuous recording. Channels
    are of the types that the header names, else EEG, but for names that begin with EOG, ECG or EMG.
    """

    format: Literal["fieldtrip"] = Field(description="FieldTrip's raw and timelock structs (.mat)")
    variable: str | None = Field(None, description="name of the struct; default: the only one in the file")
    column: int | None = Field(
        None,
        ge=1,
        description="column of trialinfo with codes of events, from 1; default: the only one of integers",
    )
    unit: VoltUnit | None = Field(
        None, description="unit of the EEG: V, mV, µV or nV; default: what the header says, else µV"
    )

    def warm_up(self) -> None:
        import h5py  # noqa: F401
        import pymatreader  # noqa: F401
        import scipy.io  # noqa: F401

        super().warm_up()

    def declared(self, file: Path, participant: str) -> int:
        return declared(file)

    def open(self, file: Path, participant: str) -> Any:
        import mne
        import numpy as np
        import pandas as pd

        struct = self._struct(file)
        names = [str(name) for name in _listed(struct["label"])]
        trials, times = _trials(struct, (self.tmin, self.tmax))
        sfreq = float(f"{(len(times) - 1) / (times[-1] - times[0]):.12g}")
        info = mne.create_info(names, sfreq, _types(struct, names))
        _place(info, struct)
        factors = self._factors(struct, names)
        scale = np.array(
            [
                factor if each in ("eeg", "eog", "ecg", "emg") else 1.0
                for factor, each in zip(factors, info.get_channel_types(), strict=True)
            ]
        )
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
        several = name not in found
        raise InputError(
            "the struct is not in the file" if several else "the variable is no struct of FieldTrip",
            field="input.variable",
            found=", ".join(found) if several else f"{name}: {_fields(struct)}",
            expected=name if self.variable and several else "a struct with label, time and trial",
            hint="name the variable: input.variable" if several else None,
        )

    def _factors(self, struct: dict[str, Any], names: list[str]) -> list[float]:
        """Return each channel's factor: from its own unit in the header, else that of all, else of µV."""
        if self.unit is not None:
            return [VOLTS[self.unit]] * len(names)
        for holder in ("hdr", "elec"):
            held = struct.get(holder)
            held = held if isinstance(held, dict) else {}
            said = [voltages([str(each)]) for each in _listed(held.get("chanunit", ()))]
            if known := set().union(*said):
                common = known if len(known) == 1 else {"µV"}
                own = dict(zip(map(str, _listed(held.get("label", ()))), said, strict=False))
                return [VOLTS[min(own.get(name) or common)] for name in names]
        return [VOLTS["µV"]] * len(names)


def _trials(struct: dict[str, Any], asked: tuple[float | None, float | None]) -> tuple[list[Any], Any]:
    """Return arrays of channels × samples, and their times; trials of unequal length are cut as asked."""
    import numpy as np

    if "trial" not in struct:
        averages = not struct.keys().isdisjoint(AVERAGES)
        spectra = not struct.keys().isdisjoint(SPECTRA)
        raise InputError(
            "averages cannot be decoded, trials are needed"
            if averages
            else "there are no trials in the struct",
            found="averages (avg)" if averages else "spectra" if spectra else _fields(struct),
            expected="trial",
            hint="save what ft_preprocessing gave, or set cfg.keeptrials = 'yes'",
        )
    trials = [np.asarray(each, dtype=np.float64) for each in _arrays(struct["trial"])]
    times = [np.asarray(each, dtype=np.float64) for each in _arrays(struct["time"], 1)]
    channels = len(_listed(struct["label"]))
    if len(times) == 1:
        times *= len(trials)
    step = (times[0][-1] - times[0][0]) / max(len(times[0]) - 1, 1)
    for number, (trial, time) in enumerate(zip(trials, times, strict=True), start=1):
        if trial.shape != (channels, len(times[0])) or time.shape != times[0].shape:
            found = f"trial {number}: {' × '.join(map(str, trial.shape))}, {len(time)} times"
            expected = f"{channels} channels × {len(times[0])} samples, as the first"
        elif abs(time - times[0]).max() > step / 4:
            found = f"trial {number} from {time[0]:g} s"
            expected = f"from {times[0][0]:g} s, as the first"
        else:
            continue
        cut, hint = _cut_alike(trials, times, channels, step, asked)
        if cut is not None:
            return cut
        raise InputError(
            "trials differ in length or time", field="trial", found=found, expected=expected, hint=hint
        )
    return trials, times[0]


def _cut_alike(
    trials: list[Any], times: list[Any], channels: int, step: float, asked: tuple[float | None, float | None]
) -> tuple[tuple[list[Any], Any] | None, str]:
    """Cut samples from input.tmin to input.tmax if all trials have them; else return a hint."""
    import numpy as np

    hint = "cut them alike: ft_redefinetrial with cfg.toilim"
    if any(trial.shape != (channels, len(time)) for trial, time in zip(trials, times, strict=True)):
        return None, hint
    if not all(np.allclose(np.diff(time), step, rtol=1e-3, atol=0) for time in times):
        return None, hint
    zero = times[0][0]
    starts = [round((time[0] - zero) / step) for time in times]
    first, last = max(starts), min(start + len(time) - 1 for start, time in zip(starts, times, strict=True))
    if last <= first:
        return None, hint
    tmin, tmax = asked
    if (
        tmin is None
        or tmax is None
        or tmin < zero + (first - 0.5) * step
        or tmax > zero + (last + 0.5) * step
    ):
        span = f"input.tmin = {zero + first * step:.4f} and input.tmax = {zero + last * step:.4f}"
        return None, f"name what all trials have, at most {span}; or leave short trials out, and {hint}"
    begin, end = round((tmin - zero) / step), round((tmax - zero) / step) + 1
    cut = [trial[:, begin - start : end - start] for trial, start in zip(trials, starts, strict=True)]
    return (cut, zero + np.arange(begin, end) * step), ""


def _arrays(value: Any, dimensions: int = 2) -> list[Any]:
    """List a cell array of arrays, or an array with one more dimension."""
    import numpy as np

    return [value] if isinstance(value, np.ndarray) and value.ndim == dimensions else list(value)


def _types(struct: dict[str, Any], names: list[str]) -> list[str]:
    header = struct.get("hdr")
    said: dict[str, str] = {}
    if isinstance(header, dict) and {"label", "chantype"} <= header.keys():
        said = dict(zip(_listed(header["label"]), map(str, _listed(header["chantype"])), strict=False))
    by_name = {"STI": "stim", "ECG": "ecg", "EMG": "emg"}
    types = []
    for name in names:
        other = OTHERS.match(name.upper())
        guessed = by_name.get(other[0], "eog") if other else "eeg"
        types.append(TYPES.get(said.get(name, ""), guessed))
    return types


def _place(info: Any, struct: dict[str, Any]) -> None:
    import mne
    import numpy as np

    electrodes = struct.get("elec")
    if not isinstance(electrodes, dict) or not {"label", "chanpos", "unit"} <= electrodes.keys():
        return
    scale = METRES.get(str(electrodes["unit"]), 1.0)
    at = dict(zip(_listed(electrodes["label"]), np.atleast_2d(electrodes["chanpos"]) * scale, strict=True))
    types = dict(zip(info.ch_names, info.get_channel_types(), strict=True))
    at = {name: place for name, place in at.items() if types.get(name) == "eeg"}
    if at:
        info.set_montage(mne.channels.make_dig_montage(at, coord_frame="head"), on_missing="ignore")


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else list(value)


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
            found[number] = Counter(values.astype(int).tolist())
    return found


def in_words(columns: dict[int, Counter[int]]) -> str:
    """Describe codes of columns with their counts."""
    return "; ".join(f"column {number}: {_few(codes)}" for number, codes in columns.items())


def _codes_of(table: np.ndarray, column: int | None, trials: int) -> np.ndarray:
    """Return the event code of each trial."""
    found = code_columns(table) if len(table) == trials else {}
    if column is None and len(found) > 1:
        raise InputError(
            "several columns of trialinfo could be the codes of events",
            field="input.column",
            found=in_words(found),
            expected="the number of one of them",
            hint=f"name the column in the study file, for example: column = {min(found)}",
        )
    wanted = column or next(iter(found), 1)
    fits = table.ndim == 2 and wanted <= table.shape[1] and len(table) == trials
    if not fits or not code_columns(table[:, wanted - 1 : wanted]):
        raise InputError(
            "no event code for each trial",
            field="input.column",
            found=f"trialinfo: {' × '.join(map(str, table.shape))} of {table.dtype}"
            if table.size
            else "no trialinfo, from which classes come",
            expected=f"trialinfo with {trials} rows of numbers, whole ones in column {wanted}",
            hint="set cfg.trialdef, or data.trialinfo, before saving; a table has to become a matrix",
        )
    return table[:, wanted - 1].astype(int)


def _few(codes: Counter[int]) -> str:
    if len(codes) > 2 * SHOWN:
        return f"{len(codes)} different, from {min(codes)} to {max(codes)}"
    return ", ".join(f"{code} ({count} times)" for code, count in sorted(codes.items()))
