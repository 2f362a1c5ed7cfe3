"""A classifier that an estimator makes is each fold's own, though `make` gives one object each time."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from shortloop.eeg.decoding.estimators.protocol import ClassifierSettings

NEAREST, CURVED = KNeighborsClassifier(1), SVC()


class Nearest(ClassifierSettings):
    kind: Literal["nearest"] = "nearest"

    def make(self) -> Any:
        return NEAREST

    def described(self, n_classes: int) -> str:
        return "nearest neighbours"


class Curved(Nearest):
    def make(self) -> Any:
        return CURVED


def test_folds_share_no_classifier() -> None:
    x, labels = np.array([[0.0], [1.0]]), np.array([0, 1])
    first = Nearest().fit(x, labels)
    Nearest().fit(x, labels[::-1])
    np.testing.assert_array_equal(first.predict(x), labels)


def test_weights_of_classes_are_of_one_fit() -> None:
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(40, 2)), np.repeat([0, 1], [34, 6])
    plain = Curved().fit(x, labels).predict(x)
    balanced = Curved().fit_balanced(x, labels).predict(x)
    assert not np.array_equal(plain, balanced)
    np.testing.assert_array_equal(Curved().fit(x, labels).predict(x), plain)
