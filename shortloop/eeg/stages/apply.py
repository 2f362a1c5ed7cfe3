"""Classifiers of every training bin on every bin of the decoded phase: temporal generalization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shortloop.stages.stage import Finished, Index, Job, Out, Outputs, Stage, Values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np


AXES = "test bins × training bins × trials"


class Apply(Stage):
    """Apply: all classifiers on all bins of the decoded phase."""

    siblings = ("kind",)
    kind: str  # of the features
    phase: str
    features: Job
    models: Job

    def open(self) -> None:
        import numpy as np

        from shortloop.eeg.decoding import apply, train
        from shortloop.eeg.decoding.estimators.base import EstimatorSettings
        from shortloop.eeg.decoding.selection.scaling import warm_up_scaling
        from shortloop.eeg.decoding.settings import DecodingSettings
        from shortloop.eeg.stages.feature_files import load_features

        facts, self._arrays = self.models.facts, self.models.arrays
        self._test = load_features(self.features, self.phase)
        self._train = load_features(self.features, facts["phase"])
        self._decoding = DecodingSettings.model_validate(self.models.facts["decoding"])
        self._estimator = EstimatorSettings.model_validate(self.models.facts["estimator"])
        self._within = self.phase == facts["phase"]
        self._linear = "weights" in self._arrays
        self._has_model = np.asarray(self._arrays["kept"].any(axis=2))  # of each bin and fold
        self._stacked = None
        if not self._linear:
            train.warm_up(self._estimator)
        elif not self._within:
            apply.warm_up(self._test.data[0], self._decoding.scaling)
            if "decisions" in self._arrays:
                warm_up_scaling(self._test.data)
            self._stacked = apply.stack_weights(self._arrays["weights"])

    @property
    def _voters(self) -> int:
        """Number of classifiers that vote on each trial."""
        return 1 if self._within else self._decoding.folds

    def units(self) -> int:
        """Bins that are decoded; of classifiers that must be trained again, the bins of their training."""
        return len(self._test.times) if self._linear else len(self._train.times)

    def outputs(self) -> dict[str, Out]:
        from shortloop.eeg.decoding.metrics.auc import rank_type
        from shortloop.eeg.decoding.ranks import ranked_classes

        n_trials, n_classes = len(self._test.labels), len(self._test.classes)
        shape = len(self._test.times), len(self._train.times), n_trials
        outs = {
            "votes": Out(
                (*shape, n_classes), "u1", f"{AXES} × classes", "classifiers that call a trial each class"
            )
        }
        if "decisions" in self._arrays:
            among = "its fold's held-out trials" if self._within else "all trials, summed over folds"
            outs["ranks"] = Out(
                (*shape, ranked_classes(n_classes)),
                rank_type(n_trials, self._voters),
                f"{AXES} × ranked classes",
                f"twice the rank of each trial's decision for the class among {among}; "
                "of two classes for the second",
            )
        return outs

    def index(self, unit: int) -> Index:
        return unit if self._linear else (slice(None), unit)

    def compute(self, unit: int) -> Mapping[str, np.ndarray]:
        if not self._linear:
            return self._trained_again(unit)
        from shortloop.eeg.decoding.apply import apply_weights, apply_weights_within
        from shortloop.eeg.decoding.ranks import rank_weights, rank_weights_within

        arrays, x = self._arrays, self._test.data[unit]
        how: dict[str, Any] = {
            "intercepts": arrays["intercepts"],
            "has_model": self._has_model,
            "scaling": self._decoding.scaling,
        }
        if self._within:
            how |= {"folds": arrays["folds"], "weights": arrays["weights"]}
        else:
            how["stacked"] = self._stacked
        vote: Callable[..., np.ndarray] = apply_weights_within if self._within else apply_weights
        rank: Callable[..., np.ndarray] = rank_weights_within if self._within else rank_weights
        found = {"votes": vote(x, **how)}
        if "decisions" in arrays:
            found["ranks"] = rank(x, **how, odds=self._estimator.gives_odds)
        return found

    def _trained_again(self, unit: int) -> dict[str, np.ndarray]:
        import numpy as np

        from shortloop.eeg.decoding.apply import refit_and_apply

        ranks = self.outputs().get("ranks")
        found = {}
        if ranks is not None:
            shape = ranks.shape[0], *ranks.shape[2:]
            found["ranks"] = np.zeros(shape, ranks.dtype)
        found["votes"] = refit_and_apply(
            self._train.data[unit],
            self._train.labels,
            self._arrays["folds"],
            self._test.data,
            within=self._within,
            n_classes=len(self._test.classes),
            decoding=self._decoding,
            estimator=self._estimator,
            ranks=found.get("ranks"),
        )
        return found

    def finish(self, out: Outputs) -> Finished:
        from shortloop.eeg.decoding.metrics.scores import confusions
        from shortloop.eeg.stages.feature_files import CENTRES, map_coordinates

        test, train = self._test, self._train
        classes = list(test.classes)
        ranked = {"ranked_classes": classes[-out["ranks"].shape[-1] :]} if "ranks" in out else {}
        arrays = {
            "confusions": Values(
                confusions(out["votes"], test.labels, self._voters),
                "test bins × training bins × true class × predicted class",
                "summed over folds" if self._within else "summed over folds, divided by their number",
                "trials",
            ),
            "labels": Values(test.labels, "trials", "class of each trial, an index into the classes"),
            "train_times": Values(train.times, "training bins", CENTRES["train_times"], train.time_unit),
            "test_times": Values(test.times, "test bins", CENTRES["test_times"], test.time_unit),
        }
        return Finished(
            {
                "classes": classes,
                **ranked,
                "kind": test.kind,
                "train_phase": self.models.facts["phase"],
                "phase": self.phase,
                "time_unit": test.time_unit,
            },
            arrays,
            coordinates={
                **map_coordinates(arrays),
                **dict.fromkeys(("classes", "true class", "predicted class"), "classes"),
                **{axis.replace("_", " "): axis for axis in ranked},
            },
        )
