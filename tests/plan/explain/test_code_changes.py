"""What changed in code: the functions by name, from what exax kept of the job before."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_jobs import CODE, keep_code

from shortloop.keys.code import EXTRA_CODE
from shortloop.plan.explain.reasons import changed_names, stored_code

OLD = """\
import os
LIMIT = 3
first, second = (1, 2)

def solve(x):
    return x

class Model:
    size: int = 1

    def fit(self, x):
        return x

    def predict(self, x):
        return x"""


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("", ""), []),
        (("import os", "import sys"), []),
        (("LIMIT = 3", "LIMIT = 4"), ["LIMIT"]),
        (("(1, 2)", "(1, 3)"), ["first", "second"]),
        (("def solve(x):\n    return x", "def solve(x):\n    return -x"), ["solve"]),
        (("def solve(x)", "def solved(x)"), ["solved", "solve"]),
        (("size: int = 1", "size: int = 2"), ["Model.size"]),
        (
            ("def predict(self, x):\n        return x", "def predict(self, x):\n        return 2"),
            ["Model.predict"],
        ),
        (("class Model:", "class Model(dict):"), ["Model"]),
        (("def fit(self, x)", "def fit(self, x, y)"), ["Model.fit"]),
    ],
)
def test_what_changed_has_a_name(change: tuple[str, str], names: list[str]) -> None:
    assert changed_names(OLD, OLD.replace(*change)) == names


def test_the_code_of_a_job_is_in_what_exax_kept(tmp_path: Path) -> None:
    method = '"""A docstring."""\nimport shortloop.steps  # a comment'
    keep_code(tmp_path, "scores", {**CODE, "methods.a_scores": method, "shortloop.empty": ""})
    assert stored_code(tmp_path) == {**CODE, "shortloop.empty": ""}


def test_with_that_of_modules_that_it_imports_by_name(tmp_path: Path) -> None:
    keep_code(tmp_path, "scores", CODE)
    (tmp_path / EXTRA_CODE).write_text("\n# module tools.one\nx = 1\n\n# module tools.two\ny = 2\nz = 3\n")
    assert stored_code(tmp_path) == {**CODE, "tools.one": "x = 1", "tools.two": "y = 2\nz = 3"}


@pytest.mark.parametrize("damage", ["gone", "cut short", "no archive"])
def test_code_that_cannot_be_read_is_not_known(tmp_path: Path, damage: str) -> None:
    keep_code(tmp_path, "scores", CODE)
    file = tmp_path / "method.tar.gz"
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:60] if damage == "cut short" else b"nothing")
    assert stored_code(tmp_path) == {}
