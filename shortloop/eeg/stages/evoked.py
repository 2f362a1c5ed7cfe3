"""Epochs of one participant to means over the trials of each class: event-related potentials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.eeg.stages.feature_files import load_epochs
from shortloop.stages.stage import Finished, Job, Outputs, Stage, Values

if TYPE_CHECKING:
    import numpy as np

    from shortloop.base.plain import Plain
    from shortloop.eeg.data import Epochs


class Evoked(Stage):
    """Evoked: mean of the trials of each class, and its standard error."""

    baseline: tuple[float, float] | None  # s
    phases: list[str]
    epochs: Job

    def finish(self, out: Outputs) -> Finished:
        import numpy as np

        from shortloop.eeg.features.bins import baseline_samples

        arrays: dict[str, Values] = {}
        along = {"classes": "classes", "channels": "channels"}
        trials: dict[str, Plain] = {}
        for phase in self.phases:
            epochs = load_epochs(self.epochs, phase)
            classes = range(len(epochs.classes))
            window = None if self.baseline is None else baseline_samples(epochs.times, self.baseline)
            means, errors = zip(*(mean_and_error(epochs, label, window) for label in classes), strict=True)
            samples = f"samples of {phase}"  # phases need not be of one length
            axes = f"classes × channels × {samples}"
            said = "mean over the trials of a class; NaN if it has none"
            arrays[f"mean_{phase}"] = Values(np.stack(means), axes, said, epochs.unit)
            said = "standard error of that mean; NaN below two trials"
            arrays[f"error_{phase}"] = Values(np.stack(errors), axes, said, epochs.unit)
            said = "time of each sample, 0 at the event"
            arrays[f"times_{phase}"] = Values(epochs.times, samples, said, "s")
            along[samples] = f"times_{phase}"
            trials[phase] = np.bincount(epochs.labels, minlength=len(classes)).tolist()
        facts = {
            "classes": list(epochs.classes),
            "channels": list(epochs.channels),
            "unit": epochs.unit,
            "phases": list(self.phases),
            "trials": trials,
            "baseline": None if self.baseline is None else list(self.baseline),
        }
        return Finished(facts, arrays, coordinates=along)


def mean_and_error(
    epochs: Epochs, label: int, baseline: slice | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the trials of a class, and its standard error, both (channels, samples)."""
    import numpy as np

    x = np.asarray(epochs.data[np.flatnonzero(epochs.labels == label)], dtype=np.float64)
    if baseline is not None:
        x = x - x[:, :, baseline].mean(axis=2, keepdims=True)
    nothing = np.full(x.shape[1:], np.nan)
    mean = x.mean(axis=0) if len(x) else nothing
    return mean, x.std(axis=0, ddof=1) / np.sqrt(len(x)) if len(x) > 1 else nothing
