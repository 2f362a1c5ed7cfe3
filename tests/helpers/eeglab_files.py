"""Datasets of EEGLAB, with the fields that EEGLAB saves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import savemat

NOTHING = ("epoch", "icawinv", "icasphere", "icaweights", "icachansind", "icaact", "times")


def write_eeglab(
    file: Path,
    data: np.ndarray,
    rate: float,
    names: Sequence[str],
    events: Mapping[str, Sequence[Any]],
    *,
    start: float = 0.0,
    beside: bool = False,
) -> Path:
    """Samples (channels, points) or (channels, points, trials), µV, in the dataset or in a file beside it.

    Columns of events are `type`, `latency` in samples from 1 on, for trials `epoch` from 1 on, and any more.
    """
    points, trials = data.shape[1], data.shape[2] if data.ndim == 3 else 1
    table = np.zeros(len(events["type"]), dtype=[(name, object) for name in events])
    for name, column in events.items():
        for at, value in enumerate(column):
            table[name][at] = _value(value)
    places = np.zeros(len(names), dtype=[("labels", object)])
    places["labels"] = names
    content: dict[str, Any] = {**{name: [] for name in NOTHING}, "setname": "x", "ref": "common"}
    content |= {"nbchan": float(len(names)), "pnts": float(points), "trials": float(trials), "srate": rate}
    content |= {"xmin": start, "xmax": start + (points - 1) / rate, "chanlocs": places, "event": table}
    if trials > 1:
        content["epoch"] = _epochs(table, points, trials, rate, start)
    if beside:
        samples = file.with_suffix(".fdt")
        samples.write_bytes(data.astype("<f4").tobytes("F"))
    file.parent.mkdir(parents=True, exist_ok=True)
    content["data"] = samples.name if beside else data.astype(np.float32)
    savemat(file, {"EEG": content}, appendmat=False)
    return file


def _value(value: Any) -> Any:
    if isinstance(value, str):
        return value
    return np.empty((0, 0)) if np.isnan(value) else float(value)


def _epochs(table: np.ndarray, points: int, trials: int, rate: float, start: float) -> np.ndarray:
    """Of each trial the numbers of its events and their fields, latencies in ms from time 0."""
    more = [name for name in table.dtype.names or () if name not in ("latency", "epoch")]
    fields = ["event", "eventlatency", *(f"event{name}" for name in more)]
    epochs = np.zeros(trials, dtype=[(name, object) for name in fields])
    for trial in range(trials):
        own = np.flatnonzero(table["epoch"] == trial + 1.0)
        epochs["event"][trial] = own[np.newaxis] + 1.0
        samples = table["latency"][own].astype(float) - 1 - trial * points
        epochs["eventlatency"][trial] = _cell(1000 * (samples / rate + start))
        for name in more:
            epochs[f"event{name}"][trial] = _cell(table[name][own])
    return epochs


def _cell(values: Sequence[Any] | np.ndarray) -> np.ndarray:
    cell = np.empty((1, len(values)), dtype=object)
    for at, value in enumerate(values):
        cell[0, at] = value
    return cell
