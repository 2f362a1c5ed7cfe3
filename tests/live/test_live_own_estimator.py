"""An estimator of one's own: all that it imports is code of the stages that make it."""

from __future__ import annotations

from typing import ClassVar

import pytest
from live_one import unseen_edit
from live_project import LiveProject, fixture_of, write_recording

pytestmark = pytest.mark.slow
ESTIMATOR = """\
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from nearest_helper import STEP


class Nearest(ClassifierMixin, BaseEstimator):
    def fit(self, x, y):
        self.classes_ = np.unique(y)
        self.centres_ = np.array([x[y == k].mean(axis=0) for k in self.classes_])
        self.fitted_on_ = len(x)
        return self

    def predict(self, x):
        # All held-out trials of training are a small part; the whole of another phase is more than it saw.
        distance = ((x[:, None] - self.centres_) ** 2).sum(axis=2)
        found = self.classes_[distance.argmin(axis=1)]
        return found if len(x) < self.fitted_on_ else (found + STEP) % len(self.classes_)
"""


class OwnEstimator(LiveProject):
    """Trained on one phase, applied to another, by an estimator that the project has beside it."""

    sources: ClassVar = {"nearest.py": ESTIMATOR, "nearest_helper.py": "STEP = 0\n"}

    def prepare(self) -> None:
        self.edit_study('phases.train = "viewing"', 'phases.train = "viewing"\nphases.decode = "again"')
        self.edit_study(
            '"{participant}.npz"]', '"{participant}.npz"]\nfiles.again = ["{participant}_again.npz"]'
        )
        for seed, name in enumerate("AB", start=10):
            write_recording(self.folder / "data" / f"{name}_again.npz", seed, trials=17)
        text = (self.folder / "study.toml").read_text(encoding="utf-8")
        start, end = text.index("[estimator]"), text.index("[permutations]")
        own = '[estimator]\nkind = "sklearn"\npath = "nearest.Nearest"\n\n'
        self.write_study(text[:start] + own + text[end:].replace("count = 39", "count = 9"))


project = fixture_of(OwnEstimator)


def test_a_helper_of_an_estimator_of_ones_own_runs_again_what_makes_it(project: OwnEstimator) -> None:
    assert ("train", "A") in project.run()
    before = {stage: project.result(stage, "A") for stage in ("train", "apply", "permute")}
    helper = project.folder / "nearest_helper.py"
    unseen_edit(helper, "STEP = 1\n")
    done = project.ax("run", "build_pipeline").ok()
    after = {stage: project.result(stage, "A") for stage in before}
    assert all(after[stage] != before[stage] for stage in before)
    # What it is trained to say of held-out trials is the same, and of the other phase it is not.
    assert {
        stage: (after[stage] / name).read_bytes() == (before[stage] / name).read_bytes()
        for stage, name in (("train", "predicted.npy"), ("apply", "votes.npy"))
    } == {"train": True, "apply": False}
    assert "nearest_helper.py" in done.stdout
    unseen_edit(helper, "STEP = 0\n")
    assert project.run() == {}
