"""Libraries count by version and content, own code by what it says, Python by how it was started."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from jobs_project import ROOT

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
    """It is one's own, though it lies among the libraries."""
    (site / "dropped.py").write_text("x = 1\n", encoding="utf-8")
    first = as_installed("dropped")
    assert number_of(first) == "a file"
    assert whole_package("dropped") == {"dropped": site / "dropped.py"}
    (site / "dropped.py").write_text("x = 2\n", encoding="utf-8")
    assert as_installed("dropped") != first


def test_what_is_required_has_the_names_that_it_is_imported_by(site: Path) -> None:
    assert required_by("toolbox") == {"ab"}
    assert required_by("ab") == required_by("no_such_library") == set()
    assert version_of("no_such_library") is None
    assert whole_package("no_such_library") is whole_package("toolbox") is None


def test_what_is_installed_is_not_ones_own() -> None:
    assert not any(map(is_own, (str(np.__file__), os.__file__)))
    assert all(map(is_own, (own_code.__file__, __file__)))
    for library in ("numpy", "scipy", "pydantic", "mne", "numba", "accelerator"):
        assert version_of(library) == metadata.version(library)


def test_code_that_python_runs_as_it_starts_counts_if_nobody_installed_it(site: Path) -> None:
    before = startup_lines()
    install(site, "tool-start", ["start.pth"], content="import start")
    (site / "mine.pth").write_text("/some/folder\nimport mine\n", encoding="utf-8")
    assert sorted(startup_lines()) == sorted([*before, "import mine"])


@pytest.mark.parametrize("where_from", ["file:///srv/toolbox", "git+https://example.org/toolbox"])
def test_one_that_came_from_a_folder_counts_by_what_it_says(site: Path, where_from: str) -> None:
    """Such a version is edited, and installed again, without another number."""
    found = set()
    for text in ("x = 1", "x = 2", "x = 1"):
        install(site, "Tool.Box", ["toolbox/__init__.py"], content=text, where_from=where_from)
        found.add(str(version_of("toolbox")))
    assert len(found) == 2
    assert all(text.startswith("1.0 of ") for text in found)


def test_packages_on_the_path_are_whole(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("__init__.py", "a.py", "deep/__init__.py", "deep/b.py", "bare/c.py", "data.csv", "no-name.py")
    for name in names:
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / name).touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    found = whole_package("mine")
    assert found is not None
    assert set(found) == {"mine", "mine.a", "mine.deep", "mine.deep.b", "mine.bare.c"}


def test_libraries_installed_in_a_folder_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As modules of a cluster are."""
    monkeypatch.syspath_prepend(str(tmp_path))
    install(tmp_path, "toolbox", ["toolbox/__init__.py"])
    own_code._library_folders.cache_clear()
    try:
        assert not is_own(str(tmp_path / "toolbox" / "__init__.py"))
        assert whole_package("toolbox") is None
        assert version_of("toolbox") == "1.0"
    finally:
        own_code._library_folders.cache_clear()


def test_an_archive_on_the_path_is_not_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So what is loaded from it is refused, as no key knows it."""
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("packed.py", "x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path / "packed.zip"))
    assert whole_package("packed") == {}


PROGRAM = "from shortloop.keys.code import python_here; print(python_here())"
STARTS = f"""
import subprocess, sys
from shortloop.keys.code import pass_on_options
pass_on_options()
subprocess.run([sys.executable, "-c", {PROGRAM!r}], check=True)
"""


def said_by(*options: str, program: str = PROGRAM, **environment: str) -> str:
    """What a Python says that is started in some way."""
    kept = {name: each for name, each in os.environ.items() if not name.startswith("PYTHON")}
    path = os.pathsep.join([environment.pop("PYTHONPATH", str(ROOT)), str(ROOT)])
    command = [sys.executable, *options, "-c", program]
    done = subprocess.run(
        command, env={**kept, "PYTHONPATH": path, **environment}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_each_way_to_start_is_another(tmp_path: Path) -> None:
    usual = said_by()
    assert usual == platform.python_version()
    (tmp_path / "sitecustomize.py").write_text("import mine\n", encoding="utf-8")
    (tmp_path / "mine.py").write_text("x = 1\n", encoding="utf-8")
    customized = said_by(PYTHONPATH=str(tmp_path))
    (tmp_path / "mine.py").write_text("x = 2\n", encoding="utf-8")
    others = [
        said_by("-O"),
        said_by(PYTHONOPTIMIZE="2"),
        said_by("-W", "error"),
        said_by(PYTHONHASHSEED="0"),
        said_by(PYTHONHASHSEED="1"),
        customized,
        said_by(PYTHONPATH=str(tmp_path)),
    ]
    assert len({usual, *others}) == len(others) + 1
    assert said_by(PYTHONOPTIMIZE="1") == others[0]
    assert said_by(PYTHONWARNINGS="error") == others[2]
    assert said_by(PYTHONHASHSEED="random", PYTHONUNBUFFERED="1") == usual


@pytest.mark.parametrize("options", [("-OO", "-W", "error"), ("-X", "dev")])
def test_programs_are_started_the_same_way(options: tuple[str, ...]) -> None:
    assert said_by(*options, program=STARTS) == said_by(*options)
