"""`shortloop init --data` says what is in a folder of recordings, and writes a study that they fit."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pandas as pd
import pytest
from cases import first_cases
from command_line import assert_one_message, forked
from eeg_folders import CHANNELS, FOLDERS, exported, proposed, recording, silent, write_fieldtrip
from eeg_proposed import proposed_study, runnable
from handmade_recordings import write_mff
from python_process import ended
from refusal import refusal
from scipy.io import savemat
from without_root import shortloop as bound

from shortloop.analyses import Look
from shortloop.eeg.inspect.check_study import open_all
from shortloop.eeg.inspect.events import phases_in, sections_in
from shortloop.eeg.study.load import read_study
from shortloop.eeg.study.schema import Study
from shortloop.settings.base import tag_of


def write_text(raw: mne.io.RawArray, file: Path, scale: float) -> None:
    table = pd.DataFrame(raw.get_data().T * 1e6, columns=list(CHANNELS))
    markers = np.full(len(table), "", dtype=object)
    for each in raw.annotations:
        if each["description"] != "response":
            markers[round(each["onset"] * raw.info["sfreq"])] = {"face": 1, "house": 2}[each["description"]]
    table.insert(0, "time", scale * np.arange(len(table)) / raw.info["sfreq"])
    table["Marker0"] = markers
    table.to_csv(file, index=False, sep=";")


Shown = Callable[[Path], Look]


@pytest.fixture
def looked(tmp_path: Path) -> Shown:
    """What is made of a folder; the study is written beside it."""
    return lambda folder: proposed_study(folder)[0]


def assert_it_runs(tmp_path: Path, **expected: object) -> Study:
    return runnable(tmp_path / "my-study/study.toml", **expected)


# By the same code as others.
RARE = ("egi", "cnt", "ctf", "gdf", "nihon", "nicolet", "persyst", "curry7", "curry8")


@first_cases(len(FOLDERS) - len(RARE), "format", sorted(FOLDERS, key=RARE.__contains__))
def test_a_study_of_each_format(tmp_path: Path, looked: Shown, format: str) -> None:
    FOLDERS[format](tmp_path / "data")
    assert looked(tmp_path / "data").questions == ()
    study = assert_it_runs(tmp_path)
    assert len(study.participants) == 3
    assert study.name == "my-study"
    names = {"brainvision": ("S1", "S2"), "fieldtrip": ("11", "12"), "gdf": ("1", "2"), "cnt": ("1", "2")}
    assert study.classes == names.get(format, ("face", "house"))
    two = {"eeglab": ("study", "test"), "bids": ("encoding", "retrieval")}
    assert study.phases.names == two.get(format, study.phases.names[:1])


def test_the_column_of_trialinfo_that_looks_like_codes_is_taken(tmp_path: Path, looked: Shown) -> None:
    (tmp_path / "data").mkdir()
    for who in ("P1", "P2"):
        write_fieldtrip(recording(who), tmp_path / f"data/{who}.mat", np.arange(48))
    assert looked(tmp_path / "data").questions == ()
    assert_it_runs(tmp_path, classes=("11", "12"))


def with_both_phases(folder: Path, form: str) -> None:
    """Recordings whose events have names of their phases."""
    for who in ("P1", "P2"):
        raws = []
        for word in ("study", "test"):
            raw = recording(who, word)
            events = raw.annotations
            names = [form.format(word=word, name=name) for name in events.description]
            raws.append(raw.set_annotations(mne.Annotations(events.onset, events.duration, names)))
        whole = mne.concatenate_raws(raws, verbose="ERROR")
        kept = [not name.startswith(("BAD", "EDGE")) for name in whole.annotations.description]
        exported(whole.set_annotations(whole.annotations[np.array(kept)]), folder / f"{who}.edf")


@pytest.mark.parametrize("form", ["{word}/{name}", "{name}_{word}", "{word} {name}"])
def test_two_phases_in_one_recording(tmp_path: Path, looked: Shown, form: str) -> None:
    with_both_phases(tmp_path / "data", form)
    found = looked(tmp_path / "data")
    assert found.questions == ()
    assert "phase study, trains: {participant}.edf" in found.lines
    study = assert_it_runs(tmp_path, classes=("face", "house"), phases={"train": "study", "decode": "test"})
    given = study.input.model_dump()
    assert given["phase_events"]["test"]["face"] == (form.format(word="test", name="face"),)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["study/face", "study/house", "test/face", "test/house", "response"], ["study", "test"]),
        (["Lernen Haus", "Lernen Gesicht", "Abruf Haus", "Abruf Gesicht"], ["lernen", "abruf"]),
        (["study/face", "study/house", "test/left", "test/right"], []),
        (["study/face", "study/house"], []),
        (["study/face", "study/house", "train/face", "train/house", "test/face", "test/house"], []),
        (["study/test/face", "study/test/house"], []),
        (["study", "test", "face", "house"], []),
    ],
)
def test_when_events_are_of_two_phases(names: list[str], said: list[str]) -> None:
    assert [*phases_in(names)] == said


def test_a_folder_that_is_a_recording_is_named_with_what_is_wrong(tmp_path: Path, looked: Shown) -> None:
    for who in ("P1", "P2", "P3"):
        write_mff(recording(who), tmp_path / f"data/{who}.mff")
    (tmp_path / "data/P2.mff/epochs.xml").unlink()
    (tmp_path / "data/P3.mff/info.xml").unlink()
    said = "\n".join(looked(tmp_path / "data").lines)
    assert "cannot be read: P2.mff: the file cannot be read" in said
    assert "cannot be read: P3.mff: the folder is not a complete recording" in said
    assert_it_runs(tmp_path, participants=("P1",))
    with refusal("recordings are looked for in a folder"):
        looked(tmp_path / "data/P1.mff")


def test_arrays(tmp_path: Path, looked: Shown) -> None:
    (tmp_path / "data").mkdir()
    rng = np.random.default_rng(0)
    known: dict[str, Any] = {"y": np.arange(40) % 2, "t": np.arange(-10, 80) / 100, "ch": ["Fz", "Cz", "Pz"]}
    for who in ("s01", "s02"):
        np.savez(tmp_path / f"data/{who}.npz", X=rng.standard_normal((40, 3, 90)) * 10, **known)
    np.save(tmp_path / "data/alone.npy", np.zeros(3))
    assert "alone.npy: one array of NumPy" in "\n".join(looked(tmp_path / "data").lines)
    study = assert_it_runs(tmp_path, classes=("0", "1"), participants=("s01", "s02"))
    assert study.input.model_dump()["unit"] == "µV"


def test_broken_files_and_others_among_good_ones(tmp_path: Path, looked: Shown) -> None:
    data = tmp_path / "data"
    for who in ("P1", "P2", "P3", "P4", "P5"):
        exported(recording(who), data / f"{who}_study.edf")
    whole = (data / "P2_study.edf").read_bytes()
    (data / "P2_study.edf").write_bytes(whole[:-700])
    (data / "P3_study.edf").write_bytes(b"nothing of the kind")
    (data / "P4_study.edf").write_bytes(b"")
    exported(recording("P1"), data / "other/P1_study.set")
    for name in ("README.md", ".DS_Store", "photo.PNG", "notes.txt", "stats.mat"):
        (data / name).write_bytes(b"MATLAB 5.0 MAT-file, but no more")
    said = "\n".join(looked(data).lines)
    for what in ("P2_study.edf: the file is truncated", "P3_study.edf", "P4_study.edf", "stats.mat"):
        assert f"cannot be read: {what}" in said
    assert "left out: 1 recording of eeglab" in said
    (others,) = (line for line in said.splitlines() if line.startswith("no recordings: "))
    assert {*others.removeprefix("no recordings: ").split(", ")} == {"1 × .md", "1 × .txt", "1 × .png"}
    assert_it_runs(tmp_path, participants=("P1", "P5"))
    written = (tmp_path / "my-study/study.toml").read_text(encoding="utf-8")
    assert "# left out: P2: P2_study.edf: the file is truncated" in written


def test_what_may_not_be_read_is_said_and_hides_nothing_else(tmp_path: Path) -> None:
    FOLDERS["edf"](tmp_path / "data")
    file = tmp_path / "data/P01R02.EDF"
    hidden = tmp_path / "data/hidden.mff"
    hidden.mkdir()
    for path in (file, hidden):
        path.chmod(0)
    try:
        done = bound(tmp_path, "init", "my-study", "--data", "data")
    finally:
        for path in (file, hidden):
            path.chmod(0o755)
    assert done.returncode == 0, done.stderr
    for path in (file, hidden):
        assert re.search(rf"cannot be read: {path.name}: .* \(Permission denied\)", done.stdout)
    assert "P02" in read_study(tmp_path / "my-study/study.toml").participants


def test_what_else_lies_in_folders(tmp_path: Path, looked: Shown) -> None:
    data = tmp_path / "data"
    for who in ("P1", "P2"):
        exported(recording(who), data / f"{who}.edf")
    shutil.copy(data / "P1.edf", data / os.fsdecode(b"P3\xff.edf"))
    (data / "loop").symlink_to(data)
    (data / "dangling.edf").symlink_to(data / "nowhere")
    os.mkfifo(data / "pipe.edf")
    said = "\n".join(looked(data).lines)
    assert r"cannot be read: P3\udcff.edf: its name is not valid UTF-8" in said
    assert_it_runs(tmp_path, participants=("P1", "P2"))


def test_recordings_that_differ(tmp_path: Path, looked: Shown) -> None:
    exported(recording("P1"), tmp_path / "data/P1.edf")
    exported(recording("P2", rate=256.0), tmp_path / "data/P2.edf")
    exported(recording("P3").drop_channels(["Oz"]), tmp_path / "data/P3.edf")
    looked(tmp_path / "data")
    given = assert_it_runs(tmp_path, participants=("P1", "P2", "P3")).input.model_dump()
    assert given["picks"] == ("Fz", "Cz", "Pz", "C3", "C4", "P3", "P4")
    assert given["preprocessing"]["resample"] == 128


def test_who_lacks_trials_or_a_phase_is_left_out(tmp_path: Path, looked: Shown) -> None:
    for who in ("P1", "P2", "P3"):
        exported(recording(who, "study", trials=24), tmp_path / f"data/{who}_study.edf")
        exported(recording(who, "test"), tmp_path / f"data/{who}_test.edf")
    (tmp_path / "data/P2_test.edf").unlink()
    exported(recording("P3", "study", trials=3), tmp_path / "data/P3_study.edf")
    said = "\n".join(looked(tmp_path / "data").lines)
    assert "left out: P2: nothing of test" in said
    assert "left out: P3: too few trials" in said
    assert_it_runs(tmp_path, participants=("P1",))


def test_few_trials_of_all(tmp_path: Path, looked: Shown) -> None:
    for who in ("P1", "P2"):
        exported(recording(who, trials=12), tmp_path / f"data/{who}.edf")
    looked(tmp_path / "data")
    study = assert_it_runs(tmp_path, participants=("P1", "P2"))
    assert (tag_of(type(study.estimator)), study.decoding.folds) == ("lda", 5)


def test_nobody_has_all_phases(tmp_path: Path, looked: Shown) -> None:
    for who, phase in (("P1", "study"), ("P2", "test")):
        exported(recording(who, phase), tmp_path / f"data/{who}_{phase}.edf")
    with refusal("no participant has all that a study needs", "left out: P1: nothing of test"):
        looked(tmp_path / "data")


def test_classes_of_unlike_size(tmp_path: Path, looked: Shown) -> None:
    for who in ("P1", "P2"):
        names = ("standard", "standard", "standard", "target")
        exported(recording(who, names=names), tmp_path / f"data/{who}.edf")
    looked(tmp_path / "data")
    assert assert_it_runs(tmp_path, classes=("standard", "target")).decoding.score == "auc"


def write_features(file: Path, names: Sequence[str], feature: str, bins: int = 3) -> None:
    """Classification data, as SciPy writes them."""
    file.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng([*map(ord, file.name)])
    cells = np.empty(bins, dtype=object)
    for number in range(bins):
        cells[number] = rng.standard_normal((len(names), 4))
    known = {"category_name": names, "feature_name": [feature.format(number) for number in range(4)]}
    texts = {field: np.array(each, dtype=object) for field, each in known.items()}
    savemat(file, {file.stem: {**texts, "feature": cells}})


def test_ready_made_features(tmp_path: Path, looked: Shown) -> None:
    labels = ["Face", "House"] * 30
    for who in ("Subj1", "Subj2", "Subj3", "Subj4"):
        for name in ("study_data", "test_data"):
            write_features(tmp_path / f"data/{who}/{who}_{name}.mat", labels, "E1_freq_{}")
        write_features(tmp_path / f"data/{who}/{who}_study_data_amp.mat", labels, "E1_tpoint_{}")
    (tmp_path / "data/Subj2/Subj2_study_data_amp.mat").unlink()
    shutil.copy(tmp_path / "data/Subj4/Subj4_test_data.mat", tmp_path / "data/Subj3/Subj3_test_data.mat")
    exported(recording("Subj1"), tmp_path / "data/Subj1/Subj1.edf")
    found = looked(tmp_path / "data")
    said = "\n".join(found.lines)
    assert found.questions == ()
    for fact in (
        "11 files of the format thesis",
        "power and amplitude\n  events (category_name): 120 × Face, 120 × House",
        "left out: Subj2: no amplitude features of study",
        "left out: 1 recording of edf",
        "cannot be read: Subj3/Subj3_test_data.mat",
    ):
        assert fact in said
    expected = {"participants": ("Subj1", "Subj4"), "classes": ("Face", "House")}
    study = assert_it_runs(tmp_path, **expected, phases={"train": "study", "decode": "test"})
    applied = {kind: each.apply for kind, each in study.features.kinds.items()}
    assert applied == {"amplitude": False, "power": True}


def test_a_pattern_that_two_files_of_features_match_is_refused(tmp_path: Path, looked: Shown) -> None:
    for who in ("A1", "A2"):
        write_features(tmp_path / f"data/{who}_study.mat", ["x", "y"] * 12, "voltage {}")
    looked(tmp_path / "data")
    shutil.copy(tmp_path / "data/A1_study.mat", tmp_path / "data/A1_study_old.mat")
    file = tmp_path / "my-study/study.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("{participant}_study.mat", "{participant}_study*.mat"), encoding="utf-8")
    (problem,) = open_all(file, silent).problems
    assert "several files match" in problem.problem
    assert problem.found == "A1_study.mat, A1_study_old.mat"


def test_data_far_away_are_named_from_the_root(tmp_path: Path) -> None:
    data = tmp_path / "a/b/data"
    FOLDERS["edf"](data)
    for project, expected in (
        (tmp_path / "new", "../a/b/data"),
        (tmp_path / "a/b/new", "../data"),
        (tmp_path / "c/new", str(data)),
    ):
        assert f'folder = "{expected}"' in proposed(data, project).settings, project


def test_a_question_that_is_open_is_a_status_of_its_own(tmp_path: Path) -> None:
    for who in ("P1", "P2"):
        exported(recording(who, names=("T0", "T1", "T0", "T2")), tmp_path / f"data/{who}.edf")
    done = forked(tmp_path, "init", "my-study", "--data", "data")
    assert done.returncode == 3
    assert re.search("\nWhich events are the classes(.*\n)*  shortloop study study.toml\n", done.stdout)
    assert (tmp_path / "my-study/study.toml").is_file()


def test_recordings_without_events(tmp_path: Path, looked: Shown) -> None:
    exported(recording("P1").set_annotations(None), tmp_path / "data/P1.edf")
    with refusal("no recording has events", "NAME_events.tsv"):
        looked(tmp_path / "data")


@pytest.mark.apart
def test_the_command(tmp_path: Path) -> None:
    FOLDERS["edf"](tmp_path / "my data")
    done = forked(tmp_path, "init", "my-study", "--data", "my data")
    assert done.returncode == 0, done.stderr
    assert "6 recordings of the format edf\n3 participants: P01, P02, P03\n" in done.stdout
    assert "  shortloop study study.toml\n  shortloop run\n" in done.stdout
    assert read_study(tmp_path / "my-study/study.toml").participants == ("P01", "P02", "P03")
    assert (tmp_path / "my-study/build_scripts/build_pipeline.py").is_file()
    test = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "tests")
    passed = ended(test, tmp_path / "my-study", PATH="")
    assert passed.returncode == 0, passed.stdout + passed.stderr


def test_what_cannot_be_looked_at_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert_one_message(forked(tmp_path, "init", "new", "--data", "gone"), "data not found", "gone")
    assert_one_message(forked(tmp_path, "init", "new", "--data", "empty"), "no analysis recognizes", "empty")
    assert_one_message(forked(tmp_path, "init", "new", "--eeg", "--data", "empty"), "no analysis recognizes")
    assert "no such option: --frames" in forked(tmp_path, "init", "new", "--frames", "--data", "empty").stderr
    exported(recording("P1"), tmp_path / "data/P1.edf")
    one = forked(tmp_path, "init", "new", "--data", "data/P1.edf")
    assert_one_message(one, "recordings are looked for in a folder", "name the folder")
    assert not (tmp_path / "new").exists()
    shutil.copytree(tmp_path / "empty", tmp_path / "taken")
    (tmp_path / "taken/file").touch()
    assert_one_message(forked(tmp_path, "init", "taken", "--data", "data"), "the folder is not empty")


def test_sections_that_events_begin_are_asked_about(tmp_path: Path, looked: Shown) -> None:
    """Each trial is in the phase whose section it is in, once the comment is taken at its word."""
    for who in ("P1", "P2"):
        raw = mne.concatenate_raws([recording(who, "study"), recording(who, "test")], verbose="ERROR")
        half = raw.times[-1] / 2
        kept = [not name.startswith(("BAD", "EDGE")) for name in raw.annotations.description]
        shown = raw.annotations[np.array(kept)]
        shown.append([0.5, half, half + 0.1], 0.0, ["Study starts", "end of study", "Test starts"])
        exported(raw.set_annotations(shown), tmp_path / f"data/{who}.edf")
    found = looked(tmp_path / "data")
    (question,) = found.questions
    assert 'It has once "Study starts" and "Test starts"' in question
    assert_it_runs(tmp_path, phases={"train": "recording", "decode": None})
    lines = found.settings.splitlines()
    line = int(question.split("Line ")[1].split()[0]) - 1
    said = [each.removeprefix("#   ") for each in lines[line:] if each.startswith("#   ")]
    assert 'sections.study = {start = "Study starts", stop = "end of study"}' in said
    text = found.settings.replace('train = "recording"', "\n".join(said[:2]))
    text = text.replace('files.recording = ["{participant}.edf"]', "\n".join(said[2:6]))
    (tmp_path / "my-study/study.toml").write_text(text, encoding="utf-8")
    assert_it_runs(tmp_path, phases={"train": "study", "decode": "test"})


@pytest.mark.parametrize(
    ("counts", "phases"),
    [
        ({"study begins": 1, "test begins": 1, "face": 40}, ["study", "test"]),
        ({"Start of Encoding Block": 1, "retrieval_start": 1}, ["encoding", "retrieval"]),
        ({"study begins": 3, "test begins": 3}, []),
        ({"study": 1, "test": 1}, []),
        ({"study begins": 1}, []),
        ({"study begins": 1, "study starts": 1, "test begins": 1}, []),
        ({"study end": 1, "test end": 1}, []),
        ({"block 1 start": 1, "block 2 start": 1, "New Segment": 1}, []),
        ({"BAD_study start": 1, "BAD_test start": 1}, []),
        ({"study face start": 1, "test face start": 1}, []),
    ],
)
def test_when_events_begin_sections(counts: dict[str, int], phases: list[str]) -> None:
    assert [*sections_in([counts, counts])] == phases
    assert sections_in([counts, {"face": 40}]) == {}


def test_text_with_times_and_markers(tmp_path: Path, looked: Shown) -> None:
    (tmp_path / "data").mkdir()
    for who in ("P3", "P4"):
        for phase in ("train", "test"):
            write_text(recording(who, phase), tmp_path / f"data/{who}_{phase}.csv", scale=1e3)
    assert looked(tmp_path / "data").questions == ()
    phases = {"train": "train", "decode": "test"}
    study = assert_it_runs(tmp_path, participants=("P3", "P4"), classes=("1", "2"), phases=phases)
    assert study.input.model_dump()["time_unit"] == "ms"
