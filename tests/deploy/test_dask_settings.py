"""Settings of dask.yaml are settings that Dask has, and change something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from deploy_compose import DEPLOY

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")

FILE = DEPLOY / "dask.yaml"
FOLDER = Path(distributed.__file__).parent
SAID = yaml.safe_load(FILE.read_text(encoding="utf-8"))
DEFAULTS = yaml.safe_load((FOLDER / "distributed.yaml").read_text(encoding="utf-8"))


def leaves(settings: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from leaves(value, (*above, name))
        else:
            yield (*above, name), value


OURS = dict(leaves(SAID))
each = pytest.mark.parametrize("key", OURS, ids=".".join)


@each
def test_dask_has_it_and_has_it_otherwise(key: tuple[str, ...]) -> None:
    found: Any = DEFAULTS
    for name in key:
        assert name in found
        found = found[name]
    assert not isinstance(found, Mapping)
    assert found != OURS[key]


@each
def test_dask_reads_it(key: tuple[str, ...]) -> None:
    """There are settings in Dask's own file that nothing looks at."""
    name = ".".join(key)
    sources = (file.read_text(encoding="utf-8") for file in FOLDER.glob("*.py"))
    more = (file.read_text(encoding="utf-8") for file in (FOLDER / "comm").glob("*.py"))
    assert any(f'"{name}"' in text for text in (*sources, *more))


@each
def test_it_says_why(key: tuple[str, ...]) -> None:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    own = [place for place, line in enumerate(lines) if line.strip().startswith(f"{key[-1]}: ")]
    assert own
    assert any(lines[place - 1].strip().startswith("# ") for place in own)


def test_it_is_valid() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    schema = yaml.safe_load((FOLDER / "distributed-schema.yaml").read_text(encoding="utf-8"))
    jsonschema.validate(SAID, schema)
