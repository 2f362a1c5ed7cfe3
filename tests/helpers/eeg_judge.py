"""A study computed again from its recordings by MNE, SciPy and scikit-learn, as its documents say; nothing of
this is ours. Draws come from the study's seed and what they are for, as these documents say, too."""

from __future__ import annotations

import hashlib
import itertools
import tomllib
import warnings
from pathlib import Path
from typing import Any

import mne
import numpy as np
from scipy import ndimage, signal, stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, LinearSVC

TIGHT = 1e-9  # solvers are to stop where nothing changes any more
CLOSE = 1e-7  # two classes that are so near are decided by where they stop
SKLEARN = {
    "sklearn.linear_model.LogisticRegression": LogisticRegression,
    "sklearn.naive_bayes.GaussianNB": GaussianNB,
}


class Judge:
    """The study file of a folder, read without shortloop; defaults are those of the study's documents."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.study = folder, tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))
        self.classes = self.study["classes"]
        self.train_phase = self.study["phases"]["train"]
        self.test_phase = self.study["phases"].get("decode", self.train_phase)
        self.within = self.test_phase == self.train_phase
        self.decoding = {"scaling": "separate", "score": "balanced-accuracy"} | self.study["decoding"]
        self.estimator, self.group = self.study["estimator"], self.study.get("group", {})
        self.permutations = self.study["permutations"]
        self.runs: dict[tuple[str, str], np.ndarray] = {}
        """Of each participant and phase the run of each trial, where a phase is joined of several."""
        self.undecided = 0
        """How often two classes were as likely: e.g. if nothing tells each of them from all others."""

    def epochs(self, who: str, phase: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Trials × channels × samples, the class of each trial, times, sampling rate."""
        (pattern,) = self.study["input"]["files"][phase]
        files = [*self.folder.glob(pattern.format(participant=who))]
        found = [
            self._epochs(file) for file in sorted(files, key=lambda file: int(file.stem.split("_")[2][3:]))
        ]
        self.runs[who, phase] = np.repeat(np.arange(len(found)), [len(each[1]) for each in found])
        x, labels = (np.concatenate([each[at] for each in found]) for at in (0, 1))
        return x, labels, found[0][2], found[0][3]

    def _epochs(self, file: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        asked, before = self.study["input"], self.study["input"]["preprocessing"]
        if file.suffix == ".edf":
            raw = mne.io.read_raw_edf(file, preload=True, verbose="ERROR")
            if "µV".encode() in file.read_bytes()[:4096]:  # which MNE does not know
                raw.apply_function(lambda each: each * 1e-6, verbose="ERROR")
        else:
            raw = mne.io.read_raw_fif(file, preload=True, verbose="ERROR")
        raw.drop_channels(asked["drop"])
        if "highpass" in before or "lowpass" in before:
            raw.filter(before.get("highpass"), before.get("lowpass"), verbose="ERROR")
        if "notch" in before:
            raw.notch_filter(before["notch"], verbose="ERROR")
        if "reference" in before:
            raw.set_eeg_reference(before["reference"], verbose="ERROR")
        events, ids = mne.events_from_annotations(raw, verbose="ERROR")
        wanted = {name: ids[name] for name in self.classes if name in ids}
        made = mne.Epochs(
            raw, events, wanted, asked["tmin"], asked["tmax"], baseline=before.get("baseline"),
            reject=before.get("reject"), preload=True, verbose="ERROR",
        )  # fmt: skip
        if "resample" in before:
            made.resample(before["resample"], verbose="ERROR")
        label = {wanted[name]: at for at, name in enumerate(self.classes) if name in wanted}
        labels = np.array([label[code] for code in made.events[:, 2]])
        step = round(made.info["sfreq"])  # 128 or 64 Hz, but for a device's own idea of them
        times = np.round(made.times[0] * 128) / 128 + np.arange(len(made.times)) / step
        return made.get_data(), labels, times, made.info["sfreq"]

    def features(self, kind: str, x: np.ndarray, times: np.ndarray, sfreq: float) -> np.ndarray:
        """Bins × trials × features."""
        asked = self.study["features"][kind]
        if kind == "amplitude":
            if asked["baseline"] is not False:
                first, last = asked["baseline"]
                x = x - x[..., (times >= first - 1e-9) & (times <= last + 1e-9)].mean(-1, keepdims=True)
            if asked["lowpass"] is not False:
                sos = signal.butter(asked.get("order", 6), asked["lowpass"], output="sos", fs=sfreq)
                x = signal.sosfiltfilt(sos, x, axis=-1)
            every, size = asked.get("step", 1), asked["bin_samples"]
            first = int(np.argmin(np.abs(times - asked["start"])))
            return _binned(x[..., first::every], 0, asked["bins"], size)
        count = int((asked["fmax"] - asked["fmin"]) / asked["fstep"] + 1e-9) + 1
        frequencies = asked["fmin"] + asked["fstep"] * np.arange(count)
        power = mne.time_frequency.tfr_array_morlet(
            x, sfreq, frequencies, n_cycles=asked["cycles"], output="power", zero_mean=True, verbose="ERROR"
        )[..., :: asked["every"]]
        first = int(np.argmin(np.abs(times[:: asked["every"]] - asked["start"])))
        return _binned(power, first, asked["bins"], asked["bin_points"])

    def folds(self, labels: np.ndarray, runs: np.ndarray) -> np.ndarray:
        split = StratifiedKFold(self.decoding["folds"], shuffle=True, random_state=self.study["seed"])
        if self.by_run:
            fewest = min(len({*runs[labels == each]}) for each in {*labels})
            split = StratifiedGroupKFold(min(self.decoding["folds"], fewest))
        folds = np.zeros(len(labels), int)
        for fold, (_, held_out) in enumerate(split.split(labels, labels, runs if self.by_run else None)):
            folds[held_out] = fold
        return folds

    def fit(self, x: np.ndarray, labels: np.ndarray) -> Any:
        asked, weight = self.estimator, self.decoding.get("class_weight")
        match asked["kind"]:
            case "linear-svm":
                machines = [_svm(C, weight) for C in asked["C"]]
                if len(machines) == 1:
                    return machines[0].fit(x, labels)
                inner = list(StratifiedKFold(asked["inner_folds"]).split(x, labels))
                right = [
                    np.mean([(each.fit(x[i], labels[i]).predict(x[j]) == labels[j]).mean() for i, j in inner])
                    for each in machines
                ]
                return machines[int(np.argmax(np.round(right, 12)))].fit(x, labels)
            case "matlab-svm":
                scale = asked["kernel_scale"]
                machine = SVC(C=asked["C"], kernel="linear", tol=TIGHT, class_weight=weight)
                whole = OneVsRestClassifier(machine) if len(self.classes) > 2 else machine
                fitted = _Scaled(whole, scale).fit(x, labels)
                self.undecided += sum(map(_any_intercept, getattr(whole, "estimators_", [whole])))
                return fitted
            case "lda":
                return LinearDiscriminantAnalysis(solver="lsqr", shrinkage=asked["shrinkage"]).fit(x, labels)
            case "ridge":
                return RidgeClassifier(alpha=asked["alpha"], class_weight=weight, solver="cholesky").fit(
                    x, labels
                )
        return SKLEARN[asked["path"]](**asked.get("params", {})).fit(x, labels)

    def models(self, x: np.ndarray, labels: np.ndarray, folds: np.ndarray) -> list[list[Any]]:
        """Of each bin and fold: classifier, features that it keeps, their mean and deviation; or None."""
        found: list[list[Any]] = []
        alpha = self.decoding.get("select_alpha", 0.05)
        for each in x:
            found.append([])
            for fold in range(folds.max() + 1):
                rows, y = each[folds != fold], labels[folds != fold]
                kept = np.ones(rows.shape[1], bool)
                if alpha < 1:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        kept = f_classif(rows, y)[1] < alpha
                if not kept.any():
                    found[-1].append(None)
                    continue
                rows = rows[:, kept]
                centre = rows.mean(0), rows.std(0)
                found[-1].append((self.fit(_z(rows, centre), y), kept, centre))
        return found

    def says(self, model: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The class of each trial, and a number for each class by which trials are ranked."""
        machine, kept, centre = model
        x = x[:, kept]
        z = _z(x, centre if self.decoding["scaling"] == "training" else (x.mean(0), x.std(0)))
        of_two = self.estimator["kind"] == "lda" and len(self.classes) == 2
        if hasattr(machine, "predict_proba") and not of_two:  # probabilities of 1 would be ties
            ranks = machine.predict_proba(z)
        else:
            ranks = machine.decision_function(z)
        best = np.sort(ranks, axis=1)[:, -2:] if ranks.ndim == 2 else np.column_stack([-ranks, ranks])
        self.undecided += int((np.abs(np.diff(best, axis=1)) < CLOSE).sum())
        return machine.predict(z), ranks[:, -1:] if ranks.ndim == 2 and len(
            self.classes
        ) == 2 else ranks.reshape(len(z), -1)

    @property
    def by_run(self) -> bool:
        return bool(self.decoding.get("fold_by") == "run")

    @property
    def chance(self) -> float:
        return 0.5 if self.decoding["score"] == "auc" else 100 / len(self.classes)

    def said(self, models: list[Any], x: np.ndarray, folds: np.ndarray | None) -> list[Any]:
        """Trials of each fold, or all of them, and what its classifiers say of these."""
        found = []
        for fold, model in enumerate(models):
            trials = np.arange(len(x)) if folds is None else np.flatnonzero(folds == fold)
            found.append((trials, None if model is None else self.says(model, x[trials])))
        return found

    def score(self, said: list[Any], labels: np.ndarray) -> float:
        """Of what classifiers say of trials of one bin."""
        if self.decoding["score"] == "auc":
            of_folds = [0.5 if each is None else _auc(each[1], labels[trials]) for trials, each in said]
            if len(said[0][0]) == len(labels):  # all decode the same trials, so that one less is left out
                of_folds = [area for area, (_, each) in zip(of_folds, said, strict=True) if each is not None]
            return float(np.mean(of_folds or [0.5]))
        asked, right = np.zeros(len(labels)), np.zeros(len(labels))
        for trials, each in said:
            if each is not None:
                asked[trials] += 1
                right[trials] += each[0] == labels[trials]
        share = np.where(asked > 0, right / np.maximum(asked, 1), 1 / len(self.classes))
        if self.decoding["score"] == "accuracy":
            return float(100 * share.mean())
        return float(100 * np.mean([share[labels == k].mean() for k in range(len(self.classes))]))

    def shuffled(
        self, labels: np.ndarray, names: tuple[str, ...], folds: np.ndarray | None, count: int
    ) -> list[Any]:
        """Labels that were shuffled among all trials, or within folds, or runs of several classes."""
        found = []
        for number in range(count):
            rng, drawn = (
                np.random.default_rng(self.seed("permutation", *names, number)),
                np.empty_like(labels),
            )
            for part in (
                [np.arange(len(labels))]
                if folds is None
                else [np.flatnonzero(folds == f) for f in np.unique(folds)]
            ):
                drawn[part] = rng.permutation(labels[part])
            found.append(drawn)
        return found

    def seed(self, *names: str | int) -> np.random.SeedSequence:
        text = "\0".join(f"{type(name).__name__}:{name}" for name in names)
        digest = hashlib.sha256(text.encode()).digest()
        return np.random.SeedSequence([self.study["seed"], *np.frombuffer(digest, "<u4").tolist()])

    def participant(
        self, who: str, data: dict[str, tuple[np.ndarray, np.ndarray]], applied: bool
    ) -> dict[str, Any]:
        """All scores of a participant; `data` has features and labels of each phase."""
        x, y = data[self.train_phase]
        z, target = data[self.test_phase] if applied else data[self.train_phase]
        runs = self.runs[who, self.train_phase]
        folds, count = self.folds(y, runs), self.permutations["count"]
        within = runs if self.by_run else folds
        own = folds if self.within else None
        models = self.models(x, y, folds)

        def curve(models: list[Any]) -> list[Any]:
            return [self.said(of_bin, each, folds) for of_bin, each in zip(models, x, strict=True)]

        def plane(models: list[Any]) -> list[Any]:
            return [[self.said(of_bin, each, own) for of_bin in models] for each in z] if applied else []

        def scores(curve: list[Any], plane: list[Any], y: np.ndarray, target: np.ndarray) -> tuple[Any, Any]:
            return (
                np.array([self.score(each, y) for each in curve]),
                np.array([[self.score(each, target) for each in row] for row in plane]),
            )

        curve_said, plane_said = curve(models), plane(models)
        mixed = self.shuffled(y, (who, self.train_phase), within, count)
        if self.permutations["null"] == "training-labels":
            nulls = []
            for labels in mixed:
                again = self.models(x, labels, folds)
                nulls.append(scores(curve(again), plane(again), labels, labels if self.within else target))
        else:
            others = (
                mixed
                if self.within or not applied
                else self.shuffled(target, (who, self.test_phase), None, count)
            )
            nulls = [scores(curve_said, plane_said, a, b) for a, b in zip(mixed, others, strict=True)]
        retrained = []
        drawn = self.shuffled(y, (who, self.train_phase), within, self.permutations.get("retrained", 0))
        for labels in drawn:
            again = self.models(x, labels, folds)
            retrained.append(scores(curve(again), plane(again) if self.within else [], labels, labels))
        found_curve, found_plane = scores(curve_said, plane_said, y, target)
        return {
            "folds": folds,
            "kept": np.array(
                [[np.zeros(x.shape[2], bool) if each is None else each[1] for each in m] for m in models]
            ),
            "predicted": np.array([_held_out(each, len(y)) for each in curve_said]),
            "curve": found_curve,
            "plane": found_plane,
            "curve_null": np.array([each for each, _ in nulls]),
            "plane_null": np.array([each for _, each in nulls]),
            "curve_retrained": np.array([each for each, _ in retrained]),
            "plane_retrained": np.array([each for _, each in retrained]),
        }

    def statistics(
        self, kind: str, shape: str, people: list[dict[str, Any]], uneven: bool
    ) -> dict[str, np.ndarray]:
        """Mean, t, and p of the maximum and of clusters."""
        axes = tuple(range(1, 2 + (shape == "plane")))
        observed = np.array([each[shape] for each in people])
        nulls = np.array([each[f"{shape}_null"] for each in people])  # participants × permutations × map
        levels = np.full(observed.shape, self.chance)
        drawn = np.array([each[f"{shape}_retrained"] for each in people])
        flips = self.group.get("null") == "sign-flips"
        if self.decoding["score"] == "accuracy" and uneven:
            again = drawn.size and not flips and (shape == "curve" or self.within)
            own = drawn if again else nulls
            levels = np.concatenate([observed[:, None], own], axis=1).mean(axis=1)
        count = len(people)
        if flips:
            maps = self._smooth(observed - levels, axes)
            patterns = np.array(list(itertools.product([1, -1], repeat=count)))
            null_maps = [signs.reshape(-1, *[1] * (maps.ndim - 1)) * maps for signs in patterns]
        elif drawn.size and (shape == "curve" or self.within):
            rng = np.random.default_rng(self.seed("group", kind, shape))
            rows = rng.integers(0, drawn.shape[1] + 1, (nulls.shape[1], count))
            pool = np.concatenate([observed[:, None], drawn], axis=1)
            null_maps = [self._smooth(pool[np.arange(count), row] - levels, axes) for row in rows]
        else:
            null_maps = [self._smooth(nulls[:, i] - levels, axes) for i in range(nulls.shape[1])]
        maps = self._smooth(observed - levels, axes)
        points = 100 if self.decoding["score"] == "auc" else 1
        t, null_t = _t(maps * points), [_t(each * points) for each in null_maps]
        threshold = stats.t.isf(self.group.get("cluster_alpha", 0.05) / 2, count - 1)
        most = np.array([np.abs(each).max() for each in null_t])
        largest = np.array([max(_clusters(each, threshold)[1], default=0.0) for each in null_t])
        places, masses = _clusters(t, threshold)
        p_cluster = np.ones(t.shape)
        for number, mass in enumerate(masses, start=1):
            p_cluster[places == number] = self._p(mass, largest, flips)
        p_max = np.array([self._p(abs(each), most, flips) for each in t.ravel()]).reshape(t.shape)
        return {"mean": (levels + maps).mean(0), "t": t, "p_max": p_max, "p_cluster": p_cluster}

    def _p(self, value: float, null: np.ndarray, whole: bool) -> float:
        """Phipson and Smyth 2010; of all sign flips, which have the observed one among them, the share."""
        as_large = (null >= value * (1 - 1e-9)).sum()
        return float(as_large / len(null) if whole else (1 + as_large) / (1 + len(null)))

    def _smooth(self, maps: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        sigma = self.group.get("smooth", 1.0)
        if not sigma:
            return maps
        return ndimage.gaussian_filter(
            maps, sigma, mode="nearest", truncate=self.group.get("truncate", 2.0), axes=axes
        )


class _Scaled:
    def __init__(self, machine: Any, scale: float) -> None:
        self.machine, self.scale = machine, scale

    def fit(self, x: np.ndarray, labels: np.ndarray) -> Any:
        self.machine.fit(x / self.scale, labels)
        return self

    def predict(self, x: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.machine.predict(x / self.scale)
        return found

    def decision_function(self, x: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.machine.decision_function(x / self.scale)
        return found


def _any_intercept(machine: SVC) -> bool:
    """True if all support vectors are at their bounds: many intercepts are then as good."""
    dual = machine.dual_coef_[0]
    return all(np.isclose(dual[side], dual[side][0]).all() for side in (dual > 0, dual < 0) if side.any())


def _svm(C: float, weight: str | None) -> LinearSVC:
    return LinearSVC(
        C=C, loss="hinge", dual=True, tol=TIGHT, max_iter=10_000_000, class_weight=weight, random_state=0
    )


def _z(x: np.ndarray, centre: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return (x - centre[0]) / np.where(centre[1] == 0, 1, centre[1])


def _auc(ranks: np.ndarray, labels: np.ndarray) -> float:
    if ranks.shape[1] == 1:
        return float(roc_auc_score(labels == 1, ranks[:, 0]))
    return float(np.mean([roc_auc_score(labels == k, ranks[:, k]) for k in range(ranks.shape[1])]))


def _held_out(said: list[Any], count: int) -> np.ndarray:
    found = np.full(count, -1)
    for trials, each in said:
        if each is not None:
            found[trials] = each[0]
    return found


def _t(points: np.ndarray) -> np.ndarray:
    """As of scipy.stats.ttest_1samp where participants vary by more than a thousandth of a point."""
    mean, sd = points.mean(axis=0), np.maximum(points.std(axis=0, ddof=1), 1e-3)
    found: np.ndarray = np.where(np.abs(mean) < 1e-9, 0.0, mean) / (sd / np.sqrt(len(points)))
    known = stats.ttest_1samp(points, 0).statistic
    varies = points.std(axis=0, ddof=1) > 1e-3
    np.testing.assert_allclose(found[varies], known[varies], rtol=1e-6, atol=1e-6)
    return found


def _clusters(t: np.ndarray, threshold: float) -> tuple[np.ndarray, list[float]]:
    """Which cluster each cell is in, from 1, and how much t each of them has."""
    places, masses = np.zeros(t.shape, int), []
    for sign in (1, -1):
        found, count = ndimage.label(sign * t > threshold)
        for number in range(1, count + 1):
            masses.append(float(abs(t[found == number].sum())))
            places[found == number] = len(masses)
    return places, masses


def _binned(x: np.ndarray, first: int, bins: int, size: int) -> np.ndarray:
    parts = [x[..., first + k * size : first + (k + 1) * size].reshape(len(x), -1) for k in range(bins)]
    return np.array(parts)
