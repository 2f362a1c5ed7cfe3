"""An estimator of one's own in a run: what is wrong with it is one message, which no job keeps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import pytest
from live_project import STUDY, LiveProject, fixture_of

pytestmark = pytest.mark.live

MODULE = """\
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from helper import nearest


class Nearest(ClassifierMixin, BaseEstimator):
    def fit(self, x, y):
        self.classes_ = np.unique(y)
        self.means_ = np.stack([x[y == each].mean(axis=0) for each in self.classes_])
        return self

    def predict(self, x):
        return self.classes_[nearest(x, self.means_)]
"""
HELPER = """\
def nearest(x, means):
    return ((x[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
"""


class OwnEstimator(LiveProject):
    """A study of one participant, with an estimator in a module beside it."""

    sources: ClassVar = {"mine.py": MODULE}

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.edit_study('["A", "B"]', '["A"]')
        linear = STUDY[STUDY.index('kind = "linear-svm"') : STUDY.index("[permutations]")]
        self.edit_study(linear, 'kind = "sklearn"\npath = "mine.Nearest"\n\n')


project = fixture_of(OwnEstimator)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "helper", "where", "words"),
    [
        pytest.param(
            MODULE.replace("def fit(self, x, y):", "def fit(self, x, y)"),
            HELPER,
            "mine.py, line 8",
            "a file is not Python",
            marks=pytest.mark.slow,
        ),
        (MODULE, "1 / 0\n", "helper.py, line 1", "ZeroDivisionError"),
        pytest.param(
            MODULE,
            "def nearest(x, means)\n",
            "helper.py, line 1",
            "a file is not Python",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["no Python", "fails at import", "imports what is no Python"],
)
def test_a_module_that_cannot_be_imported(
    project: LiveProject, module: str, helper: str, where: str, words: str
) -> None:
    project.write("mine.py", module)
    project.write("helper.py", helper)
    for command in (project.shortloop, project.ax):
        failed = command("run", "build_pipeline")
        said = failed.stdout + failed.stderr
        assert failed.returncode == 1, said
        assert said.count("shortloop: ") == 1
        assert where in said
        assert words in said
        assert "Traceback" not in said


@pytest.mark.slow
def test_it_is_used_once_it_is_mended(project: LiveProject) -> None:
    """Though its helper is what was mended, of which no key knows."""
    project.write("mine.py", MODULE)
    project.write("helper.py", HELPER)
    done = project.shortloop("run").ok()
    assert re.search(r"built train +A", done.stdout)
