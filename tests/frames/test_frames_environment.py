"""An environment for Modin: made only on request, and looked into before anything is measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shortloop.errors import InputError
from shortloop.frames import environment
from shortloop.frames.analysis import ANALYSIS
from shortloop.frames.environment import installed_there, make_environment
from shortloop.frames.pipeline import left_out
from shortloop.frames.settings import Frames, ModinSettings

FILE = Path("frames.toml")


def test_without_one_modin_is_left_out_with_a_reason() -> None:
    frames = Frames(name="a", libraries=("modin", "pandas"))
    assert "shortloop modin-environment" in left_out(frames)["modin"]
    named = Frames(name="a", libraries=("modin",), modin=ModinSettings(environment="there"))
    assert left_out(named) == {}


def test_a_library_that_is_missing_is_left_out_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shortloop.no_such", None)
    monkeypatch.setattr("shortloop.frames.pipeline.is_installed", lambda name: name != "polars")
    assert left_out(Frames(name="a")) == {
        "modin": left_out(Frames(name="a"))["modin"],
        "polars": "polars missing: `pip install 'shortloop[frames]'`",
    }


def test_what_is_no_environment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no virtual environment"):
        installed_there(tmp_path, ["modin"], FILE)


def test_an_environment_that_lacks_it_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "there"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    with pytest.raises(InputError, match=r"no modin, ray in") as caught:
        installed_there(folder, ["modin", "ray"], FILE)
    assert caught.value.field == "modin.environment"
    assert "pip install" in str(caught.value.hint)


def test_where_something_is_already_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(InputError, match="something is there already"):
        make_environment(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]
    with pytest.raises(InputError, match="something is there already"):
        make_environment(tmp_path / "mine")


def test_the_command_says_what_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(environment, "make_environment", asked.append)
    assert ANALYSIS.commands is not None
    done = CliRunner().invoke(ANALYSIS.commands, [str(tmp_path / "new")])
    assert done.exit_code == 0
    assert asked == [tmp_path / "new"]
    assert f'environment = "{tmp_path / "new"}"' in done.output
