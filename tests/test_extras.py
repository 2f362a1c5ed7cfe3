"""What is said where a library is missing that not everybody needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from refused import refusing
from source_tree import ROOT

from shortloop.base.errors import InputError, TransientError
from shortloop.base.extras import need


def run_without(folder: Path, code: str, *libraries: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{refusing(folder, libraries)}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_what_is_missing_is_named_with_what_to_install() -> None:
    need("some", ["json", "numpy", "pytest"])  # what is installed is not spoken of
    with pytest.raises(InputError) as caught:
        need("some", ["no_such_library", "json"])
    assert "no_such_library is not installed" in str(caught.value)
    assert "pip install 'shortloop[some]'" in str(caught.value)
    assert isinstance(caught.value, TransientError)  # no job keeps it as its result
    with pytest.raises(InputError, match="nothing_1, nothing_2 are not installed"):
        need("some", ["nothing_1", "nothing_2"])


@pytest.mark.parametrize(
    ("code", "library"),
    [
        ("from shortloop.report.style import new_figure as f; f()", "matplotlib"),
        ("from shortloop.report.style import styled as f\nwith f(): pass", "matplotlib"),
        ("from shortloop.report.page import html_of as f; f(None, None)", "jinja2"),
    ],
)
def test_a_report_says_what_it_lacks(tmp_path: Path, code: str, library: str) -> None:
    done = run_without(tmp_path, code, library)
    last = done.stderr[done.stderr.index("shortloop.base.errors.") :]
    assert f"{library} is not installed" in last
    assert "pip install 'shortloop[report]'" in last


@pytest.mark.parametrize("state", ["refused", "None"])
def test_the_package_is_imported_without_numba(tmp_path: Path, state: str) -> None:
    code = "import sys\n" + ("sys.modules['numba'] = None\n" if state == "None" else "") + "import shortloop"
    done = run_without(tmp_path, code, *(["numba"] if state == "refused" else []))
    assert done.returncode == 0, done.stderr
