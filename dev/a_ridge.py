"""A model stage in development: ridge classification over time, cross-validated.

Copy this file and build_ridge.py, give both a name of their own, and edit. Only what is edited runs again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.exax.method import exax_method
from shortloop.stages.stage import Finished, Job, Out, Outputs, Stage, Values

if TYPE_CHECKING:
    import numpy as np


class Ridge(Stage):
    """In development: ridge classifier for each bin, cross-validated."""

    siblings = ("kind",)
    kind: str
    phase: str
    folds: int = 10
    seed: int = 0
    alpha: float = 100.0
    features: Job

    def open(self) -> None:
        import sklearn.linear_model  # noqa: F401  imported once, shared by forks

        from shortloop.eeg.decoding.selection.folds import stratified_folds
        from shortloop.eeg.stages.feature_files import load_features

        self.data = load_features(self.features, self.phase)
        self.held_out = stratified_folds(self.data.labels, self.folds, self.seed)

    def units(self) -> int:
        return len(self.data.times)

    def outputs(self) -> dict[str, Out]:
        said = "class predicted by the fold that held the trial out"
        return {"predicted": Out(self.data.data.shape[:2], "i1", "bins × trials", said)}

    def compute(self, unit: int) -> dict[str, np.ndarray]:
        import numpy as np
        from sklearn.linear_model import RidgeClassifier

        from shortloop.eeg.decoding.selection.scaling import moments

        x, labels = self.data.data[unit], self.data.labels
        predicted = np.empty(len(labels), np.int8)
        for fold in range(self.folds):
            test = self.held_out == fold
            mean, std = moments(x[~test])
            model = RidgeClassifier(alpha=self.alpha).fit((x[~test] - mean) / std, labels[~test])
            predicted[test] = model.predict((x[test] - mean) / std)
        return {"predicted": predicted}

    def finish(self, out: Outputs) -> Finished:
        from shortloop.eeg.decoding.metrics.scores import cross_validated_votes, recall_scores

        votes = cross_validated_votes(out["predicted"], len(self.data.classes))
        scores = recall_scores(votes, self.data.labels[None])[0]
        centre = "centre of each bin, 0 at the event"
        return Finished(
            arrays={
                "scores": Values(scores, "bins", "cross-validated mean recall", "%"),
                "times": Values(self.data.times, "bins", centre, self.data.time_unit),
            },
            coordinates={"bins": "times"},
        )


globals().update(exax_method(Ridge, __file__))
