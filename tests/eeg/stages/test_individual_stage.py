"""One participant alone: as a study of one, with intervals around the scores that the job has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_process import InProcess

from build_scripts.build_pipeline import apply, individual, intervals, make_features, patterns, permute, train
from shortloop.eeg.decoding.patterns import activation_patterns
from shortloop.eeg.group.settings import GroupSettings
from shortloop.eeg.group.statistics import group_statistics
from shortloop.eeg.pipeline import StudyRun
from shortloop.eeg.stages.feature_files import load_features
from shortloop.eeg.stages.statistics_files import load_statistics
from shortloop.eeg.study.load import read_study
from shortloop.stages.results import open_result

STUDY = """\
name = "tiny"
participants = ["A"]
classes = ["x", "y", "z"]
phases = {{train = "study", decode = "{decode}"}}
input = {{format = "simulated", channels = 4, trials = 12, sfreq = 128, tmin = -0.3, tmax = 0.6}}
decoding = {{folds = 3, select_alpha = 1.0, score = "{score}"}}
estimator = {{kind = "lda"}}
permutations = {{count = 60}}
features.amplitude = {{bins = 3, bin_samples = 9}}
"""


def study_in(folder: Path, text: str) -> StudyRun:
    file = folder / "study.toml"
    file.write_text(text, encoding="utf-8")
    (folder / "jobs").mkdir()
    return StudyRun(InProcess(folder / "jobs"), read_study(file), file)


@pytest.mark.parametrize("decode", ["study", "test"])
@pytest.mark.parametrize("score", ["balanced-accuracy", "accuracy", "auc"])
def test_it_is_tested_and_has_intervals(tmp_path: Path, score: str, decode: str) -> None:
    study = study_in(tmp_path, STUDY.format(score=score, decode=decode))
    features = make_features(study)["amplitude"]["A"]
    models = train(study, "A", "amplitude", features)
    applied = apply(study, "A", "amplitude", features, models)
    permuted = permute(study, "A", "amplitude", features, models, applied)
    found = open_result(individual(study, "amplitude", [permuted], []).path)
    ends = open_result(intervals(study, "A", "amplitude", models, applied).path)
    known = open_result(permuted.path)
    scores: Any = {shape: np.asarray(known.arrays[f"{shape}_scores"]) for shape in ("curve", "plane")}
    for shape, observed in scores.items():
        stats = load_statistics(found, shape, 0)
        assert stats is not None
        how: dict[str, Any] = {"chance": known.facts["chance"][shape], "settings": GroupSettings()}
        expected = group_statistics(observed[None], [known.arrays[f"{shape}_null"]], **how)
        np.testing.assert_allclose(stats.p_max, expected.p_max)
        assert stats.level == "participant"
        low, high = ends.arrays[f"{shape}_low"], ends.arrays[f"{shape}_high"]
        assert low.shape == observed.shape
        assert (low < observed).all()
        assert (observed < high).all()
        width = (high - low) * (1 if score == "auc" else 0.01)
        assert width.min() > 0.02
        assert width.max() < 0.6


STUDY_PATTERNS = """\
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
    study = study_in(tmp_path, STUDY_PATTERNS)
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
            given = (arrays["folds"], arrays["weights"][index], arrays["kept"][index])
            every = activation_patterns(data.data[index], *given, standardized=False)
            for channel, name in enumerate(channels):
                for place, hertz in enumerate((10, 16, 22)):
                    mine = [each.startswith(f"{name} {hertz} Hz ") for each in data.names]
                    assert sum(mine) == 4
                    own = of_frequencies[index, :, channel, place]
                    np.testing.assert_allclose(own, every[:, mine].mean(axis=1))
        np.testing.assert_allclose(of_frequencies.mean(axis=3), found.arrays["patterns"])
