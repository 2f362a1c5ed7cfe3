"""Scores of all participants to statistics over participants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.stages.stage import Finished, Job, Outputs, Stage, Values

if TYPE_CHECKING:
    from shortloop.eeg.group.null import NullName
    from shortloop.eeg.group.result import MapStatistics
    from shortloop.eeg.group.settings import GroupSettings

__all__ = ["Group", "statistics_of"]


class Group(Stage):
    """Group: statistics over participants, corrected for all bins."""

    siblings = ("kind",)
    kind: str  # of the features
    settings: GroupSettings
    seed: int
    permuted: list[Job]
    retrained: list[Job] = []  # noqa: RUF012  # in the same order; empty: none

    def finish(self, out: Outputs) -> Finished:
        """Statistics of each kind of map."""
        from shortloop.eeg.stages.map_axes import CENTRES, map_coordinates
        from shortloop.eeg.stages.statistics_files import statistics_values

        first = self.permuted[0]
        arrays: dict[str, Values] = {}
        statistics = {}
        for shape in ("curve", "plane"):
            if f"{shape}_scores" in first.arrays:
                described, statistics[shape] = statistics_values(
                    statistics_of(shape, self.permuted, self.retrained, self.settings, self.seed), shape
                )
                arrays.update(described)
        along = map_coordinates(first.arrays)
        for axis, times in along.items():
            arrays[times] = Values(first.arrays[times], axis, CENTRES[times], first.facts["time_unit"])
        facts = {name: value for name, value in first.facts.items() if name not in ("chance", "count")}
        facts |= {
            "participants": [result.partition for result in self.permuted],
            "left_out": sum(result.facts["left_out"] for result in self.permuted),
            "statistics": statistics,
        }
        return Finished(facts, arrays, coordinates={**along, "participants": "participants"})


def statistics_of(
    shape: str, permuted: list[Job], retrained: list[Job], settings: GroupSettings, seed: int
) -> MapStatistics:
    """Statistics of one kind of map, over these participants."""
    import dataclasses

    import numpy as np

    from shortloop.base.seeds import seed_for
    from shortloop.eeg.group.draws import own_level
    from shortloop.eeg.group.limits import SHARED_TRAINING
    from shortloop.eeg.group.null import error_rate
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
    found = group_statistics(
        scores,
        nulls,
        chance=chance,
        score=facts["score"],
        settings=settings,
        seed=seed_for(seed, "group", facts["kind"], shape),
        draws=len(permuted[0].arrays[f"{shape}_null"]) if again else None,
    )
    null = _null(permuted, settings, again)
    if len(permuted) > 1:
        return dataclasses.replace(found, null=null, error_rate=error_rate(null, cross_validated))
    note = SHARED_TRAINING if cross_validated and null == "test-labels" else ""
    return dataclasses.replace(found, null=null, note=f"{found.note} {note}".strip())


def _null(permuted: list[Job], settings: GroupSettings, again: bool) -> NullName:
    if len(permuted) > 1 and settings.null == "sign-flips":
        return "sign-flips"
    labels: NullName = permuted[0].facts["null"]
    if not again:
        return labels
    return "retrained" if len(permuted) > 1 else "training-labels"
