"""Estimators of scikit-learn, of one's own, and MATLAB's by libsvm: they give what scikit-learn gives."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusal import refusal
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.class_weight import compute_class_weight

from shortloop.base.errors import TransientError
from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.estimators.matlab_svm import MatlabSvmSettings
from shortloop.eeg.decoding.estimators.protocol import ClassifierSettings
from shortloop.eeg.decoding.estimators.ridge import RidgeSettings
from shortloop.eeg.decoding.estimators.sklearn import SklearnSettings
from shortloop.eeg.decoding.models import Fitted
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.solvers.common import class_weights
from shortloop.eeg.decoding.train import train_bin, warm_up
from shortloop.eeg.testing import ESTIMATOR_CHECKS, Check
from shortloop.keys.closure import closure
from shortloop.keys.code import code_state
from shortloop.settings.base import tag_of

ROOT = Path(__file__).resolve().parents[3]
RECORDS = {tag_of(each): each for each in EstimatorSettings.kinds()}
PATHS = ["sklearn.naive_bayes.GaussianNB", "sklearn.linear_model.LogisticRegression"]
SETTINGS = [{"kind": kind} for kind in RECORDS if kind != "sklearn"]
SETTINGS += [{"kind": "sklearn", "path": path} for path in PATHS]
NAMES = [each.get("path", each["kind"]) for each in SETTINGS]
FEW = ("linear-svm",)
every = pytest.mark.parametrize("settings", SETTINGS, ids=NAMES)


def estimator_of(settings: dict[str, str]) -> EstimatorSettings:
    return EstimatorSettings.model_validate(settings)


def test_estimators_are_found_named_and_light() -> None:
    folder = ROOT / "shortloop" / "eeg" / "decoding" / "estimators"
    assert {file.stem for file in folder.glob("*.py")} == {
        *("__init__", "estimator", "protocol"),
        *(record.__module__.rpartition(".")[2] for record in RECORDS.values()),
    }
    # All records of estimators are imported with it.
    code = "import sys, shortloop.eeg.study.schema; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {*done.stdout.split()} & {"mne", "numpy", "scipy", "sklearn", "numba"} == set()
    page = (ROOT / "docs" / "decoding.md").read_text(encoding="utf-8")
    assert {kind for kind in RECORDS if f'kind = "{kind}"' not in page} == {"linear-svm"}  # the default
    assert estimator_of({"kind": "sklearn", "path": "tools.nearest.Nearest"}).modules() == [
        "shortloop.eeg.decoding.estimators.sklearn",
        "tools.nearest",
    ]


CHECKS = [each for each in ESTIMATOR_CHECKS if "light" not in each.__name__]  # see the default study


def cases() -> Iterator[object]:
    """Every check of every estimator; of the one that takes a process, some in the slow tests."""
    for settings, name in zip(SETTINGS, NAMES):
        for check in CHECKS:
            is_slow = "warming" in check.__name__ and name not in FEW
            marks = [pytest.mark.slow] if is_slow else []
            yield pytest.param(settings, check, id=f"{name}-{check.__name__}", marks=marks)


@pytest.mark.parametrize(("settings", "check"), [*cases()])
def test_it_passes_the_common_tests(settings: dict[str, str], check: Check) -> None:
    check(settings)


@every
@pytest.mark.parametrize("stage", ["train", "apply", "permute"])
def test_a_key_holds_the_estimator_that_it_trains_and_no_other(settings: dict[str, str], stage: str) -> None:
    method = ROOT / "methods" / f"a_{stage}.py"
    estimator = estimator_of(settings)
    own = type(estimator).__module__
    estimators = {record.__module__ for record in RECORDS.values()}
    solvers = {module for name in estimators for module in closure(method, [name])[0]}
    assert estimators < solvers - set(closure(method)[0])
    more = estimator.modules(batched=stage == "permute")
    held = set(closure(method, more)[0])
    assert held & estimators == {own}
    assert any("solvers.svm" in name for name in held) == (settings["kind"] == "linear-svm")
    assert any(".lda" in name for name in held) == (settings["kind"] == "lda")
    if estimator.batched:
        assert (f"shortloop.eeg.decoding.batched.{estimator.batched}" in held) == (stage == "permute")
    libraries = code_state(method, more).libraries
    assert ("sklearn" in libraries) == (settings["kind"] in ("sklearn", "matlab-svm"))


LINEAR: list[tuple[str, dict[str, Any]]] = [
    ("sklearn.discriminant_analysis.LinearDiscriminantAnalysis", {"solver": "lsqr", "shrinkage": "auto"}),
    ("sklearn.discriminant_analysis.LinearDiscriminantAnalysis", {}),
    ("sklearn.linear_model.LogisticRegression", {"C": 0.1}),
    ("sklearn.linear_model.RidgeClassifier", {"alpha": 3.0}),
    ("sklearn.svm.LinearSVC", {"C": 0.01}),
    ("sklearn.linear_model.SGDClassifier", {}),
]
OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("sklearn.naive_bayes.GaussianNB", {}),
    ("sklearn.svm.SVC", {"kernel": "rbf", "C": 2.0}),
    ("sklearn.ensemble.RandomForestClassifier", {"n_estimators": 15}),
    ("sklearn.ensemble.RandomForestClassifier", {"n_estimators": 5, "random_state": 5}),
]


def settings(path: str, params: dict[str, Any]) -> SklearnSettings:
    return SklearnSettings(kind="sklearn", path=path, params=params)


def own(path: str, params: dict[str, Any]) -> BaseEstimator:
    """The estimator, made without the package under test."""
    module, name = path.rsplit(".", 1)
    estimator = getattr(importlib.import_module(module), name)(**params)
    if "random_state" in estimator.get_params() and "random_state" not in params:
        estimator.set_params(random_state=0)
    return estimator


def problem(seed: int, n_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(n_classes), rng.integers(12, 18, n_classes)))
    patterns = 0.6 * rng.standard_normal((n_classes, 20))
    return rng.standard_normal((len(labels), 20)) + patterns[labels], labels, rng.standard_normal((50, 20))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("path", "params"), LINEAR + OTHERS)
def test_predictions(path: str, params: dict[str, Any], n_classes: int) -> None:
    x, labels, fresh = problem(n_classes, n_classes)
    fitted, expected = settings(path, params).fit(x, labels), own(path, params).fit(x, labels)
    np.testing.assert_array_equal(fitted.predict(fresh), expected.predict(fresh))
    linear = (path, params) in LINEAR
    assert settings(path, params).is_linear is linear
    assert (fitted.weights is not None) is linear
    if linear:
        assert np.asarray(fitted.weights).shape == (n_classes, 20)
        theirs = expected.decision_function(fresh)
        np.testing.assert_allclose(decisions_as_sklearn(fitted, fresh), theirs, rtol=1e-7, atol=1e-9)


WRONG = [
    ("sklearn.svm.NoSuchClassifier", {}, "estimator.path", "NoSuchClassifier"),
    ("sklearn.no_such_module.SVC", {}, "estimator.path", "no_such_module"),
    ("nosuchpackage.SVC", {}, "estimator.path", "nosuchpackage"),
    ("math.pi", {}, "estimator.path", "math.pi"),
    ("sklearn.svm.SVR", {}, "estimator.path", "sklearn.svm.SVR"),
    ("sklearn.linear_model.Ridge", {}, "estimator.path", "Ridge"),
    ("sklearn.cluster.KMeans", {}, "estimator.path", "KMeans"),
    ("sklearn.preprocessing.StandardScaler", {}, "estimator.path", "StandardScaler"),
    ("builtins.dict", {}, "estimator.path", "dict"),
    ("sklearn.pipeline.Pipeline", {}, "estimator.path", "Pipeline"),
    ("sklearn.svm.SVC", {"Cc": 1.0}, "estimator.params.Cc", "Cc"),
    ("sklearn.svm.SVC", {"C": -1.0}, "estimator.params", "C"),
    ("sklearn.svm.SVC", {"C": "large"}, "estimator.params", "large"),
    ("sklearn.svm.SVC", {"kernel": "circular"}, "estimator.params", "circular"),
    ("sklearn.linear_model.LogisticRegression", {"solver": "none"}, "estimator.params", "solver"),
]


@pytest.mark.parametrize(("path", "params", "field", "named"), WRONG)
def test_wrong_estimators_are_refused(path: str, params: dict[str, Any], field: str, named: str) -> None:
    for refuse in (SklearnSettings.make, warm_up, lambda settings: settings.is_linear):
        with refusal("", named, field=field) as caught:
            refuse(settings(path, params))
        assert caught.value.hint


def test_parameters_that_exclude_each_other_are_explained() -> None:
    x, labels, _ = problem(7, 3)
    wrong = settings(LINEAR[0][0], {"solver": "svd", "shrinkage": "auto"})
    with refusal("shrinkage not supported", field="estimator"):
        wrong.fit(x, labels)


GOOD = '''\
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Nearest(ClassifierMixin, BaseEstimator):
    """The class of the nearest mean; it says nothing of what its parameters may be."""

    def __init__(self, shrink=0.0):
        self.shrink = shrink

    def fit(self, x, y):
        self.classes_ = np.unique(y)
        self.means_ = np.stack([x[y == each].mean(axis=0) for each in self.classes_])
        return self

    def predict(self, x):
        return self.classes_[((x[:, None] - self.means_) ** 2).sum(axis=2).argmin(axis=1)]
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A file that can be imported, under a name of its own."""
    monkeypatch.syspath_prepend(tmp_path)
    name = "".join(letter if letter.isalnum() else "_" for letter in request.node.name)
    return tmp_path / f"own_{name}.py"


