"""What is imported is required, and what is required is pinned."""

from __future__ import annotations

import ast
import configparser
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from house import METHODS, MODULES, ROOT, SCRIPTS, id_of, imports_of, tree_of
from packaging.requirements import Requirement

from shortloop.eeg.pipeline import LIBRARIES
from shortloop.engines.registry import ENGINES
from shortloop.engines.registry import LIBRARIES as ENGINE_LIBRARIES
from shortloop.extras import REPORT_LIBRARIES
from shortloop.frames.pipeline import LIBRARIES as FRAMES_LIBRARIES
from shortloop.panel.pipeline import LIBRARIES as PANEL_LIBRARIES

ANALYSES = {"eeg", "frames", "panel"}
# The last two come with those that they are a part of.
DISTRIBUTIONS = {
    "pydantic_core": "pydantic",
    "sklearn": "scikit-learn",
    "llvmlite": "numba",
    "PIL": "pillow",
}
# Its frames are kept by those who have it.
FOR_TYPES = "polars"
# It needs an older pandas, and is measured in an environment of its own.
ELSEWHERE = "modin"
# MNE asks for them where it reads what they know: their versions count where they are there.
READERS = {"antio", "curryreader", "mffpy", "pyxdf"}
# They are loaded by numba itself, and where an engine is asked for.
LOADED_WITH_LIBRARY = {
    "shortloop/jobs/exax/machine_code.py",
    *(f"{name.rpartition('.')[0].replace('.', '/')}.py" for name in ENGINES.values()),
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
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    found = []
    for group in groups:
        section = "options" if group == "install_requires" else "options.extras_require"
        for line in filter(None, parser[section][group].split("\n")):
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


@pytest.mark.parametrize(
    "group",
    ["install_requires", "report", "tables", "xarray", "eeg", "frames", "panel", *ENGINES, "docs", "dev"],
)
def test_all_that_is_required_is_pinned(group: str) -> None:
    pins = requirements()
    wanted = required(group)
    assert wanted
    for requirement in wanted:
        assert pins[normalised(requirement.name)] in requirement.specifier


def test_all_that_is_imported_is_required() -> None:
    imported = third_party(name for file in [*MODULES, *METHODS, *SCRIPTS] for name in imports_of(file))
    assert {*map(distribution_of, imported)} - names(
        "install_requires", "eeg", "frames", "panel", "xarray", *ENGINES
    ) == {ELSEWHERE, *READERS}


def test_the_core_is_what_the_frame_imports() -> None:
    frame = [file for file in MODULES if not ANALYSES & {*file.relative_to(ROOT).parts}]
    imported = third_party(name for file in frame for name in imports_of(file))
    extras = names("report", "xarray", *ENGINES) | {"numba", FOR_TYPES}
    assert {*map(distribution_of, imported)} - extras == names("install_requires")


@pytest.mark.parametrize("file", MODULES, ids=id_of)
def test_the_frame_imports_extras_only_where_it_uses_them(file: Path) -> None:
    if ANALYSES & {*file.relative_to(ROOT).parts} or id_of(file) in LOADED_WITH_LIBRARY:
        return
    imported = third_party(imported_at_once(file))
    assert {*map(distribution_of, imported)} - names("install_requires") == set()


@pytest.mark.parametrize(
    ("extra", "libraries"),
    [
        ("report", REPORT_LIBRARIES),
        ("eeg", LIBRARIES),
        ("frames", FRAMES_LIBRARIES),
        ("panel", PANEL_LIBRARIES),
        *ENGINE_LIBRARIES.items(),
    ],
)
def test_what_is_looked_for_is_what_an_extra_installs(extra: str, libraries: tuple[str, ...]) -> None:
    assert {*map(distribution_of, libraries)} == names(extra)
