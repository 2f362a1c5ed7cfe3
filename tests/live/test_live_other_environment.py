"""A server that was started in another environment: what its processes compute is not kept as if it were this
one's, whose versions are in the key."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_one import OneProject
from live_project import in_short_folder


def installed(folder: Path, version: str) -> str:
    """A folder of libraries with one of a version, for PYTHONPATH."""
    described = folder / f"measure-{version}.dist-info"
    described.mkdir(parents=True)
    text = f"Metadata-Version: 2.1\nName: measure\nVersion: {version}\n"
    (described / "METADATA").write_text(text, encoding="utf-8")
    (described / "RECORD").write_text("measure.py,,\n", encoding="utf-8")
    (folder / "measure.py").write_text(f"VALUE = {version[0]}\n", encoding="utf-8")
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))


@pytest.fixture
def one() -> Iterator[OneProject]:
    with in_short_folder(OneProject) as made:
        made.write_method("measured", "import measure\nreturn measure.VALUE")
        made.order("measured")
        yield made


@pytest.mark.slow  # tests/exax/test_evidence.py has a library of another version
def test_versions_of_the_server_are_not_taken_for_those_of_the_run(one: OneProject, tmp_path: Path) -> None:
    old, new = (installed(tmp_path / version, version) for version in ("1.0", "2.0"))
    one.start_server(PYTHONPATH=old)
    one.ax("run", "one", PYTHONPATH=old).ok()
    assert one.last() == (1, True)
    said = one.ax("run", "one", PYTHONPATH=new).fails()
    assert "measure was 1.0 where jobs run, not 2.0" in said
    assert "end the server and run again" in said
    one.stop_server()
    one.start_server(PYTHONPATH=new)
    one.ax("run", "one", PYTHONPATH=new).ok()
    assert one.last() == (2, True)
