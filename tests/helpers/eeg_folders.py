"""Folders of recordings as laboratories have them, by the writers of others, with an effect in them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import mne
import numpy as np
from eeg_recordings import CLASSES, exported
from scipy.io import savemat

from shortloop.analyses import Look
from shortloop.eeg.inspect.propose import look

CHANNELS = ("Fz", "Cz", "Pz", "Oz", "C3", "C4", "P3", "P4", "VEOG")
RATE = 128.0
PARTICIPANTS = ("P01", "P02", "P03")


def silent(done: int, total: int) -> None:
    """Progress that nobody sees."""


def proposed(data: Path, project: Path) -> Look:
    """What is made of a folder."""
    found = look(data, project, silent)
    assert found is not None
    return found


def recording(
    who: str,
    phase: str = "study",
    *,
    trials: int = 48,
    names: Sequence[str] = CLASSES,
    latency: float = 0.2,
    rate: float = RATE,
    gap: float = 1.2,
) -> mne.io.RawArray:
    """Noise, and from `latency` for 0.2 s a pattern for each class; a key is pressed after each trial."""
    rng = np.random.default_rng([*map(ord, who + phase)])
    seconds = trials * gap + 3
    data = rng.standard_normal((len(CHANNELS), int(seconds * rate))) * 4e-6
    labels = rng.permutation(np.arange(trials) % len(names))
    onsets = np.round((1.5 + gap * np.arange(trials)) * rate) / rate
    patterns = np.random.default_rng(5).standard_normal((len(names), len(CHANNELS))) * 2e-6
    patterns[:, -1] = 0  # the eyes see nothing
    for onset, label in zip(onsets, labels, strict=True):
        start = round((onset + latency) * rate)
        data[:, start : start + round(0.2 * rate)] += patterns[label][:, np.newaxis]
    raw = mne.io.RawArray(data, mne.create_info(list(CHANNELS), rate, ["eeg"] * 8 + ["eog"]), verbose="ERROR")
    texts = [names[label] for label in labels]
    raw.set_annotations(mne.Annotations([*onsets, *(onsets + 0.9)], 0.0, [*texts, *["response"] * trials]))
    return raw


def eeglab(folder: Path) -> None:
    """One file for each participant and phase, in a folder with spaces and umlauts."""
    for who in PARTICIPANTS:
        exported(recording(who, "study"), folder / f"Gedächtnis roh/{who}_study.set")
        exported(recording(who, "test", latency=0.4), folder / f"Gedächtnis roh/{who}_test.set")


def brainvision(folder: Path) -> None:
    """A folder for each participant, and triggers as BrainVision has them."""
    import pybv  # type: ignore[import-untyped]

    for who in PARTICIPANTS:
        raw = recording(who)
        events = [
            {
                "onset": round(each["onset"] * RATE),
                "duration": 1,
                "type": "Response" if each["description"] == "response" else "Stimulus",
                "description": {"face": 1, "house": 2, "response": 99}[each["description"]],
                "channels": "all",
            }
            for each in raw.annotations
        ]
        pybv.write_brainvision(
            data=raw.get_data(),
            sfreq=RATE,
            ch_names=list(CHANNELS),
            fname_base=f"{who}_viewing",
            folder_out=folder / who / "eeg raw",
            events=events,
        )


def edf(folder: Path) -> None:
    """Two runs for each participant, endings in upper case."""
    for who in PARTICIPANTS:
        for run in (1, 2):
            file = folder / f"{who}R0{run}.edf"
            exported(recording(f"{who}{run}", trials=32), file)
            file.rename(file.with_suffix(".EDF"))


def fif(folder: Path) -> None:
    """Epochs that MNE saved."""
    folder.mkdir(parents=True, exist_ok=True)
    for who in PARTICIPANTS:
        raw = recording(who)
        events, ids = mne.events_from_annotations(raw, verbose="ERROR")
        wanted = {name: ids[name] for name in CLASSES}
        epochs = mne.Epochs(raw, events, wanted, -0.2, 0.7, baseline=None, preload=True, verbose="ERROR")
        epochs.save(folder / f"sub-{who[1:]}-epo.fif", overwrite=True, verbose="ERROR")


def fieldtrip(folder: Path) -> None:
    """Structs of ft_preprocessing, with codes in trialinfo."""
    folder.mkdir(parents=True, exist_ok=True)
    for who in PARTICIPANTS:
        write_fieldtrip(recording(who), folder / f"{who} clean.mat")


def write_fieldtrip(raw: mne.io.RawArray, file: Path, *more: np.ndarray) -> None:
    """With more columns of trialinfo before that of the codes."""
    events, ids = mne.events_from_annotations(raw, verbose="ERROR")
    kept = events[np.isin(events[:, 2], [ids[name] for name in CLASSES])]
    epochs = mne.Epochs(raw, kept, None, -0.3, 0.7, baseline=None, preload=True, verbose="ERROR")
    trials, times = np.empty(len(epochs), dtype=object), np.empty(len(epochs), dtype=object)
    for number, trial in enumerate(epochs.get_data() * 1e6):
        trials[number], times[number] = trial, epochs.times
    label = np.empty(len(CHANNELS), dtype=object)
    label[:] = CHANNELS
    codes = np.where(kept[:, 2] == ids["face"], 11.0, 12.0)
    codes = np.column_stack([*more, codes])
    struct = {"label": label, "trial": trials, "time": times, "fsample": RATE, "trialinfo": codes}
    savemat(file, {"data": struct})


def bids(folder: Path) -> None:
    """Two tasks, by MNE-BIDS."""
    import mne_bids

    for number, who in enumerate(PARTICIPANTS, start=1):
        for task, latency in (("encoding", 0.2), ("retrieval", 0.4)):
            raw = recording(who, task, latency=latency)
            raw.info["line_freq"] = 50
            path = mne_bids.BIDSPath(subject=f"{number:02}", task=task, root=folder, datatype="eeg")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                mne_bids.write_raw_bids(raw, path, allow_preload=True, format="BrainVision", verbose="ERROR")


def _epochs(who: str) -> tuple[np.ndarray, np.ndarray]:
    """Means of 100 ms, trials × channels × bins, and what was seen."""
    raw = recording(who, gap=1.25)
    events, ids = mne.events_from_annotations(raw, verbose="ERROR")
    wanted = {name: ids[name] for name in CLASSES}
    epochs = mne.Epochs(raw, events, wanted, -0.25, 0.75, baseline=None, preload=True, verbose="ERROR")
    data = epochs.get_data(picks="eeg")[..., :-1] * 1e6
    names = {number: name for name, number in ids.items()}
    return data.reshape(*data.shape[:2], 8, -1).mean(3), np.array([names[one] for one in epochs.events[:, 2]])


def arrays(folder: Path) -> None:
    """Features that somebody made with NumPy, with the times of the bins."""
    folder.mkdir(parents=True, exist_ok=True)
    for who in PARTICIPANTS:
        X, y = _epochs(who)
        np.savez(folder / f"{who}.npz", X=X, y=y, names=CHANNELS[:8], t=-0.1875 + 0.125 * np.arange(8))


def table(folder: Path) -> None:
    """One table of all participants: what the channels have while the effect is there."""
    import pandas as pd

    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for who in PARTICIPANTS:
        X, y = _epochs(who)
        rows.append(pd.DataFrame(X[:, :, 3:5].mean(2), columns=CHANNELS[:8]).assign(condition=y, subject=who))
    pd.concat(rows).to_csv(folder / "means.csv", index=False)


def of_mne(ending: str) -> Callable[[Path], None]:
    """One recording for each participant, of a format that MNE alone reads, without key presses."""

    def write(folder: Path) -> None:
        from handmade_recordings import WRITERS

        for who in PARTICIPANTS:
            raw = recording(who)
            shown = [number for number, each in enumerate(raw.annotations) if each["description"] in CLASSES]
            WRITERS[ending](raw.set_annotations(raw.annotations[shown]), folder / f"{who}{ending}")

    return write


FOLDERS: dict[str, Callable[[Path], None]] = {
    "eeglab": eeglab,
    "brainvision": brainvision,
    "edf": edf,
    "fif": fif,
    "fieldtrip": fieldtrip,
    "bids": bids,
    "arrays": arrays,
    "table": table,
    "egi": of_mne(".mff"),
    "ctf": of_mne(".ds"),
    "gdf": of_mne(".gdf"),
    "cnt": of_mne(".cnt"),
    "nihon": of_mne(".EEG"),
    "nicolet": of_mne(".data"),
    "persyst": of_mne(".lay"),
    "curry7": of_mne(".dat"),
    "curry8": of_mne(".cdt"),
}
