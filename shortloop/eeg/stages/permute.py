"""Scores of one participant, and the same scores under shuffled labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.stages.stage import Finished, Index, Job, Out, Outputs, Stage, Values

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from shortloop.base.plain import Plain
    from shortloop.eeg.score import Score


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

    NULL = ""
    """Labels that are shuffled."""

    def open(self) -> None:
        """Load votes or ranks, and shuffle labels; a permutation is the same however many there are."""
        import numpy as np

        from shortloop.eeg.decoding.metrics.scores import held_out_evidence
        from shortloop.eeg.decoding.permute import permuted_labels

        models, applied = self.models, self.applied
        phase, who = models.facts["phase"], self.partition or ""
        self._n_classes = len(models.facts["classes"])
        self._folds = np.asarray(models.arrays["folds"])
        runs = np.asarray(models.arrays["runs"]) if "runs" in models.arrays else None
        self._truth = {"curve": np.asarray(models.arrays["labels"])}
        self._evidence = {"curve": held_out_evidence(self.score, models.arrays, self._n_classes)}
        # Trials are ranked among those that one classifier decides on.
        self._groups: dict[str, np.ndarray | None] = {"curve": self._folds}
        # Within folds: a fold's training labels fix how many held-out trials each class has.
        self._shuffled = {
            "curve": permuted_labels(
                self._truth["curve"],
                self.count,
                seed=self.seed,
                names=(who, phase),
                folds=self._folds,
                runs=runs,
            )
        }
        if applied is None:
            return
        decoded = applied.facts["phase"]
        self._evidence["plane"] = applied.arrays["ranks" if self.score == "auc" else "votes"]
        self._truth["plane"] = np.asarray(applied.arrays["labels"])
        self._groups["plane"] = self._folds if decoded == phase else None
        self._shuffled["plane"] = (
            self._shuffled["curve"]
            if decoded == phase
            else permuted_labels(self._truth["plane"], self.count, seed=self.seed, names=(who, decoded))
        )

    @property
    def _scale(self) -> str:
        return "" if self.score == "auc" else "%"

    def outputs(self) -> dict[str, Out]:
        from shortloop.eeg.stages.feature_files import MAP_AXES

        axes = {shape: f"permutations × {each}" for shape, each in MAP_AXES.items()}
        return {
            f"{shape}_null": Out(
                (self.count, *each.shape[:-2]),
                "f8",
                axes[shape],
                "the same under shuffled labels",
                self._scale,
            )
            for shape, each in self._evidence.items()
        }

    def finish(self, out: Outputs) -> Finished:
        from shortloop.eeg.decoding.metrics.scores import chance_level, scores_of
        from shortloop.eeg.stages.feature_files import CENTRES, MAP_AXES, map_coordinates

        facts, applied = self.models.facts, self.applied
        unit, said = facts["time_unit"], {"curve": f"cross-validated {self.score}", "plane": self.score}
        times = self.models.arrays["times"]
        arrays = {"train_times": Values(times, "training bins", CENTRES["train_times"], unit)}
        if applied is not None:
            times = applied.arrays["test_times"]
            arrays["test_times"] = Values(times, "test bins", CENTRES["test_times"], unit)
        chance: dict[str, Plain] = {}
        for shape, each in self._evidence.items():
            labels = self._truth[shape]
            scores = scores_of(self.score, each, labels[None], self._groups[shape])[0]
            arrays[f"{shape}_scores"] = Values(scores, MAP_AXES[shape], said[shape], self._scale)
            chance[shape] = chance_level(self.score, labels, self._n_classes)
        return Finished(
            {
                "classes": facts["classes"],
                "kind": facts["kind"],
                "time_unit": unit,
                "train_phase": facts["phase"],
                "test_phase": applied.facts["phase"] if applied else None,
                "left_out": facts["left_out"],
                "null": self.NULL,
                "score": self.score,
                "chance": chance,  # None: what the null says
            },
            arrays,
            coordinates=map_coordinates(arrays),
        )


class Permute(NullScores):
    """Permute: scores, and the same scores under shuffled labels."""

    NULL = "test-labels"

    def open(self) -> None:
        super().open()
        self._parts = [
            slice(first, min(first + PER_UNIT, self.count))
            for first in range(self.have, self.count, PER_UNIT)
        ]

    def units(self) -> int:
        return len(self._parts)

    def is_small(self) -> bool:
        cells = sum(each.size for each in self._evidence.values())
        return (self.count - self.have) * 2 * self._n_classes * cells < SMALL_WORK

    def index(self, unit: int) -> Index:
        return self._parts[unit]

    def compute(self, unit: int) -> Mapping[str, np.ndarray]:
        from shortloop.eeg.decoding.metrics.scores import scores_of

        part = self._parts[unit]
        return {
            f"{shape}_null": scores_of(self.score, each, self._shuffled[shape][part], self._groups[shape])
            for shape, each in self._evidence.items()
        }
