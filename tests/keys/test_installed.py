"""What is installed: told apart by version and content, found again when it is back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from shortloop.keys.installed import as_installed, differing, number_of, required_by, startup_lines


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed libraries."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    install(tmp_path / "site", "Tool.Box", ["toolbox/__init__.py"], requires="a_b (>1)")
    install(tmp_path / "site", "a-b", ["ab.py"])
    return tmp_path / "site"


def install(
    site: Path, name: str, files: list[str], version: str = "1.0", content: str = "", requires: str = ""
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
