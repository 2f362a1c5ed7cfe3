"""Which build script a command is for, and where it is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jobs_project import CONFIGURATION, empty_project, write

from shortloop.base.errors import InputError
from shortloop.keys import methods
from shortloop.keys.methods import chosen_script, find_script


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project whose packages have names that no other has; methods are looked for in no other project."""
    folder = empty_project(tmp_path, monkeypatch)
    listed = "\tsl_one auto-discover\n\tsl_two auto-discover\n\taccelerator.standard_methods auto-discover\n"
    text = CONFIGURATION.replace("\tmethods auto-discover\n", listed)
    write(folder, "accelerator.conf", text)
    for name in ("sl_one", "sl_two"):
        write(folder, f"{name}/__init__.py", "")
    monkeypatch.setattr(sys, "path", [*sys.path])
    methods.forget_methods()
    yield folder
    methods.forget_methods()
    sys.path_importer_cache.clear()


def test_it_is_found_as_exax_finds_it(project: Path) -> None:
    first = write(project, "sl_one/build_both.py", "")
    second = write(project, "sl_two/build_both.py", "")
    other = write(project, "sl_two/building.py", "")
    assert chosen_script("both") == "both"
    assert find_script("both") == find_script("build_both") == find_script("sl_one.both") == first
    assert find_script("sl_two.both") == find_script("sl_two.build_both") == second
    assert find_script("building") == other
    assert find_script("wo.both") is None
    assert find_script("nosuch") is None


def test_the_usual_one_or_the_only_one_needs_no_name(project: Path) -> None:
    write(project, "sl_two/build_mine.py", "")
    assert chosen_script(None) == "build_mine"
    write(project, "sl_one/build_pipeline.py", "")
    assert chosen_script(None) == "build_pipeline"


def test_a_project_that_is_reached_by_a_link_has_its_scripts(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, "sl_one/build_mine.py", "")
    (tmp_path / "link").symlink_to(project)
    monkeypatch.setattr(methods, "project_directory", lambda: tmp_path / "link")
    assert chosen_script(None) == "build_mine"


def test_one_of_several_is_asked_for(project: Path) -> None:
    for name in ("mine", "yours"):
        write(project, f"sl_one/build_{name}.py", "")
    with pytest.raises(InputError, match="which build script") as caught:
        chosen_script(None)
    assert caught.value.expected == "one of build_mine, build_yours"


def test_those_that_are_there_are_named(project: Path) -> None:
    with pytest.raises(InputError, match="no such build script") as caught:
        chosen_script(None)
    assert caught.value.expected == "a file build_*.py in a package of methods"
    write(project, "sl_one/build_mine.py", "")
    with pytest.raises(InputError, match="no such build script") as caught:
        chosen_script("nosuch")
    assert (caught.value.found, caught.value.expected) == ("nosuch", "one of build_mine")
