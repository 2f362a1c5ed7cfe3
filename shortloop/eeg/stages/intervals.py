"""Bootstrap intervals of the scores of one participant."""

from __future__ import annotations

from typing import Any

from shortloop.eeg.score_names import Score
from shortloop.eeg.stages.feature_files import MAP_AXES
from shortloop.stages.stage import Finished, Job, Outputs, Stage, Values


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
        import numpy as np

        from shortloop.base.seeds import seed_for
        from shortloop.eeg.decoding.metrics.intervals import bootstrap_interval
        from shortloop.eeg.decoding.metrics.scores import evidence_of_maps

        models, applied = self.models, self.applied
        within = applied is not None and applied.facts["phase"] == models.facts["phase"]
        arrays_of = models.arrays, None if applied is None else applied.arrays
        maps = evidence_of_maps(self.score, *arrays_of, len(models.facts["classes"]), within=within)
        arrays, scale = {}, "" if self.score == "auc" else "%"
        said = f"end of the {self.level:.0%} bootstrap interval over trials, not smoothed"
        for shape, (evidence, labels, groups) in maps.items():
            *cells, trials, classes = evidence.shape
            seed = seed_for(self.seed, "interval", self.kind, shape, self.partition or "")
            given = evidence.reshape(-1, trials, classes), labels, groups
            how: dict[str, Any] = {"draws": self.draws, "level": self.level}
            how["rng"] = np.random.default_rng(seed)
            for name, end in zip(("low", "high"), bootstrap_interval(self.score, *given, **how), strict=True):
                text = f"{'lower' if name == 'low' else 'upper'} {said}"
                arrays[f"{shape}_{name}"] = Values(end.reshape(cells), MAP_AXES[shape], text, scale)
        return Finished({"kind": self.kind, "draws": self.draws, "interval": self.level}, arrays)
