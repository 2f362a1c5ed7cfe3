"""Small recordings whose content is known, and how a format reads them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mne
import numpy as np
from refusal import refusal

from shortloop.eeg.data import Epochs
from shortloop.eeg.formats.read import read_epochs
from shortloop.eeg.formats.recording_format import InputSettings

CLASSES = ("face", "house")
NAMES = ("Fz", "Cz", "Pz", "Oz", "C3", "C4", "VEOG")

# MNE loads compiled code with the first times of a recording: here, not in each of the processes that read.
assert len(mne.io.RawArray(np.zeros((1, 2)), mne.create_info(1, 1.0), verbose="ERROR").times) == 2


def make_raw(seed: int = 0, sfreq: float = 128.0, seconds: int = 24) -> mne.io.BaseRaw:
    """Six channels of EEG and one of the eyes, with 14 faces and houses in turn, one cue and one blink."""
    rng = np.random.default_rng(seed)
    info = mne.create_info(list(NAMES), sfreq, ["eeg"] * 6 + ["eog"])
    data = np.cumsum(rng.standard_normal((len(NAMES), int(seconds * sfreq))), axis=1)
    data -= data.mean(axis=1, keepdims=True)
    raw = mne.io.RawArray(data * 2e-6, info, verbose="ERROR")
    onsets = 1.0 + np.arange(14) * 1.5 + rng.uniform(0, 0.2, 14)
    names = [*["face", "house"] * 7, "cue", "BAD_blink"]
    raw.set_annotations(mne.Annotations([*onsets, 0.5, 5.3], [0.0] * 15 + [0.4], names))
    return raw


def exported(raw: mne.io.BaseRaw, file: Path) -> Path:
    """Write it with the writer that MNE has for the ending."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if file.suffix == ".fif":
            raw.save(file, fmt="double", overwrite=True, verbose="ERROR")
        else:
            mne.export.export_raw(file, raw, overwrite=True, verbose="ERROR")
    return file


def read(
    kind: str,
    files: Sequence[Any],
    classes: Sequence[str] = CLASSES,
    participant: str = "S1",
    **settings: Any,
) -> Epochs:
    """What a format makes of files."""
    known = InputSettings.named(kind).model_fields
    given = {"tmin": -0.25, "tmax": 0.5, "files": {"run": ("x",)}}
    values = {"format": kind, **{name: each for name, each in given.items() if name in known}, **settings}
    form = InputSettings.model_validate(values)
    return read_epochs(form, files, participant=participant, phase="run", classes=classes)


def warned(*arguments: Any, **given: Any) -> tuple[Epochs, list[str]]:
    """What `read` makes of files, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        epochs = read(*arguments, **given)
    return epochs, [str(each.message) for each in caught]


def refused(
    reader: Callable[..., Epochs], files: Sequence[Path], problem: str, *parts: str, **settings: Any
) -> None:
    """A reader refuses files: the message has all parts, and names the participant and the last file."""
    with refusal(problem, str(files[-1]), *parts) as caught:
        reader(files, **settings)
    assert caught.value.where["participant"]


def direct(raw: mne.io.BaseRaw, **options: Any) -> mne.Epochs:
    """What MNE's own code cuts out of it for the two classes, whatever else is in their names."""
    events, ids = mne.events_from_annotations(raw, verbose="ERROR")
    wanted = {name: number for name, number in ids.items() if {*name.split("/")} & {*CLASSES}}
    given = {"tmin": -0.25, "tmax": 0.5, "baseline": None, **options}
    return mne.Epochs(raw, events, wanted, preload=True, verbose="ERROR", **given)
