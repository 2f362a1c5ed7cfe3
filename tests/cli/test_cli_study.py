"""`shortloop study` is for the settings of every analysis."""

from __future__ import annotations

import re
from pathlib import Path

from command_line import ROOT, forked

PANEL = ROOT / "shortloop/panel/default.toml"
STUDY = ROOT / "shortloop/eeg/study/default.toml"


def test_fields_are_those_of_the_analysis_that_is_named(tmp_path: Path) -> None:
    said = forked(tmp_path, "study", "--panel").stdout
    assert "groups.blocks" in said
    assert "models[ols].formula" in said
    assert "participants" not in said
    assert "participants" in forked(tmp_path, "study", "--eeg").stdout


def test_a_file_is_taken_for_what_it_looks_like(tmp_path: Path) -> None:
    assert "models plain (ols)" in forked(tmp_path, "study", str(PANEL)).stdout
    assert "8 participants" in forked(tmp_path, "study", str(STUDY)).stdout
    assert "models plain (ols)" in forked(tmp_path, "study", "--panel", str(PANEL)).stdout
    wrong = forked(tmp_path, "study", str(PANEL), "--eeg")
    assert wrong.returncode == 1
    assert "missing a key" in wrong.stdout


def test_an_analysis_that_is_not_there(tmp_path: Path) -> None:
    done = forked(tmp_path, "study", "--no-such")
    assert done.returncode == 2
    assert "no such option: --no-such" in done.stderr
    assert re.search("expected: +.*--eeg, --frames.*--panel", done.stderr)
    done = forked(tmp_path, "study", "--pane")
    assert "did you mean --panel?" in done.stderr
