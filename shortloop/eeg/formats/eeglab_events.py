"""Events of EEGLAB's epochs, by which these are named."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

__all__ = ["listed", "name_of", "named_by_events", "read_dataset"]


def named_by_events(epochs: Any, file: Path) -> None:
    """Name epochs by the event at 0 ms; if all are locked to one, by all of the events that they have."""
    locked, every = _events_of(file)
    if len({*locked}) == 1 and len({*every}) > 1:  # a photodiode, or a response: classes are beside it
        locked = every
    if len(locked) == len(epochs) and all(locked):
        epochs.event_id = {name: number for number, name in enumerate(sorted(set(locked)), start=1)}
        epochs.events[:, 2] = [epochs.event_id[name] for name in locked]


def _events_of(file: Path) -> tuple[list[str], list[str]]:
    """The event at 0 ms of each epoch, as far as there is one, and all of its events, each once."""
    import numpy as np

    content = read_dataset(file, "epoch")
    epochs = content.get("epoch")
    if isinstance(epochs, dict) and {"eventtype", "eventlatency"} <= epochs.keys():  # by field, not by epoch
        pairs = zip(epochs["eventtype"], epochs["eventlatency"], strict=True)
        epochs = [{"eventtype": types, "eventlatency": latencies} for types, latencies in pairs]
    if not isinstance(epochs, list) or not all(isinstance(each, dict) for each in epochs):
        return [], []
    half = 500 / float(content["srate"])  # ms
    found, every = [], []
    for epoch in epochs:
        names = [name_of(kind) for kind in listed(epoch["eventtype"])]
        pairs = zip(names, listed(epoch["eventlatency"]), strict=True)
        locked = [name for name, latency in pairs if abs(float(np.squeeze(latency))) < half]
        found.append("/".join(locked))
        every.append("/".join(dict.fromkeys([*locked, *names])))
    return found, every


def read_dataset(file: Path, *names: str) -> dict[str, Any]:
    """Fields of a dataset, and its sampling rate, whatever version of MATLAB saved it."""
    from pymatreader import read_mat

    content: dict[str, Any] = read_mat(file, variable_names=["EEG", "srate", *names])
    found: dict[str, Any] = content.get("EEG", content)
    return found


def listed(value: Any) -> list[Any]:
    """Items of a list or an array; of one item alone, that."""
    return [value] if isinstance(value, str) or not hasattr(value, "__len__") else list(value)


def name_of(kind: Any) -> str:
    """Write a type of event as text; MATLAB keeps whole numbers as floats."""
    text = str(kind)
    return text.removesuffix(".0") if re.fullmatch(r"-?\d+\.0", text) else text