def own_class(module: Path, name: str = "Nearest", **params: float) -> SklearnSettings:
    return SklearnSettings(path=f"{module.stem}.{name}", params=params)


def test_a_class_that_says_nothing_of_its_parameters(module: Path) -> None:
    module.write_text(GOOD, encoding="utf-8")
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1], 20)
    x = rng.standard_normal((40, 3)) + 9 * labels[:, np.newaxis]
    chosen = own_class(module, shrink=0.5)
    assert chosen.make().shrink == 0.5
    assert not chosen.is_linear
    np.testing.assert_array_equal(chosen.fit(x, labels).predict(x), labels)
    with refusal(r"no such parameter(.|\n)*shrnk(.|\n)*expected: +shrink"):
        own_class(module, shrnk=0.5).make()


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("    def fit(self, x, y):", "    def fit(self, x, y)", 11, "SyntaxError"),
        ("import numpy as np", "import numpy as np\n1 / 0", 2, "ZeroDivisionError"),
        ("import numpy as np", "import numpy as np\nimport no_such_library", 2, "no_such_library"),
        ("import numpy as np", "import numpy as np\nfrom sklearn import no_such", 2, "no_such"),
        ("import numpy as np", "import numpy as np\nimport sys; sys.exit(3)", 2, "SystemExit: 3"),
        ("import numpy as np", "import numpy as np; nul = '\0'", None, "null bytes"),
        ("import numpy as np", "import numpy as np\nimport json; json.loads('{')", 2, "JSONDecodeError"),
        ("        self.shrink = shrink", "        self.shrink = shrink.real.none", 9, "AttributeError"),
        ("        self.shrink = shrink", "        self.other = shrink", None, "'shrink'"),
        ("        self.shrink = shrink", "        raise RuntimeError('not today')", 9, "not today"),
    ],
)
def test_code_that_fails(module: Path, old: str, new: str, line: int | None, words: str) -> None:
    assert old in GOOD
    module.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(TransientError) as caught:
        own_class(module).make()
    error = caught.value
    assert words in str(error.found)
    if line is not None:
        assert error.file == f"{module}, line {line}"
    assert error.hint


