"""The shape of the house: who may import whom, what methods look like, what is documented."""

from __future__ import annotations

import ast
import configparser
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted((ROOT / "shortloop").rglob("*.py"))
METHODS = sorted([*(ROOT / "methods").glob("a_*.py"), *(ROOT / "dev").glob("a_*.py")])
SCRIPTS = sorted([*(ROOT / "build_scripts").glob("build_*.py"), *(ROOT / "dev").glob("build_*.py")])
HEAVY = {"numpy", "scipy", "sklearn", "mne", "matplotlib", "numba", "pandas"}

# From the bottom up: a room imports from its own and lower ones.
LAYERS = (
    {"errors"},
    {"data", "seeds"},
    {"study"},
    {"formats"},
    {"features"},
    {"decoding"},
    {"group"},
    {"engines"},
    {"jobs"},
    {"report"},
    {"cli"},
)
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
MAY_IMPORT_EXAX = {"jobs", "engines", "cli"}

# Short helpers of two rooms, whose one line and annotations say it all. The list is to get shorter.
SECTIONS_TO_COME = {
    "shortloop.decoding.svm.fit_dual",
    "shortloop.report.labels.edges_of",
    "shortloop.report.labels.generalization_of",
    "shortloop.report.labels.plane_of",
    "shortloop.report.labels.score_label",
    "shortloop.report.labels.short",
    "shortloop.report.labels.title_of",
    "shortloop.report.nulls.observed_mass",
    "shortloop.report.provenance.shown",
    "shortloop.report.style.settle",
    "shortloop.report.times.time_scale",
    "shortloop.report.words.caption",
    "shortloop.report.words.limits",
    "shortloop.report.words.listed",
    "shortloop.report.words.overview",
    "shortloop.report.words.p_text",
    "shortloop.study.base.false_to_none",
    "shortloop.study.explain.models_in",
}


def id_of(file: Path) -> str:
    return str(file.relative_to(ROOT))


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), filename=str(file))


def module_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(file: Path) -> Iterator[str]:
    """Full names of all that a file imports, inside functions too."""
    package = module_of(file).split(".")
    if file.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            yield from (".".join([*above, *filter(None, [node.module]), a.name]) for a in node.names)


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
    return parts[1] if parts[0] == "shortloop" and len(parts) > 1 else None


def test_every_room_has_its_place() -> None:
    rooms = {room_of(module_of(file)) for file in MODULES} - {None, "__main__"}
    assert rooms == set(LEVEL)


@pytest.mark.parametrize("file", MODULES, ids=id_of)
def test_nothing_imports_upwards(file: Path) -> None:
    room = room_of(module_of(file))
    imported = {name for name in imports_of(file) if name.split(".")[0] in ("shortloop", "methods", "dev")}
    if room is None:  # the package itself looks its names up on first use, so that every room may import it
        assert imported == set()
    elif room == "__main__":
        assert {room_of(name) for name in imported} == {"cli"}
    else:
        above = {name for name in imported if LEVEL.get(str(room_of(name)), -1) > LEVEL[room]}
        # Of the package itself only names that it looks up are outside every room.
        assert above == set()
        assert {name for name in imported if name.split(".")[0] != "shortloop"} == set()


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
    # The first is known to the key; the second imports the estimator that a study names.
    assert calls <= {"shortloop/__init__.py", "shortloop/decoding/estimators.py"}


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


def docstring_of(node: ast.AST) -> str:
    return ast.get_docstring(node) or ""  # type: ignore[arg-type]


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


