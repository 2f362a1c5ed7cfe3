"""What folders of laboratories have besides what a study needs: `shortloop init --data` tells it apart."""

from __future__ import annotations

import json
from pathlib import Path

import mne
import numpy as np
import pytest
from eeg_folders import exported, recording, silent
from eeg_proposed import proposed_study, runnable
from handmade_recordings import write_bci2000
from scipy.io import savemat

from shortloop.eeg.inspect.check_study import open_all
from shortloop.eeg.inspect.events import find_classes
from shortloop.eeg.inspect.scan import NO_SIGNAL
from shortloop.eeg.study.load import read_study

PENNIES = "onset\tduration\tevent_value\tevent_sample\ttrl\tresponse_time\tlift_side\tpred"
FACES = "onset\tduration\tsample\tevent_type\tface_type\ttrial\tvalue\tstim_file"


def bids(root: Path, header: str, row: str) -> None:
    """Two participants of a task, whose tables of events have the columns of a published study."""
    root.mkdir()
    (root / "dataset_description.json").write_text(json.dumps({"Name": "x", "BIDSVersion": "1.6.0"}))
    for who in ("05", "06"):
        folder = root / f"sub-{who}/eeg"
        raw = recording(who).drop_channels(["VEOG"])
        stem = f"sub-{who}_task-game"
        shown = [each for each in raw.annotations if each["description"] != "response"]
        lines = [header]
        for number, each in enumerate(shown):
            of = ["face", "house"].index(each["description"])
            lines.append(row.format(onset=each["onset"], number=number, of=of + 1, word=each["description"]))
            if "{word}" in row:
                lines.append(f"{each['onset'] - 0.4}\tn/a\t1\tshow_cross\tn/a\t{number}\t9\tcross.bmp")
        raw.set_annotations(None)
        exported(raw, folder / f"{stem}_eeg.vhdr")
        (folder / f"{stem}_events.tsv").write_text("\n".join(lines) + "\n")


def test_tables_of_events_without_the_columns_of_bids(tmp_path: Path) -> None:
    """As in eeg_matchingpennies of bids-examples: which column has the events is asked."""
    row = "{onset}\tn/a\t{of}\t{number}\t{number}\t16.6666666667\t{of}\t{of}"
    bids(tmp_path / "data", PENNIES, row)
    found, file = proposed_study(tmp_path / "data")
    (question,) = found.questions
    assert "Which column of the tables has the events? Found: event_value: " in question
    assert "; lift_side: " in question
    assert "the table of events cannot be read" in open_all(file, silent).problems[0].problem
    _, file = proposed_study(tmp_path / "data", event_column='"lift_side"')
    runnable(file, classes=("1", "2"))


def test_tables_of_events_with_codes_and_words(tmp_path: Path) -> None:
    """As in ds003645: codes are in `value`, what they mean in other columns; both are offered."""
    row = "{onset}\tn/a\t{number}\tshow_face\t{word}\t{number}\t1{of}\tf074.bmp"
    bids(tmp_path / "data", FACES, row)
    found, _ = proposed_study(tmp_path / "data")
    column, classes = found.questions
    assert "face_type: " in column
    assert "value: 9 (48 times)" in column
    assert 'for example: classes = ["11", "12"]' in classes
    answers = {"event_column": '"face_type"', "classes": '["face", "house"]'}
    _, file = proposed_study(tmp_path / "data", **answers)
    runnable(file)


def test_tables_of_events_with_certain_codes_are_not_asked_about(tmp_path: Path) -> None:
    row = "{onset}\tn/a\t{number}\tx\tleft{of}\t{number}\t1{of}\tf074.bmp"
    bids(tmp_path / "data", FACES, row)
    found, file = proposed_study(tmp_path / "data")
    assert found.questions == ()
    assert "event_column" not in found.settings
    runnable(file, classes=("11", "12"))


@pytest.mark.parametrize("form", ["{who}/150923/emptyroom_raw.fif", "Empty Room/{who}_raw.fif"])
def test_noise_of_an_empty_room_is_of_nobody(tmp_path: Path, form: str) -> None:
    data = tmp_path / "data"
    for who in ("jm_0123", "kl_0456"):
        raw = recording(who)
        for name in (f"{who}/150923/{who}_run01_raw.fif", form.format(who=who)):
            (data / name).parent.mkdir(parents=True, exist_ok=True)
            raw.save(data / name, verbose="ERROR")
    found, file = proposed_study(data)
    assert "2 participants: jm, kl" in found.lines
    (noise,) = (line for line in found.lines if line.endswith("noise of an empty room, by its name"))
    assert noise.count(".fif") == 2
    runnable(file)