def test_what_is_no_class_of_the_module(module: Path) -> None:
    module.write_text(GOOD, encoding="utf-8")
    for name, words in (("Nearst", "has no Nearst"), ("np", "not callable")):
        with refusal(words) as caught:
            own_class(module, name).make()
        assert not isinstance(caught.value, TransientError)
    with refusal("No module named"):
        SklearnSettings(path=f"{module.stem}_other.Nearest").make()


@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), MemoryError()])
def test_what_the_machine_lacks_is_not_the_fault_of_a_class(module: Path, error: Exception) -> None:
    module.write_text(f"raise {error!r}\n", encoding="utf-8")
    with pytest.raises(type(error)):
        own_class(module).make()


NEAREST, CURVED = KNeighborsClassifier(1), SVC()


class Shared(ClassifierSettings):
    kind: Literal["nearest"] = "nearest"

    def make(self) -> Any:
        return NEAREST

    def described(self, n_classes: int) -> str:
        return "nearest neighbours"


class Curved(Shared):
    def make(self) -> Any:
        return CURVED


def test_fits_of_one_object_are_apart_with_weights_of_classes_or_without() -> None:
    x, labels = np.array([[0.0], [1.0]]), np.array([0, 1])
    first = Shared().fit(x, labels)
    Shared().fit(x, labels[::-1])
    np.testing.assert_array_equal(first.predict(x), labels)
    x, labels = np.random.default_rng(0).normal(size=(40, 2)), np.repeat([0, 1], [34, 6])
    plain = Curved().fit(x, labels).predict(x)
    assert not np.array_equal(plain, Curved().fit(x, labels, balanced=True).predict(x))
    np.testing.assert_array_equal(Curved().fit(x, labels).predict(x), plain)


