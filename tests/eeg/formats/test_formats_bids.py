"""A BIDS folder: participants, sessions and runs are found; epochs are those that MNE-BIDS and MNE give."""

from __future__ import annotations

import shutil
import tomllib
import warnings
from pathlib import Path
from typing import Any

import mne
import mne_bids
import numpy as np
import pytest
from eeg_folders import recording
from eeg_recordings import CLASSES, NAMES, direct, make_raw, read
from handmade_recordings import write_ctf
from refusal import refusal

from shortloop.eeg.formats.bids import BidsInput
from shortloop.eeg.formats.recording_format import InputSettings

pytestmark = pytest.mark.filterwarnings(
    "ignore:S1, ", "ignore:0?[12], ", "ignore:The unit for channel", "ignore:.*sidecar"
)
RUNS = [("01", "1", "study"), ("01", "2", "study"), ("01", "1", "test"), ("02", "1", "study")]


@pytest.fixture(scope="module", params=["BrainVision", "EDF", "EEGLAB"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two participants; the first has two runs of one task and one of another, and a bad channel."""
    root = tmp_path_factory.mktemp(f"bids_{request.param}")
    for number, (subject, run, task) in enumerate(RUNS):
        raw = make_raw(number)
        raw.set_montage("easycap-M1", on_missing="ignore")
        raw.info["line_freq"] = 50
        raw.info["bads"] = ["Oz"] if subject == "01" else []
        path = mne_bids.BIDSPath(subject=subject, session="a", run=run, task=task, root=root, datatype="eeg")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mne_bids.write_raw_bids(raw, path, allow_preload=True, format=request.param, verbose="ERROR")
    return root


def settings(**more: Any) -> BidsInput:
    found = InputSettings.model_validate({"format": "bids", **more})
    assert isinstance(found, BidsInput)
    return found


def by_mne(path: Path) -> mne.Epochs:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        raw = mne_bids.read_raw_bids(mne_bids.get_bids_path_from_fname(path), verbose="ERROR")
    return direct(raw)


def test_runs_of_a_phase_are_joined(folder: Path) -> None:
    files = settings().find(folder, "01", "study")
    assert [("run-1" in file.name or "run-01" in file.name) for file in files] == [True, False]
    epochs = read("bids", files, participant="01")
    kept = [name for name in NAMES[:6] if name != "Oz"]
    expected = [by_mne(file) for file in files]
    np.testing.assert_array_equal(epochs.data, np.concatenate([one.get_data(picks=kept) for one in expected]))
    names = [name for each in expected for name in _names(each)]
    assert epochs.labels.tolist() == [CLASSES.index(name) for name in names]
    assert epochs.channels == tuple(kept)
    assert [account["bads"] for account in epochs.accounts] == [["Oz"], ["Oz"]]
    assert {account["events_from"] for account in epochs.accounts} == {"tsv"}
    whole = read("bids", files[:1], participant="01", preprocessing={"interpolate": True})
    assert whole.channels == NAMES[:6]


def test_folders_of_ctf(tmp_path: Path) -> None:
    """The files of each are read, from where they lie, with the events that BIDS has beside it."""
    for run in (1, 2):
        stem = tmp_path / f"sub-01/meg/sub-01_task-study_run-{run}"
        raw = recording(f"S{run}", trials=8)
        write_ctf(raw, stem.with_name(f"{stem.name}_meg.ds"))
        shown = [each for each in raw.annotations if each["description"] != "response"]
        rows = "".join(f"{each['onset']}\t0\t{each['description']}\n" for each in shown)
        stem.with_name(f"{stem.name}_events.tsv").write_text(f"onset\tduration\ttrial_type\n{rows}")
    files = settings().find(tmp_path, "01", "study")
    assert [file.name for file in files] == [f"sub-01_task-study_run-{run}_meg.ds" for run in (1, 2)]
    first, *others = [name for name, _ in settings().together(files[0])]
    assert first == "sub-01/meg/sub-01_task-study_run-1_meg.ds/sub-01_task-study_run-1_meg.res4"
    assert "sub-01/meg/sub-01_task-study_run-1_events.tsv" in others
    epochs = read("bids", files, participant="01")
    assert {account["events_from"] for account in epochs.accounts} == {"tsv"}
    first_run = read("mne", files[:1])
    np.testing.assert_array_equal(epochs.data[:8], first_run.data)
    assert len(epochs.data) == 16


@pytest.mark.apart
def test_warnings_name_no_folder_of_links(folder: Path, tmp_path: Path) -> None:
    """By which recordings are read, and which is another each time."""
    shutil.copytree(folder, tmp_path / "copy")
    for table in tmp_path.rglob("*_channels.tsv"):
        table.unlink()
    said = []
    for _ in range(2):
        with warnings.catch_warnings(record=True, action="always") as caught:
            read("bids", settings().find(tmp_path / "copy", "02", "study"), participant="02")
        said.append([str(each.message) for each in caught])
    assert any("channels.tsv" in each for each in said[0]), said
    assert not [each for each in said[0] if "/shortloop-" in each]
    assert said[0] == said[1]


def test_parts_of_a_split_recording_belong_to_it(tmp_path: Path) -> None:
    """MNE-BIDS reads .fif where it really lies, and so what the first part names there."""
    (tmp_path / "dataset_description.json").write_text('{"Name": "x", "BIDSVersion": "1.8.0"}')
    file = tmp_path / "sub-1" / "meg" / "sub-1_task-run_meg.fif"
    file.parent.mkdir(parents=True)
    part, last = (file.with_name(f"sub-1_task-run_meg-{number}.fif") for number in (1, 2))

    def save(seed: int) -> mne.io.BaseRaw:
        raw = make_raw(seed, seconds=60).set_channel_types(dict.fromkeys(NAMES[:6], "mag"))
        raw.set_annotations(mne.Annotations(1.0 + 4.0 * np.arange(14), 0.0, [*CLASSES * 7]))
        how: dict[str, Any] = {"split_size": 2**20 + 200_000, "buffer_size_sec": 1, "fmt": "double"}
        raw.save(file, overwrite=True, verbose="ERROR", **how)
        return raw

    save(1)
    other = part.read_bytes()
    raw = save(0)
    assert settings().find(tmp_path, "1", "run") == [file]
    assert {file, part, last} <= {*dict(settings().together(file)).values()}
    np.testing.assert_array_equal(read("bids", [file], participant="1").data, direct(raw).get_data("mag"))
    part.write_bytes(other)
    changed = read("bids", [file], participant="1").data
    assert 0 < (changed != direct(raw).get_data("mag")).any(axis=(1, 2)).sum() < len(changed)
    alone = file.rename(file.with_name("sub-1_task-other_meg.fif"))  # whose parts keep their names
    with refusal("not known to belong to the recording", found=part):
        read("bids", [alone], participant="1")


def _names(epochs: mne.Epochs) -> list[str]:
    names = {number: name for name, number in epochs.event_id.items()}
    return [({*names[number].split("/")} & {*CLASSES}).pop() for number in epochs.events[:, 2]]


def test_phases_are_tasks_sessions_and_runs(folder: Path) -> None:
    assert len(settings().find(folder, "sub-02", "study")) == 1
    late = settings(tasks={"late": "test"}).find(folder, "01", "late")
    assert late == settings().find(folder, "01", "test")
    run = settings().find(folder, "01", "study")[1]
    name = next(part for part in run.name.split("_") if part.startswith("run-"))
    for written in (name, name.removeprefix("run-")):
        assert settings(runs={"study": [written]}).find(folder, "01", "study") == [run]
    assert len(settings(sessions={"study": ["a"]}).find(folder, "01", "study")) == 2
    with refusal("no recording of the study phase"):
        settings(sessions={"study": ["b"]}).find(folder, "01", "study")
    with refusal("no recording of the rest phase", "task-study"):
        settings().find(folder, "01", "rest")
    with refusal("no recording"):
        settings().find(folder, "03", "study")


def empty(root: Path, *names: str) -> Path:
    """Recordings that only have names."""
    for name in names:
        file = root / f"sub-01/eeg/sub-01_task-look_{name}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return root


BOTH = 'entities.look = {acq = ["a"], proc = ["x"]}'


@pytest.mark.parametrize(
    ("names", "hint", "chosen"),
    [
        (["acq-hd_eeg.edf", "acq-ld_eeg.edf"], 'entities.look = {acq = ["hd"]}', ["acq-hd_eeg.edf"]),
        (["eeg.set", "proc-clean_eeg.set"], 'entities.look = {proc = [""]}', ["eeg.set"]),
        (["eeg.edf", "desc-ica_eeg.edf"], 'entities.look = {desc = [""]}', ["eeg.edf"]),
        (["rec-a_run-1_eeg.edf", "rec-b_run-2_eeg.edf"], 'entities.look = {rec = ["a"]}', None),
        (["eeg.edf", "eeg.set"], 'entities.look = {extension = [".edf"]}', ["eeg.edf"]),
        (["eeg.edf", "run-2_eeg.edf", "run-3_eeg.edf"], 'runs.look = ["2", "3"]', None),
        (["run-1_eeg.edf", "run-01_eeg.edf"], 'runs.look = ["01"]', ["run-01_eeg.edf"]),
        (["acq-a_proc-x_eeg.edf", "acq-b_proc-y_eeg.edf"], BOTH, ["acq-a_proc-x_eeg.edf"]),
    ],
)
def test_versions_are_chosen(tmp_path: Path, names: list[str], hint: str, chosen: list[str] | None) -> None:
    """Only session, run and split join; the setting that the message has chooses one."""
    empty(tmp_path, *names)
    with refusal("look phase are not runs", f"{hint} "):
        settings().find(tmp_path, "01", "look")
    found = settings(**tomllib.loads(hint)).find(tmp_path, "01", "look")
    kept = chosen or [name for name in names if "rec-b" not in name and name != "eeg.edf"]
    assert [path.name.removeprefix("sub-01_task-look_") for path in found] == kept


def test_runs_are_joined_in_the_order_of_their_numbers_and_versions_that_are_listed(tmp_path: Path) -> None:
    names = [f"run-{run}_eeg.vhdr" for run in (*range(1, 12), 100)]
    found = settings().find(empty(tmp_path, *names), "01", "look")
    assert [path.name.removeprefix("sub-01_task-look_") for path in found] == names
    tmp_path = tmp_path / "other"
    empty(tmp_path, "acq-pre_run-1_eeg.edf", "acq-post_run-2_eeg.edf", "acq-post_run-10_eeg.edf")
    found = settings(entities={"look": {"acq": ["pre", "post"]}}).find(tmp_path, "01", "look")
    assert [path.name.rpartition("run-")[2] for path in found] == ["2_eeg.edf", "10_eeg.edf", "1_eeg.edf"]
    with refusal("no recording of the look phase", "acq-pre_run-1_eeg"):
        settings(entities={"look": {"acq": ["per"]}}).find(tmp_path, "01", "look")


def test_what_is_said_of_a_recording_belongs_to_it(folder: Path) -> None:
    files = settings().find(folder, "01", "study")
    named = dict(settings().together(files[0]))
    assert next(iter(named.values())) == files[0]
    ends = {name.rpartition("_")[2] for name in named}
    assert {"events.tsv", "channels.tsv", "electrodes.tsv", "coordsystem.json", "eeg.json"} <= ends
    assert not any("run-2" in name or "run-02" in name or "sub-02" in name for name in named)
    assert "participants.tsv" not in named, "a new participant is no change of the others"
    assert all(path.is_file() and (folder / name) == path for name, path in named.items())
    inherited = folder / "task-study_channels.tsv"
    inherited.write_text("name\ttype\tunits\n")
    try:
        assert inherited in dict(settings().together(files[0])).values()
        assert inherited not in dict(settings().together(settings().find(folder, "01", "test")[0])).values()
    finally:
        inherited.unlink()


def rewritten(root: Path, tmp_path: Path, change: Any) -> Path:
    """A copy of the folder in which the rows of a table of channels are others; its recording."""
    shutil.copytree(root, tmp_path / "data")
    file = settings().find(tmp_path / "data", "02", "study")[0]
    table = file.with_name(file.name.replace(f"_eeg{file.suffix}", "_channels.tsv"))
    head, *rows = table.read_text(encoding="utf-8-sig").splitlines()
    table.write_text("\n".join([head, *change(rows)]) + "\n", encoding="utf-8")
    return file


def test_channels_that_the_table_writes_in_another_way_or_order(folder: Path, tmp_path: Path) -> None:
    """MNE-BIDS copies EDF as it is: PhysioNet's Fc5. is FC5 in the table of who mended it after reading."""
    usual = read("bids", settings().find(folder, "02", "study"), participant="02")
    file = rewritten(folder, tmp_path / "a", lambda rows: [f"EEG {row[:2].upper()}{row[2:]}" for row in rows])
    found = read("bids", [file], participant="02")
    np.testing.assert_array_equal(found.data, usual.data)
    assert found.channels == tuple(f"EEG {name[:2].upper()}{name[2:]}" for name in usual.channels)
    turned = read("bids", [rewritten(folder, tmp_path / "b", lambda rows: rows[::-1])], participant="02")
    assert turned.channels == usual.channels[::-1]
    np.testing.assert_array_equal(turned.data, usual.data[:, ::-1])
    other = rewritten(folder, tmp_path / "c", lambda rows: ["X9" + rows[0][rows[0].index("\t") :], *rows[1:]])
    said = f"{NAMES[0]} in the recording is X9 there"
    with refusal("has other channels than the recording", said, participant="02"):
        read("bids", [other], participant="02")


def test_events_of_the_folder_count(folder: Path) -> None:
    (file,) = settings().find(folder, "02", "study")
    before = read("bids", [file], participant="02")
    table = next(path for name, path in settings().together(file) if name.endswith("events.tsv"))
    whole = table.read_text()
    lines = whole.splitlines()
    one = next(line for line in lines if "face" in line)
    try:
        table.write_text("\n".join([line for line in lines if "face" not in line or line == one]) + "\n")
        after = read("bids", [file], participant="02")
    finally:
        table.write_text(whole)
    assert before.channels == NAMES[:6]
    assert after.labels.tolist().count(0) == 1 < before.labels.tolist().count(0)
    assert after.labels.tolist().count(1) == before.labels.tolist().count(1)
