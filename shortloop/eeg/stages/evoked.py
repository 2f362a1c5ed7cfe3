"""Epochs of one participant to means over the trials of each class: event-related potentials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.stages.stage import Finished, Index, Job, Out, Outputs, Stage, Values

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from shortloop.eeg.data import Epochs


class Evoked(Stage):
    """Evoked: mean of the trials of each class, and its standard error."""

    baseline: tuple[float, float] | None  # s
    phases: list[str]
    epochs: Job

    def open(self) -> None:
        from shortloop.eeg.stages.feature_files import load_epochs

        self._epochs = [load_epochs(self.epochs, phase) for phase in self.phases]
        self._classes = len(self._epochs[0].classes)

    def units(self) -> int:
        return len(self.phases) * self._classes

    def outputs(self) -> dict[str, Out]:
        outs = {}
        for phase, epochs in zip(self.phases, self._epochs, strict=True):
            shape, axes = (self._classes, *epochs.data.shape[1:]), f"classes × channels × {_samples(phase)}"
            outs[f"mean_{phase}"] = Out(
                shape, "f8", axes, "mean over the trials of a class; NaN if it has none", epochs.unit
            )
            outs[f"error_{phase}"] = Out(
                shape, "f8", axes, "standard error of that mean; NaN below two trials", epochs.unit
            )
        return outs

    def index(self, unit: int) -> Mapping[str, Index]:
        phase, label = divmod(unit, self._classes)
        return {f"{name}_{self.phases[phase]}": label for name in ("mean", "error")}

    def compute(self, unit: int) -> Mapping[str, np.ndarray]:
        from shortloop.eeg.features.bins import baseline_samples

        number, label = divmod(unit, self._classes)
        phase, epochs = self.phases[number], self._epochs[number]
        window = None if self.baseline is None else baseline_samples(epochs.times, self.baseline)
        mean, error = mean_and_error(epochs, label, window)
        return {f"mean_{phase}": mean, f"error_{phase}": error}

    def finish(self, out: Outputs) -> Finished:
        import numpy as np

        counts = {
            phase: np.bincount(epochs.labels, minlength=self._classes).tolist()
            for phase, epochs in zip(self.phases, self._epochs, strict=True)
        }
        first = self._epochs[0]
        return Finished(
            {
                "classes": list(first.classes),
                "channels": list(first.channels),
                "unit": first.unit,
                "phases": list(self.phases),
                "trials": counts,
                "baseline": None if self.baseline is None else list(self.baseline),
            },
            {
                f"times_{phase}": Values(
                    epochs.times, _samples(phase), "time of each sample, 0 at the event", "s"
                )
                for phase, epochs in zip(self.phases, self._epochs, strict=True)
            },
            coordinates={
                **{_samples(phase): f"times_{phase}" for phase in self.phases},
                "classes": "classes",
                "channels": "channels",
            },
        )


def mean_and_error(
    epochs: Epochs, label: int, baseline: slice | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the trials of a class, and its standard error, both (channels, samples)."""
    import numpy as np

    trials = np.flatnonzero(epochs.labels == label)
    shape = epochs.data.shape[1:]
    if not len(trials):
        return np.full(shape, np.nan), np.full(shape, np.nan)
    x = np.asarray(epochs.data[trials], dtype=np.float64)
    if baseline is not None:
        x = x - x[:, :, baseline].mean(axis=2, keepdims=True)
    if len(trials) < 2:
        return x.mean(axis=0), np.full(shape, np.nan)
    return x.mean(axis=0), x.std(axis=0, ddof=1) / np.sqrt(len(trials))


def _samples(phase: str) -> str:
    return f"samples of {phase}"  # phases need not be of one length
