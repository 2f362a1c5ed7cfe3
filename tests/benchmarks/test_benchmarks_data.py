"""Simulated participants: the same every time, of the thesis's schema and size, with something to find."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.loop_cases import CHANGES, study_text
from benchmarks.peers_vectorised import train_bin
from benchmarks.thesis_data import CLASSES, QUICK, THESIS, Size, simulate, write_study
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.formats.read import read_features
from shortloop.eeg.formats.thesis import ThesisInput
from shortloop.eeg.study.load import read_study

SMALL = Size(trials=6, bins=3, amplitude_bins=4, channels=2, frequencies=3, points=2, amplitude_points=5)


def test_files_hold_what_is_simulated(tmp_path: Path) -> None:
    assert write_study(tmp_path, 2, SMALL) == ["Subj01", "Subj02"]
    person, other = simulate(2, SMALL), simulate(1, SMALL)
    folder = tmp_path / "Subj02" / "6-ClassificationData"
    for ending, expected, kind in (
        ("study_data", person.study, "power"),
        ("test_data_visual", person.test, "power"),
        ("study_data_amp", person.amplitude, "amplitude"),
    ):
        given, file = ThesisInput(format="thesis"), folder / f"Subj02_{ending}.mat"
        found = read_features(given, file, kind=kind, participant="Subj02", phase="study", classes=CLASSES)
        np.testing.assert_array_equal(found.data, expected)
        np.testing.assert_array_equal(found.labels, person.labels)
    assert (person.study > 0).all()
    assert np.abs(np.corrcoef(other.study.ravel(), person.study.ravel())[0, 1]) < 0.3
    assert not np.array_equal(person.study, person.test)


def test_files_are_used_again_unless_they_are_of_another_size(tmp_path: Path) -> None:
    write_study(tmp_path, 1, SMALL)
    file = tmp_path / "Subj01" / "6-ClassificationData" / "Subj01_study_data.mat"
    before = file.stat().st_mtime_ns
    write_study(tmp_path, 1, SMALL)
    assert file.stat().st_mtime_ns == before
    write_study(tmp_path, 1, Size(**{**SMALL.__dict__, "bins": 2}))
    assert file.stat().st_mtime_ns > before
    with pytest.raises(SystemExit, match="GB of disk"):
        write_study(tmp_path, 10**5, THESIS)


@pytest.mark.slow
def test_classes_can_be_told_apart_in_the_window_only() -> None:
    person = simulate(1, Size(bins=4, amplitude_bins=4))
    for data in (person.amplitude, person.study):
        before, within = (np.mean(train_bin(data[bin], person.labels)[2] == person.labels) for bin in (0, 1))
        assert before < 0.45
        assert within > 0.6


def test_studies_are_the_thesis_s_and_every_change_can_be_read(tmp_path: Path) -> None:
    assert (THESIS.power_features, THESIS.amplitude_features) == (6510, 341)
    assert (THESIS.bins, THESIS.amplitude_bins, 3 * THESIS.trials) == (20, 40, 240)
    assert THESIS.megabytes == pytest.approx((2 * 20 * 6510 + 40 * 341) * 240 * 8 / 1e6)
    names = write_study(tmp_path / "data", 2, SMALL)
    file, text = tmp_path / "study.toml", study_text(tmp_path / "data", names)
    studies = []
    for old, new in CHANGES.values():  # the first of them is none
        assert old in text
        text = text.replace(old, new)
        file.write_text(text, encoding="utf-8")
        studies.append(read_study(file))
        assert studies[-1].participants == tuple(names)
    assert len({study.model_dump_json() for study in studies}) == len(studies) == len(CHANGES)
    first, last = studies[0], studies[-1]
    assert (first.permutations.count, last.permutations.count) == (100, 500)
    assert isinstance(first.estimator, LinearSvmSettings)
    assert isinstance(last.estimator, LinearSvmSettings)
    assert first.estimator.C == (1e-4, 1e-3, 1e-2)
    assert len(last.estimator.C) == 4
    assert first.decoding.folds == 10
    assert QUICK.trials >= 2 * first.decoding.folds
    assert last.group.smooth == 2.0
