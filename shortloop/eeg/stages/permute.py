"""Scores of one participant, and the same scores under shuffled labels."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from shortloop.base.plain import Plain
from shortloop.eeg.score_names import Score
from shortloop.eeg.stages.feature_files import MAP_AXES, map_times
from shortloop.stages.stage import Arrays, Finished, Index, Job, Out, Outputs, Stage, Values

PER_UNIT = 50  # permutations, tallied at once
SMALL_WORK = 1e9  # additions and products, which take no longer than forking slices


class NullScores(Stage):
    """Scores, and the same under shuffled labels."""

    siblings = ("kind",)
    grows = "count"
    kind: str  # of the features
    seed: int
    count: int
    score: Score
    models: Job
    applied: Job | None

    NULL = ""  # labels that are shuffled

    def open(self) -> None:
        """Load votes or ranks, and shuffle labels; a permutation is the same however many there are."""
        import numpy as np

        from shortloop.eeg.decoding.metrics.scores import evidence_of_maps
        from shortloop.eeg.decoding.permute import permuted_labels

        self._scale = "" if self.score == "auc" else "%"
        models, applied = self.models, self.applied
        phase, who = models.facts["phase"], self.partition or ""
        decoded = None if applied is None else applied.facts["phase"]
        self._n_classes = len(models.facts["classes"])
        self._folds = np.asarray(models.arrays["folds"])
        runs = np.asarray(models.arrays["runs"]) if "runs" in models.arrays else None
        given = models.arrays, None if applied is None else applied.arrays, self._n_classes
        self._maps = evidence_of_maps(self.score, *given, within=decoded == phase)
        # Within folds: a fold's training labels fix how many held-out trials each class has.
        asked: dict[str, Any] = {"names": (who, phase), "folds": self._folds, "runs": runs}
        shuffled = permuted_labels(self._maps["curve"].labels, self.count, seed=self.seed, **asked)
        self._shuffled = {"curve": shuffled}
        if decoded is not None:
            if decoded != phase:
                truth = self._maps["plane"].labels
                shuffled = permuted_labels(truth, self.count, seed=self.seed, names=(who, decoded))
            self._shuffled["plane"] = shuffled

    def outputs(self) -> dict[str, Out]:
        outs = {}
        for shape, (each, _, _) in self._maps.items():
            axes, said = f"permutations × {MAP_AXES[shape]}", "the same under shuffled labels"
            outs[f"{shape}_null"] = Out((self.count, *each.shape[:-2]), "f8", axes, said, self._scale)
        return outs

    def finish(self, out: Outputs) -> Finished:
        from shortloop.eeg.decoding.metrics.scores import chance_level, scores_of

        facts, applied = self.models.facts, self.applied
        said = {"curve": f"cross-validated {self.score}", "plane": self.score}
        times = {"train_times": self.models.arrays["times"]}
        if applied is not None:
            times["test_times"] = applied.arrays["test_times"]
        arrays, along = map_times(times, facts["time_unit"])
        chance: dict[str, Plain] = {}
        for shape, (each, labels, groups) in self._maps.items():
            scores = scores_of(self.score, each, labels[None], groups)[0]
            arrays[f"{shape}_scores"] = Values(scores, MAP_AXES[shape], said[shape], self._scale)
            chance[shape] = chance_level(self.score, labels, self._n_classes)
        known = {
            "classes": facts["classes"],
            "kind": facts["kind"],
            "time_unit": facts["time_unit"],
            "train_phase": facts["phase"],
            "test_phase": applied.facts["phase"] if applied else None,
            "left_out": facts["left_out"],
            "null": self.NULL,
            "score": self.score,
            "chance": chance,  # None: what the null says
        }
        return Finished(known, arrays, coordinates=along)


class Permute(NullScores):
    """Permute: scores, and the same scores under shuffled labels."""

    NULL = "test-labels"

    def open(self) -> None:
        super().open()
        edges = [*range(self.have, self.count, PER_UNIT), self.count]
        self._parts = [slice(*pair) for pair in pairwise(edges)]

    def units(self) -> int:
        return len(self._parts)

    def is_small(self) -> bool:
        cells = sum(each.evidence.size for each in self._maps.values())
        return (self.count - self.have) * 2 * self._n_classes * cells < SMALL_WORK

    def index(self, unit: int) -> Index:
        return self._parts[unit]

    def compute(self, unit: int) -> Arrays:
        from shortloop.eeg.decoding.metrics.scores import scores_of

        part = self._parts[unit]
        return {
            f"{shape}_null": scores_of(self.score, each, self._shuffled[shape][part], groups)
            for shape, (each, _, groups) in self._maps.items()
        }
