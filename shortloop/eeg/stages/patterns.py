"""Activation patterns of the classifiers of one participant, and the share of features that they kept."""

from __future__ import annotations

from shortloop.eeg.stages.feature_files import bin_times, load_features, sized
from shortloop.stages.stage import Arrays, Finished, Job, Out, Outputs, Stage, Values

SMALL_WORK = 2e7  # numbers of the features, whose patterns take no longer than forking slices


class Patterns(Stage):
    """Patterns: activation patterns of linear classifiers, and the share of features that were kept."""

    siblings = ("kind",)
    kind: str  # of the features
    features: Job
    models: Job

    def open(self) -> None:
        from shortloop.eeg.features.names import channels_of, frequencies_of

        self._data = load_features(self.features, self.models.facts["phase"])
        self._arrays = self.models.arrays
        self._channels = channels_of(self._data.names)
        self._linear = "weights" in self._arrays and bool(self._channels)
        self._frequencies = frequencies_of(self._data.names) if self._linear else ()
        self._standardized = self.models.facts["decoding"]["scaling"] == "separate"
        # Of two classes, the pattern of the first is the negative of the second's.
        self._shown = slice(1, 2) if len(self._data.classes) == 2 else slice(None)

    def units(self) -> int:
        return len(self._data.times)

    def is_small(self) -> bool:
        return bool(self._data.data.size < SMALL_WORK)

    def outputs(self) -> dict[str, Out]:
        sizes = {"bins": len(self._data.times), "channels": len(self._channels)}
        shown, frequencies = len(self._data.classes[self._shown]), len(self._frequencies)
        sizes |= {"shown classes": shown, "frequencies": frequencies}
        outs = {"kept": sized(sizes, "bins", "f8", "share of features that folds kept, mean over folds")}
        if self._channels:
            said = "the same of the features of each channel"
            outs["kept_channels"] = sized(sizes, "bins × channels", "f8", said)
        axes, unit = "bins × shown classes × channels", self._data.unit
        if self._linear:
            said = "activation pattern, mean over folds and over the features of a channel, of decisions "
            said += "whose standard deviation is 1; NaN where no feature was kept"
            outs["patterns"] = sized(sizes, axes, "f8", said, unit)
        if self._frequencies:
            said = "the same of the features of a channel at each frequency"
            outs["patterns_of_frequencies"] = sized(sizes, f"{axes} × frequencies", "f8", said, unit)
        return outs

    def compute(self, unit: int) -> Arrays:
        import numpy as np

        from shortloop.eeg.decoding.patterns import activation_patterns

        kept = np.asarray(self._arrays["kept"][unit])
        found: dict[str, np.ndarray] = {"kept": np.float64(kept.mean())}  # type: ignore[dict-item]
        channels = len(self._channels)
        if channels:
            found["kept_channels"] = kept.mean(axis=0).reshape(channels, -1).mean(axis=1)
        if self._linear:
            weights = self._arrays["weights"][unit][:, self._shown]
            given = self._data.data[unit], self._arrays["folds"], weights, kept
            patterns = activation_patterns(*given, standardized=self._standardized)
            found["patterns"] = patterns.reshape(len(patterns), channels, -1).mean(axis=2)
            if self._frequencies:
                shape = len(patterns), channels, len(self._frequencies), -1
                found["patterns_of_frequencies"] = patterns.reshape(shape).mean(axis=3)
        return found

    def finish(self, out: Outputs) -> Finished:
        import numpy as np

        arrays = {"times": bin_times(self._data.times, self._data.time_unit)}
        along = {"bins": "times"}
        if self._channels:
            along["channels"] = "channels"
        if self._linear:
            along["shown classes"] = "shown"
        if self._frequencies:
            hertz = np.array(self._frequencies)
            arrays["frequencies"] = Values(hertz, "frequencies", "of the features", "Hz")
            along["frequencies"] = "frequencies"
        facts = {
            "kind": self.models.facts["kind"],
            "phase": self.models.facts["phase"],
            "classes": list(self._data.classes),
            "shown": list(self._data.classes[self._shown]),
            "channels": list(self._channels),
            "features": self._data.data.shape[2],
            "unit": self._data.unit,
            "time_unit": self._data.time_unit,
        }
        return Finished(facts, arrays, coordinates=along)
