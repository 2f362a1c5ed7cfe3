"""What cannot be measured is left out with a reason; an environment for Modin is made only on request."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from refusal import refusal
from typer.testing import CliRunner

from shortloop.frames.command import ANALYSIS
from shortloop.frames.pipeline import REQUIRED, installed_there, left_out
from shortloop.frames.settings import Frames, ModinSettings

FILE = Path("frames.toml")


def test_a_library_that_is_missing_is_left_out_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortloop.frames.pipeline.is_installed", lambda name: name != "polars")
    found = left_out(Frames(name="a"))
    assert "shortloop modin-environment" in found.pop("modin")
    assert found == {"polars": "polars missing: `pip install 'shortloop[frames]'`"}
    assert left_out(Frames(name="a", libraries=("modin",), modin=ModinSettings(environment="there"))) == {}


def test_an_environment_that_lacks_it_is_refused(tmp_path: Path) -> None:
    with refusal("not a virtual environment"):
        installed_there(tmp_path, ["modin"], FILE)
    folder = tmp_path / "there"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    with refusal(r"no modin, ray in", "pip install", field="modin.environment"):
        installed_there(folder, ["modin", "ray"], FILE)


def test_the_command_says_what_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    done = subprocess.CompletedProcess[bytes]([], 0)

    def note(command: list[str], check: bool) -> subprocess.CompletedProcess[bytes]:
        asked.append(command)
        return done

    monkeypatch.setattr(subprocess, "run", note)
    new = tmp_path / "new"
    assert f'environment = "{new}"' in invoke(new)
    assert asked == [
        [sys.executable, "-m", "venv", str(new)],
        [f"{new}/bin/python", "-m", "pip", "install", *REQUIRED],
    ]
    done.returncode = 1
    with refusal("the environment could not be created"):
        invoke(new)
    (tmp_path / "mine").write_text("mine")
    for there in (tmp_path, tmp_path / "mine"):  # where something is already nothing is made
        with refusal("the folder is not empty"):
            invoke(there)
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]


def invoke(folder: Path) -> str:
    """What the command prints."""
    assert ANALYSIS.commands is not None
    return CliRunner().invoke(ANALYSIS.commands, [str(folder)], catch_exceptions=False).output
