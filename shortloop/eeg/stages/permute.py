"""Scores of one participant, and the same predictions scored under shuffled labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.eeg.stages.null_scores import NullScores
from shortloop.stages.stage import Index

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

__all__ = ["Permute"]

PER_UNIT = 50  # permutations, tallied at once
LITTLE = 1e9  # additions and products that take no longer than forking slices


class Permute(NullScores):
    """Permute: scores, and the same scores under shuffled labels."""

    NULL = "test-labels"

    def open(self) -> None:
        """Share the permutations out."""
        super().open()
        self._parts = [
            slice(first, min(first + PER_UNIT, self.count))
            for first in range(self.have, self.count, PER_UNIT)
        ]

    def units(self) -> int:
        """Fifty permutations each."""
        return len(self._parts)

    def is_small(self) -> bool:
        """Whether counting takes no longer than forking."""
        cells = sum(each.size for each in self._evidence.values())
        return (self.count - self.have) * 2 * self._n_classes * cells < LITTLE

    def index(self, unit: int) -> Index:
        """Their rows of the null."""
        return self._parts[unit]

    def compute(self, unit: int) -> Mapping[str, np.ndarray]:
        """The same predictions under some permutations."""
        from shortloop.eeg.decoding.metrics.scores import scores_of

        part = self._parts[unit]
        return {
            f"{shape}_null": scores_of(self.score, each, self._shuffled[shape][part], self._groups[shape])
            for shape, each in self._evidence.items()
        }
