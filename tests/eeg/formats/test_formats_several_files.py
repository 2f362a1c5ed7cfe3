"""Recordings of several files, and epochs of EEGLAB: all files count, and each event of a trial."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from cases import first_cases
from eeg_recordings import CLASSES, exported, make_raw, read, refused
from eeglab_files import write_eeglab
from in_process import InProcess
from jobs_project import write
from refusal import refusal
from scipy.io import savemat

from shortloop.eeg.formats.recording_format import InputSettings, RecordedInput
from shortloop.eeg.pipeline import StudyRun, import_epochs
from shortloop.eeg.stages.feature_files import load_epochs
from shortloop.eeg.study.load import read_study

pytestmark = pytest.mark.filterwarnings("ignore:S1, ", "ignore:.*are in the key", "ignore:01, ")
STUDY = """\
name = "brains"
participants = ["A", "B"]
classes = ["face", "house"]
phases.train = "run"
features.amplitude = {}

[input]
format = "brainvision"
folder = "."
files.run = ["{participant}/rec.vhdr"]

[input.preprocessing]
bads.B = ["C3"]
"""


@pytest.fixture
def vhdr(tmp_path: Path) -> Path:
    return exported(make_raw(), tmp_path / "S1.vhdr")


@pytest.fixture
def brains(tmp_path: Path) -> Callable[[], StudyRun]:
    """A study of two people whose headers are the same: a job knows files by their content."""
    for number, name in enumerate("AB"):
        (tmp_path / name).mkdir()
        exported(make_raw(number), tmp_path / name / "rec.vhdr")
    assert (tmp_path / "A/rec.vhdr").read_bytes() == (tmp_path / "B/rec.vhdr").read_bytes()
    file = write(tmp_path, "study.toml", STUDY)
    (tmp_path / "jobs").mkdir()
    run = InProcess(tmp_path / "jobs")
    return lambda: StudyRun(run, read_study(file), file)


def form(kind: str) -> RecordedInput:
    found = InputSettings.model_validate({"format": kind, "files": {"run": ("x",)}})
    assert isinstance(found, RecordedInput)
    return found


def expect(kind: str, file: Path, problem: str, *parts: str, **settings: Any) -> None:
    refused(partial(read, kind), [file], problem, *parts, **settings)


def test_samples_of_brainvision_that_are_cut_short(vhdr: Path) -> None:
    """Whatever reads them."""
    samples = vhdr.with_suffix(".eeg")
    whole = samples.read_bytes()
    assert len(read("brainvision", [vhdr]).labels) == 14
    for cut in (len(whole) - 1, len(whole) // 2, 0):
        samples.write_bytes(whole[:cut])
        expect("brainvision", vhdr, "the samples are truncated", "S1.eeg")
    expect("mne", vhdr, "truncated")
    samples.rename(vhdr.with_name("other.eeg"))
    expect("brainvision", vhdr, "a file of the recording is missing", "no S1.eeg beside it")


def test_files_that_a_header_names_elsewhere_are_refused(vhdr: Path, tmp_path: Path) -> None:
    """MNE would read them, and no key of a job would hold what they say."""
    away = tmp_path / "away"
    away.mkdir()
    text = vhdr.read_text(encoding="utf-8")
    for field, name in (("DataFile", "S1.eeg"), ("MarkerFile", "S1.vmrk")):
        shutil.copy(vhdr.with_name(name), away)
        vhdr.write_text(text.replace(f"{field}={name}", f"{field}={away / name}"), encoding="utf-8")
        for kind in ("brainvision", "mne"):
            expect(kind, vhdr, "names a file in another folder", str(away / name))


def test_markers_that_were_renamed_with_the_header_are_read(vhdr: Path) -> None:
    before = read("brainvision", [vhdr])
    text = vhdr.read_text(encoding="utf-8")
    vhdr.write_text(text.replace("MarkerFile=S1.vmrk", "MarkerFile=old.vmrk"), encoding="utf-8")
    np.testing.assert_array_equal(read("brainvision", [vhdr]).data, before.data)
    assert [path.name for _, path in form("brainvision").together(vhdr)] == ["S1.vhdr", "S1.eeg", "S1.vmrk"]
    vhdr.with_suffix(".vmrk").unlink()
    expect("brainvision", vhdr, "a file of the recording is missing", "no old.vmrk beside it")


def eeglab(folder: Path, trials: int) -> tuple[Path, np.ndarray]:
    """A dataset with its samples beside it, as EEGLAB saves it."""
    points, step = (600, 70) if trials == 1 else (100, 100)
    data = np.random.default_rng(trials).standard_normal((4, points, trials)).astype("<f4")
    shown = range(max(trials, 7))
    events: dict[str, Any] = {
        "type": [CLASSES[n % 2] for n in shown],
        "latency": [50.0 + n * step for n in shown],
        "epoch": [n + 1 for n in shown],
    }
    if trials > 1:  # each has a response, too, and is not called by it, though it is listed first
        events = {name: np.repeat(column, 2).tolist() for name, column in events.items()}
        events["type"][::2] = ["house", *["key"] * (trials - 1)]
        events["latency"][::2] = [each + 25 for each in events["latency"][::2]]
    start = -0.49 if trials > 1 else 0.0
    file = write_eeglab(folder / "s.set", data, 100.0, NAMES, events, start=start, beside=True)
    return file, data.astype(float) * 1e-6


def test_samples_of_eeglab_beside_a_recording(tmp_path: Path) -> None:
    file, data = eeglab(tmp_path, 1)
    epochs = read("eeglab", [file], tmin=-0.1, tmax=0.3)
    expected = np.stack([data[:, 49 + n * 70 - 10 : 49 + n * 70 + 31, 0] for n in range(7)])
    np.testing.assert_array_equal(epochs.data, expected)
    assert epochs.labels.tolist() == [0, 1, 0, 1, 0, 1, 0]
    samples = tmp_path / "s.fdt"
    whole = samples.read_bytes()
    for content in (whole[:-1], whole + whole[:16], whole[:4000]):
        samples.write_bytes(content)
        expect("eeglab", file, "not those of the dataset", tmin=-0.1, tmax=0.3)
    samples.unlink()
    expect("eeglab", file, "cannot be read", "s.fdt", tmin=-0.1, tmax=0.3)


def test_samples_of_eeglab_in_the_dataset_count_and_not_old_ones_beside_it(tmp_path: Path) -> None:
    file = exported(make_raw(), tmp_path / "S1.set")
    before = read("eeglab", [file])
    file.with_suffix(".fdt").write_bytes(bytes(4000))
    np.testing.assert_array_equal(read("eeglab", [file]).data, before.data)


def test_epochs_of_eeglab_are_called_as_the_event_at_0_ms(tmp_path: Path) -> None:
    file, data = eeglab(tmp_path, 8)
    epochs = read("eeglab", [file], tmin=None, tmax=None)
    np.testing.assert_array_equal(epochs.data, data.transpose(2, 0, 1))
    assert epochs.labels.tolist() == [0, 1] * 4
    part = read("eeglab", [file], tmin=-0.2, tmax=0.3)
    np.testing.assert_array_equal(part.data, data[:, 29:80].transpose(2, 0, 1))
    expect("eeglab", file, "epochs in the file are shorter", "input.tmax", tmin=None, tmax=0.9)


def test_parts_of_a_split_recording_are_one(tmp_path: Path) -> None:
    raw = make_raw(seconds=60)
    how: dict[str, Any] = {"fmt": "double", "buffer_size_sec": 1, "verbose": "ERROR"}
    raw.save(tmp_path / "S1_raw.fif", split_size=2**20 + 200_000, **how)
    assert (tmp_path / "S1_raw-1.fif").is_file()
    whole = read("fif", [exported(raw, tmp_path / "whole_raw.fif")])
    np.testing.assert_array_equal(read("fif", [tmp_path / "S1_raw.fif"]).data, whole.data)


@pytest.mark.parametrize("cut", "AB")
def test_alike_headers_have_own_samples(tmp_path: Path, brains: Callable[[], StudyRun], cut: str) -> None:
    samples = tmp_path / cut / "rec.eeg"
    samples.write_bytes(samples.read_bytes()[: samples.stat().st_size // 2])
    with refusal("the samples are truncated", participant=cut, file=tmp_path / cut / "rec.vhdr"):
        import_epochs(brains())


@first_cases(1, "touched", ["rec.eeg", "rec.vmrk"])
def test_alike_headers_with_samples(tmp_path: Path, brains: Callable[[], StudyRun], touched: str) -> None:
    file, made = tmp_path / "study.toml", import_epochs(brains())
    for name, job in made.items():
        expected = read("brainvision", [tmp_path / name / "rec.vhdr"], tmin=None, tmax=None)
        found = load_epochs(job.result(), "run")
        kept = [expected.channels.index(channel) for channel in found.channels]
        assert len(kept) == (7 if name == "A" else 6)
        np.testing.assert_array_equal(found.data, expected.data[:, kept])
        (account,) = job.result().facts["recordings"][0]["accounts"]
        assert (account["trials"], account["bads"]) == (14, [] if name == "A" else ["C3"])
    # Samples and markers count, each for its own participant; so do bad channels.
    before = [job.job for job in made.values()]
    (tmp_path / "other").mkdir()
    exported(make_raw(5), tmp_path / "other" / "rec.vhdr")
    shutil.copy(tmp_path / "other" / touched, tmp_path / "B" / touched)
    again = [job.job for job in import_epochs(brains()).values()]
    assert again[0] == before[0]
    assert again[1] != before[1]
    for bads, same in (('bads.A = ["Oz"]', False), ('bads.B = ["Oz"]', True)):
        file.write_text(STUDY.replace('bads.B = ["C3"]', bads), encoding="utf-8")
        third = [job.job for job in import_epochs(brains()).values()]
        assert third[1] not in {*before, *again}
        assert (third[0] == before[0]) == same
    # Headers and markers may be the same, samples may not.
    shutil.copy(tmp_path / "A" / "rec.vmrk", tmp_path / "B" / "rec.vmrk")
    import_epochs(brains())
    shutil.copy(tmp_path / "A" / "rec.eeg", tmp_path / "B" / "rec.eeg")
    with refusal("there twice"):
        import_epochs(brains())


NAMES = ("Fz", "Cz", "Pz", "Oz")
BEFORE = 16


def dataset(file: Path, trials: list[list[tuple[str, float]]]) -> np.ndarray:
    """Epochs of 64 samples at 64 Hz, each with events at times in ms; the samples in V."""
    data = (np.random.default_rng(3).standard_normal((4, 64, len(trials))) * 20).astype(np.float32)
    rows = [(number, *each) for number, trial in enumerate(trials) for each in trial]
    events: dict[str, list[Any]] = {
        "type": [name for _, name, _ in rows],
        "latency": [number * 64 + BEFORE + 1 + ms * 0.064 for number, _, ms in rows],
        "epoch": [number + 1 for number, _, _ in rows],
    }
    write_eeglab(file, data, 64.0, NAMES, events, start=-BEFORE / 64)
    return np.moveaxis(data, 2, 0) * 1e-6


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
    dataset(tmp_path / "S1.set", [[(CLASSES[n % 2], 0.0), (CLASSES[1 - n % 2], 400.0)] for n in range(20)])
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


NAMES_FIELDTRIP = ["Fz", "Cz", "Pz", "Oz", "C3", "C4", "EOGv"]
EEG = NAMES_FIELDTRIP[:6]
EVENTS = {"face": [11], "house": [12]}
TIMES = np.arange(-16, 33) / 64


def raw_struct(seed: int = 0, trials: int = 6) -> dict[str, Any]:
    """What ft_preprocessing gives."""
    rng = np.random.default_rng(seed)
    cells, times = np.empty(trials, dtype=object), np.empty(trials, dtype=object)
    for number in range(trials):
        cells[number] = rng.standard_normal((len(NAMES_FIELDTRIP), len(TIMES))) * 10
        times[number] = TIMES
    numbers, places = rng.random(trials), rng.standard_normal((6, 3)) * 50
    return {
        "label": cell(NAMES_FIELDTRIP),
        "trial": cells,
        "time": times,
        "fsample": 64.0,
        "trialinfo": np.c_[np.tile([11.0, 12.0], trials // 2), numbers],
        "elec": {"label": cell(EEG), "chanpos": places, "unit": "mm", "chanunit": cell(["uV"] * 6)},
    }


def cell(names: list[str]) -> np.ndarray:
    found = np.empty(len(names), dtype=object)
    found[:] = names
    return found


def timelock_struct(**more: Any) -> dict[str, Any]:
    """What ft_timelockanalysis gives with cfg.keeptrials."""
    struct = raw_struct()
    data = np.stack(list(struct.pop("trial")))
    means = {"avg": data.mean(axis=0), "dimord": "rpt_chan_time"}
    return {**struct, "trial": data, "time": TIMES, **means, **more}


def save(folder: Path, struct: dict[str, Any], version: str = "5", name: str = "data") -> Path:
    file = folder / f"S1_{version}.mat"
    if version == "7.3":
        import hdf5storage

        how: dict[str, Any] = {"format": "7.3", "oned_as": "row", "store_python_metadata": False}
        hdf5storage.savemat(str(file), {name: struct}, **how)
    else:
        savemat(file, {name: struct}, do_compression=version == "7", oned_as="row")
    return file


def of_files(files: Sequence[Path], **settings: Any) -> Any:
    return read("fieldtrip", files, **{"tmin": None, "tmax": None, "events": EVENTS, **settings})


def ft(file: Path, **settings: Any) -> Any:
    return of_files([file], **settings)


@pytest.mark.parametrize("version", ["5", "7", "7.3"])
@pytest.mark.parametrize("made", [raw_struct, timelock_struct])
def test_trials_are_as_they_were_saved(tmp_path: Path, version: str, made: Any) -> None:
    epochs = ft(save(tmp_path, made(), version))
    np.testing.assert_array_equal(epochs.data, np.stack(list(raw_struct()["trial"]))[:, :6] * 1e-6)
    assert epochs.labels.tolist() == [0, 1] * 3
    assert epochs.channels == tuple(EEG)
    np.testing.assert_allclose(epochs.times, TIMES, atol=1e-12)
    assert epochs.sfreq == 64.0
    np.testing.assert_array_equal(epochs.trial_info["trialinfo 2"], raw_struct()["trialinfo"][:, 1])


@pytest.mark.filterwarnings("ignore:S1, ", "ignore:Importing FieldTrip", "ignore:The supplied FieldTrip")
@pytest.mark.parametrize("version", ["5", "7.3"])
def test_raw_data_and_positions_are_what_mne_reads(tmp_path: Path, version: str) -> None:
    file = save(tmp_path, raw_struct(), version)
    by_mne = mne.read_epochs_fieldtrip(file, None)
    by_mne.apply_function(lambda values: values * 1e-6, picks="eeg")
    by_mne.info["bads"] = ["Cz"]
    expected = by_mne.get_data(picks=["Fz", "Pz", "Oz", "C3", "C4"])
    np.testing.assert_array_equal(ft(file, drop=("Cz",)).data, expected)
    np.testing.assert_array_equal(ft(file).labels, by_mne.events[:, 2] - 11)
    steps = {"bads": {"S1": ["Cz"]}, "interpolate": True}
    expected = by_mne.interpolate_bads(verbose="ERROR").get_data(picks=EEG)
    np.testing.assert_allclose(ft(file, preprocessing=steps).data, expected, rtol=1e-9, atol=1e-15)


def test_each_channel_has_its_own_unit(tmp_path: Path) -> None:
    units = ["uV", "uV", "mV", "V", "unknown", "uV", "nV"]
    header = {"hdr": {"label": cell(NAMES_FIELDTRIP), "chanunit": cell(units), "chantype": cell(["eeg"] * 7)}}
    scales = np.array([1e-6, 1e-6, 1e-3, 1.0, 1e-6, 1e-6, 1e-9])[:, np.newaxis]
    struct, volts = raw_struct(), np.stack(list(raw_struct()["trial"])) * 1e-6
    for number, trial in enumerate(volts):
        struct["trial"][number] = trial / scales
    np.testing.assert_allclose(ft(save(tmp_path, {**struct, **header})).data, volts[:, :6], rtol=1e-12)


def test_units_and_columns_can_be_named(tmp_path: Path) -> None:
    file = save(tmp_path, raw_struct())
    np.testing.assert_array_equal(ft(file, unit="V").data, np.stack(list(raw_struct()["trial"]))[:, :6])
    refused(of_files, [file], "no event code", "column 2", column=2)
    refused(of_files, [file], "no event code", column=3)
    refused(of_files, [file], "the struct is not in the file", variable="clean")
    header = {"hdr": {"label": cell(NAMES_FIELDTRIP), "chantype": cell(["eeg", "eog", *["eeg"] * 5])}}
    assert ft(save(tmp_path, {**raw_struct(), **header})).channels == ("Fz", "Pz", "Oz", "C3", "C4")


def with_columns(*columns: list[int]) -> dict[str, Any]:
    return {**raw_struct(), "trialinfo": np.array(columns, dtype=float).T}


def test_of_several_columns_one_has_to_be_named(tmp_path: Path) -> None:
    codes, responses, trial = [11, 12] * 3, [12, 12, 11, 11, 12, 11], [1, 2, 3, 4, 5, 6]
    file = save(tmp_path, with_columns(responses, codes, trial))
    with refusal("several columns of trialinfo", "column 1: 11 (3 times), 12 (3", field="input.column"):
        ft(file)
    assert ft(file, column=2).labels.tolist() == [0, 1] * 3
    assert ft(file, column=1).labels.tolist() == [1, 1, 0, 0, 1, 0]
    # Columns that could not be meant are passed over.
    assert ft(save(tmp_path, with_columns(codes, codes))).labels.tolist() == [0, 1] * 3
    struct = raw_struct()
    struct["trialinfo"] = struct["trialinfo"][:, ::-1]  # reaction times first
    assert ft(save(tmp_path, struct)).labels.tolist() == [0, 1] * 3
    many = with_columns(codes, [*range(100, 106)])
    many["trialinfo"] = np.repeat(many["trialinfo"], 3, axis=0)
    with refusal("no event code"):
        ft(save(tmp_path, many))


@pytest.mark.filterwarnings("ignore:S1, ")
def test_one_trial_is_a_continuous_recording(tmp_path: Path) -> None:
    long = np.random.default_rng(3).standard_normal((7, 640)) * 10
    struct = {"label": cell(NAMES_FIELDTRIP), "trial": long, "time": np.arange(640) / 64, "fsample": 64.0}
    file = save(tmp_path, struct)
    lines = [f"{t}\t0\t{name}" for t, name in [(1, "face"), (3, "house"), (5, "face"), (7, "house")]]
    (tmp_path / "S1_5_events.tsv").write_text("\n".join(["onset\tduration\ttrial_type", *lines]))
    epochs = ft(file, tmin=-0.25, tmax=0.5, events={})
    expected = np.stack([long[:6, start - 16 : start + 33] * 1e-6 for start in (64, 192, 320, 448)])
    np.testing.assert_array_equal(epochs.data, expected)


def test_what_is_no_trials_is_named(tmp_path: Path) -> None:
    def expect(problem: str, struct: Any, *parts: str) -> None:
        refused(of_files, [save(tmp_path, struct)], problem, *parts)

    averages = timelock_struct()
    del averages["trial"]
    expect("averages and spectra cannot be decoded", averages, "cfg.keeptrials")
    power = {"label": cell(NAMES_FIELDTRIP), "time": TIMES, "powspctrm": np.ones((7, 5, 49))}
    expect("no trials in the struct", power, "powspctrm")
    uneven = raw_struct()
    uneven["trial"][2] = uneven["trial"][2][:, :40]
    uneven["time"][2] = TIMES[:40]
    expect("differ in length or time", uneven, "trial 3", "ft_redefinetrial")
    late = raw_struct()
    late["time"][1] = TIMES + 0.1
    expect("differ in length or time", late, "trial 2", "from -0.15 s")
    lost = raw_struct()
    del lost["trialinfo"]
    expect("no event code", lost, "no trialinfo, from which classes come", "set cfg.trialdef")
    expect("no struct of FieldTrip", {"a": 1.0}, "data: a")


def uneven_struct() -> dict[str, Any]:
    """Trials that end with the response, of which some begin later or between samples."""
    struct = raw_struct(trials=20)
    for number in range(20):
        late, more, off = number % 3, number % 5, (number % 4) / 10
        time = (np.arange(-16 + late, 33 + 4 * more) + off) / 64
        struct["time"][number] = time
        struct["trial"][number] = np.random.default_rng(number).standard_normal((7, len(time))) * 10
    return struct


def test_what_trials_of_other_lengths_have_in_common_is_cut(tmp_path: Path) -> None:
    """The hint says what that is, and works; at each time there is the nearest sample."""
    struct = uneven_struct()
    file = save(tmp_path, struct)
    with refusal("differ in length or time") as caught:
        ft(file)
    tmin, tmax = map(float, re.findall(r"input.t(?:min|max) = ([-\d.]+)", str(caught.value.hint)))
    for start, stop in [(tmin, tmax), (-0.125, 0.25)]:
        epochs = ft(file, tmin=start, tmax=stop)
        assert epochs.labels.tolist() == [0, 1] * 10
        for trial, data, time in zip(epochs.data, struct["trial"], struct["time"], strict=True):
            nearest = [np.abs(time - each).argmin() for each in epochs.times]
            assert np.abs(time[nearest] - epochs.times).max() < 0.5 / 64
            np.testing.assert_allclose(trial, data[:6, nearest] * 1e-6, rtol=1e-12)
    with refusal("differ in length or time"):
        ft(file, tmin=tmin, tmax=tmax + 0.1)
