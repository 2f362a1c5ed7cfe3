"""Where modules are is kept for other methods for as long as it is so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from jobs_project import ROOT, empty_project, own_package, write

from shortloop.keys import closure as rooms
from shortloop.keys import file_state
from shortloop.keys.closure import closure, closure_of

project = pytest.fixture(empty_project)
package = pytest.fixture(own_package)

METHODS = sorted((ROOT / "methods").glob("a_*.py"))


@pytest.mark.parametrize("settled_after", [0, 2_000_000_000])
@pytest.mark.parametrize("sooner", ["tools/other.py", "tools/later/other.py"])
def test_a_module_that_comes_later_counts(
    package: Path, monkeypatch: pytest.MonkeyPatch, settled_after: int, sooner: str
) -> None:
    """Whether what was found before is kept, or looked for again as its folders changed a moment ago."""
    monkeypatch.setattr(file_state, "SETTLED_NS", settled_after)
    write(package, sooner, "")
    method = write(package, "methods/a_one.py", "import numpy\nimport later\nfrom tools.later import f\n")
    assert closure(method) == ({}, {"numpy", "later", "tools"})
    write(package, "tools/later/__init__.py", "")
    assert closure(method)[0].keys() == {"tools.later"}
    write(package, "tools/later/f.py", "")
    assert closure(method)[0].keys() == {"tools.later", "tools.later.f"}
    write(package, "later.py", "")
    monkeypatch.syspath_prepend(package)
    assert closure(method) == (
        {
            "later": package / "later.py",
            "tools.later": package / "tools/later/__init__.py",
            "tools.later.f": package / "tools/later/f.py",
        },
        {"numpy"},
    )
    (package / "later.py").unlink()
    shutil.rmtree(package / "tools/later")
    assert not {"later", "tools.later", "tools.later.f"} & closure(method)[0].keys()


def test_what_other_methods_import_changes_nothing() -> None:
    def looked_for_anew(method: Path) -> object:
        for kept in (rooms._folders, rooms._modules, rooms._libraries, rooms._steps):
            kept.clear()
        return closure(method)

    together = [closure(method) for method in METHODS[::3]]
    assert together == [looked_for_anew(method) for method in METHODS[::3]]


@pytest.mark.parametrize("what", ["a.zip", "a.zip/inside", "missing"])
def test_what_is_no_folder_holds_no_modules(
    package: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Python takes such entries of its path, too."""
    (package / "a.zip").write_bytes(b"")
    monkeypatch.syspath_prepend(package / what)
    method = write(package, "methods/a_one.py", "import numpy\nimport later\n")
    assert closure(method) == ({}, {"numpy", "later"})
    assert closure(method) == ({}, {"numpy", "later"})


@pytest.mark.parametrize("method", METHODS, ids=lambda file: file.stem)
def test_methods_that_are_installed_have_the_same_behind_them(method: Path) -> None:
    """In a project of a user, they are in the package `shortloop`, behind which all of it is."""
    here, libraries = closure_of(f"methods.{method.stem}", method)
    installed, same = closure_of(f"shortloop.methods.{method.stem}", method)
    assert installed.keys() - {"shortloop"} == here.keys() - {"methods", "shortloop"}
    assert same == libraries
