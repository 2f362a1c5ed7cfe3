"""`shortloop study FILE` says all that is wrong with all recordings at once; its ways out work."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from cases import first_cases
from command_line import assert_one_message, forked
from eeg_folders import recording, silent
from eeg_recordings import exported, make_raw

from shortloop.eeg.inspect.check_study import open_all

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
    """Notes are no problems."""
    raw = make_raw(1)
    raw.annotations.append(raw.times[-1] - 0.1, 0, "face")
    exported(raw, project / "recordings" / "P1_study.edf")
    write(project, NAMES[:2])
    done = forked(project, "study", "study.toml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search("is fine.*2 participants(.*\n)*.*28 × face, 24 × house", done.stdout)
    assert "beyond the recording" in done.stdout
    assert {each.name for each in project.iterdir()} == {"recordings", "study.toml"}  # nothing is kept


def test_settings_and_folders_are_one_problem_and_quick_opens_nothing(project: Path) -> None:
    write(project, NAMES[:3], bins=99)
    done = forked(project, "study", "study.toml")
    assert done.returncode == 1
    assert done.stdout.count("epochs too short for the bins") == 1
    assert f"participant:  {', '.join(NAMES[:3])}" in done.stdout
    write(project, NAMES)
    shutil.rmtree(project / "recordings")
    done = forked(project, "study", "study.toml")
    assert done.returncode == 1
    assert done.stdout.count("the folder of the recordings does not exist") == 1
    assert "1 problem" in done.stdout
    done = forked(project, "study", "study.toml", "--quick")
    assert done.returncode == 0
    assert "is fine" in done.stdout
    (project / "study.toml").write_text("name = ", encoding="utf-8")
    assert_one_message(forked(project, "study", "--quick", "study.toml"), "study.toml", "TOML")


def test_all_mistakes_of_the_file_at_once(project: Path) -> None:
    file = project / "study.toml"
    right = file.read_text(encoding="utf-8")
    file.write_text(right.replace("folds", "fold").replace("bins = 5", "bins = 0"), encoding="utf-8")
    done = forked(project, "study", "study.toml")
    assert done.returncode == 1
    assert "unknown key" in done.stdout
    assert "study.toml: 2 problems; no data were opened" in done.stdout
    wrong = right.replace('"P1", "P2"', '"P1", "P1"').replace("files.test", "files.rest")
    file.write_text(wrong + "\n[input.preprocessing]\nbads.P9 = ['Cz']\n", encoding="utf-8")
    said = forked(project, "study", "study.toml", "--quick").stdout
    assert said.count("the study file has a wrong value") == 3
    assert "P1 named twice" in said
    assert "nothing given for test" in said
    assert "P9 is no participant" in said


@pytest.mark.apart
def test_all_problems_of_all_participants_at_once(project: Path) -> None:
    """Of one participant: missing files, differences of two kinds; of several files of a phase each one."""
    folder = project / "recordings"
    for phase in ("study", "test"):
        (folder / f"P1_{phase}.edf").unlink()
    (folder / "P2_test.edf").unlink()
    exported(make_raw(2, sfreq=256.0).drop_channels(["Oz"]), folder / "P2_study.edf")
    for phase in ("study", "test"):
        shutil.copy(folder / f"P3_{phase}.edf", folder / f"P4_{phase}.edf")
    exported(make_raw(5, sfreq=256.0).drop_channels(["Oz"]), folder / "P5_test.edf")
    raw = make_raw(6)
    raw.set_annotations(raw.annotations[raw.annotations.description != "house"])
    exported(raw, folder / "P6_study.edf")
    cut = folder / "P7_study.edf"
    cut.write_bytes(cut.read_bytes()[:-999])
    (folder / "P7_test.edf").write_bytes(b"not a recording")
    done = forked(project, "study", "study.toml")
    said = done.stdout.split("\n\n")
    for words in (
        ("P1_study.edf", "a file is missing"),
        ("P1_test.edf", "a file is missing"),
        ("P2_test.edf", "a file is missing"),
        ("participant:  P2", "channels of the study phase", "without Oz"),
        ("participant:  P2", "sampling rate (Hz) of the study phase"),
        ("P4_study.edf", "a recording is there twice"),
        ("P4_test.edf", "a recording is there twice"),
        ("participant:  P5", "channels of the test phase"),
        ("participant:  P5", "sampling rate (Hz) of the test phase"),
        ("participant:  P6", "no trials of house"),
        ("participant:  P7", "P7_study.edf", "truncated"),
        ("participant:  P7", "P7_test.edf", "not EDF"),
    ):
        (message,) = [each for each in said if all(word in each for word in words)]
        assert message.lstrip().split(".")[0].isdigit(), message
    assert "study.toml: 12 problems" in done.stdout
    assert done.returncode == 1


def test_each_of_several_files_of_a_phase_is_looked_at(project: Path) -> None:
    """Of the second participant they are missing."""
    folder = project / "recordings"
    for name in ("a", "b"):
        shutil.copy(folder / "P1_test.edf", folder / f"P1_test_{name}.edf")
    write(project, ["P1", "P2"])
    file = project / "study.toml"
    text = file.read_text(encoding="utf-8")
    several = ", ".join(f'"{{participant}}_test_{name}.edf"' for name in ("a", "b"))
    file.write_text(text.replace('"{participant}_test.edf"', several), encoding="utf-8")
    (folder / "P1_test_a.edf").write_bytes(b"no recording")
    cut = folder / "P1_test_b.edf"
    cut.write_bytes(cut.read_bytes()[:-999])
    said = forked(project, "study", "study.toml").stdout
    assert said.count("a file is missing") == 2
    for name in ("P1_test_a.edf", "P1_test_b.edf", "P2_test_a.edf", "P2_test_b.edf"):
        assert name in said
    assert "study.toml: 4 problems" in said


STUDY_CHANNELS = """\
name = "channels"
participants = ["P1", "P2", "P3"]
classes = ["face", "house"]
phases.train = "study"
[input]
format = "fif"
folder = "."
files.study = ["{participant}_raw.fif"]
tmin = -0.2
tmax = 0.8
EXTRA
[features.amplitude]
start = 0.0
bins = 2
bin_samples = 4
"""


def recordings_of_channels(folder: Path, odd: str) -> None:
    for who in ("P1", "P2", "P3"):
        raw = recording(who)
        raw.set_montage("standard_1020", on_missing="ignore", verbose="ERROR")
        if who == "P3" and odd == "bad":
            raw.info["bads"] = ["Cz", "P3"]
        elif who == "P3" and odd == "missing":
            raw.drop_channels(["Cz", "P3"])
        elif who == "P3":
            raw.reorder_channels(raw.ch_names[::-1])
        raw.save(folder / f"{who}_raw.fif", verbose="ERROR")


def opened(folder: Path, extra: str = ""):  # type: ignore[no-untyped-def]
    (folder / "study.toml").write_text(STUDY_CHANNELS.replace("EXTRA", extra), encoding="utf-8")
    return open_all(folder / "study.toml", silent)


@first_cases(
    1,
    ("odd", "offered"),
    [("bad", ["drop", "preprocessing.interpolate"]), ("missing", ["picks"]), ("order", ["picks"])],
)
def test_each_way_out_works(tmp_path: Path, odd: str, offered: list[str]) -> None:
    recordings_of_channels(tmp_path, odd)
    (problem,) = opened(tmp_path).problems
    assert problem.where["participant"] == "P3"
    ways = re.findall(r"input\.([\w.]+) = (\[.*?\]|true)", str(problem.hint))
    assert [name for name, _ in ways] == offered
    for name, value in ways:
        assert opened(tmp_path, f"{name} = {value}").problems == ()
