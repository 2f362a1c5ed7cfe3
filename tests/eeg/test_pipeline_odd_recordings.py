"""What is odd about the recordings of a study is refused, or said where a user looks for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from in_process import InProcess

from shortloop.base.errors import InputError
from shortloop.eeg.pipeline import StudyRun, check_recordings, import_epochs
from shortloop.eeg.study.load import read_study
from shortloop.plan.pipeline import Built

STUDY = """\
name = "odd"
participants = ["A", "B"]
classes = ["left", "right"]
phases.train = "study"
phases.decode = "test"
[input]
format = "npz"
files.study = ["{participant}_study.npz"]
files.test = ["{participant}_test.npz"]
unit = "uv"
[features.amplitude]
start = 0.0
bins = 2
bin_samples = 5
[decoding]
folds = 5
[estimator]
kind = "lda"
"""


def recording(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "X": rng.standard_normal((20, 3, 60)) * 10,
        "y": np.array(["left", "right"] * 10),
        "t": np.arange(-20, 40) / 100,
        "ch": np.array(["Fz", "Cz", "Pz"]),
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    for number, name in enumerate(("A_study", "A_test", "B_study", "B_test")):
        spoil(tmp_path, name, number)
    (tmp_path / "jobs").mkdir()
    return tmp_path


def spoil(folder: Path, name: str, seed: int, **changes: object) -> None:
    np.savez(folder / f"{name}.npz", **{**recording(seed), **changes})  # type: ignore[arg-type]


def checked(folder: Path) -> tuple[dict[str, Built], Built]:
    file = folder / "study.toml"
    run = StudyRun(InProcess(folder / "jobs"), read_study(file), file)
    imported = import_epochs(run)
    return imported, check_recordings(run, list(imported.values()))


def test_good_recordings_say_nothing(folder: Path) -> None:
    imported, check = checked(folder)
    for job in imported.values():
        facts = job.result().facts
        assert facts["notes"] == []
        assert [each["warnings"] for each in facts["recordings"]] == [[], []]
        assert [each["unit"] for each in facts["recordings"]] == ["µV", "µV"]
        assert all(each["amplitude"] == pytest.approx(10, rel=0.1) for each in facts["recordings"])
    assert check.notes() == []
    assert [(each["participant"], each["phase"]) for each in check.result().facts["recordings"]] == [
        ("A", "study"),
        ("A", "test"),
        ("B", "study"),
        ("B", "test"),
    ]


def test_what_is_odd_is_with_its_recording_and_among_the_notes(folder: Path) -> None:
    data = recording(2)["X"]
    data[:, 1] = 0
    y = recording(2)["y"]
    spoil(folder, "B_study", 2, X=np.concatenate([data, data[:2]]), y=np.r_[y, y[:2]])
    imported, check = checked(folder)
    study, test = imported["B"].result().facts["recordings"]
    assert test["warnings"] == []
    twice, flat = study["warnings"]
    assert twice.startswith("B_study.npz: 2 of 22 trials are there twice")
    assert flat.startswith("channel Cz is flat in all 20 trials")
    assert study["trials"] == {"left": 10, "right": 10}
    assert imported["B"].notes()[1] == f"B, study: {flat}"
    assert imported["A"].notes() == check.notes() == []
    assert check.result().facts["recordings"][2]["warnings"] == study["warnings"]


def test_volts_beside_microvolts(folder: Path) -> None:
    spoil(folder, "B_test", 3, X=recording(3)["X"] * 1e-6)
    with pytest.raises(InputError) as caught:
        checked(folder)
    for part in ("probably in V, and others in µV", "participant:  B", "B_test.npz", "e-06 µV", "as in A, "):
        assert part in str(caught.value)


def test_trials_that_are_trained_on_and_decoded(folder: Path) -> None:
    data = recording(3)["X"]
    data[5] = recording(2)["X"][9]
    spoil(folder, "B_test", 3, X=data)
    with pytest.raises(InputError) as caught:
        checked(folder)
    for part in (
        "what they were trained on",
        "participant:  B",
        "B_test.npz",
        "trial 6, as trial 10 of study",
    ):
        assert part in str(caught.value)


def test_one_file_for_both_phases(folder: Path) -> None:
    """A study that names it twice would decode what it was trained on."""
    file = folder / "study.toml"
    file.write_text(STUDY.replace("_test.npz", "_study.npz"), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        checked(folder)
    assert "20 of 20 trials have the same samples" in str(caught.value)
    assert "is named for both" in str(caught.value)