def test_versions_of_a_recording_are_asked_about(tmp_path: Path) -> None:
    """Two acquisitions of the same trials: noise would be decoded, as each trial is there twice."""
    row = "{onset}\tn/a\t{number}\tshow_face\t{word}\t{number}\t1{of}\tf074.bmp"
    bids(tmp_path / "data", FACES.replace("face_type", "trial_type"), row.replace("show_cross", "cross"))
    for file in [*(tmp_path / "data").rglob("sub-*_task-game*")]:
        text = file.read_bytes()
        for name in ("acq-left", "acq-right"):
            header = file.suffix in (".vhdr", ".vmrk")
            changed = text.replace(b"task-game", f"task-game_{name}".encode()) if header else text
            file.with_name(file.name.replace("game", f"game_{name}")).write_bytes(changed)
        file.unlink()
    found, file = proposed_study(tmp_path / "data", classes='["face", "house"]')
    assert "Which recordings?" in found.questions[0]
    assert 'Found: acq: "left", "right".' in found.questions[0]
    problems = open_all(file, silent).problems
    assert {each.problem for each in problems} == {"recordings of the game phase are not runs of one another"}
    lines = file.read_text().splitlines()
    at = int(found.questions[0].rpartition("Line ")[2].split()[0]) - 1
    lines[at] = lines[at].removeprefix("# ")
    file.write_text("\n".join(lines))
    opened = open_all(file, silent)
    assert opened.problems == ()
    assert "48 × face, 48 × house" in opened.said, "each trial once, of two participants"


def test_noise_of_an_empty_room_in_bids(tmp_path: Path) -> None:
    bids(tmp_path / "data", PENNIES, "{onset}\tn/a\t{of}\t1\t1\t1\t1\t1")
    folder = tmp_path / "data/sub-emptyroom/ses-20150923/meg"
    folder.mkdir(parents=True)
    recording("x").save(folder / "sub-emptyroom_ses-20150923_task-noise_meg.fif", verbose="ERROR")
    found, _ = proposed_study(tmp_path / "data")
    assert "2 participants: 05, 06" in found.lines
    name = "sub-emptyroom/ses-20150923/meg/sub-emptyroom_ses-20150923_task-noise_meg.fif"
    assert f"not read: {name}: noise of an empty room, by its name" in found.lines


def test_recordings_of_bci2000(tmp_path: Path) -> None:
    for who in ("AA", "BB"):
        for run in (1, 2):
            write_bci2000(recording(f"{who}{run}", trials=24), tmp_path / f"data/{who}S001R0{run}.dat")
    found, file = proposed_study(tmp_path / "data", classes='["1", "2"]')
    assert "  events (stim): 96 × 9, 48 × 2, 48 × 1" in found.lines
    runnable(file)


def test_channels_that_are_no_eeg_are_told_from_electrodes() -> None:
    names = mne.channels.make_standard_montage("standard_1005").ch_names
    every = [*names, *(f"EEG {name}-Ref" for name in names), "POL E", "POL X1", "MEG 0113"]
    every += [f"{kind}{number}" for kind in "ABCDE" for number in range(1, 33)]
    every += [f"E{number}" for number in range(1, 257)] + [f"EEG{number:03}" for number in range(60)]
    assert [name for name in every if NO_SIGNAL.match(name)] == []
    others = ["VEOG", "HEOGL", "EOG061", "EKG1", "ECG063", "EXG1", "GSR1", "Erg2", "Resp", "Plet", "STI 014"]
    others += ["Status", "POL DC01", "DC1", "POL EKG1", "EEG ECG", "BIP1", "SpO2", "EtCO2", "Photic", "AUX 1"]
    assert [name for name in others if not NO_SIGNAL.match(name)] == []


@pytest.mark.parametrize(
    ("counts", "likely"),
    [
        ({"T0": 45, "T1": 23, "T2": 22}, ["T1", "T2"]),
        ({"1": 63, "2": 57, "4096": 120}, ["1", "2"]),
        ({"0": 360, "1": 360, "256": 360, "5": 44, "6": 35}, ["5", "6"]),
        ({"a": 100, "b": 20}, ["a", "b"]),
        ({"a": 10, "b": 20, "c": 40}, ["a", "b"]),
    ],
)
def test_what_comes_with_every_trial_is_no_class(counts: dict[str, int], likely: list[str]) -> None:
    found = find_classes([{"P1": counts}])
    assert found.likely() == likely


def test_folds_are_as_many_as_the_likely_classes_allow(tmp_path: Path) -> None:
    """A study whose classes are filled in as the question proposes is one that runs."""
    for who in ("P1", "P2"):
        exported(recording(who, trials=30, names=("T0", "T1", "T0", "T2")), tmp_path / f"data/{who}.edf")
    found, _ = proposed_study(tmp_path / "data")
    (question,) = found.questions
    assert question.endswith('for example: classes = ["T1", "T2"]')
    _, file = proposed_study(tmp_path / "data", classes='["T1", "T2"]')
    assert runnable(file).decoding.folds < 10


def test_many_files_beside_recordings_are_one_line(tmp_path: Path) -> None:
    """139 answers of participants are no news each; a file that cannot be read hides no other format."""
    for who in range(3):
        exported(recording(f"P{who}"), tmp_path / f"data/P{who}.edf")
    for number in range(139):
        (tmp_path / f"data/answers{number}.csv").write_text("trial,rt,correct\n1,0.5,1\n2,0.6,0\n")
        savemat(tmp_path / f"data/behaviour{number}.mat", {"rt": np.ones(3), f"x{number}": 1})
    (tmp_path / "data/broken.set").write_bytes(b"MATLAB 5.0 MAT-file, but no more")
    found, file = proposed_study(tmp_path / "data")
    assert "139 files are no recordings: 139 × .csv" in found.lines
    (line,) = (each for each in found.lines if each.startswith("not read: "))
    assert " and 131 more: a .mat file with " in line
    assert sum("broken.set" in each for each in found.lines) == 1
    assert "3 participants: P0, P1, P2" in found.lines
    assert len(read_study(file).participants) == 3
