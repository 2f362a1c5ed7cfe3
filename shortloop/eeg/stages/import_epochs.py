"""Recordings of one participant to checked epochs of each phase."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.worker.stage import File, Finished, Outputs, Stage, Values

if TYPE_CHECKING:
    from shortloop.eeg.data import Epochs

__all__ = ["ImportEpochs"]


class ImportEpochs(Stage):
    """Import: recordings of one participant to checked epochs of each phase."""

    settings: dict[str, object]  # of the format; where the files are is no part of it
    recordings: dict[str, list[list[tuple[str, File]]]]  # of each phase, each with the names of its files
    phases: list[str]  # the training phase first
    classes: list[str]
    seed: int  # of simulated recordings

    def finish(self, out: Outputs) -> Finished:
        """Read and check."""
        from shortloop.eeg.formats.folders import whole
        from shortloop.eeg.formats.same_trials import refuse_shared, trial_digests
        from shortloop.eeg.formats.summary import summarize
        from shortloop.eeg.stages.feature_files import epoch_coordinates, epoch_facts, epoch_values
        from shortloop.worker.records import noted

        who = self.partition or ""
        arrays: dict[str, Values] = {}
        along: dict[str, str] = {}
        phases, recordings, sources = {}, [], {}
        notes: list[str] = []
        digests, names = {}, {}
        for phase in self.phases:
            files = [recording[0][1] for recording in self.recordings.get(phase, [])]
            said: list[str] = []
            what = f"{who}, {phase}"
            with noted(what, said):
                epochs = self._read(phase)
            notes += said
            digests[phase] = trial_digests(epochs.data)
            arrays.update(epoch_values(epochs, phase, out))
            along.update(epoch_coordinates(phase))
            phases[phase] = epoch_facts(epochs)
            names[phase] = ", ".join(whole(file.path).name for file in files)
            warnings = [each.removeprefix(f"{what}: ").removeprefix(f"{who}, ") for each in said]
            summary = summarize(epochs, participant=who, phase=phase, file=names[phase], warnings=warnings)
            recordings.append(summary.to_dict())
            sources[phase] = [
                {"name": name or file.path.name, "content": file.content}
                for recording in self.recordings.get(phase, [])
                for name, file in recording
            ]
        refuse_shared(digests, participant=who, files=names, field="input.files")
        return Finished(
            {"phases": phases, "recordings": recordings, "files": sources, "notes": notes},
            arrays,
            coordinates=along,
        )

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
