"""A record of one of several kinds is found by its name, and only its module is imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError, create_model

from shortloop.settings.base import Settings, Tagged

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


def test_a_field_may_hold_any_kind(stove: type[Tagged]) -> None:
    kitchen = create_model("Kitchen", __base__=Settings, stove=(stove, ...))
    made = kitchen.model_validate({"stove": {"kind": "gas"}})
    assert made.model_dump(mode="json") == {"stove": {"kind": "gas", "heat": [1]}}


@pytest.mark.parametrize("values", [{"kind": "wood"}, {"kind": 3}, {}, None, {"kind": "base"}])
def test_what_names_none(stove: type[Tagged], values: object) -> None:
    with pytest.raises(ValidationError, match=r"using discriminator 'kind'|expected tags: 'gas'"):
        stove.model_validate(values)


def test_a_mistake_in_the_record_is_its_own(stove: type[Tagged]) -> None:
    with pytest.raises(ValidationError, match="at most 2"):
        stove.model_validate({"kind": "gas", "heat": [1, 2, 3]})
    with pytest.raises(ModuleNotFoundError, match="toy_nowhere"):
        stove.named("broken")
