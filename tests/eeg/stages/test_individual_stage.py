"""One participant alone: as a study of one, with intervals around the scores that the job has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_process import InProcess

from build_scripts.build_pipeline import apply, individual, intervals, make_features, permute, train
from shortloop.eeg.group.settings import GroupSettings
from shortloop.eeg.group.statistics import group_statistics
from shortloop.eeg.pipeline import StudyRun
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


@pytest.mark.parametrize("decode", ["study", "test"])
@pytest.mark.parametrize("score", ["balanced-accuracy", "accuracy", "auc"])
def test_it_is_tested_and_has_intervals(tmp_path: Path, score: str, decode: str) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY.format(score=score, decode=decode), encoding="utf-8")
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    study = StudyRun(InProcess(jobs), read_study(file), file)
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
        chance = known.facts["chance"][shape]
        expected = group_statistics(
            observed[None], [known.arrays[f"{shape}_null"]], chance=chance, settings=GroupSettings()
        )
        np.testing.assert_allclose(stats.p_max, expected.p_max)
        assert stats.level == "participant"
        low, high = ends.arrays[f"{shape}_low"], ends.arrays[f"{shape}_high"]
        assert low.shape == observed.shape
        assert (low < observed).all()
        assert (observed < high).all()
        width = (high - low) * (1 if score == "auc" else 0.01)
        assert width.min() > 0.02
        assert width.max() < 0.6
