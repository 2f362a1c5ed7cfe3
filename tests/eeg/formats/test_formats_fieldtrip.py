"""FieldTrip's structs: epochs are those that MNE reads of them, and what MNE does not read is read too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from eeg_recordings import read, refused
from scipy.io import savemat

from shortloop.base.errors import InputError

NAMES = ["Fz", "Cz", "Pz", "Oz", "C3", "C4", "EOGv"]
EEG = NAMES[:6]
EVENTS = {"face": [11], "house": [12]}
TIMES = np.arange(-16, 33) / 64


def raw_struct(seed: int = 0, trials: int = 6) -> dict[str, Any]:
    """What ft_preprocessing gives."""
    rng = np.random.default_rng(seed)
    cells, times = np.empty(trials, dtype=object), np.empty(trials, dtype=object)
    for number in range(trials):
        cells[number] = rng.standard_normal((len(NAMES), len(TIMES))) * 10
        times[number] = TIMES
    numbers, places = rng.random(trials), rng.standard_normal((6, 3)) * 50
    return {
        "label": cell(NAMES),
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
        hdf5storage = pytest.importorskip("hdf5storage")
        hdf5storage.savemat(
            str(file), {name: struct}, format="7.3", oned_as="row", store_python_metadata=False
        )
    else:
        savemat(file, {name: struct}, do_compression=version == "7", oned_as="row")
    return file


def of_files(files: Sequence[Path], **settings: Any) -> Any:
    pytest.importorskip("pymatreader")
    return read("fieldtrip", files, **{"tmin": None, "tmax": None, "events": EVENTS, **settings})


def ft(file: Path, **settings: Any) -> Any:
    return of_files([file], **settings)


@pytest.mark.parametrize("version", ["5", "7", "7.3"])
@pytest.mark.parametrize("made", [raw_struct, timelock_struct])
def test_trials_are_as_they_were_saved(tmp_path: Path, version: str, made: Any) -> None:
    file = save(tmp_path, made(), version)
    epochs = ft(file)
    expected = np.stack(list(raw_struct()["trial"]))[:, :6] * 1e-6
    np.testing.assert_array_equal(epochs.data, expected)
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
    np.testing.assert_array_equal(
        ft(file, drop=("Cz",)).data, by_mne.get_data(picks=["Fz", "Pz", "Oz", "C3", "C4"])
    )
    np.testing.assert_array_equal(ft(file).labels, by_mne.events[:, 2] - 11)
    steps = {"bads": {"S1": ["Cz"]}, "interpolate": True}
    expected = by_mne.interpolate_bads(verbose="ERROR").get_data(picks=EEG)
    np.testing.assert_allclose(ft(file, preprocessing=steps).data, expected, rtol=1e-9, atol=1e-15)


def test_each_channel_has_its_own_unit(tmp_path: Path) -> None:
    units = ["uV", "uV", "mV", "V", "unknown", "uV", "nV"]
    header = {"hdr": {"label": cell(NAMES), "chanunit": cell(units), "chantype": cell(["eeg"] * 7)}}
    scales = np.array([1e-6, 1e-6, 1e-3, 1.0, 1e-6, 1e-6, 1e-9])[:, np.newaxis]
    struct, volts = raw_struct(), np.stack(list(raw_struct()["trial"])) * 1e-6
    for number, trial in enumerate(volts):
        struct["trial"][number] = trial / scales
    found = ft(save(tmp_path, {**struct, **header}))
    np.testing.assert_allclose(found.data, volts[:, :6], rtol=1e-12)


def test_units_and_columns_can_be_named(tmp_path: Path) -> None:
    file = save(tmp_path, raw_struct())
    np.testing.assert_array_equal(ft(file, unit="V").data, np.stack(list(raw_struct()["trial"]))[:, :6])
    refused(of_files, [file], "no event code", "column 2", column=2)
    refused(of_files, [file], "no event code", column=3)
    refused(of_files, [file], "the struct is not in the file", variable="clean")
    header = {"hdr": {"label": cell(NAMES), "chantype": cell(["eeg", "eog", *["eeg"] * 5])}}
    assert ft(save(tmp_path, {**raw_struct(), **header})).channels == ("Fz", "Pz", "Oz", "C3", "C4")


def with_columns(*columns: list[int]) -> dict[str, Any]:
    return {**raw_struct(), "trialinfo": np.array(columns, dtype=float).T}


def test_of_several_columns_one_has_to_be_named(tmp_path: Path) -> None:
    codes, responses, trial = [11, 12] * 3, [12, 12, 11, 11, 12, 11], [1, 2, 3, 4, 5, 6]
    file = save(tmp_path, with_columns(responses, codes, trial))
    with pytest.raises(InputError, match="several columns of trialinfo") as refused:
        ft(file)
    assert refused.value.field == "input.column"
    assert "column 1: 11 (3 times), 12 (3 times); column 2: 11" in str(refused.value.found)
    assert ft(file, column=2).labels.tolist() == [0, 1] * 3
    assert ft(file, column=1).labels.tolist() == [1, 1, 0, 0, 1, 0]
    # Columns that could not be meant are passed over.
    assert ft(save(tmp_path, with_columns(codes, codes))).labels.tolist() == [0, 1] * 3
    struct = raw_struct()
    struct["trialinfo"] = struct["trialinfo"][:, ::-1]  # reaction times first
    assert ft(save(tmp_path, struct)).labels.tolist() == [0, 1] * 3
    many = with_columns(codes, [*range(100, 106)])
    many["trialinfo"] = np.repeat(many["trialinfo"], 3, axis=0)
    with pytest.raises(InputError, match="no event code"):
        ft(save(tmp_path, many))


@pytest.mark.filterwarnings("ignore:S1, ")
def test_one_trial_is_a_continuous_recording(tmp_path: Path) -> None:
    long = np.random.default_rng(3).standard_normal((7, 640)) * 10
    struct = {"label": cell(NAMES), "trial": long, "time": np.arange(640) / 64, "fsample": 64.0}
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
    power = {"label": cell(NAMES), "time": TIMES, "powspctrm": np.ones((7, 5, 49))}
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
        struct["trial"][number] = np.random.default_rng(number).standard_normal((len(NAMES), len(time))) * 10
    return struct


def test_what_trials_of_other_lengths_have_in_common_is_cut(tmp_path: Path) -> None:
    """The hint says what that is, and works; at each time there is the nearest sample."""
    struct = uneven_struct()
    file = save(tmp_path, struct)
    with pytest.raises(InputError, match="differ in length or time") as caught:
        ft(file)
    said = re.search(r"input.tmin = (\S+) and input.tmax = (\S+);", str(caught.value.hint))
    assert said is not None
    tmin, tmax = map(float, said.groups())
    for start, stop in [(tmin, tmax), (-0.125, 0.25)]:
        epochs = ft(file, tmin=start, tmax=stop)
        assert epochs.labels.tolist() == [0, 1] * 10
        for trial, data, time in zip(epochs.data, struct["trial"], struct["time"], strict=True):
            nearest = [np.abs(time - each).argmin() for each in epochs.times]
            assert np.abs(time[nearest] - epochs.times).max() < 0.5 / 64
            np.testing.assert_allclose(trial, data[:6, nearest] * 1e-6, rtol=1e-12)
    with pytest.raises(InputError, match="differ in length or time"):
        ft(file, tmin=tmin, tmax=tmax + 0.1)
