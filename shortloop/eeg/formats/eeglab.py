"""EEGLAB datasets: .set, with samples in it or in .fdt."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.eeg.formats.base import FilesInput
from shortloop.eeg.formats.signals import SignalInput

__all__ = ["EeglabInput"]


class EeglabInput(SignalInput, FilesInput):
    """EEGLAB datasets, continuous or epoched, saved by any version of MATLAB.

    An epoch is called as the event that it is locked to, the one at 0 ms; if none is, by all of its events.
    """

    format: Literal["eeglab"] = Field(description="EEGLAB datasets (.set, .fdt), continuous or epoched")

    def warm_up(self) -> None:
        import pymatreader  # noqa: F401
        import scipy.io  # noqa: F401

        super().warm_up()

    def beside(self, file: Path) -> list[Path]:
        samples = file.with_suffix(".fdt")
        return [samples] if samples.is_file() else []

    def open(self, file: Path, participant: str) -> Any:
        import mne

        try:
            raw = mne.io.read_raw_eeglab(file, montage_units="auto")
            raw.annotations.rename({each: _name(each) for each in set(raw.annotations.description)})
            return raw
        except TypeError as error:
            if "trials" not in str(error):
                raise
        epochs = mne.io.read_epochs_eeglab(file, montage_units="auto")
        names = _locked_to(file)
        if len(names) == len(epochs) and all(names):
            epochs.event_id = {name: number for number, name in enumerate(sorted(set(names)), start=1)}
            epochs.events[:, 2] = [epochs.event_id[name] for name in names]
        return epochs


def _locked_to(file: Path) -> list[str]:
    """The event at 0 ms of each epoch, as far as there is one."""
    import numpy as np
    from pymatreader import read_mat

    content = read_mat(file, variable_names=["EEG", "epoch", "srate"])
    content = content.get("EEG", content)
    epochs = content.get("epoch")
    if isinstance(epochs, dict) and {"eventtype", "eventlatency"} <= epochs.keys():  # by field, not by epoch
        pairs = zip(epochs["eventtype"], epochs["eventlatency"], strict=True)
        epochs = [{"eventtype": types, "eventlatency": latencies} for types, latencies in pairs]
    if not isinstance(epochs, list) or not all(isinstance(each, dict) for each in epochs):
        return []
    half = 500 / float(content["srate"])  # ms
    found = []
    for epoch in epochs:
        pairs = zip(_listed(epoch["eventtype"]), _listed(epoch["eventlatency"]), strict=True)
        locked = [_name(kind) for kind, latency in pairs if abs(float(np.squeeze(latency))) < half]
        found.append("/".join(locked))
    return found


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) or not hasattr(value, "__len__") else list(value)


def _name(kind: Any) -> str:
    """A type of event as text; MATLAB keeps whole numbers as floats."""
    text = str(kind)
    return text.removesuffix(".0") if re.fullmatch(r"-?\d+\.0", text) else text
