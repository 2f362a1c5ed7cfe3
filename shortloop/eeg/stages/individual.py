"""Scores of one participant, tested alone, with intervals over trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shortloop.eeg.stages.group import Group
from shortloop.worker.stage import Finished, Job, Outputs, Values

if TYPE_CHECKING:
    import numpy as np

    from shortloop.plain import Plain

__all__ = ["Individual"]


class Individual(Group):
    """Individual: one participant's scores against its own permutations, with intervals over trials."""

    draws: int  # of trials, for the intervals
    level: float  # of the intervals
    models: Job
    applied: Job | None

    def finish(self, out: Outputs) -> Finished:
        """What the group stage says of one, and how sure the scores are."""
        from shortloop.eeg.stages.map_axes import MAP_AXES

        tested = super().finish(out)
        low, high = self._interval("curve", slice(None))
        scale = "" if self._score == "auc" else "%"
        said = f"{{}} end of the {self.level:.0%} bootstrap interval over trials, not smoothed"
        arrays = {
            **tested.arrays,
            "curve_low": Values(low, MAP_AXES["curve"], said.format("lower"), scale),
            "curve_high": Values(high, MAP_AXES["curve"], said.format("upper"), scale),
        }
        facts: dict[str, Plain] = {**tested.facts, "draws": self.draws, "interval": self.level}
        if self.applied is not None:
            facts["plane_peak"] = self._peak()
        return Finished(facts, arrays, coordinates=tested.coordinates)

    @property
    def _score(self) -> Any:
        return self.permuted[0].facts["score"]

    def _peak(self) -> dict[str, Plain]:
        """The best cell of the map, with its interval; intervals of all cells would be much to compute."""
        import numpy as np

        scores = np.asarray(self.permuted[0].arrays["plane_scores"])
        at = np.unravel_index(int(np.argmax(scores)), scores.shape)
        (low,), (high,) = self._interval("plane", at)
        return {
            "test_bin": int(at[0]),
            "train_bin": int(at[1]),
            "low": float(low),
            "high": float(high),
        }

    def _interval(self, shape: str, cells: Any) -> tuple[np.ndarray, np.ndarray]:
        import numpy as np

        from shortloop.eeg.decoding.metrics.intervals import bootstrap_interval
        from shortloop.seeds import seed_for

        evidence, labels, groups = self._evidence(shape, cells)
        seed = seed_for(self.seed, "interval", self.kind, shape, self.partition or "")
        return bootstrap_interval(
            self._score,
            evidence.reshape(-1, *evidence.shape[-2:]),
            labels,
            groups,
            draws=self.draws,
            level=self.level,
            rng=np.random.default_rng(seed),
        )

    def _evidence(self, shape: str, cells: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """What is known of the predictions in some bins, the true classes, and who decided on which trial."""
        import numpy as np

        from shortloop.eeg.decoding.metrics.auc import decision_ranks
        from shortloop.eeg.decoding.metrics.scores import cross_validated_votes

        models, applied = self.models, self.applied
        folds = np.asarray(models.arrays["folds"])
        if shape == "plane":
            assert applied is not None
            known = applied.arrays["ranks" if self._score == "auc" else "votes"][cells]
            within = applied.facts["phase"] == models.facts["phase"]
            return np.asarray(known), np.asarray(applied.arrays["labels"]), folds if within else None
        if self._score == "auc":
            known = decision_ranks(models.arrays["decisions"][cells], folds)
        else:
            known = cross_validated_votes(models.arrays["predicted"][cells], len(models.facts["classes"]))
        return known, np.asarray(models.arrays["labels"]), folds
