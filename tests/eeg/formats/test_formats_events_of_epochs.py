"""Epochs of EEGLAB, in BIDS and alone: classes are events of the epoch, wherever these are in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from eeg_recordings import CLASSES, read
from scipy.io import loadmat, savemat

pytestmark = pytest.mark.filterwarnings("ignore:S1, ", "ignore:01, ")
NAMES = ("Fz", "Cz", "Pz", "Oz")
BEFORE = 16
ICA = ("icawinv", "icasphere", "icaweights", "icachansind", "icaact")


def dataset(file: Path, trials: list[list[tuple[str, float]]]) -> np.ndarray:
    """Epochs of 64 samples at 64 Hz, each with events at times in ms; the samples in V."""
    data = (np.random.default_rng(3).standard_normal((4, 64, len(trials))) * 20).astype(np.float32)
    events = [(n, *each) for n, trial in enumerate(trials) for each in trial]
    ev = np.zeros(len(events), dtype=[("type", object), ("latency", object), ("epoch", object)])
    for at, (number, name, ms) in enumerate(events):
        ev[at] = (name, number * 64 + BEFORE + 1 + ms * 0.064, number + 1.0)
    ep = np.zeros(len(trials), dtype=[(each, object) for each in ("event", "eventtype", "eventlatency")])
    for number, trial in enumerate(trials):
        own = [float(at + 1) for at, each in enumerate(events) if each[0] == number]
        ep[number] = (np.array([own]), *(np.array([*each], dtype=object)[None] for each in zip(*trial)))
    chanlocs = np.zeros(4, dtype=[("labels", object)])
    chanlocs["labels"] = NAMES
    head = {"setname": "x", "nbchan": 4.0, "pnts": 64.0, "trials": float(len(trials)), "srate": 64.0}
    head |= {"xmin": -BEFORE / 64, "xmax": (63 - BEFORE) / 64, "ref": "common"}
    none: dict[str, list[float]] = {key: [] for key in ICA}
    eeg = {**head, **none, "data": data, "chanlocs": chanlocs, "event": ev, "epoch": ep}
    file.parent.mkdir(parents=True, exist_ok=True)
    savemat(file, {"EEG": eeg}, appendmat=False)
    return np.moveaxis(loadmat(file, simplify_cells=True)["EEG"]["data"], 2, 0) * 1e-6


def locked(name: str, others: bool = True) -> list[list[tuple[str, float]]]:
    kinds = [CLASSES[n % 3 == 0] for n in range(20)]
    return [[(kind, -20.0), (name, 0.0), *[("key", 300.0)] * others] for kind in kinds]


@pytest.mark.parametrize("others", [True, False])
def test_a_class_may_be_an_event_beside_that_of_a_photodiode(tmp_path: Path, others: bool) -> None:
    """As MNE finds them by name; those of the photodiode are all of them still."""
    truth = dataset(tmp_path / "S1.set", locked("photo", others))
    epochs = read("eeglab", [tmp_path / "S1.set"], tmin=None, tmax=None)
    theirs = mne.read_epochs_eeglab(tmp_path / "S1.set", verbose="ERROR")
    for number, name in enumerate(CLASSES):
        own = epochs.data[epochs.labels == number]
        np.testing.assert_allclose(own, theirs[name].get_data(verbose="ERROR"), rtol=1e-6)
    np.testing.assert_allclose(epochs.data, truth, rtol=1e-6)
    one = read("eeglab", [tmp_path / "S1.set"], ["all"], events={"all": ["photo"]}, tmin=None, tmax=None)
    assert len(one.data) == 20


def test_a_class_that_some_epochs_are_locked_to_is_no_event_beside_it(tmp_path: Path) -> None:
    """An epoch of a face in which a house comes later is one of a face."""
    trials = [[(CLASSES[n % 2], 0.0), (CLASSES[1 - n % 2], 400.0)] for n in range(20)]
    dataset(tmp_path / "S1.set", trials)
    epochs = read("eeglab", [tmp_path / "S1.set"], tmin=None, tmax=None)
    np.testing.assert_array_equal(epochs.labels, np.arange(20) % 2)


def sidecars(folder: Path, more: dict[str, Any], bad: str = "") -> None:
    root = folder.parents[1]
    description = {"Name": "x", "BIDSVersion": "1.8.0", "DatasetType": "raw"}
    (root / "dataset_description.json").write_text(json.dumps(description))
    said = {"TaskName": "run", "SamplingFrequency": 64, "PowerLineFrequency": 50, **more}
    (folder / "sub-01_task-run_eeg.json").write_text(json.dumps(said))
    rows = [f"{name}\tEEG\tuV\t{'bad' if name == bad else 'good'}" for name in NAMES]
    (folder / "sub-01_task-run_channels.tsv").write_text("\n".join(["name\ttype\tunits\tstatus", *rows, ""]))


@pytest.mark.parametrize("bad", ["", "Pz"])
def test_epochs_of_eeglab_in_bids(tmp_path: Path, bad: str) -> None:
    """Bad channels are those of the table."""
    file = tmp_path / "sub-01/eeg/sub-01_task-run_eeg.set"
    truth = dataset(file, locked("photo"))
    sidecars(file.parent, {"RecordingType": "epoched", "EpochLength": 1}, bad)
    epochs = read("bids", [file], participant="01", tmin=None, tmax=None)
    kept = [n for n, name in enumerate(NAMES) if name != bad]
    assert epochs.channels == tuple(NAMES[n] for n in kept)
    np.testing.assert_allclose(epochs.data, truth[:, kept], rtol=1e-6)
    np.testing.assert_array_equal(epochs.labels, np.arange(20) % 3 == 0)
