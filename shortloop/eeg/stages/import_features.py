"""Features of one participant that were computed elsewhere, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.stages.stage import File, Finished, Outputs, Stage, Values

if TYPE_CHECKING:
    from shortloop.eeg.formats.base import InputSettings


class ImportFeatures(Stage):
    """Import: ready-made features of one participant, checked."""

    siblings = ("kind",)
    settings: InputSettings
    kind: str  # amplitude or power
    files: dict[str, list[File]]  # of each phase; that of its labels, if it is another, is the second
    classes: list[str]

    def finish(self, out: Outputs) -> Finished:
        """Read and check; two files are read at the same time."""
        from contextlib import ExitStack
        from functools import partial

        from shortloop.eeg.checks.same_trials import feature_digests, refuse_shared
        from shortloop.eeg.checks.summary import summarize
        from shortloop.eeg.formats.read import start_reading_features
        from shortloop.eeg.stages.feature_files import feature_values, finish_features
        from shortloop.stages.records import Outside

        who = self.partition or ""
        arrays: dict[str, Values] = {}
        recordings, sources = [], {}
        read, names = {}, {}
        with ExitStack() as until_read:
            begun = {}
            for phase, files in self.files.items():
                reading = start_reading_features(
                    self.settings,
                    *(each.path for each in files),
                    kind=self.kind,
                    participant=who,
                    phase=phase,
                    classes=self.classes,
                    allocate=partial(out.create, f"data_{phase}", dtype="f8"),  # if it must be copied
                )
                begun[phase] = until_read.enter_context(reading)
            for phase, wait in begun.items():
                features, file = wait(), self.files[phase][0]
                read[phase], names[phase] = features, file.path.name
                name, span = file.path.name, features.span
                outside = None if span is None else Outside(name, file.content, span)
                arrays |= feature_values(phase, features.unit, outside)
                recordings.append(summarize(features, participant=who, phase=phase, file=name).to_dict())
                sources[phase] = [
                    {"name": each.path.name, "content": each.content} for each in self.files[phase]
                ]
        digests = dict(zip(read, feature_digests(*(each.data for each in read.values())), strict=True))
        refuse_shared(digests, participant=who, files=names, field=f"input.{self.kind}")
        return finish_features(read, arrays, {"recordings": recordings, "files": sources})
