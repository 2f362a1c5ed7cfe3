"""Features of all trials to features of as many trials of each class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.stages.stage import Finished, Job, Outputs, Stage, Values

if TYPE_CHECKING:
    from shortloop.base.plain import Plain

__all__ = ["Subsample"]


class Subsample(Stage):
    """Subsample: each class cut to the size of the smallest, by trials drawn with the study's seed."""

    siblings = ("kind",)
    kind: str  # of the features
    phases: list[str]
    seed: int
    features: Job

    def finish(self, out: Outputs) -> Finished:
        """Draw trials of each phase, the same for all kinds of features."""
        from shortloop.eeg.decoding.selection.subsample import subsampled
        from shortloop.eeg.stages.feature_files import (
            feature_axes,
            feature_coordinates,
            feature_facts,
            feature_values,
            load_features,
        )

        arrays: dict[str, Values] = {}
        along: dict[str, str] = {}
        facts: dict[str, Plain] = {}
        for phase in self.phases:
            found = load_features(self.features, phase)
            kept = subsampled(found.labels, seed=self.seed, names=(self.partition or "", phase))
            bins, _, names = found.data.shape
            data = out.create(f"data_{phase}", (bins, len(kept), names), found.data.dtype)
            for number in range(bins):  # one at a time: all may be more than there is memory
                data[number] = found.data[number, kept]
            arrays[f"data_{phase}"] = Values(
                None, feature_axes(phase), f"features of the {phase} phase", found.unit
            )
            runs = None if found.runs is None else found.runs[kept]
            arrays.update(feature_values(phase, found.labels[kept], found, runs))
            arrays[f"trials_{phase}"] = Values(
                kept,
                arrays[f"labels_{phase}"].axes,
                "which trial of the recording each is, counted from 0",
            )
            along.update(feature_coordinates(phase))
            facts = feature_facts(found)
        return Finished(facts, arrays, coordinates=along)
