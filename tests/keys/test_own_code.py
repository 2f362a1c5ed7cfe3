"""Code of one's own counts by what it says, an installed library by its version."""

from __future__ import annotations

import os
import shutil
import sys
import time
import zipfile
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from shortloop.keys import own_code
from shortloop.keys.installed import version_of
from shortloop.keys.own_code import is_own, whole_package


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed libraries."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(own_code, "_library_folders", lambda: (f"{folder}/",))
    return folder


def install(site: Path, version: str, text: str = "", where_from: str = "") -> None:
    """As pip does it: the files of an older version go, with all that says so."""
    for old in site.glob("toolbox*"):
        shutil.rmtree(old)
    (site / "toolbox").mkdir()
    (site / "toolbox" / "__init__.py").write_text(text, encoding="utf-8")
    info = site / f"toolbox-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: toolbox\nVersion: {version}\n", encoding="utf-8")
    (info / "RECORD").write_text(f"toolbox/__init__.py,sha256={hash(text)},\n", encoding="utf-8")
    if where_from:
        (info / "direct_url.json").write_text(f'{{"url": "{where_from}"}}', encoding="utf-8")


def text_of(library: str) -> str:
    version = version_of(library)
    assert version is not None
    return version.text


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
        install(site, "1.0", text, where_from)
        found.add(text_of("toolbox"))
    assert len(found) == 2
    assert all(text.startswith("1.0 of ") for text in found)


def test_what_is_not_there_has_no_version(site: Path) -> None:
    assert version_of("no_such_library") is None
    assert whole_package("no_such_library") is None


def test_a_library_is_no_package_of_ones_own(site: Path) -> None:
    install(site, "1.0")
    assert whole_package("toolbox") is None


def test_a_package_on_the_path_counts_as_a_whole(site: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    for name in (
        "__init__.py",
        "a.py",
        "deep/__init__.py",
        "deep/b.py",
        "bare/c.py",
        "data.csv",
        "no-name.py",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    sys.path.insert(0, str(tmp_path))
    try:
        time.sleep(0.01)
        found = whole_package("mine")
    finally:
        sys.path.remove(str(tmp_path))
    assert found is not None
    assert set(found) == {"mine", "mine.a", "mine.deep", "mine.deep.b", "mine.bare.c"}


def test_libraries_that_are_installed_in_a_folder_on_the_path_are_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As modules of a cluster are."""
    monkeypatch.syspath_prepend(str(tmp_path))
    install(tmp_path, "1.0")
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
    found = version_of(library)
    assert found is not None
    assert found.text == metadata.version(library)
