"""Patterns of features of power say which channel and which frequency each is of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from in_process import InProcess

from build_scripts.build_pipeline import make_features, patterns, train
from shortloop.eeg.decoding.patterns import activation_patterns
from shortloop.eeg.pipeline import StudyRun
from shortloop.eeg.stages.feature_files import load_features
from shortloop.eeg.study.load import read_study
from shortloop.stages.results import open_result

STUDY = """\
name = "tiny"
participants = ["A"]
classes = ["x", "y", "z"]
phases = {train = "study"}
input = {format = "simulated", channels = 3, trials = 12, sfreq = 128, tmin = -0.5, tmax = 0.9}
decoding = {folds = 3, select_alpha = 1.0}
estimator = {kind = "lda", shrinkage = 0.5}
permutations = {count = 10}
features.amplitude = {bins = 2, bin_samples = 4}
features.power = {fmin = 10, fmax = 22, fstep = 6, bins = 2, bin_points = 4, every = 4}
"""


def test_they_are_means_over_the_features_of_that_name(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY, encoding="utf-8")
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    study = StudyRun(InProcess(jobs), read_study(file), file)
    made = make_features(study)
    for kind in ("power", "amplitude"):
        features = made[kind]["A"]
        models = train(study, "A", kind, features)
        found = open_result(patterns(study, "A", kind, features, models).path)
        assert ("patterns_of_frequencies" in found.arrays) == (kind == "power")
        if kind == "amplitude":
            continue
        assert found.arrays["frequencies"].tolist() == [10, 16, 22]
        data, arrays = load_features(open_result(features.path), "study"), open_result(models.path).arrays
        channels = found.facts["channels"]
        of_frequencies = found.arrays["patterns_of_frequencies"]
        assert of_frequencies.shape == (2, 3, 3, 3)
        for index in range(2):
            every = activation_patterns(
                data.data[index],
                arrays["folds"],
                arrays["weights"][index],
                arrays["kept"][index],
                standardized=False,
            )
            for channel, name in enumerate(channels):
                for place, hertz in enumerate((10, 16, 22)):
                    mine = [each.startswith(f"{name} {hertz} Hz ") for each in data.names]
                    assert sum(mine) == 4
                    np.testing.assert_allclose(
                        of_frequencies[index, :, channel, place], every[:, mine].mean(axis=1)
                    )
        np.testing.assert_allclose(of_frequencies.mean(axis=3), found.arrays["patterns"])
