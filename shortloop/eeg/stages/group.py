"""Statistics of scores: over all participants, and of each participant alone."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from shortloop.eeg.stages.feature_files import map_times
from shortloop.stages.stage import CollectingStage, Finished, Job, Outputs, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from shortloop.base.plain import Plain
    from shortloop.eeg.group.maps import MapStatistics
    from shortloop.eeg.group.settings import GroupSettings, NullName


class Group(Stage):
    """Group: statistics over participants, corrected for all bins."""

    siblings = ("kind",)
    kind: str  # of the features
    settings: GroupSettings
    seed: int
    permuted: list[Job]
    retrained: list[Job] = []  # noqa: RUF012  # in the same order; empty: none

    def finish(self, out: Outputs) -> Finished:
        from shortloop.eeg.stages.statistics_files import statistics_values

        first = self.permuted[0]
        arrays, along = map_times(first.arrays, first.facts["time_unit"])
        statistics = {}
        for shape in ("curve", "plane"):
            if f"{shape}_scores" in first.arrays:
                described, statistics[shape] = statistics_values(
                    statistics_of(shape, self.permuted, self.retrained, self.settings, self.seed), shape
                )
                arrays.update(described)
        facts = {name: value for name, value in first.facts.items() if name not in ("chance", "count")}
        facts |= {
            "participants": [result.partition for result in self.permuted],
            "left_out": sum(result.facts["left_out"] for result in self.permuted),
            "statistics": statistics,
        }
        return Finished(facts, arrays, coordinates={**along, "participants": "participants"})


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
        return len(self.permuted)

    def unit_key(self, unit: int) -> bytes:
        from shortloop.stages.content import content_of

        return content_of(self._jobs(unit))

    def unit_name(self, unit: int) -> str:
        return f"participant {self.permuted[unit].partition}"

    def _jobs(self, unit: int) -> tuple[list[Job], list[Job]]:
        return [self.permuted[unit]], self.retrained[unit : unit + 1]

    def compute(self, unit: int) -> Mapping[str, np.ndarray | str]:
        from shortloop.eeg.stages.statistics_files import packed

        row: dict[str, np.ndarray | str] = {}
        for shape in ("curve", "plane"):
            if f"{shape}_scores" in self.permuted[unit].arrays:
                row |= packed(statistics_of(shape, *self._jobs(unit), self.settings, self.seed), shape)
        return row

    def finish(self, out: Outputs) -> Finished:
        from shortloop.eeg.stages.statistics_files import stacked_values
        from shortloop.stages.rows import unpack

        arrays, statistics = stacked_values([unpack(row) for row in out.rows])
        facts: dict[str, Plain] = {
            "kind": self.kind,
            "participants": [job.partition or "" for job in self.permuted],
            "statistics": {shape: [*each] for shape, each in statistics.items()},
        }
        return Finished(facts, arrays, coordinates={"participants": "participants"})


def statistics_of(
    shape: str, permuted: list[Job], retrained: list[Job], settings: GroupSettings, seed: int
) -> MapStatistics:
    """Statistics of one kind of map, over these participants."""
    import numpy as np

    from shortloop.base.seeds import seed_for
    from shortloop.eeg.group.maps import own_level
    from shortloop.eeg.group.settings import SHARED_TRAINING, TEST_LABELS
    from shortloop.eeg.group.statistics import group_statistics

    facts = permuted[0].facts
    cross_validated = shape == "curve" or facts["test_phase"] == facts["train_phase"]
    again = bool(retrained) and cross_validated
    scores = np.stack([result.arrays[f"{shape}_scores"] for result in permuted])
    nulls = [result.arrays[f"{shape}_null"] for result in (retrained if again else permuted)]
    known = {result.facts["chance"][shape] for result in permuted}
    chance: float | np.ndarray | None = known.pop()
    if known or chance is None:
        chance = np.stack([own_level(*maps) for maps in zip(scores, nulls, strict=True)])
    how: dict[str, Any] = {"score": facts["score"], "settings": settings}
    how["seed"] = seed_for(seed, "group", facts["kind"], shape)
    how["draws"] = len(permuted[0].arrays[f"{shape}_null"]) if again else None
    found = group_statistics(scores, nulls, chance=chance, **how)
    null: NullName = facts["null"]
    if len(permuted) > 1 and settings.null == "sign-flips":
        null = "sign-flips"
    elif again:
        null = "retrained" if len(permuted) > 1 else "training-labels"
    too_small = cross_validated and null == "test-labels"
    if len(permuted) > 1:
        return dataclasses.replace(found, null=null, error_rate=TEST_LABELS if too_small else "")
    note = SHARED_TRAINING if too_small else ""
    return dataclasses.replace(found, null=null, note=f"{found.note} {note}".strip())