def public_functions(file: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """Functions and classes at module level, and methods of those classes, without an underscore."""
    for node in tree_of(file).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, node
            if isinstance(node, ast.ClassDef):
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                        yield f"{node.name}.{inner.name}", inner


def is_inherited(file: Path, name: str) -> bool:
    """Whether a method documents itself by the one it overrides."""
    import importlib

    kind, _, method = name.partition(".")
    parents = getattr(importlib.import_module(module_of(file)), kind).__mro__[1:]
    return bool(method) and any(inspect.getdoc(getattr(parent, method, None)) for parent in parents)


@pytest.mark.parametrize("file", MODULES, ids=id_of)
def test_everything_public_says_what_it_is(file: Path) -> None:
    assert docstring_of(tree_of(file))
    silent = [name for name, node in public_functions(file) if not docstring_of(node)]
    assert [name for name in silent if not is_inherited(file, name)] == []


def documented(docstring: str, section: str) -> list[str]:
    """Lines of a numpydoc section that name something."""
    match = re.search(rf"^{section}\n-+\n((?:.+\n?|\n(?!\S+\n-+\n))*)", docstring, re.M)
    lines = match[1].splitlines() if match else []
    return [line for line in lines if line and not line.startswith(" ")]


def missing_sections(node: ast.FunctionDef) -> list[str]:
    docstring = docstring_of(node)
    arguments = node.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    given += [extra for extra in (arguments.vararg, arguments.kwarg) if extra is not None]
    named = " , ".join(line.partition(" : ")[0] for line in documented(docstring, "Parameters"))
    names = {name.strip("* ") for name in named.split(",")}
    missing = [argument.arg for argument in given if argument.arg not in names | {"self", "cls"}]
    returned = ast.unparse(node.returns) if node.returns else "None"
    context = returned == "Iterator[None]"  # a context manager that gives nothing
    if returned != "None" and not context and not re.search(r"^(Returns|Yields)\n-+\n", docstring, re.M):
        missing.append("Returns")
    return missing


def is_command(node: ast.FunctionDef) -> bool:
    # Their docstrings are what `shortloop --help` shows; arguments carry their help themselves.
    return any(ast.unparse(decorator).startswith("app.command") for decorator in node.decorator_list)


def test_functions_document_their_parameters_and_results() -> None:
    undocumented = {
        f"{module_of(file)}.{name}": missing
        for file in MODULES
        for name, node in public_functions(file)
        if isinstance(node, ast.FunctionDef) and "." not in name and not is_command(node)
        if (missing := missing_sections(node))
    }
    assert {name: undocumented[name] for name in undocumented.keys() - SECTIONS_TO_COME} == {}


def test_the_reader_of_docstrings_sees_what_is_missing() -> None:
    """This test's own tools: a section that is not there, a name that is not there."""
    whole = "F.\n\nParameters\n----------\na, b : int\n    Two.\n*c : str\n\nReturns\n-------\nint\n"
    for docstring, expected in [
        (whole, []),
        (whole.replace("a, b", "a"), ["b"]),
        (whole.replace("Returns\n-------\nint", ""), ["Returns"]),
        ("F. a b c", ["a", "b", "c", "Returns"]),
        (whole.replace("*c", "d"), ["c"]),
    ]:
        code = ast.parse("def f(a, *c, b=1) -> int: ...")
        function = code.body[0]
        assert isinstance(function, ast.FunctionDef)
        function.body = [ast.Expr(ast.Constant(docstring))]
        assert sorted(missing_sections(function)) == sorted(expected)


@pytest.mark.parametrize("file", [*MODULES, *METHODS, *SCRIPTS], ids=id_of)
def test_no_file_is_long(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 300


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


@pytest.mark.parametrize("group", ["install_requires", "dev"])
def test_all_that_is_required_is_pinned(group: str) -> None:
    from packaging.requirements import Requirement

    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    text = parser["options"][group] if group in parser["options"] else parser["options.extras_require"][group]
    pins = requirements()
    wanted = [Requirement(line) for line in text.split("\n") if line]
    assert wanted
    for requirement in wanted:
        assert pins[normalised(requirement.name)] in requirement.specifier


def test_all_that_is_imported_is_required() -> None:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    required = {
        normalised(re.split(r"[ <>=]", line)[0])
        for line in parser["options"]["install_requires"].split("\n")
        if line
    }
    imported = {
        name.split(".")[0]
        for file in [*MODULES, *METHODS, *SCRIPTS]
        for name in imports_of(file)
        if name.split(".")[0] not in sys.stdlib_module_names
    } - {"shortloop", "build_scripts", "methods", "dev"}
    distributions = {"sklearn": "scikit-learn", "PIL": "pillow"}
    assert {normalised(distributions.get(name, name)) for name in imported} - required == set()
