"""What is imported is required, and what is required is pinned."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from python_process import ended
from refusal import refusal
from refused import refusing
from source_tree import METHODS, MODULES, PROJECT, ROOT, SCRIPTS, id_of, imports_of, tree_of

from shortloop.base.errors import TransientError
from shortloop.base.extras import REPORT_LIBRARIES, need
from shortloop.eeg.pipeline import LIBRARIES
from shortloop.engines.engine import ENGINES
from shortloop.engines.engine import LIBRARIES as ENGINE_LIBRARIES
from shortloop.frames.pipeline import LIBRARIES as FRAMES_LIBRARIES
from shortloop.panel.pipeline import LIBRARIES as PANEL_LIBRARIES

ANALYSES = {"eeg", "frames", "panel"}
# The last two come with those that they are a part of.
DISTRIBUTIONS = {"pydantic_core": "pydantic", "sklearn": "scikit-learn", "llvmlite": "numba", "PIL": "pillow"}
# Its frames are kept by those who have it.
FOR_TYPES = "polars"
# MNE asks for them where it reads what they know: their versions count where they are there.
READERS = {"antio", "curryreader", "mffpy", "pyxdf"}
# They are loaded by numba itself, and where an engine is asked for.
LOADED_WITH_LIBRARY = {
    "shortloop/exax/patches/machine_code.py",
    *(f"{name.rpartition('.')[0].replace('.', '/')}.py" for name in ENGINES.values()),
    "shortloop/engines/submitit_engine.py",
}


def requirements() -> dict[str, str]:
    """Pins by normalised name."""
    pins = {}
    for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, sign, version = line.partition("==")
            assert sign, f"{line!r} is no pin"
            assert re.fullmatch(r"\d[\w.+!]*", version), f"{line!r} is no exact version"
            pins[normalised(name)] = version
    return pins


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def distribution_of(library: str) -> str:
    return normalised(DISTRIBUTIONS.get(library, library))


def required(*groups: str) -> list[Requirement]:
    """Requirements of the core and of extras, with what extras take from each other."""
    lists = {"core": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
    found = []
    for group in groups:
        for line in lists[group]:
            requirement = Requirement(line)
            own = requirement.name == "shortloop"
            found += required(*sorted(requirement.extras)) if own else [requirement]
    return found


def names(*groups: str) -> set[str]:
    return {normalised(each.name) for each in required(*groups)}


def third_party(imported: Iterator[str]) -> set[str]:
    own = {"shortloop", "build_scripts", "methods", "dev"}
    return {name.split(".")[0] for name in imported} - sys.stdlib_module_names - own


def imported_at_once(file: Path) -> Iterator[str]:
    """Libraries that a file imports when it is imported itself."""
    for node in tree_of(file).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_all_that_is_required_is_pinned() -> None:
    pins = requirements()
    for group in ("core", *PROJECT["optional-dependencies"]):
        wanted = required(group)
        assert wanted
        assert [each for each in wanted if pins[normalised(each.name)] not in each.specifier] == []


def test_all_that_is_imported_is_required() -> None:
    imported = third_party(name for file in [*MODULES, *METHODS, *SCRIPTS] for name in imports_of(file))
    extras = ("cache", "eeg", "frames", "panel", "profile", "provenance", "slurm", "xarray")
    assert {*map(distribution_of, imported)} - names("core", *extras, *ENGINES) == READERS


def test_the_core_is_what_the_frame_imports() -> None:
    frame = [file for file in MODULES if not ANALYSES & {*file.relative_to(ROOT).parts}]
    imported = third_party(name for file in frame for name in imports_of(file))
    extras = names("cache", "profile", "provenance", "report", "slurm", "xarray", *ENGINES)
    extras |= {"numba", FOR_TYPES}
    assert {*map(distribution_of, imported)} - extras == names("core")


def test_the_frame_imports_extras_only_where_it_uses_them() -> None:
    core = names("core")
    frame = [file for file in MODULES if not ANALYSES & {*file.relative_to(ROOT).parts}]
    assert {
        (id_of(file), library)
        for file in frame
        if id_of(file) not in LOADED_WITH_LIBRARY
        for library in third_party(imported_at_once(file))
        if distribution_of(library) not in core
    } == set()


def test_what_is_looked_for_is_what_an_extra_installs() -> None:
    looked_for = {"eeg": LIBRARIES, "frames": FRAMES_LIBRARIES, "panel": PANEL_LIBRARIES, **ENGINE_LIBRARIES}
    for extra, libraries in {"report": REPORT_LIBRARIES, **looked_for}.items():
        assert {*map(distribution_of, libraries)} == names(extra), extra


def test_the_public_workflow_tests_every_python_before_a_release() -> None:
    text = (ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    pythons = jobs["test"]["strategy"]["matrix"]["python"]
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    assert pythons == [f"3.{minor}" for minor in range(11, 11 + len(pythons))]
    each = {row["resolution"]: row["python"] for row in jobs["versions"]["strategy"]["matrix"]["include"]}
    assert each == {"lowest-direct": pythons[0], "highest": pythons[-1]}
    assert {*jobs["versions"]["env"]["EXTRAS"].split(",")} <= PROJECT["optional-dependencies"].keys()
    assert {*jobs["release"]["needs"]} == jobs.keys() - {"release"}
    assert jobs["release"]["if"] == "startsWith(github.ref, 'refs/tags/v')"
    assert not re.search(r"secrets|password|token:(?! write)|https?://", text)


def run_without(folder: Path, code: str, *libraries: str) -> subprocess.CompletedProcess[str]:
    return ended(["-c", code], PYTHONPATH=f"{refusing(folder, libraries)}:{ROOT}")


def test_what_is_missing_is_named_with_what_to_install() -> None:
    need("some", ["json", "numpy", "pytest"])  # what is installed is not spoken of
    with refusal("", "no_such_library is not installed", "pip install 'shortloop[some]'") as caught:
        need("some", ["no_such_library", "json"])
    assert isinstance(caught.value, TransientError)  # no job keeps it as its result
    with refusal("nothing_1, nothing_2 are not installed"):
        need("some", ["nothing_1", "nothing_2"])


@pytest.mark.parametrize(
    ("code", "library"),
    [
        ("from shortloop.report.style import new_figure as f; f()", "matplotlib"),
        ("from shortloop.report.style import styled as f\nwith f(): pass", "matplotlib"),
        ("from shortloop.report.page import html_of as f; f(None, None)", "jinja2"),
    ],
)
def test_a_report_says_what_it_lacks(tmp_path: Path, code: str, library: str) -> None:
    done = run_without(tmp_path, code, library)
    last = done.stderr[done.stderr.index("shortloop.base.errors.") :]
    assert f"{library} is not installed" in last
    assert "pip install 'shortloop[report]'" in last


@pytest.mark.parametrize("state", ["refused", "None"])
def test_the_package_is_imported_without_numba(tmp_path: Path, state: str) -> None:
    code = "import sys\n" + ("sys.modules['numba'] = None\n" if state == "None" else "") + "import shortloop"
    done = run_without(tmp_path, code, *(["numba"] if state == "refused" else []))
    assert done.returncode == 0, done.stderr
