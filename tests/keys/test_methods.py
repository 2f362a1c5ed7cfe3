"""Methods and build scripts lie in any package: of the project, of a package in it, or installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from jobs_project import CONFIGURATION, empty_project, forget_sources, write

from shortloop.base.errors import InputError
from shortloop.keys import methods, own_code
from shortloop.keys.closure import closure
from shortloop.keys.code import code_file, code_state
from shortloop.keys.key import parts_of
from shortloop.keys.methods import chosen_script, find_method, find_script, module_of

project = pytest.fixture(empty_project)


@pytest.fixture
def packages(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with two method packages that have the same last name, one with exax's, and one installed."""
    listed = "\tmy.methods auto-discover\n\taccelerator.standard_methods\n\ttheirs.methods auto-discover\n"
    configuration = project / "accelerator.conf"
    text = configuration.read_text(encoding="utf-8")
    configuration.write_text(text.replace("\tmethods auto-discover\n", listed), encoding="utf-8")
    site = project / "site"
    for folder in ("my", "my/methods", "site/theirs", "site/theirs/methods"):
        write(project, f"{folder}/__init__.py", "")
    write(project, "my/methods/helper.py", "x = 1\n")
    write(project, "my/methods/a_one.py", "from . import helper\ndepend_extra = (helper,)\n")
    write(site, "theirs/methods/helper.py", "x = 1\n")
    write(
        site, "theirs/methods/a_two.py", "import numpy\n\nfrom . import helper\n\ndepend_extra = [helper]\n"
    )
    write(site, "theirs-1.0.dist-info/METADATA", "Name: theirs\nVersion: 1.0\n")
    for path in (project, site):
        monkeypatch.syspath_prepend(str(path))
    monkeypatch.setattr(own_code, "_library_folders", lambda: (f"{site}/", f"{sys.prefix}/"))
    monkeypatch.setattr(methods, "_methods", {})
    methods.packages.cache_clear()
    monkeypatch.setattr(methods, "packages", methods.packages.__wrapped__)
    forget_sources(monkeypatch)
    yield project
    for name in [each for each in sys.modules if each.partition(".")[0] in ("my", "theirs")]:
        del sys.modules[name]


def test_a_method_in_a_package_of_a_package(packages: Path) -> None:
    package, file = find_method("one")
    assert (package, module_of(file)) == ("my.methods", "my.methods.a_one")
    modules, libraries = closure(file)
    assert set(modules) == {"my", "my.methods", "my.methods.helper"}
    assert libraries == set()
    parts = parts_of("one", {}, {})
    assert parts.method == "my.methods.one"
    assert set(parts.code) == {"my.methods.a_one", "my.methods.helper"}
    assert parts.versions["accelerator"] == metadata.version("accelerator")
    write(packages, "my/methods/helper.py", "x = 2\n")
    assert parts_of("one", {}, {}) != parts


def test_an_installed_method_counts_by_its_version(packages: Path) -> None:
    file = find_method("two")[1]
    assert closure(file) == ({}, {"theirs", "numpy"})
    before = code_state(file)
    assert before.libraries == {"theirs": "1.0", "numpy": metadata.version("numpy")}
    assert "accelerator" in before.versions
    assert set(before.code) == {"file helper.py"}  # it is declared
    (packages / "site/theirs-1.0.dist-info").rename(packages / "site/theirs-1.1.dist-info")
    write(packages, "site/theirs-1.1.dist-info/METADATA", "Name: theirs\nVersion: 1.1\n\n")
    assert code_state(file).libraries["theirs"] == "1.1"


def test_one_that_nobody_can_tell_the_version_of_counts_by_its_code(packages: Path) -> None:
    (packages / "site/theirs-1.0.dist-info/METADATA").unlink()
    (packages / "site/theirs-1.0.dist-info").rmdir()
    before = parts_of("two", {}, {})
    assert {"theirs.methods.a_two", "theirs.methods.helper"} <= before.code.keys()
    write(packages, "site/theirs/methods/helper.py", "x = 2\n")
    assert parts_of("two", {}, {}).code != before.code


@pytest.mark.parametrize(
    "method", ["csvimport", "dataset_type", "dataset_hashpart", "dataset_filter_columns"]
)
def test_methods_that_come_with_exax(packages: Path, method: str) -> None:
    package, file = find_method(method)
    assert module_of(file) == f"accelerator.standard_methods.a_{method}"
    state = code_state(file)
    assert state.modules == {}
    assert state.versions["accelerator"] == metadata.version("accelerator")
    assert {Path(name).name for name in state.code} <= {"file csvimport.py", "file dataset_type.py"}
    assert code_file(file).name == f"{package}.a_{method}.txt"


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project whose packages have names that no other has; methods are looked for in no other project."""
    folder = empty_project(tmp_path, monkeypatch)
    listed = "\tsl_one auto-discover\n\tsl_two auto-discover\n\taccelerator.standard_methods auto-discover\n"
    write(folder, "accelerator.conf", CONFIGURATION.replace("\tmethods auto-discover\n", listed))
    for name in ("sl_one", "sl_two"):
        write(folder, f"{name}/__init__.py", "")
    monkeypatch.setattr(sys, "path", [*sys.path])
    methods.forget_methods()
    yield folder
    methods.forget_methods()
    sys.path_importer_cache.clear()


def test_it_is_found_as_exax_finds_it(scripts: Path) -> None:
    first = write(scripts, "sl_one/build_both.py", "")
    second = write(scripts, "sl_two/build_both.py", "")
    other = write(scripts, "sl_two/building.py", "")
    assert chosen_script("both") == "both"
    assert find_script("both") == find_script("build_both") == find_script("sl_one.both") == first
    assert find_script("sl_two.both") == find_script("sl_two.build_both") == second
    assert find_script("building") == other
    assert find_script("wo.both") is None
    assert find_script("nosuch") is None


def test_usual_or_only_needs_no_name(scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(scripts, "sl_two/build_mine.py", "")
    assert chosen_script(None) == "build_mine"
    (tmp_path / "link").symlink_to(scripts)
    with monkeypatch.context() as patched:  # the project is reached by a link
        patched.setattr(methods, "project_directory", lambda: tmp_path / "link")
        assert chosen_script(None) == "build_mine"
    write(scripts, "sl_one/build_pipeline.py", "")
    assert chosen_script(None) == "build_pipeline"


def test_what_cannot_be_chosen_is_named(scripts: Path) -> None:
    """Where there is none, or not that one, or several."""

    def refused(name: str | None) -> tuple[str, object, object]:
        with pytest.raises(InputError) as caught:
            chosen_script(name)
        return caught.value.problem, caught.value.found, caught.value.expected

    missing = "no such build script"
    assert refused(None)[::2] == (missing, "a file build_*.py in a package of methods")
    write(scripts, "sl_one/build_mine.py", "")
    assert refused("nosuch") == (missing, "nosuch", "one of build_mine")
    write(scripts, "sl_one/build_yours.py", "")
    problem, _, expected = refused(None)
    assert "which build script" in problem
    assert expected == "one of build_mine, build_yours"
