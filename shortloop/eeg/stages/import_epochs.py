"""Recordings of one participant to checked epochs of each phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.eeg.stages.feature_files import keep_epochs
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
        from shortloop.eeg.checks.duplicate_trials import overlaps, refuse_shared, trial_digests
        from shortloop.eeg.checks.summary import summarize
        from shortloop.eeg.formats.files.find import recording_of
        from shortloop.stages.records import noted

        who = self.partition or ""
        arrays: dict[str, Values] = {}
        along: dict[str, str] = {}
        phases, recordings, sources = {}, [], {}
        notes: list[str] = []
        kept, names, onsets, seconds = {}, {}, {}, 0.0
        for phase in self.phases:
            of_phase = self.recordings.get(phase, [])
            said: list[str] = []
            what = f"{who}, {phase}"
            with noted(what, said):
                epochs = self._read(phase)
            notes += said
            onsets[phase] = self._onsets(epochs, phase)
            seconds = float(epochs.times[-1] - epochs.times[0])
            kept[phase], described, coordinates, phases[phase] = keep_epochs(epochs, phase, out)
            arrays |= described
            along |= coordinates
            files = [recording_of(recording[0][1].path).name for recording in of_phase]
            names[phase] = ", ".join(files)
            warnings = [each.removeprefix(f"{what}: ").removeprefix(f"{who}, ") for each in said]
            whose = {"participant": who, "phase": phase, "file": names[phase]}
            recordings.append(summarize(epochs, **whose, files=files, warnings=warnings).to_dict())
            sources[phase] = [
                {"name": name or file.path.name, "content": file.content}
                for recording in of_phase
                for name, file in recording
            ]
        digests = dict(zip(kept, trial_digests(*kept.values()), strict=True))
        refuse_shared(digests, participant=who, files=names, field="input.files")
        training, *others = self.phases
        for phase in others:
            if count := overlaps(onsets[training], onsets[phase], seconds):
                notes.append(
                    f"{who}, {phase}: {count} trials share time with trials of {training} in the same "
                    "recording: what is decoded there was trained on in part; make the epochs shorter "
                    "(input.tmin, input.tmax), or name other events"
                )
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

    def _read(self, phase: str) -> Epochs:
        from shortloop.eeg.formats.read import read_epochs
        from shortloop.eeg.formats.recording_format import InputSettings

        return read_epochs(
            InputSettings.to_read(self.settings),
            [[(name, file.path) for name, file in each] for each in self.recordings.get(phase, [])],
            participant=self.partition or "",
            phase=phase,
            classes=self.classes,
            seed=self.seed,
            training=phase == self.phases[0],
        )
