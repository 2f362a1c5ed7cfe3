"""`shortloop study`: the fields of a study file, and checking one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ROOT, assert_one_message, forked
from on_a_terminal import on_a_terminal

from shortloop.cli.study import check_file
from shortloop.eeg.analysis import ANALYSIS
from shortloop.eeg.study.load import DEFAULT_STUDY
from shortloop.eeg.study.schema import Study
from shortloop.settings.read import documented_fields


def test_it_is_listed_and_explains_itself(tmp_path: Path) -> None:
    assert "Check a settings file" in forked(tmp_path, "--help").stdout
    done = forked(tmp_path, "study", "--help")
    assert done.returncode == 0
    assert "file" in done.stdout.lower()
    assert "Parameters" not in done.stdout


def test_it_lists_whole_fields_on_a_narrow_terminal(tmp_path: Path) -> None:
    code = f"import os, runpy, sys; os.chdir({str(tmp_path)!r}); sys.argv[1:] = ['study']"
    said = on_a_terminal(f"{code}; runpy.run_module('shortloop', run_name='__main__')", 80)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said).splitlines()
    assert max(map(len, lines)) <= 80
    for field, _ in documented_fields(Study):
        assert any(line.split() and line.split()[0] == field for line in lines)


READY = [DEFAULT_STUDY, *sorted((ROOT / "studies").glob("*.toml"))]


@pytest.mark.parametrize("file", READY, ids=lambda file: file.stem)
def test_it_accepts_the_ready_studies(tmp_path: Path, file: Path) -> None:
    done = forked(tmp_path, "study", str(file), "--quick")  # recordings are not everywhere
    assert done.returncode == 0, done.stderr
    assert "is fine" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("seed = 2021", "sede = 2021"), ("study.toml", "unknown key", "sede", "did you mean 'seed'?")),
        (("seed = 2021", 'seed = "x"'), ("study.toml", "wrong value", "seed")),
        (('name = "simulated"', ""), ("study.toml", "missing a key", "name")),
        (("seed = 2021", "seed = "), ("study.toml",)),
    ],
)
def test_it_explains_a_bad_file(tmp_path: Path, change: tuple[str, str], words: tuple[str, ...]) -> None:
    text = DEFAULT_STUDY.read_text(encoding="utf-8")
    assert change[0] in text
    (tmp_path / "study.toml").write_text(text.replace(*change), encoding="utf-8")
    assert_one_message(forked(tmp_path, "study", "study.toml"), *words)


def test_the_name_of_a_study_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / os.fsdecode(b"\x1b[2J\n" + b"\xff.toml")
    file.write_bytes(DEFAULT_STUDY.read_bytes())
    assert ANALYSIS.settings is not None
    check_file(ANALYSIS.settings, file)
    assert r"\x1b[2J\n\udcff.toml is fine" in capsys.readouterr().out


def test_an_output_that_cannot_hold_every_letter(tmp_path: Path) -> None:
    (tmp_path / "µ.toml").write_bytes(DEFAULT_STUDY.read_bytes())
    done = subprocess.run(
        [sys.executable, "-m", "shortloop", "study", "µ.toml"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(rb"\xb5.toml is fine")