def decisions(fitted: Fitted, x: np.ndarray) -> np.ndarray:
    assert fitted.weights is not None
    found: np.ndarray = x @ fitted.weights.T + np.asarray(fitted.intercepts)
    return found


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("scale", [1.0, 7.5, "auto"])
@pytest.mark.parametrize("C", [1.0, 0.05])
def test_decisions_of_the_matlab_svm(n_classes: int, scale: float | str, C: float) -> None:
    x, labels, fresh = problem(n_classes, n_classes)
    apart = np.median(cdist(x, x)[labels[:, np.newaxis] != labels])
    divisor = float(apart if scale == "auto" else scale)
    fitted = MatlabSvmSettings(C=C, kernel_scale=scale, tol=1e-10).fit(x, labels)
    machine, seen = SVC(kernel="linear", C=C, tol=1e-10), fresh / divisor
    each = [machine.fit(x / divisor, labels == k).decision_function(seen) for k in range(n_classes)]
    expected = np.stack(each, axis=1)
    np.testing.assert_allclose(decisions(fitted, fresh), expected, atol=1e-5 * np.abs(expected).max())
    clear = np.diff(np.sort(expected, axis=1)[:, -2:], axis=1)[:, 0] > 1e-4
    assert clear.mean() > 0.9
    one_vs_rest = OneVsRestClassifier(SVC(kernel="linear", C=C, tol=1e-10)).fit(x / divisor, labels)
    np.testing.assert_array_equal(fitted.predict(fresh)[clear], one_vs_rest.predict(fresh / divisor)[clear])
    assert np.isnan(fitted.C)


def test_the_matlab_svm_has_an_intercept_without_penalty_and_decodes_by_hinge_loss() -> None:
    x, labels, fresh = problem(10, 3)
    near = MatlabSvmSettings(kernel_scale=5.0, tol=1e-10).fit(x, labels)
    far = MatlabSvmSettings(kernel_scale=5.0, tol=1e-10).fit(x + 3.0, labels)
    # libsvm keeps its kernel in single precision.
    np.testing.assert_allclose(decisions(near, fresh), decisions(far, fresh + 3.0), atol=1e-4)
    # fitcecoc decodes by losses of all binary machines; for one against all they agree.
    x, labels, fresh = problem(9, 4)
    fitted = MatlabSvmSettings().fit(x, labels)
    s = decisions(fitted, fresh)
    coding = 2 * np.eye(4) - 1
    loss = np.maximum(0, 1 - coding[np.newaxis] * s[:, np.newaxis]).sum(axis=2) / 2
    np.testing.assert_array_equal(fitted.predict(fresh), loss.argmin(axis=1))
    labels = np.tile([0, 1, 2], 5)
    fitted = MatlabSvmSettings().fit(np.zeros((15, 3)), labels)
    assert np.isfinite(decisions(fitted, np.ones((1, 3)))).all()


BALANCED = DecodingSettings(folds=4, class_weight="balanced")
LOGISTIC = SklearnSettings(kind="sklearn", path="sklearn.linear_model.LogisticRegression")


def uneven(seed: int, classes: int, features: int, most: int = 50) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(classes), [most, *rng.integers(12, 20, classes - 1)]))
    x = rng.standard_normal((len(labels), features))
    x[:, : classes * 2] += 0.7 * (labels[:, np.newaxis] == np.arange(classes * 2) % classes)
    return x, labels


def decisions_as_sklearn(fitted: Fitted, x: np.ndarray) -> np.ndarray:
    found = decisions(fitted, x)
    return found[:, 1] if found.shape[1] == 2 else found


