"""Which engine a run uses: as its settings file and the environment say, and no study knows of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shortloop.base.errors import InputError
from shortloop.settings.base import Settings
from shortloop.settings.engine import EngineSettings, engine_settings
from shortloop.settings.read import read_settings


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ("dask", {"name": "dask"}),
        ("dask:tls://host:8786", {"name": "dask", "address": "tls://host:8786"}),
        ("ray:host:6379", {"name": "ray", "address": "host:6379"}),
        ("joblib:threading", {"name": "joblib", "backend": "threading"}),
        ("slices", {}),
        ("", {}),
    ],
)
def test_the_variable(variable: str, expected: dict[str, Any]) -> None:
    assert engine_settings(None, environ={"SHORTLOOP_ENGINE": variable}) == EngineSettings(**expected)


def test_the_variable_counts_more_and_the_rest_of_its_table_stays(tmp_path: Path) -> None:
    table = {"name": "dask", "address": "tcp://a:1", "ca": "ca.pem", "other_kernels": True}
    file = tmp_path / "study.toml"
    found = engine_settings(table, file, {"SHORTLOOP_ENGINE": "dask:tls://b:2"})
    assert (found.address, found.ca, found.other_kernels) == ("tls://b:2", tmp_path / "ca.pem", True)
    assert engine_settings(table, file, {"SHORTLOOP_ENGINE": "slices"}) == EngineSettings()
    assert engine_settings(table, file, {}).address == "tcp://a:1"


@pytest.mark.parametrize(
    ("table", "field", "said"),
    [
        ({"name": "spark"}, "engine.name", "slices or joblib or dask or ray"),
        ({"name": "dask", "wokers": 3}, "engine.wokers", "workers"),
        ({"name": "dask", "workers": 0}, "engine.workers", "from 1"),
        ({"name": "joblib", "address": "tcp://a:1"}, "engine.address", "only with dask or ray"),
        ({"workers": 3}, "engine.workers", "SHORTLOOP_SLICES"),
        ({"name": "dask", "address": "tcp://a:1", "workers": 3}, "engine.workers", "remove"),
        ({"name": "ray", "ca": "ca.pem"}, "engine.ca", "only with dask"),
        ({"name": "joblib", "backend": "dask"}, "engine.backend", "loky or threading"),
    ],
)
def test_what_cannot_be_meant(table: dict[str, Any], field: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        engine_settings(table, Path("study.toml"), {})
    assert caught.value.field == field
    assert said in caught.value.message
    assert "study.toml" in caught.value.message


def test_a_wrong_variable_is_named() -> None:
    with pytest.raises(InputError) as caught:
        engine_settings(None, environ={"SHORTLOOP_ENGINE": "spark"})
    assert "the variable SHORTLOOP_ENGINE" in caught.value.message


class Toy(Settings):
    """Settings of an analysis."""

    count: int


def read(file: Path, text: str) -> Toy:
    file.write_text(text, encoding="utf-8")
    return read_settings(file, Toy, noun="study", variable="STUDY")


def test_an_analysis_does_not_see_the_engine(tmp_path: Path) -> None:
    assert read(tmp_path / "s.toml", 'count = 3\n[engine]\nname = "dask"\n') == Toy(count=3)


def test_but_what_is_wrong_in_it_is_said_when_the_file_is_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name"):
        read(tmp_path / "s.toml", 'count = 3\n[engine]\nname = "dusk"\n')
    with pytest.raises(InputError):
        read(tmp_path / "s.toml", "count = 3\nengine = 3\n")
