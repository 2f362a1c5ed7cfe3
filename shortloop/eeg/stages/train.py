"""Features of the training phase to classifiers of every bin and fold, and cross-validated predictions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from shortloop.base.errors import InputError
from shortloop.eeg.stages.feature_files import LABELS, bin_times, load_features, sized
from shortloop.stages.stage import Arrays, Finished, Job, Out, Outputs, Stage, Values

if TYPE_CHECKING:
    from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings
    from shortloop.eeg.decoding.settings import DecodingSettings


class Train(Stage):
    """Train: a classifier for each bin and fold, and its predictions of held-out trials."""

    siblings = ("kind",)
    kind: str  # of the features
    phase: str
    seed: int  # of the folds
    decoding: DecodingSettings
    decisions: bool  # also keep decisions, beside the predicted classes
    estimator: EstimatorSettings
    features: Job

    def open(self) -> None:
        from shortloop.eeg.decoding.selection.folds import run_folds, stratified_folds
        from shortloop.eeg.decoding.train import warm_up

        if self.decoding.subsample:
            problem = "the build script does not subsample features"
            expected = "features from `subsampled`"
            hint = "copy build_scripts/build_pipeline.py from a new project (shortloop init)"
            raise InputError(problem, field="decoding.subsample", expected=expected, hint=hint)
        self._data = load_features(self.features, self.phase)
        warm_up(self.estimator)
        if self.decisions:
            self.estimator.check_decisions(len(self._data.classes))
        self._decoding, labels = self.decoding, self._data.labels
        if self.decoding.fold_by == "trial":
            self._folds = stratified_folds(labels, self.decoding.folds, self.seed)
            return
        runs = self._data.runs
        self._folds, count = (labels, 1) if runs is None else run_folds(labels, runs, self.decoding.folds)
        known = {*labels.tolist()}
        lacking = [fold for fold in range(count) if {*labels[self._folds != fold].tolist()} != known]
        if lacking:  # before trials are drawn (decoding.subsample), the stage `check` says which
            problem = "whole runs cannot be held out: a fold would train without trials of a class"
            field = "decoding.fold_by"
            expected = f"each class in several files of the {self.phase} phase"
            hint = "ask for other decoding.folds, or take fold_by = 'trial'"
            raise InputError(problem, participant=self.partition, field=field, expected=expected, hint=hint)
        self._decoding = self.decoding.model_copy(update={"folds": count})

    def units(self) -> int:
        return len(self._data.times)

    def outputs(self) -> dict[str, Out]:
        sizes = dict(zip(("bins", "trials", "features"), self._data.data.shape, strict=True))
        sizes |= {"held-out folds": self._decoding.folds, "classes": len(self._data.classes)}
        out, models = partial(sized, sizes), "bins × held-out folds"
        said = "class predicted by the fold that held the trial out; -1: none"
        outs = {"predicted": out("bins × trials", "i1", said)}
        outs["kept"] = out(f"{models} × features", "?", "features that the ANOVA kept")
        outs["C"] = out(models, "f8", "chosen C; NaN where none was chosen")
        if self.decisions:
            said = "decision for each class, the larger the likelier, by the fold that held it out; NaN: none"
            outs["decisions"] = out("bins × trials × classes", "f8", said)
        if self.estimator.is_linear:
            said = "weights; 0 where a feature is not kept"
            outs["weights"] = out(f"{models} × classes × features", "f8", said)
            outs["intercepts"] = out(f"{models} × classes", "f8", "intercepts")
        return outs

    def compute(self, unit: int) -> Arrays:
        from shortloop.eeg.decoding.train import train_bin

        models = train_bin(
            self._data.data[unit],
            self._data.labels,
            self._folds,
            n_classes=len(self._data.classes),
            decoding=self._decoding,
            estimator=self.estimator,
            decisions=self.decisions,
        )
        return {name: getattr(models, name) for name in self.outputs()}

    def finish(self, out: Outputs) -> Finished:
        import numpy as np

        from shortloop.eeg.decoding.metrics.scores import confusions, cross_validated_votes

        votes = cross_validated_votes(out["predicted"], len(self._data.classes))
        counts, said = confusions(votes, self._data.labels), "held-out trials of all folds"
        arrays = {
            "confusions": Values(counts, "bins × true class × predicted class", said, "trials"),
            "features": Values(np.array(self._data.names, str), "features", "what each feature is"),
            "folds": Values(self._folds, "trials", "fold that holds out each trial"),
            "labels": Values(self._data.labels, "trials", LABELS),
            "times": bin_times(self._data.times, self._data.time_unit),
        }
        if self.decoding.fold_by == "run":
            arrays["runs"] = Values(self._data.runs, "trials", "run of each trial")
        along = {"bins": "times", "features": "features"}
        along |= dict.fromkeys(("true class", "predicted class"), "classes")
        if "decisions" in out or "weights" in out:
            along["classes"] = "classes"
        facts = {
            "classes": list(self._data.classes),
            "kind": self._data.kind,
            "phase": self.phase,
            "time_unit": self._data.time_unit,
            "left_out": int((~out["kept"].any(axis=2)).sum()),  # folds that kept no feature
            # Stages that apply or retrain the classifiers read it here, not in the options.
            "decoding": self._decoding.of_training(),
            "estimator": self.estimator.model_dump(mode="json"),
        }
        return Finished(facts, arrays, coordinates=along)
