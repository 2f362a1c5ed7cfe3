"""`shortloop study FILE` opens every recording, and says all that is wrong with all of them at once."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from command_line import assert_one_message, shortloop
from eeg_recordings import exported, make_raw

STUDY = """\
name = "wrong"
participants = [{participants}]
classes = ["face", "house"]
phases = {{ train = "study", decode = "test" }}
decoding.folds = 2
estimator.kind = "lda"

[input]
format = "edf"
folder = "recordings"
files.study = ["{{participant}}_study.edf"]
files.test = ["{{participant}}_test.edf"]
tmin = -0.2
tmax = 0.5

[features.amplitude]
baseline = false
lowpass = false
start = -0.2
bins = {bins}
bin_samples = 4
"""
NAMES = [f"P{number}" for number in range(1, 9)]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("right") / "recordings"
    folder.mkdir()
    for number, who in enumerate(NAMES):
        for phase in ("study", "test"):
            exported(make_raw(number + 100 * (phase == "test")), folder / f"{who}_{phase}.edf")
    return folder


@pytest.fixture
def project(recordings: Path, tmp_path: Path) -> Path:
    shutil.copytree(recordings, tmp_path / "recordings")
    write(tmp_path, NAMES)
    return tmp_path


def write(project: Path, names: list[str], bins: int = 5) -> None:
    listed = ", ".join(f'"{name}"' for name in names)
    (project / "study.toml").write_text(STUDY.format(participants=listed, bins=bins), encoding="utf-8")


def test_recordings_that_are_fine(project: Path) -> None:
    done = shortloop(project, "study", "study.toml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "study.toml is fine: study wrong, 8 participants" in done.stdout
    assert "recordings of 8 participants were read, with trials: 112 face, 96 house" in done.stdout
    assert {each.name for each in project.iterdir()} == {"recordings", "study.toml"}  # nothing is kept


def test_all_problems_of_all_participants_at_once(project: Path) -> None:
    folder = project / "recordings"
    (folder / "P1_test.edf").unlink()
    cut = folder / "P2_study.edf"
    cut.write_bytes(cut.read_bytes()[:-999])
    (folder / "P2_test.edf").write_bytes(b"not a recording")
    shutil.copy(folder / "P8_study.edf", folder / "P3_study.edf")
    raw = make_raw(4)
    exported(raw.copy().drop_channels(["Oz"]), folder / "P4_study.edf")
    exported(make_raw(5, sfreq=256.0), folder / "P5_test.edf")
    raw = make_raw(6)
    keep = [name != "house" for name in raw.annotations.description]
    exported(raw.set_annotations(raw.annotations[np.flatnonzero(keep)]), folder / "P6_study.edf")
    done = shortloop(project, "study", "study.toml")
    assert done.returncode == 1
    said = done.stdout
    for number, words in enumerate(
        (
            ("P1", "P1_test.edf", "a file is missing"),
            ("P8", "P3_study.edf", "a recording is there twice"),
            ("P2", "P2_study.edf", "truncated"),
            ("P2", "P2_test.edf", "not EDF"),
            ("P6", "no trials of house"),
            ("P4", "channels", "without Oz"),
            ("P5", "sampling rate"),
        ),
        start=1,
    ):
        (message,) = [each for each in said.split("\n\n") if all(word in each for word in words)]
        assert message.lstrip().split(".")[0].isdigit(), (number, message)
    assert "study.toml: 7 problems" in said


def test_settings_that_do_not_fit_are_one_problem(project: Path) -> None:
    write(project, NAMES, bins=99)
    done = shortloop(project, "study", "study.toml")
    assert done.returncode == 1
    assert done.stdout.count("epochs too short for the bins") == 1
    assert f"participant:  {', '.join(NAMES)}" in done.stdout


def test_a_folder_that_is_not_there_is_one_problem(project: Path) -> None:
    shutil.rmtree(project / "recordings")
    done = shortloop(project, "study", "study.toml")
    assert done.returncode == 1
    assert done.stdout.count("the folder of the recordings does not exist") == 1
    assert "1 problem" in done.stdout


def test_quick_opens_nothing(project: Path) -> None:
    shutil.rmtree(project / "recordings")
    done = shortloop(project, "study", "study.toml", "--quick")
    assert done.returncode == 0
    assert "is fine" in done.stdout
    (project / "study.toml").write_text("name = 1", encoding="utf-8")
    assert_one_message(shortloop(project, "study", "--quick", "study.toml"), "study.toml", "name")


def test_notes_are_no_problems(project: Path) -> None:
    raw = make_raw(1)
    raw.annotations.append(raw.times[-1] - 0.1, 0, "face")
    exported(raw, project / "recordings" / "P1_study.edf")
    done = shortloop(project, "study", "study.toml")
    assert done.returncode == 0, done.stdout
    assert "beyond the recording" in done.stdout
