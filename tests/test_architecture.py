"""The shape of the house: who may import whom, and what methods look like."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from house import METHODS, MODULES, ROOT, SCRIPTS, docstring_of, id_of, imports_of, module_of, tree_of

HEAVY = {"numpy", "scipy", "sklearn", "mne", "matplotlib", "numba", "pandas"}


# From the bottom up: a room imports from its own and lower ones. The frame knows no analysis.
FRAME = (
    {"text"},
    {"errors"},
    {"seeds", "types", "span"},
    {"settings"},
    {"engines", "worker", "jobs"},
    {"upkeep"},
    {"report"},
    {"cli"},
)
EEG = (
    {"eeg.data", "eeg.score"},
    {"eeg.formats"},
    {"eeg.features"},
    {"eeg.decoding"},
    {"eeg.group"},
    {"eeg.study"},
    {"eeg.report", "eeg.stages"},
    {"eeg.analysis"},
)
LEVEL = {room: level for level, rooms in enumerate((*FRAME, *EEG)) for room in rooms}
# Within jobs, from the bottom up, below what is not named: the store gives no reasons, and asks no server.
JOBS = ({"project", "system_errors"}, {"keys"}, {"store"}, {"explain"}, {"exax"})
LEVEL_IN_JOBS = {room: level for level, rooms in enumerate(JOBS) for room in rooms}

# What still leans on the analysis, to be turned round.
LEANS = {
    "jobs/dry_run.py",
    "jobs/executor.py",
    "jobs/planner.py",
    "jobs/settings_files.py",
}
MAY_IMPORT_EXAX = {"jobs", "engines", "cli"}


def tracked_files() -> list[Path]:
    """Files of the repository; all files of the project where git does not know."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0 and listed.stdout:
        found = [ROOT / os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    else:
        rooms = ("shortloop", "methods", "build_scripts", "dev", "tests", "studies")
        found = [file for room in rooms for file in (ROOT / room).rglob("*")]
        hidden = re.compile(r"/(?:\.|__pycache__)")
        found = [file for file in found if not hidden.search(file.relative_to(ROOT.parent).as_posix())]
        found += [file for file in ROOT.iterdir() if file.is_file()]
    return sorted(file for file in found if file.is_file())


def room_of(module: str) -> str | None:
    parts = module.split(".")
    if parts[0] != "shortloop" or len(parts) < 2:
        return None
    return ".".join(parts[1:3]) if parts[1] == "eeg" and len(parts) > 2 else parts[1]


def test_every_room_has_its_place() -> None:
    rooms = {room_of(module_of(file)) for file in MODULES} - {None, "__main__", "eeg"}
    assert rooms == set(LEVEL)


@pytest.mark.parametrize("file", MODULES, ids=id_of)
def test_nothing_imports_upwards(file: Path) -> None:
    room = room_of(module_of(file))
    imported = {name for name in imports_of(file) if name.split(".")[0] in ("shortloop", "methods", "dev")}
    if room in (
        None,
        "eeg",
    ):  # the package itself looks its names up on first use, so that every room may import it
        assert imported == set()
    elif str(file.relative_to(ROOT / "shortloop")) in LEANS:
        pytest.skip("not yet")
    elif room == "__main__":
        assert {room_of(name) for name in imported} == {"cli"}
    else:
        above = {name for name in imported if LEVEL.get(str(room_of(name)), -1) > LEVEL[room]}
        # Of the package itself only names that it looks up are outside every room.
        assert above == set()
        assert {name for name in imported if name.split(".")[0] != "shortloop"} == set()


def level_in_jobs(module: str) -> int | None:
    parts = module.split(".")
    if parts[:2] != ["shortloop", "jobs"] or len(parts) < 3:
        return None
    return LEVEL_IN_JOBS.get(parts[2], len(JOBS))


@pytest.mark.parametrize("file", MODULES, ids=id_of)
def test_nothing_imports_upwards_within_jobs(file: Path) -> None:
    own = level_in_jobs(module_of(file))
    if own is not None:
        levels = {name: level_in_jobs(name) for name in imports_of(file)}
        assert {name for name, level in levels.items() if level is not None and level > own} == set()


@pytest.mark.parametrize("file", MODULES, ids=id_of)
def test_exax_is_known_in_few_rooms(file: Path) -> None:
    if room_of(module_of(file)) not in MAY_IMPORT_EXAX:
        assert not any(name.split(".")[0] == "accelerator" for name in imports_of(file))


def test_modules_are_looked_up_by_name_in_few_places() -> None:
    """The key of a job sees import statements; what is imported otherwise must not be the project's own."""
    calls = {
        id_of(file)
        for file in MODULES
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Name | ast.Attribute)
        and (node.id if isinstance(node, ast.Name) else node.attr) in ("import_module", "__import__")
    }
    # The first is known to the key; the second is in no key; the third imports the estimator that a study
    # names; the fourth only loads early what methods import themselves.
    assert calls <= {
        "shortloop/__init__.py",
        "shortloop/cli/analyses.py",
        "shortloop/eeg/decoding/estimators.py",
        "shortloop/jobs/exax/preload.py",
    }


def loaded_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_importing_all_methods_loads_nothing_heavy() -> None:
    """exax imports every method and build script on every run."""
    names = [module_of(file) for file in METHODS]
    assert len(names) >= 10
    assert loaded_after(f"import {', '.join(names)}") & HEAVY == set()


def test_importing_all_build_scripts_loads_nothing_heavy() -> None:
    names = [module_of(file) for file in SCRIPTS]
    assert "build_scripts.build_pipeline" in names
    assert loaded_after(f"import {', '.join(names)}") & HEAVY == set()


def test_importing_the_package_or_its_command_loads_nothing_heavy() -> None:
    assert loaded_after("import shortloop, shortloop.cli.main") & HEAVY == set()


@pytest.mark.parametrize("file", METHODS, ids=id_of)
def test_methods_keep_their_shape(file: Path) -> None:
    tree = tree_of(file)
    assert docstring_of(tree)
    values: dict[str, ast.expr] = {}
    for node in tree.body[1:]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.Assign | ast.AnnAssign):
            (target,) = node.targets if isinstance(node, ast.Assign) else (node.target,)
            assert isinstance(target, ast.Name)
            assert node.value is not None
            values[target.id] = node.value
            continue
        assert isinstance(node, ast.FunctionDef), f"line {node.lineno} is no part of a method"
        assert node.name in ("prepare", "analysis", "synthesis") or node.name.startswith("_")
    assert isinstance(ast.literal_eval(values["description"]), str)
    assert ast.unparse(values["depend_extra"]) == "code_of(__file__)"
    assert isinstance(ast.literal_eval(values["options"]), dict)
    assert set(values) - {"description", "depend_extra", "options", "jobs", "datasets"} == {
        name for name in values if name.isupper()
    }
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert functions & {"analysis", "synthesis"}


def test_methods_have_names_of_their_own() -> None:
    names = [file.stem for file in METHODS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("file", [*MODULES, *METHODS, *SCRIPTS], ids=id_of)
def test_no_file_is_long(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 400


def test_no_file_knows_where_it_lies() -> None:
    pattern = re.compile(rb"(?<![\w.])/(?:work|home|root|Users)/\w")
    found = {
        f"{id_of(file)}:{number}"
        for file in tracked_files()
        if file.suffix != ".png"
        for number, line in enumerate(file.read_bytes().splitlines(), 1)
        if pattern.search(line)
    }
    assert found == set()
