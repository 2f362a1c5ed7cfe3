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


def test_dask_has_each_has_it_otherwise_and_reads_it() -> None:
    """There are settings in Dask's own file that nothing looks at."""
    files = [*FOLDER.glob("*.py"), *(FOLDER / "comm").glob("*.py")]
    sources = "".join(file.read_text(encoding="utf-8") for file in files)
    defaults = dict(leaves(DEFAULTS))
    assert [key for key, value in OURS.items() if defaults[key] == value] == []
    assert [key for key in OURS if f'"{".".join(key)}"' not in sources] == []


def test_each_says_why() -> None:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    for *_, name in OURS:
        own = [place for place, line in enumerate(lines) if line.strip().startswith(f"{name}: ")]
        assert any(lines[place - 1].strip().startswith("# ") for place in own), name


def test_it_is_valid() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    schema = yaml.safe_load((FOLDER / "distributed-schema.yaml").read_text(encoding="utf-8"))
    jsonschema.validate(SAID, schema)