@hypothesis.settings(max_examples=40, deadline=None)
@given(labels=st.lists(st.integers(0, 3), min_size=1, max_size=40))
def test_weights_are_those_of_scikit_learn(labels: list[int]) -> None:
    present = np.unique(labels)
    found = class_weights(np.array(labels), 4)
    np.testing.assert_allclose(found[present], compute_class_weight("balanced", classes=present, y=labels))
    assert (np.delete(found, present) == 0).all()


def hinge(C: float = 1.0) -> LinearSVC:
    return LinearSVC(C=C, loss="hinge", class_weight="balanced", tol=1e-9, max_iter=10**6)


PEERS: list[tuple[EstimatorSettings, Any, float]] = [
    *((LinearSvmSettings(C=(C,), tol=1e-9), hinge(C), 2e-5) for C in (1e-3, 0.1)),
    *((RidgeSettings(alpha=a), RidgeClassifier(a, class_weight="balanced"), 1e-8) for a in (1.0, 300.0)),
    (LOGISTIC, LogisticRegression(class_weight="balanced", random_state=0), 1e-9),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("estimator", "peer", "atol"), PEERS)
def test_decisions_are_as_of_sklearn(estimator: EstimatorSettings, peer: Any, atol: float, seed: int) -> None:
    for classes in (2, 3):
        for features in (12, 130):
            x, labels = uneven(seed, classes, features)
            new = uneven(seed + 100, classes, features)[0]
            found = decisions_as_sklearn(estimator.fit(x, labels, balanced=True), new)
            np.testing.assert_allclose(found, peer.fit(x, labels).decision_function(new), atol=atol)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_grid_of_the_linear_svm(classes: int) -> None:
    grid = (1e-4, 1e-3, 1e-2, 1e-1)
    chosen = set()
    for seed in range(4):
        x, labels = uneven(seed, classes, 60)
        search = GridSearchCV(hinge(), {"C": grid}, cv=StratifiedKFold(5)).fit(x, labels)
        found = LinearSvmSettings(C=grid, tol=1e-9).fit(x, labels, balanced=True)
        assert search.best_params_["C"] == found.C
        chosen.add(found.C)
    assert len(chosen) > 1


@pytest.mark.parametrize("seed", range(2))
def test_matlab_svm(seed: int) -> None:
    estimator = MatlabSvmSettings(kernel_scale=10.0, tol=1e-8)
    machine = SVC(C=1.0, kernel="linear", class_weight="balanced", tol=1e-8)
    for classes in (2, 3):
        x, labels = uneven(seed, classes, 40)
        new = uneven(seed + 100, classes, 40)[0]
        fitted = estimator.fit(x, labels, balanced=True)
        reference = OneVsRestClassifier(machine).fit(x / 10, labels).decision_function(new / 10)
        np.testing.assert_allclose(decisions_as_sklearn(fitted, new), reference, atol=1e-5)


def test_training_refuses_class_weights_that_an_estimator_lacks() -> None:
    x, labels = uneven(0, 2, 10)
    bayes = SklearnSettings(kind="sklearn", path="sklearn.naive_bayes.GaussianNB")
    with refusal("no class weights", "decoding.subsample = true"):
        train_bin(x, labels, stratified_folds(labels, 4, 0), n_classes=2, decoding=BALANCED, estimator=bayes)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scaling", ["separate", "training"])
def test_all_folds_at_once_are_one_by_one(classes: int, scaling: Any) -> None:
    x, labels = uneven(3, classes, 80)
    folds = stratified_folds(labels, 4, 0)
    decoding = BALANCED.model_copy(update={"scaling": scaling})
    estimator = LinearSvmSettings(tol=1e-9)

    class OneByOne(LinearSvmSettings):
        def train_folds(self, *arguments: Any, **given_: Any) -> None:
            return None

    together = train_bin(x, labels, folds, n_classes=classes, decoding=decoding, estimator=estimator)
    single = train_bin(x, labels, folds, n_classes=classes, decoding=decoding, estimator=OneByOne(tol=1e-9))
    np.testing.assert_array_equal(together.C, single.C)
    np.testing.assert_array_equal(together.predicted, single.predicted)
    np.testing.assert_allclose(together.weights, single.weights, atol=1e-6)
    plain = DecodingSettings(folds=4, scaling=scaling)
    unlike = train_bin(x, labels, folds, n_classes=classes, decoding=plain, estimator=estimator)
    assert (unlike.predicted != together.predicted).any()
