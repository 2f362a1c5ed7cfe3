"""Features of all trials to features of as many trials of each class."""

from __future__ import annotations

from dataclasses import replace

from shortloop.eeg.stages.feature_files import feature_values, finish_features, load_features
from shortloop.stages.stage import Finished, Job, Outputs, Stage, Values


class Subsample(Stage):
    """Subsample: each class cut to the size of the smallest, by trials drawn with the study's seed."""

    siblings = ("kind",)
    kind: str  # of the features
    phases: list[str]
    seed: int
    features: Job

    def finish(self, out: Outputs) -> Finished:
        """Draw trials of each phase, the same for all kinds of features."""
        from shortloop.eeg.decoding.permute import subsampled

        arrays: dict[str, Values] = {}
        features = {}
        for phase in self.phases:
            found = load_features(self.features, phase)
            kept = subsampled(found.labels, seed=self.seed, names=(self.partition or "", phase))
            bins, _, names = found.data.shape
            data = out.create(f"data_{phase}", (bins, len(kept), names), found.data.dtype)
            for number in range(bins):  # one at a time: all may be more than there is memory
                data[number] = found.data[number, kept]
            arrays |= feature_values(phase, found.unit)
            said = "which trial of the recording each is, counted from 0"
            arrays[f"trials_{phase}"] = Values(kept, f"trials of {phase}", said)
            runs = None if found.runs is None else found.runs[kept]
            features[phase] = replace(found, labels=found.labels[kept], runs=runs)
        return finish_features(features, arrays)
