"""Classes of one's own, named as estimator: what is wrong with them is said with the line that it is in."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from shortloop.base.errors import InputError, TransientError
from shortloop.eeg.decoding.estimators.protocol import ClassifierSettings
from shortloop.eeg.decoding.estimators.sklearn import SklearnSettings

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


def settings(module: Path, name: str = "Nearest", **params: float) -> SklearnSettings:
    return SklearnSettings(path=f"{module.stem}.{name}", params=params)


def test_a_class_that_says_nothing_of_its_parameters(module: Path) -> None:
    module.write_text(GOOD, encoding="utf-8")
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1], 20)
    x = rng.standard_normal((40, 3)) + 9 * labels[:, np.newaxis]
    chosen = settings(module, shrink=0.5)
    assert chosen.make().shrink == 0.5
    assert not chosen.is_linear
    np.testing.assert_array_equal(chosen.fit(x, labels).predict(x), labels)
    with pytest.raises(InputError, match=r"no such parameter(.|\n)*shrnk(.|\n)*expected: +shrink"):
        settings(module, shrnk=0.5).make()


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
        settings(module).make()
    error = caught.value
    assert words in str(error.found)
    assert module.stem in str(error.found)
    if line is not None:
        assert error.file == f"{module}, line {line}"
    assert error.hint


def test_what_is_no_class_of_the_module(module: Path) -> None:
    module.write_text(GOOD, encoding="utf-8")
    for name, words in (("Nearst", "has no Nearst"), ("np", "not callable")):
        with pytest.raises(InputError, match=words) as caught:
            settings(module, name).make()
        assert not isinstance(caught.value, TransientError)
    with pytest.raises(InputError, match="No module named"):
        SklearnSettings(path=f"{module.stem}_other.Nearest").make()


@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), MemoryError()])
def test_what_the_machine_lacks_is_not_the_fault_of_a_class(module: Path, error: Exception) -> None:
    module.write_text(f"raise {error!r}\n", encoding="utf-8")
    with pytest.raises(type(error)):
        settings(module).make()


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


def test_folds_share_no_classifier() -> None:
    x, labels = np.array([[0.0], [1.0]]), np.array([0, 1])
    first = Shared().fit(x, labels)
    Shared().fit(x, labels[::-1])
    np.testing.assert_array_equal(first.predict(x), labels)


def test_weights_of_classes_are_of_one_fit() -> None:
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(40, 2)), np.repeat([0, 1], [34, 6])
    plain = Curved().fit(x, labels).predict(x)
    balanced = Curved().fit(x, labels, balanced=True).predict(x)
    assert not np.array_equal(plain, balanced)
    np.testing.assert_array_equal(Curved().fit(x, labels).predict(x), plain)
