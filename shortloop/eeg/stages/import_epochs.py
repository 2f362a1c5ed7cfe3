"""Recordings of one participant to checked epochs of each phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.stages.stage import File, Finished, Outputs, Stage, Values

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray
    from shortloop.eeg.data import Epochs


class ImportEpochs(Stage):
    """Import: recordings of one participant to checked epochs of each phase."""

    settings: dict[str, object]  # of the format, without the places of files
    recordings: dict[str, list[list[tuple[str, File]]]]  # of each phase, with names of files
    phases: list[str]  # the training phase first
    classes: list[str]
    seed: int  # of simulated recordings

    def finish(self, out: Outputs) -> Finished:
        from shortloop.eeg.checks.same_trials import refuse_shared, trial_digests
        from shortloop.eeg.checks.summary import summarize
        from shortloop.eeg.formats.files.find import recording_of
        from shortloop.eeg.stages.feature_files import describe_epochs, keep_epochs
        from shortloop.stages.records import noted

        who = self.partition or ""
        arrays: dict[str, Values] = {}
        along: dict[str, str] = {}
        phases, recordings, sources = {}, [], {}
        notes: list[str] = []
        kept, names, onsets, seconds = {}, {}, {}, 0.0
        for phase in self.phases:
            files = [recording[0][1] for recording in self.recordings.get(phase, [])]
            said: list[str] = []
            what = f"{who}, {phase}"
            with noted(what, said):
                epochs = self._read(phase)
            notes += said
            onsets[phase] = self._onsets(epochs, phase)
            seconds = float(epochs.times[-1] - epochs.times[0])
            kept[phase] = keep_epochs(epochs, phase, out)
            described, coordinates, phases[phase] = describe_epochs(epochs, phase)
            arrays |= described
            along |= coordinates
            each_name = [recording_of(file.path).name for file in files]
            names[phase] = ", ".join(each_name)
            warnings = [each.removeprefix(f"{what}: ").removeprefix(f"{who}, ") for each in said]
            summary = summarize(
                epochs, participant=who, phase=phase, file=names[phase], files=each_name, warnings=warnings
            )
            recordings.append(summary.to_dict())
            sources[phase] = [
                {"name": name or file.path.name, "content": file.content}
                for recording in self.recordings.get(phase, [])
                for name, file in recording
            ]
        digests = dict(zip(kept, trial_digests(*kept.values()), strict=True))
        refuse_shared(digests, participant=who, files=names, field="input.files")
        notes += self._overlaps(onsets, seconds)
        return Finished(
            {"phases": phases, "recordings": recordings, "files": sources, "notes": notes},
            arrays,
            coordinates=along,
        )

    def _onsets(self, epochs: Epochs, phase: str) -> dict[str, FloatArray]:
        """Onsets of the trials of each recording, by its content; empty if unknown."""
        if "onset" not in epochs.trial_info:
            return {}
        found: dict[str, FloatArray] = {}
        for number, recording in enumerate(self.recordings.get(phase, [])):
            content = " ".join(file.content for _, file in recording)
            found[content] = epochs.trial_info["onset"][epochs.trial_info["file"] == number]
        return found

    def _overlaps(self, onsets: dict[str, dict[str, FloatArray]], seconds: float) -> list[str]:
        from shortloop.eeg.checks.same_trials import overlaps

        training, *others = self.phases
        found = {phase: overlaps(onsets[training], onsets[phase], seconds) for phase in others}
        return [
            f"{self.partition}, {phase}: {count} trials share time with trials of {training} in the same "
            "recording: what is decoded there was trained on in part; make the epochs shorter (input.tmin, "
            "input.tmax), or name other events"
            for phase, count in found.items()
            if count
        ]

    def _read(self, phase: str) -> Epochs:
        from shortloop.eeg.formats.base import InputSettings
        from shortloop.eeg.formats.read import read_epochs

        return read_epochs(
            InputSettings.to_read(self.settings),
            [[(name, file.path) for name, file in each] for each in self.recordings.get(phase, [])],
            participant=self.partition or "",
            phase=phase,
            classes=self.classes,
            seed=self.seed,
            training=phase == self.phases[0],
        )
