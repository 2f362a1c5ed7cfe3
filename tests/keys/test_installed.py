"""Installed libraries count by version and content, one's own code by what it says."""

from __future__ import annotations

import json
import os
import shutil
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from shortloop.keys import own_code
from shortloop.keys.installed import (
    as_installed,
    differing,
    number_of,
    required_by,
    startup_lines,
    version_of,
)
from shortloop.keys.own_code import is_own, whole_package


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed libraries."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setattr(own_code, "_library_folders", lambda: (f"{tmp_path}/site/", f"{sys.prefix}/"))
    install(tmp_path / "site", "Tool.Box", ["toolbox/__init__.py"], requires="a_b (>1)")
    install(tmp_path / "site", "a-b", ["ab.py"])
    return tmp_path / "site"


def install(
    site: Path,
    name: str,
    files: list[str],
    version: str = "1.0",
    content: str = "",
    requires: str = "",
    where_from: str = "",
) -> None:
    """As pip does it."""
    for old in site.glob(f"{name}-*"):
        shutil.rmtree(old)
    info = site / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    about = f"Name: {name}\nVersion: {version}\n" + f"Requires-Dist: {requires}\n" * bool(requires)
    (info / "METADATA").write_text(f"{about}\nName: in the description\n", encoding="utf-8")
    (info / "RECORD").write_text("".join(f"{file},sha256={content},\n" for file in files), encoding="utf-8")
    for file in files:
        (site / file).parent.mkdir(exist_ok=True)
        (site / file).write_text(content, encoding="utf-8")
    if where_from:
        (info / "direct_url.json").write_text(f'{{"url": "{where_from}"}}', encoding="utf-8")


def text_of(library: str) -> str:
    version = version_of(library)
    assert version is not None
    return version


def test_each_change_is_another_and_each_way_back_the_same(site: Path) -> None:
    first = as_installed("toolbox")
    assert number_of(first) == "1.0"
    kept = json.dumps({"toolbox": first, "missing": ""})
    assert differing(kept) == []
    install(site, "Tool.Box", ["toolbox/__init__.py"], content="2")
    assert number_of(as_installed("toolbox")) == "1.0"
    assert differing(kept) == ["toolbox"]
    install(site, "Tool.Box", ["toolbox/__init__.py"], "1.1")
    assert number_of(as_installed("toolbox")) == "1.1"
    assert differing(kept) == ["toolbox"]
    install(site, "unrelated", ["unrelated.py"])
    install(site, "Tool.Box", ["toolbox/__init__.py"])
    assert differing(kept) == []
    install(site, "missing", ["missing.py"])
    assert differing(kept) == ["missing"]


def test_a_name_that_distributions_share_has_the_versions_of_all(site: Path) -> None:
    install(site, "space-one", ["space/one.py"])
    first = as_installed("space")
    install(site, "space-two", ["space/two.py"])
    assert number_of(as_installed("space")) == "space-one 1.0, space-two 1.0"
    assert as_installed("space") != first


def test_a_module_that_nobody_installed_counts_by_what_it_says(site: Path) -> None:
    (site / "dropped.py").write_text("x = 1\n", encoding="utf-8")
    first = as_installed("dropped")
    assert number_of(first) == "a file"
    (site / "dropped.py").write_text("x = 2\n", encoding="utf-8")
    assert as_installed("dropped") != first


def test_what_is_required_has_the_names_that_it_is_imported_by(site: Path) -> None:
    assert required_by("toolbox") == {"ab"}
    assert required_by("ab") == set()
    assert required_by("no_such_library") == set()


def test_code_that_python_runs_as_it_starts_counts_if_nobody_installed_it(site: Path) -> None:
    before = startup_lines()
    install(site, "tool-start", ["start.pth"], content="import start")
    (site / "mine.pth").write_text("/some/folder\nimport mine\n", encoding="utf-8")
    assert sorted(startup_lines()) == sorted([*before, "import mine"])


def test_what_is_installed_is_not_ones_own() -> None:
    assert not is_own(str(np.__file__))
    assert not is_own(os.__file__)
    assert is_own(own_code.__file__)
    assert is_own(__file__)


@pytest.mark.parametrize("where_from", ["file:///srv/toolbox", "git+https://example.org/toolbox"])
def test_one_that_came_from_a_folder_counts_by_what_it_says(site: Path, where_from: str) -> None:
    """Such a version is edited, and installed again, without another number."""
    found = set()
    for text in ("x = 1", "x = 2", "x = 1"):
        install(site, "Tool.Box", ["toolbox/__init__.py"], content=text, where_from=where_from)
        found.add(text_of("toolbox"))
    assert len(found) == 2
    assert all(text.startswith("1.0 of ") for text in found)


def test_what_is_not_there_has_no_version(site: Path) -> None:
    assert version_of("no_such_library") is None
    assert whole_package("no_such_library") is whole_package("toolbox") is None


def test_a_package_on_the_path_counts_as_a_whole(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "__init__.py",
        "a.py",
        "deep/__init__.py",
        "deep/b.py",
        "bare/c.py",
        "data.csv",
        "no-name.py",
    ):
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / name).touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    found = whole_package("mine")
    assert found is not None
    assert set(found) == {"mine", "mine.a", "mine.deep", "mine.deep.b", "mine.bare.c"}


def test_libraries_that_are_installed_in_a_folder_on_the_path_are_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As modules of a cluster are."""
    monkeypatch.syspath_prepend(str(tmp_path))
    install(tmp_path, "toolbox", ["toolbox/__init__.py"])
    own_code._library_folders.cache_clear()
    try:
        assert not is_own(str(tmp_path / "toolbox" / "__init__.py"))
        assert whole_package("toolbox") is None
        assert text_of("toolbox") == "1.0"
    finally:
        own_code._library_folders.cache_clear()


def test_an_archive_on_the_path_is_not_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So what is loaded from it is refused, as no key knows it."""
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("packed.py", "x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path / "packed.zip"))
    assert whole_package("packed") == {}


def test_a_file_that_somebody_put_among_the_libraries_is_ones_own(site: Path) -> None:
    (site / "dropped.py").write_text("x = 1\n", encoding="utf-8")
    assert whole_package("dropped") == {"dropped": site / "dropped.py"}


@pytest.mark.parametrize("library", ["numpy", "scipy", "pydantic", "mne", "numba", "accelerator"])
def test_versions_are_those_that_pip_shows(library: str) -> None:
    assert version_of(library) == metadata.version(library)
