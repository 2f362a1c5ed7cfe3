"""Phases of one recording, told apart by their events, or by where in the recording they are."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from eeg_recordings import CLASSES, direct, exported, make_raw
from in_process import InProcess
from refusal import refusal

from shortloop.base.errors import InputError
from shortloop.eeg.data import Epochs
from shortloop.eeg.formats.base import InputSettings
from shortloop.eeg.formats.read import read_epochs
from shortloop.eeg.pipeline import StudyRun, import_epochs
from shortloop.eeg.study.load import read_study

pytestmark = pytest.mark.filterwarnings("ignore:S1, ")
PHASES = ("study", "test")


def recorded(folder: Path, *more: tuple[float, str]) -> Path:
    """Faces and houses in turn, from 1 s to 22 s, and other events."""
    raw = make_raw()
    raw.set_annotations(raw.annotations[np.isin(raw.annotations.description, CLASSES)])
    raw.annotations.append([at for at, _ in more], 0.0, [name for _, name in more])
    return exported(raw, folder / "S1_raw.fif")


def read(file: Path, phase: str, **settings: Any) -> Epochs:
    values = {"format": "fif", "tmin": -0.25, "tmax": 0.5, "files": dict.fromkeys(PHASES, ("x",))}
    form = InputSettings.model_validate({**values, **settings})
    return read_epochs(form, [file], participant="S1", phase=phase, classes=CLASSES)


def onsets() -> np.ndarray:
    annotations = make_raw().annotations
    found: np.ndarray = annotations.onset[np.isin(annotations.description, CLASSES)]
    return found


def in_samples(epochs: Epochs) -> list[int]:
    return np.round(epochs.trial_info["onset"] * 128).astype(int).tolist()


def expected(start: float, stop: float) -> list[int]:
    return [round(at * 128) for at in onsets() if start <= round(at * 128) / 128 < stop]


ONSETS = np.round(onsets() * 128) / 128
BLOCKS = ((0.5, "study"), (6.0, "test"), (11.0, "study"), (16.0, "test"))
SECTIONS: dict[str, tuple[tuple[tuple[float, str], ...], dict[str, Any], tuple[list[int], list[int]]]] = {
    "times": (
        (),
        {"study": {"stop": 11.0}, "test": {"start": 11.0}},
        (expected(0, 11), expected(11, 24)),
    ),
    "events that begin": (
        ((0.0, "go/study"), (11.0, "go/test")),
        {"study": {"start": "study"}, "test": {"start": "test"}},
        (expected(0, 11), expected(11, 24)),
    ),
    "events that are trials": (
        ((ONSETS[3], "begin"), (ONSETS[9], "end")),
        {"study": {"start": "begin", "stop": "end"}, "test": {"start": "end"}},
        (expected(ONSETS[3], ONSETS[9]), expected(ONSETS[9], 24)),
    ),
    "blocks that alternate": (
        BLOCKS,
        {"study": {"start": "study"}, "test": {"start": "test"}},
        (expected(0.5, 6) + expected(11, 16), expected(6, 11) + expected(16, 24)),
    ),
    "events that begin and end": (
        ((2.0, "on"), (6.0, "off"), (12.0, "on"), (15.0, "off"), (16.0, "late")),
        {"study": {"start": "on", "stop": "off"}, "test": {"start": "late", "stop": 20.0}},
        (expected(2, 6) + expected(12, 15), expected(16, 20)),
    ),
}


@pytest.mark.parametrize("case", SECTIONS)
def test_trials_are_those_of_the_section(tmp_path: Path, case: str) -> None:
    """The event that begins it is in it, and that of the next is not."""
    more, sections, where = SECTIONS[case]
    file = recorded(tmp_path, *more)
    for phase, samples in zip(PHASES, where, strict=True):
        epochs = read(file, phase, sections=sections)
        assert in_samples(epochs) == samples != []
        (account,) = epochs.accounts
        assert sum(account["events"][name] for name in CLASSES) == len(samples)
        assert all(start < stop for start, stop in account["sections"])


def test_a_recording_that_was_cropped_counts_from_its_own_start(tmp_path: Path) -> None:
    """MNE counts its samples from when the whole one began."""
    raw = mne.io.read_raw_fif(recorded(tmp_path), preload=True, verbose="ERROR").crop(5.0, None)
    file = exported(raw, tmp_path / "cropped_raw.fif")
    assert mne.io.read_raw_fif(file, verbose="ERROR").first_samp == 640
    epochs = read(file, "study", sections={"study": {"stop": 8.0}, "test": {"start": 8.0}})
    assert in_samples(epochs) == [each - 640 for each in expected(5.2, 13)]


@pytest.mark.parametrize(
    ("sections", "problem", "field"),
    [
        ({"study": {"start": "begin"}, "test": {}}, "does not begin", "input.sections.study.start"),
        ({"study": {"stop": "end"}, "test": {}}, "does not end", "input.sections.study.stop"),
        ({"study": {"start": 9, "stop": 5}, "test": {}}, "does not end", "input.sections.study.stop"),
        ({"study": {"start": 500}, "test": {}}, "does not end", "input.sections.study.stop"),
        ({"study": {"stop": 0.5}, "test": {}}, "has no trials of face, house", "input.events"),
    ],
)
def test_sections_that_are_not_there(tmp_path: Path, sections: Any, problem: str, field: str) -> None:
    with refusal(problem, field=field):
        read(recorded(tmp_path), "study", sections=sections)


def test_events_of_each_phase(tmp_path: Path) -> None:
    raw = make_raw()
    names = [f"{'late' if each['onset'] > 11 else 'early'} {each['description']}" for each in raw.annotations]
    raw.set_annotations(mne.Annotations(raw.annotations.onset, 0.0, names))
    file = exported(raw, tmp_path / "S1_raw.fif")
    given = {
        "events": {"face": ["early face"], "house": ["early house"]},
        "phase_events": {"test": {"face": ["late face"], "house": ["late house"]}},
    }
    assert in_samples(read(file, "study", **given)) == expected(0, 11)
    assert in_samples(read(file, "test", **given)) == expected(11, 24)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"phase_events": {"tset": {"face": ["a"], "house": ["b"]}}}, "tset is none of study, test"),
        ({"phase_events": {"test": {"face": ["a"]}}}, "nothing given for house"),
        ({"phase_events": {"test": {"face": ["a"], "house": ["b"], "cat": ["c"]}}}, "cat is none of"),
        ({"sections": {"study": {"stop": 5}}}, "nothing given for test"),
    ],
)
def test_what_a_study_cannot_say(given: Any, said: str) -> None:
    form = InputSettings.model_validate({"format": "fif", "files": dict.fromkeys(PHASES, ("x",)), **given})
    with pytest.raises(ValueError, match=said):
        form.check_phases(PHASES, CLASSES, ("amplitude",))


def test_epochs_have_no_sections(tmp_path: Path) -> None:
    direct(make_raw()).save(tmp_path / "S1-epo.fif", verbose="ERROR")
    with pytest.raises(InputError, match="sections are of continuous recordings"):
        read(tmp_path / "S1-epo.fif", "study", sections={"study": {}, "test": {}})


STUDY = """\
name = "one"
participants = ["S1"]
classes = ["face", "house"]
phases = {{train = "study", decode = "test"}}
features.amplitude = {{}}

