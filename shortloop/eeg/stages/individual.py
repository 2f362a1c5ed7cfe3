"""Scores of each participant, tested alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.stages.stage import CollectingStage, Finished, Job, Outputs

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from shortloop.base.plain import Plain
    from shortloop.eeg.group.settings import GroupSettings

__all__ = ["Individual"]


class Individual(CollectingStage):
    """Individual: each participant's scores against its own permutations; a participant is a unit."""

    unit_fields = ("kind", "settings", "seed")
    siblings = ("kind",)
    kind: str  # of the features
    settings: GroupSettings
    seed: int
    permuted: list[Job]
    retrained: list[Job] = []  # noqa: RUF012  in the same order; empty: none

    def open(self) -> None:
        """Import once what the forks that test participants share."""
        import shortloop.eeg.group.statistics  # noqa: F401

    def units(self) -> int:
        """The participants."""
        return len(self.permuted)

    def unit_key(self, unit: int) -> bytes:
        """The jobs of the participant."""
        from shortloop.stages.content import content_of

        return content_of(self._jobs(unit))

    def unit_name(self, unit: int) -> str:
        """The participant."""
        return f"participant {self.permuted[unit].partition}"

    def _jobs(self, unit: int) -> tuple[list[Job], list[Job]]:
        return [self.permuted[unit]], self.retrained[unit : unit + 1]

    def compute(self, unit: int) -> Mapping[str, np.ndarray | str]:
        """Statistics of each kind of map."""
        from shortloop.eeg.stages.group import statistics_of
        from shortloop.eeg.stages.statistics_files import packed

        row: dict[str, np.ndarray | str] = {}
        for shape in ("curve", "plane"):
            if f"{shape}_scores" in self.permuted[unit].arrays:
                row |= packed(statistics_of(shape, *self._jobs(unit), self.settings, self.seed), shape)
        return row

    def finish(self, out: Outputs) -> Finished:
        """The statistics of all participants, one after the other."""
        from shortloop.eeg.stages.statistics_files import stacked_values
        from shortloop.stages.rows import unpack

        arrays, statistics = stacked_values([unpack(row) for row in out.rows])
        facts: dict[str, Plain] = {
            "kind": self.kind,
            "participants": [job.partition or "" for job in self.permuted],
            "statistics": {shape: [*each] for shape, each in statistics.items()},
        }
        return Finished(facts, arrays, coordinates={"participants": "participants"})
