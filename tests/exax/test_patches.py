"""Patches say which exax they are for; the server reads few jobs itself, and has processes read many."""

from __future__ import annotations

import ast
import os

import accelerator
import pytest
from accelerator import control
from packaging.requirements import Requirement
from source_tree import MODULES, PROJECT, docstring_of, id_of, tree_of

from shortloop.base.errors import InputError
from shortloop.exax.patches import processes


@pytest.mark.parametrize(("number", "is_own"), [(3, True), (4, False)])
def test_who_reads_jobs(number: int, is_own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "multiprocessing", control.multiprocessing)
    monkeypatch.setattr(processes, "FEW", 3)
    processes.read_few_jobs_itself()
    pool = control.multiprocessing.get_context("spawn").Pool(initializer=os.getpid)
    for share in (pool.imap, pool.imap_unordered):
        assert sorted(share(abs, range(number), chunksize=64)) == [*range(number)]
        assert (set(share(process_of, range(number), chunksize=64)) == {os.getpid()}) == is_own
    pool.close()


def process_of(_: int) -> int:
    return os.getpid()


@pytest.mark.parametrize("version", ["2025.9.5", "2025.11.12", "2025.11.11.dev1", "2026.1", None])
def test_an_unknown_version_of_exax_is_refused(version: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    processes.refuse_unknown_version()
    monkeypatch.setattr(accelerator, "__version__", version)
    with pytest.raises(InputError, match=r"version of exax") as caught:
        processes.refuse_unknown_version()
    assert str(version or "no version") in str(caught.value)
    assert processes.KNOWN_VERSIONS[-1] in str(caught.value)


def test_the_package_requires_a_known_version() -> None:
    (required,) = [each for each in map(Requirement, PROJECT["dependencies"]) if each.name == "accelerator"]
    unknown = ["2025.9.5", "2025.11.10", "2025.11.12", "2025.12.1", "2026.1"]
    every = [*unknown, *processes.KNOWN_VERSIONS]
    assert [*required.specifier.filter(every)] == [*processes.KNOWN_VERSIONS]


def test_patches_name_the_version_they_are_for() -> None:
    """And what could go upstream; a patch assigns an attribute of exax, or of the process that forks jobs."""
    rooms = [file for file in MODULES if "exax" in file.parts]
    patching = [file for file in rooms if any(map(is_patch, ast.walk(tree_of(file))))]
    assert len(patching) > 8
    for file in patching:
        words = " ".join(docstring_of(tree_of(file)).split())
        assert f"Made for exax {' and '.join(processes.KNOWN_VERSIONS)}. Upstream: " in words, id_of(file)


def is_patch(function: ast.AST) -> bool:
    """True of a function that assigns or patches an attribute of what it imports of exax, or of `runner`."""
    if not isinstance(function, ast.FunctionDef):
        return False
    theirs = {"runner"}
    for node in ast.walk(function):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "accelerator":
            theirs |= {each.asname or each.name for each in node.names}
    places = [
        place
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for each in node.targets
        for place in (each.elts if isinstance(each, ast.Tuple) else [each])
    ]
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    patched = [each.args[0] for each in calls if ast.unparse(each.func) == "patch"]
    places = [each for each in places if isinstance(each, ast.Attribute)]
    return any(ast.unparse(each).split(".")[0] in theirs for each in (*places, *patched))
