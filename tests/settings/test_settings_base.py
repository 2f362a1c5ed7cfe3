"""Records of one of several kinds, and the engine of a run, of which no study knows."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError, create_model
from refusal import refusal
from settings_toy import read

from shortloop.settings.base import Settings, Tagged
from shortloop.settings.engine import EngineSettings, engine_settings

BASE = """
from shortloop.settings.base import Tagged

class Stove(Tagged):
    tag = "kind"
"""
KIND = """
from typing import Literal
from pydantic import Field
from toy_stoves.base import Stove

class Other(Stove):
    kind: Literal["another"]

class Made(Stove):
    kind: Literal["{kind}"]
    heat: tuple[int, ...] = Field((1,), max_length=2)
"""


@pytest.fixture
def stove(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Tagged]]:
    """The base of a package of kinds of stoves."""
    package = tmp_path / "toy_stoves"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "base.py").write_text(BASE)
    for kind in ("gas", "two-plates"):
        (package / f"{kind.replace('-', '_')}.py").write_text(KIND.format(kind=kind))
    (package / "broken.py").write_text("import toy_nowhere\n")
    (package / "above.py").write_text("from toy_stoves.base import Stove\nclass Above(Stove):\n    pass\n")
    below = KIND.format(kind="old").replace(
        "toy_stoves.base import Stove", "toy_stoves.above import Above as Stove"
    )
    (package / "old.py").write_text(below)
    monkeypatch.syspath_prepend(str(tmp_path))
    from toy_stoves.base import Stove  # type: ignore[import-not-found]

    yield Stove
    for name in [name for name in sys.modules if name.partition(".")[0] == "toy_stoves"]:
        del sys.modules[name]


def test_a_table_becomes_the_record_that_it_names(stove: type[Tagged]) -> None:
    made = stove.model_validate({"kind": "two-plates", "heat": [2, 3]})
    assert type(made).__module__ == "toy_stoves.two_plates"
    assert isinstance(made, stove)
    assert made.model_dump() == {"kind": "two-plates", "heat": (2, 3)}
    assert made.modules() == ["toy_stoves.two_plates"]
    assert "toy_stoves.gas" not in sys.modules
    assert stove.model_validate({"kind": "old"}).modules() == ["toy_stoves.old", "toy_stoves.above"]
    assert TypeAdapter(stove).validate_python(made) is made
    assert stove.named("gas").__name__ == "Made"
    kitchen = create_model("Kitchen", __base__=Settings, stove=(stove, ...))  # a field may hold any kind
    held = kitchen.model_validate({"stove": {"kind": "gas"}})
    assert held.model_dump(mode="json") == {"stove": {"kind": "gas", "heat": [1]}}


@pytest.mark.parametrize("values", [{"kind": "wood"}, {"kind": 3}, {}, None, {"kind": "base"}])
def test_what_names_none(stove: type[Tagged], values: object) -> None:
    with pytest.raises(ValidationError, match=r"using discriminator 'kind'|expected tags: 'gas'"):
        stove.model_validate(values)
    with pytest.raises(ValidationError, match="at most 2"):
        stove.model_validate({"kind": "gas", "heat": [1, 2, 3]})
    with pytest.raises(ModuleNotFoundError, match="toy_nowhere"):
        stove.named("broken")


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
        ({"name": "dask", "options": {"a": 1}}, "engine.options", "only with an engine of an entry point"),
    ],
)
def test_what_cannot_be_meant(table: dict[str, Any], field: str, said: str) -> None:
    with refusal("", said, "study.toml", field=field):
        engine_settings(table, Path("study.toml"), {})
    with refusal("the variable SHORTLOOP_ENGINE"):
        engine_settings(None, environ={"SHORTLOOP_ENGINE": "spark"})


def test_an_engine_of_an_entry_point_has_options() -> None:
    given = {"slurm_partition": "long", "timeout_min": 60, "slurm_exclusive": True}
    found = engine_settings({"name": "slurm", "workers": 4, "options": given}, None, {})
    assert (found.options, found.workers) == (given, 4)
    assert EngineSettings.validated(json.loads(json.dumps(found.plain()))) == found


def test_an_analysis_does_not_see_the_engine(tmp_path: Path) -> None:
    """But what is wrong in it is said when the file is read."""
    assert read(tmp_path / "r.toml", 'name = "soup"\n[engine]\nname = "dask"\n').name == "soup"
    for wrong in ('[engine]\nname = "dusk"\n', "engine = 3\n"):
        with refusal(r"name|engine"):
            read(tmp_path / "r.toml", f'name = "soup"\n{wrong}')
