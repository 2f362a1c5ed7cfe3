"""The MATLAB-like SVM is libsvm's, one class against all others, its intercept unpenalised."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from shortloop.eeg.decoding.estimators.matlab_svm import MatlabSvmSettings
from shortloop.eeg.decoding.models import Fitted


def problem(seed: int, n_classes: int, n_features: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(n_classes), rng.integers(8, 16, n_classes)))
    patterns = 0.5 * rng.standard_normal((n_classes, n_features))
    return (
        rng.standard_normal((len(labels), n_features)) + patterns[labels],
        labels,
        rng.standard_normal((30, n_features)),
    )


def decisions(fitted: Fitted, x: np.ndarray) -> np.ndarray:
    assert fitted.weights is not None
    assert fitted.intercepts is not None
    found: np.ndarray = x @ fitted.weights.T + fitted.intercepts
    return found


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("scale", [1.0, 7.5, "auto"])
@pytest.mark.parametrize("C", [1.0, 0.05])
def test_decisions(n_classes: int, scale: float | str, C: float) -> None:
    x, labels, fresh = problem(n_classes, n_classes)
    if scale == "auto":
        pairs = cdist(x, x)[labels[:, np.newaxis] != labels]
        divisor = float(np.median(pairs))
    else:
        divisor = float(scale)
    settings = MatlabSvmSettings(C=C, kernel_scale=scale, tol=1e-10)
    fitted = settings.fit(x, labels)
    found = decisions(fitted, fresh)
    expected = np.stack(
        [
            SVC(kernel="linear", C=C, tol=1e-10)
            .fit(x / divisor, labels == k)
            .decision_function(fresh / divisor)
            for k in range(n_classes)
        ],
        axis=1,
    )
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
    clear = np.diff(np.sort(expected, axis=1)[:, -2:], axis=1)[:, 0] > 1e-4
    assert clear.mean() > 0.9
    one_vs_rest = OneVsRestClassifier(SVC(kernel="linear", C=C, tol=1e-10)).fit(x / divisor, labels)
    np.testing.assert_array_equal(fitted.predict(fresh)[clear], one_vs_rest.predict(fresh / divisor)[clear])
    assert np.isnan(fitted.C)


def test_largest_decision_is_smallest_hinge_loss() -> None:
    # fitcecoc decodes by losses of all binary machines; for one against all they agree.
    x, labels, fresh = problem(9, 4)
    fitted = MatlabSvmSettings().fit(x, labels)
    s = decisions(fitted, fresh)
    coding = 2 * np.eye(4) - 1
    loss = np.maximum(0, 1 - coding[np.newaxis] * s[:, np.newaxis]).sum(axis=2) / 2
    np.testing.assert_array_equal(fitted.predict(fresh), loss.argmin(axis=1))


def test_intercept_is_not_penalised() -> None:
    x, labels, fresh = problem(10, 3)
    near = MatlabSvmSettings(kernel_scale=5.0, tol=1e-10).fit(x, labels)
    far = MatlabSvmSettings(kernel_scale=5.0, tol=1e-10).fit(x + 3.0, labels)
    # libsvm keeps its kernel in single precision.
    np.testing.assert_allclose(decisions(near, fresh), decisions(far, fresh + 3.0), atol=1e-4)


def test_all_zero_features() -> None:
    labels = np.tile([0, 1, 2], 5)
    fitted = MatlabSvmSettings().fit(np.zeros((15, 3)), labels)
    assert np.isfinite(decisions(fitted, np.ones((1, 3)))).all()
