"""Classifiers of every training bin on every bin of the decoded phase: temporal generalization."""

from __future__ import annotations

from typing import Any

from shortloop.eeg.stages.feature_files import LABELS, load_features, map_times, sized
from shortloop.stages.stage import Arrays, Finished, Index, Job, Out, Outputs, Stage, Values

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
        from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings
        from shortloop.eeg.decoding.selection.scaling import warm_up_scaling
        from shortloop.eeg.decoding.settings import DecodingSettings

        facts, self._arrays = self.models.facts, self.models.arrays
        self._test = load_features(self.features, self.phase)
        self._train = load_features(self.features, facts["phase"])
        self._decoding = DecodingSettings.model_validate(self.models.facts["decoding"])
        self._estimator = EstimatorSettings.model_validate(self.models.facts["estimator"])
        self._within = self.phase == facts["phase"]
        self._voters = 1 if self._within else self._decoding.folds  # classifiers that vote on each trial
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

    def units(self) -> int:
        """Bins that are decoded; of classifiers that must be trained again, the bins of their training."""
        return len(self._test.times) if self._linear else len(self._train.times)

    def outputs(self) -> dict[str, Out]:
        from shortloop.eeg.decoding.apply import ranked_classes
        from shortloop.eeg.decoding.metrics.auc import rank_type

        n_trials, n_classes = len(self._test.labels), len(self._test.classes)
        sizes = {"test bins": len(self._test.times), "training bins": len(self._train.times)}
        sizes |= {"trials": n_trials, "classes": n_classes, "ranked classes": ranked_classes(n_classes)}
        said = "classifiers that call a trial each class"
        outs = {"votes": sized(sizes, f"{AXES} × classes", "u1", said)}
        if "decisions" in self._arrays:
            among = "its fold's held-out trials" if self._within else "all trials, summed over folds"
            said = f"twice the rank of each trial's decision for the class among {among}; "
            said += "of two classes for the second"
            outs["ranks"] = sized(sizes, f"{AXES} × ranked classes", rank_type(n_trials, self._voters), said)
        return outs

    def index(self, unit: int) -> Index:
        return unit if self._linear else (slice(None), unit)

    def compute(self, unit: int) -> Arrays:
        from shortloop.eeg.decoding import apply

        arrays, ranked = self._arrays, "decisions" in self._arrays
        if not self._linear:
            train, test = self._train, self._test
            parts = train.data[unit], train.labels, arrays["folds"], test.data
            more: dict[str, Any] = {
                "decoding": self._decoding,
                "estimator": self._estimator,
                "ranked": ranked,
            }
            return apply.refit_and_apply(*parts, within=self._within, n_classes=len(test.classes), **more)
        x, given = self._test.data[unit], (arrays["intercepts"], self._has_model)
        found = {}
        for name in ("votes", "ranks") if ranked else ("votes",):
            of_bin: Any = apply.apply_weights
            how: dict[str, Any] = {"scaling": self._decoding.scaling}
            if name == "ranks":
                of_bin, how["odds"] = apply.rank_weights, self._estimator.gives_odds
            if self._within:
                stored = arrays["folds"], arrays["weights"], *given
                found[name] = apply.apply_held_out(of_bin, x, *stored, **how)
            else:
                found[name] = of_bin(x, self._stacked, *given, **how)
        return found

    def finish(self, out: Outputs) -> Finished:
        from shortloop.eeg.decoding.metrics.scores import confusions

        test, train = self._test, self._train
        classes = list(test.classes)
        ranked = {"ranked_classes": classes[-out["ranks"].shape[-1] :]} if "ranks" in out else {}
        counts = confusions(out["votes"], test.labels, self._voters)
        axes = "test bins × training bins × true class × predicted class"
        said = "summed over folds" + ("" if self._within else ", divided by their number")
        arrays = {"confusions": Values(counts, axes, said, "trials")}
        arrays["labels"] = Values(test.labels, "trials", LABELS)
        times, along = map_times({"train_times": train.times, "test_times": test.times}, test.time_unit)
        along |= dict.fromkeys(("classes", "true class", "predicted class"), "classes")
        along |= {axis.replace("_", " "): axis for axis in ranked}
        facts: dict[str, Any] = {"classes": classes, **ranked, "kind": test.kind}
        facts["train_phase"] = self.models.facts["phase"]
        facts |= {"phase": self.phase, "time_unit": test.time_unit}
        return Finished(facts, arrays | times, coordinates=along)
