"""Bootstrap intervals of the scores of one participant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.stages.stage import Finished, Job, Outputs, Stage, Values

if TYPE_CHECKING:
    import numpy as np

    from shortloop.eeg.score import Score


class Intervals(Stage):
    """Intervals: bootstrap intervals over trials of one participant's scores."""

    siblings = ("kind",)
    kind: str  # of the features
    seed: int
    score: Score
    draws: int
    level: float
    models: Job
    applied: Job | None

    def finish(self, out: Outputs) -> Finished:
        from shortloop.eeg.stages.feature_files import MAP_AXES

        arrays, scale = {}, "" if self.score == "auc" else "%"
        said = f"end of the {self.level:.0%} bootstrap interval over trials, not smoothed"
        for shape in ("curve",) if self.applied is None else ("curve", "plane"):
            low, high = self._interval(shape)
            arrays[f"{shape}_low"] = Values(low, MAP_AXES[shape], f"lower {said}", scale)
            arrays[f"{shape}_high"] = Values(high, MAP_AXES[shape], f"upper {said}", scale)
        return Finished({"kind": self.kind, "draws": self.draws, "interval": self.level}, arrays)

    def _interval(self, shape: str) -> tuple[np.ndarray, np.ndarray]:
        import numpy as np

        from shortloop.base.seeds import seed_for
        from shortloop.eeg.decoding.metrics.intervals import bootstrap_interval

        evidence, labels, groups = self._evidence(shape)
        seed = seed_for(self.seed, "interval", self.kind, shape, self.partition or "")
        low, high = bootstrap_interval(
            self.score,
            evidence.reshape(-1, *evidence.shape[-2:]),
            labels,
            groups,
            draws=self.draws,
            level=self.level,
            rng=np.random.default_rng(seed),
        )
        return low.reshape(evidence.shape[:-2]), high.reshape(evidence.shape[:-2])

    def _evidence(self, shape: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Votes or ranks of all cells, the true classes, and groups of trials by classifier."""
        import numpy as np

        from shortloop.eeg.decoding.metrics.scores import held_out_evidence

        models, applied = self.models, self.applied
        folds = np.asarray(models.arrays["folds"])
        if shape == "plane":
            assert applied is not None
            known = applied.arrays["ranks" if self.score == "auc" else "votes"]
            within = applied.facts["phase"] == models.facts["phase"]
            return np.asarray(known), np.asarray(applied.arrays["labels"]), folds if within else None
        known = held_out_evidence(self.score, models.arrays, len(models.facts["classes"]))
        return known, np.asarray(models.arrays["labels"]), folds
