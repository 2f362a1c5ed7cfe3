"""Features of one participant that were computed elsewhere, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.eeg.stages.feature_files import feature_values, finish_features
from shortloop.stages.stage import File, Finished, Outputs, Stage, Values

if TYPE_CHECKING:
    from shortloop.eeg.formats.recording_format import InputSettings


class ImportFeatures(Stage):
    """Import: ready-made features of one participant, checked."""

    siblings = ("kind",)
    settings: InputSettings
    kind: str  # amplitude or power
    files: dict[str, list[File]]  # of each phase; that of its labels, if it is another, is the second
    classes: list[str]

    def finish(self, out: Outputs) -> Finished:
        from shortloop.eeg.checks.duplicate_trials import feature_digests, refuse_shared
        from shortloop.eeg.checks.summary import summarize
        from shortloop.eeg.formats.read import read_features_of_phases
        from shortloop.stages.records import Outside

        who = self.partition or ""
        arrays: dict[str, Values] = {}
        recordings, sources = [], {}
        names = {}
        read = read_features_of_phases(
            self.settings,
            {phase: [each.path for each in files] for phase, files in self.files.items()},
            kind=self.kind,
            participant=who,
            classes=self.classes,
            allocate=lambda phase, shape: out.create(f"data_{phase}", shape, dtype="f8"),
        )
        for phase, features in read.items():
            file = self.files[phase][0]
            names[phase] = name = file.path.name
            span = features.span
            outside = None if span is None else Outside(name, file.content, span)
            arrays |= feature_values(phase, features.unit, outside)
            recordings.append(summarize(features, participant=who, phase=phase, file=name).to_dict())
            sources[phase] = [{"name": each.path.name, "content": each.content} for each in self.files[phase]]
        digests = dict(zip(read, feature_digests(*(each.data for each in read.values())), strict=True))
        refuse_shared(digests, participant=who, files=names, field=f"input.{self.kind}")
        return finish_features(read, arrays, {"recordings": recordings, "files": sources})
