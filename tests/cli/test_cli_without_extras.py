"""The command where libraries that not everybody needs are not installed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from command_line import ROOT, assert_one_message, shortloop
from refused import refusing
from toy_jobs import ToyJobs, toy_project

from shortloop.base.extras import REPORT_LIBRARIES
from shortloop.eeg.pipeline import LIBRARIES


def without(folder: Path, libraries: tuple[str, ...], *arguments: str) -> subprocess.CompletedProcess[str]:
    return shortloop(folder, *arguments, library=f"{refusing(folder, libraries)}:{ROOT}")


def test_two_jobs_are_compared_but_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(toy_project(tmp_path))
    made = ToyJobs(tmp_path)
    made.make(options={"C": 1})
    made.make(options={"C": 2}, left=2.5)
    done = without(tmp_path, REPORT_LIBRARIES, "compare", "main-0", "main-1")
    assert "· option C: 1 → 2" in done.stdout
    assert "4 values differ" in done.stdout
    assert "mean  51.500  54.000       2.500" in done.stdout
    done.stdout = ""
    assert_one_message(done, "matplotlib", "not installed", "pip install 'shortloop[report]'")


def test_a_study_is_checked_without_what_its_run_needs(tmp_path: Path) -> None:
    done = without(tmp_path, LIBRARIES, "study", str(ROOT / "shortloop/eeg/study/default.toml"))
    assert done.returncode == 0, done.stderr
    assert "is fine" in done.stdout


@pytest.mark.parametrize("library", ["mne", "numba", "matplotlib"])
def test_a_run_says_at_once_what_it_lacks(tmp_path: Path, library: str) -> None:
    """Planned here: a run begins in the same way."""
    refused = refusing(tmp_path, [library])
    (tmp_path / "accelerator.conf").write_text(
        (ROOT / "accelerator.conf").read_text(encoding="utf-8"), encoding="utf-8"
    )
    for name in ("methods", "build_scripts", "dev"):
        (tmp_path / name).symlink_to(ROOT / name)
    done = shortloop(tmp_path, "plan", library=f"{refused}:{ROOT}")
    assert_one_message(done, f"{library} is not installed", "pip install 'shortloop[eeg]'")