[input]
format = "fif"
files.study = ["{{participant}}_raw.fif"]
files.test = ["{{participant}}_raw.fif"]
tmin = -0.25
tmax = {tmax}
{more}
"""


def imported(folder: Path, more: str, tmax: float = 0.5) -> Any:
    (folder / "study.toml").write_text(STUDY.format(more=more, tmax=tmax), encoding="utf-8")
    (folder / "jobs").mkdir(exist_ok=True)
    run = InProcess(folder / "jobs")
    jobs = import_epochs(StudyRun(run, read_study(folder / "study.toml"), folder / "study.toml"))
    return jobs["S1"].result()


def test_a_study_of_one_file(tmp_path: Path) -> None:
    recorded(tmp_path)
    facts = imported(tmp_path, "sections.study.stop = 11\nsections.test.start = 11").facts
    shutil.rmtree(tmp_path / "jobs")
    trials = [sum(each["trials"].values()) for each in facts["recordings"]]
    assert trials == [len(expected(0, 11)), len(expected(11, 24))]
    assert facts["notes"] == []
    with refusal("are those of the study phase", "input.sections"):
        imported(tmp_path, "")
    shutil.rmtree(tmp_path / "jobs")
    sections = "sections.study.stop = 11\nsections.test.start = 11"
    (note,) = (each for each in imported(tmp_path, sections, tmax=1.6).facts["notes"] if "share time" in each)
    assert note.startswith("S1, test: 1 trials share time with trials of study in the same recording")


def test_arrays_of_two_phases_in_one_file(tmp_path: Path) -> None:
    labels = np.repeat([1, 2, 11, 12], 4)
    data = np.random.default_rng(0).standard_normal((16, 2, 20))
    np.savez(tmp_path / "S1.npz", X=data, y=labels, t=np.arange(20) / 100, ch=np.array(["Cz", "Pz"]))
    given = {
        "format": "npz",
        "files": dict.fromkeys(PHASES, ("x",)),
        "events": {"face": [1], "house": [2]},
        "phase_events": {"test": {"face": [11], "house": [12]}},
    }
    for phase, part in zip(PHASES, (slice(0, 8), slice(8, 16)), strict=True):
        form = InputSettings.model_validate(given)
        found = read_epochs(form, [tmp_path / "S1.npz"], participant="S1", phase=phase, classes=CLASSES)
        assert found.labels.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
        np.testing.assert_allclose(found.data, data[part])
