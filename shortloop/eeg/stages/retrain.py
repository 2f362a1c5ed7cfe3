"""Scores of one participant, and those of classifiers that are trained again on shuffled labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shortloop.eeg.stages.feature_files import load_features
from shortloop.eeg.stages.permute import NullScores
from shortloop.stages.stage import Arrays, Index, Job

if TYPE_CHECKING:
    from shortloop.eeg.decoding.batched.scores import Labellings


class Retrain(NullScores):
    """Retrain: scores, and the scores of classifiers trained on shuffled labels."""

    NULL = "training-labels"
    features: Job

    def open(self) -> None:
        """Map the features, and share the permutations out: bin by bin where one training serves many."""
        from shortloop.eeg.decoding.batched.scores import can_be_batched, labelling_blocks, warm_up_batched
        from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings
        from shortloop.eeg.decoding.selection.scaling import warm_up_scaling
        from shortloop.eeg.decoding.settings import DecodingSettings
        from shortloop.eeg.decoding.train import warm_up

        super().open()
        phase = self.models.facts["phase"]
        decoded = self.applied.facts["phase"] if self.applied else None
        self._train = load_features(self.features, phase).data
        self._test = load_features(self.features, decoded).data if decoded else None
        decoding = DecodingSettings.model_validate(self.models.facts["decoding"])
        estimator = EstimatorSettings.model_validate(self.models.facts["estimator"])
        self._how: dict[str, Any] = {"decoding": decoding, "estimator": estimator, "score": self.score}
        self._how["within"] = decoded == phase
        self._at_once = can_be_batched(estimator, decoding)
        left = self.count - self.have
        parts = [slice(number, number + 1) for number in range(left)]
        warm_up_scaling(self._train)
        if self._at_once:
            warm_up_batched(estimator)
            parts = labelling_blocks(left, len(self._folds), self._n_classes) if left else []
        else:
            warm_up(estimator)
        self._parts = [slice(self.have + each.start, self.have + each.stop) for each in parts]
        self._many: tuple[int, Labellings] | None = None

    def units(self) -> int:
        """Permutations, or bins of each block of permutations."""
        return len(self._parts) * (len(self._train) if self._at_once else 1)

    def index(self, unit: int) -> Mapping[str, Index]:
        found: dict[str, Index] = {"curve_null": unit + self.have, "plane_null": unit + self.have}
        if self._at_once:
            block, train_bin = divmod(unit, len(self._train))
            part = self._parts[block]
            found = {"curve_null": (part, train_bin), "plane_null": (part, slice(None), train_bin)}
        if self._test is None:
            del found["plane_null"]
        return found

    def compute(self, unit: int) -> Arrays:
        """Everything trained again on one labelling, or one bin trained on many at once."""
        import numpy as np

        from shortloop.eeg.decoding.batched.scores import batched_scores
        from shortloop.eeg.decoding.generalize import retrained_scores

        test = self._test, self._maps["plane"].labels if "plane" in self._maps else None
        if self._at_once:
            block, train_bin = divmod(unit, len(self._train))
            x = np.ascontiguousarray(self._train[train_bin])
            curve, plane = batched_scores(x, self._labellings(block), *test, **self._how)
        else:
            given = self._train, self._shuffled["curve"][unit + self.have], self._folds
            curve, plane = retrained_scores(*given, *test, n_classes=self._n_classes, **self._how)
        return {"curve_null": curve} if plane is None else {"curve_null": curve, "plane_null": plane}

    def _labellings(self, block: int) -> Labellings:
        """Labellings of a block, which are kept, because the next unit is often of the same."""
        from shortloop.eeg.decoding.batched.scores import Labellings

        if self._many is None or self._many[0] != block:
            labels = self._shuffled["curve"][self._parts[block]]
            self._many = block, Labellings(labels, self._folds, self._n_classes, self._how["decoding"].folds)
        return self._many[1]
