"""The shape of the house: who may import whom, what methods look like; the frame knows no analysis."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from jobs_project import fresh_python
from source_tree import (
    METHODS,
    MODULES,
    PROJECT,
    ROOT,
    SCRIPTS,
    docstring_of,
    id_of,
    imports_of,
    module_of,
    tree_of,
)

HEAVY = {"numpy", "scipy", "sklearn", "mne", "matplotlib", "numba", "pandas"}

# Floors from the bottom up: a package imports from its own floor and from lower ones. In the frame, which
# knows no analysis, those that share a floor do not import each other.
FRAME = (
    {"base"},
    {"settings", "project"},
    {"stages"},
    {"keys"},
    {"store"},
    {"units"},
    {"exax"},
    {"engines", "plan"},
    {"run"},
    {"prepare"},
    {"upkeep"},
    {"report"},
    {"isolation", "provenance", "script", "study_run", "notebook", "profile", "sweep"},
    {"board"},
    {"analyses"},
    {"cli", "testing"},
)
EEG = (
    {"eeg.data", "eeg.mne_scores", "eeg.score_names"},
    {"eeg.checks", "eeg.headers"},
    {"eeg.formats"},
    {"eeg.features"},
    {"eeg.decoding"},
    {"eeg.group"},
    {"eeg.study"},
    {"eeg.stages", "eeg.report", "eeg.pipeline"},
    {"eeg.findings", "eeg.inspect", "eeg.testing"},
    {"eeg.analysis"},
)
PANEL = (
    {"panel.kernels", "panel.statistics", "panel.formulas"},
    {"panel.data", "panel.formats"},
    {"panel.models"},
    {"panel.inference"},
    {"panel.fitting", "panel.diagnostics"},
    {"panel.results", "panel.settings"},
    {"panel.paper", "panel.predictions"},
    {"panel.frame"},
    {"panel.report", "panel.pipeline"},
    {"panel.stages"},
    {"panel.preview", "panel.panel_file"},
    {"panel.analysis"},
)
FRAMES = (
    {"frames.transformations"},
    {"frames.table", "frames.runners", "frames.settings"},
    {"frames.measure", "frames.pipeline", "frames.report"},
    {"frames.command"},
)
ANALYSES = {"eeg": EEG, "frames": FRAMES, "panel": PANEL}
LEVEL = {
    package: level
    for analysis in ANALYSES.values()
    for level, packages in enumerate((*FRAME, *analysis))
    for package in packages
}
MAY_IMPORT_EXAX = {"exax", "notebook", "plan", "project", "run", "store"}


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
        packages = ("shortloop", "methods", "build_scripts", "dev", "tests", "studies")
        found = [file for package in packages for file in (ROOT / package).rglob("*")]
        hidden = re.compile(r"/(?:\.|__pycache__)")
        found = [file for file in found if not hidden.search(file.relative_to(ROOT.parent).as_posix())]
        found += [file for file in ROOT.iterdir() if file.is_file()]
    return sorted(file for file in found if file.is_file())


def package_of(module: str) -> str | None:
    parts = module.split(".")
    if parts[0] != "shortloop" or len(parts) < 2:
        return None
    return ".".join(parts[1:3]) if parts[1] in ANALYSES and len(parts) > 2 else parts[1]


def test_every_package_has_its_place() -> None:
    packages = {package_of(module_of(file)) for file in MODULES} - {None, "__main__", *ANALYSES}
    assert packages == set(LEVEL)


def test_nothing_imports_upwards() -> None:
    assert {id_of(file): wrong for file in MODULES if (wrong := imported_from_above(file))} == {}


def imported_from_above(file: Path) -> set[str]:
    """What a module imports of ours, and may not."""
    package = package_of(module_of(file))
    imported = {name for name in imports_of(file) if name.split(".")[0] in ("shortloop", "methods", "dev")}
    # The package itself looks its names up on first use, so that every package may import it.
    if package is None or package in ANALYSES:
        return imported
    if package == "__main__":
        return {name for name in imported if package_of(name) != "cli"}
    # Of the package itself only names that it looks up are outside every package.
    above = {name for name in imported if LEVEL.get(str(package_of(name)), -1) > LEVEL[package]}
    if package in set().union(*FRAME):
        above |= {
            name
            for name in imported
            if LEVEL.get(str(package_of(name))) == LEVEL[package] and package_of(name) != package
        }
    return above | {name for name in imported if name.split(".")[0] != "shortloop"}


def test_no_circle_of_imports() -> None:
    """Not even inside functions or for types alone; the package itself looks its names up late."""
    known = {module_of(file): file for file in MODULES if module_of(file) != "shortloop"}
    graph = {
        name: {each if each in known else each.rpartition(".")[0] for each in imports_of(file)} & known.keys()
        for name, file in known.items()
    }
    assert sum(map(len, graph.values())) > 1000
    TopologicalSorter({name: others - {name} for name, others in graph.items()}).prepare()


def test_what_others_import_is_public() -> None:
    """A name that begins with an underscore is its module's own."""
    hidden = {
        (id_of(file), node.module, each.name)
        for file in MODULES
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "shortloop"
        for each in node.names
        if each.name.startswith("_") and each.name not in ("__version__", "_PUBLIC")
    }
    assert hidden == set()


def test_exax_is_known_in_few_packages() -> None:
    others = [file for file in MODULES if package_of(module_of(file)) not in MAY_IMPORT_EXAX]
    assert {
        id_of(file) for file in others if any(map(re.compile(r"accelerator\b").match, imports_of(file)))
    } == set()


def test_modules_are_looked_up_by_name_in_few_places() -> None:
    """The key of a job sees import statements; what is imported otherwise must not be the project's own."""
    calls = {
        id_of(file)
        for file in MODULES
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.Name | ast.Attribute)
        and (node.id if isinstance(node, ast.Name) else node.attr) in ("import_module", "__import__")
    }
    # In turn: what is known to the key; analyses, which are in no key; what a stage says that it imports;
    # what a worker has, and engines, which are in no key; libraries of data frames, which a stage says, too;
    # the method of a job, as a job begins; who imports what, which is only heard; what methods import
    # themselves, only earlier; stages of a notebook, to see whether they can be; a method, to see what it
    # takes; alternatives of settings, which a stage says too; types of a stage's options, which it imports;
    # libraries of tables, which are in the key of a job that is made from tables; the stage; the method of a
    # job that is repeated, and its recorder.
    assert calls == {
        "shortloop/__init__.py",
        "shortloop/analyses.py",
        "shortloop/eeg/decoding/batched/scores.py",
        "shortloop/eeg/decoding/estimators/sklearn.py",
        "shortloop/units/machine_facts.py",
        "shortloop/engines/engine.py",
        "shortloop/units/shared_units.py",
        "shortloop/frames/runners.py",
        "shortloop/exax/job_process.py",
        "shortloop/exax/libraries.py",
        "shortloop/exax/repeated_job.py",
        "shortloop/isolation.py",
        "shortloop/exax/patches/preload.py",
        "shortloop/exax/patches/watch.py",
        "shortloop/notebook/driver.py",
        "shortloop/plan/signature.py",
        "shortloop/units/recording.py",
        "shortloop/panel/models/sklearn.py",
        "shortloop/panel/models/statsmodels.py",
        "shortloop/settings/base.py",
        "shortloop/stages/task.py",
        "shortloop/stages/tables.py",
    }


def loaded_after(statement: str) -> set[str]:
    return set(fresh_python(f"import sys\n{statement}\nprint(*sys.modules)", ROOT).split())


@pytest.mark.parametrize("what", [METHODS, SCRIPTS, ()], ids=["methods", "build scripts", "the command"])
def test_importing_them_loads_nothing_heavy(what: Sequence[Path]) -> None:
    """exax imports every method and build script on every run."""
    names = [module_of(file) for file in what] or ["shortloop", "shortloop.cli.main"]
    assert loaded_after(f"import {', '.join(names)}") & HEAVY == set()


def test_contributors_read_where_things_are() -> None:
    """The tree names every package, and what pages say to be in a file is there."""
    pages = [(ROOT / f"docs/{name}.md").read_text(encoding="utf-8") for name in ("architecture", "extending")]
    text = "".join(pages)
    tree = text.partition("## The tree")[2].partition("## Floors")[0]
    packages = [module_of(file) for file in MODULES if file.name == "__init__.py"]
    names = {part for package in packages for part in package.split(".")[1:3]}
    names |= {file.stem for file in (ROOT / "shortloop").glob("[a-z]*.py")}
    assert {name for name in names if not re.search(rf"\b{name}\b", tree)} == set()
    said = re.findall(r"`(?:\w+\.)*(\w+)`\s\(`(\w[\w/]*\.py)`\)", text)
    assert len(said) > 40
    assert {(name, path) for name, path in said if not re.search(rf"\b{name}\b", text_of(path))} == set()


def text_of(path: str) -> str:
    """Of all files whose path ends so."""
    files = [file for file in (*MODULES, *METHODS, *SCRIPTS) if f"/{id_of(file)}".endswith(f"/{path}")]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def test_methods_keep_their_shape() -> None:
    """A docstring, imports, then what says the work: a stage, or functions as exax calls them."""
    assert {id_of(file) for file in METHODS if not (is_of_a_stage(file) or is_plain(file))} == set()
    assert len({file.stem for file in METHODS}) == len(METHODS)


def is_of_a_stage(file: Path) -> bool:
    """Whether a method is made of one stage: its own, or one that it imports."""
    *body, last = body_of(file)
    made = re.fullmatch(r"globals\(\)\.update\(exax_method\((\w+), __file__\)\)", ast.unparse(last))
    classes = [node.name for node in body if isinstance(node, ast.ClassDef)]
    imported = {name.rpartition(".")[2] for name in imports_of(file)}
    return made is not None and len(body) == len(classes) and classes == [made[1]] * (made[1] not in imported)


def is_plain(file: Path) -> bool:
    """Whether a method is exax functions, helpers of theirs, and constants, of which exax reads some."""
    kinds = (ast.FunctionDef, ast.Assign, ast.AnnAssign)
    functions = {node.name for node in body_of(file) if isinstance(node, ast.FunctionDef)}
    own = {name for name in functions if not name.startswith("_")}
    return all(isinstance(node, kinds) for node in body_of(file)) and bool(
        own <= {"prepare", "analysis", "synthesis"} and own & {"analysis", "synthesis"}
    )


def body_of(file: Path) -> list[ast.stmt]:
    """What is in a file beside its docstring and imports."""
    tree = tree_of(file)
    assert docstring_of(tree)
    return [
        node
        for node in tree.body[1:]
        if not isinstance(node, ast.Import | ast.ImportFrom)
        and not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]


def test_no_file_is_long() -> None:
    texts = {id_of(file): file.read_text(encoding="utf-8") for file in [*MODULES, *METHODS, *SCRIPTS]}
    lines = {file: len(text.splitlines()) for file, text in texts.items()}
    assert {file: count for file, count in lines.items() if count > 400} == {}


def test_no_file_knows_where_it_lies() -> None:
    pattern = re.compile(rb"(?<![\w.])/(?:work|home|root|Users)/\w")
    assert {
        f"{id_of(file)}:{number}"
        for file in tracked_files()
        if file.suffix != ".png"
        for number, line in enumerate(file.read_bytes().splitlines(), 1)
        if pattern.search(line)
    } == set()


# EEG speaks of these; the frame of partitions, units and arrays. Parts of names count, as in `n_trials`.
WORDS = re.compile(r"(?<![a-z])(?:participant|trial|epoch|channel|bin)s?(?![a-z])", re.IGNORECASE)
ANALYSIS = re.compile(r"(?<![a-z])eeg(?![a-z])", re.IGNORECASE)
LIBRARY = ROOT / "shortloop"
FRAME_FILES = [file for file in MODULES if file.relative_to(LIBRARY).parts[0] not in (*ANALYSES, "templates")]

# Still to be cleared.
NAME_THE_ANALYSIS = {
    "shortloop/__init__.py",
    "shortloop/plan/dry_run.py",
    "shortloop/run/executor.py",
    "shortloop/plan/planner.py",
    "shortloop/plan/settings_files.py",
}

# Where nobody can say more.
MAY_SAY_ANY = {
    "shortloop/base/extras.py: load_entry_point",  # whatever a package offers
    "shortloop/engines/send_files.py: Supplies.parcels",  # where a library keeps them
    "shortloop/__init__.py: __getattr__",  # one of several public names
    "shortloop/cli/completion.py: complete",  # a group of click, of a version that typer brings
    "shortloop/cli/entry.py: command",
    "shortloop/units/shared_units.py: STATES",  # modules of libraries that may not be installed
    "shortloop/units/shared_units.py: UnitFile.__getitem__",  # what a unit reads only its stage says
    "shortloop/exax/unit_processes.py: folders_of",  # jobs and datasets of exax, and lists of them
    "shortloop/exax/unit_processes.py: names_of",
    "shortloop/exax/client.py: call_server",  # what exax replies
    "shortloop/exax/patches/preload.py: client",  # a module that a job may have loaded anew
    "shortloop/keys/file_state.py: at_one_moment",  # results of whatever was looked at
    "shortloop/store/loaded.py: LoadedJob.tracebacks",  # names of units
    "shortloop/report/deliver.py: deliver_report",  # findings that only the analysis knows
    "shortloop/report/stage.py: ReportStage.drawings",  # figures of records that only the analysis knows
    "shortloop/stages/failures.py: failed_units",
    "shortloop/stages/failures.py: Tried.values",  # what a unit gives only its stage says
    "shortloop/stages/failures.py: missing",
    "shortloop/stages/failures.py: tried",
    "shortloop/stages/needs.py: Hidden.__get__",  # which never gives anything
    "shortloop/stages/output.py: computed",
    "shortloop/stages/records.py: Described.outside",  # JSON of a place in a file
    "shortloop/stages/records.py: OptionalEntries.attempts",
    "shortloop/stages/records.py: OptionalEntries.errors",
    "shortloop/stages/results.py: Result.errors",
    "shortloop/stages/stage.py: Stage.__init_subclass__",  # arguments of a class of users
    "shortloop/store/database.py: Database.read",  # what is in a row only the statement says
    "shortloop/stages/dataset.py: Dataset.iterate",  # what is in a column only the dataset says
    "shortloop/stages/dataset.py: Dataset.iterate_chain",
    "shortloop/stages/records.py: Record.facts",  # what facts there are only the stage says
    "shortloop/stages/results.py: Result.facts",
    "shortloop/stages/results.py: Result.__getitem__",
    "shortloop/plan/pipeline.py: Built.__getitem__",
    "shortloop/stages/threads.py: found_pools",  # what threadpoolctl says of a pool
}


def test_every_file_but_those_of_analyses_is_the_frames() -> None:
    others = {file.relative_to(LIBRARY).parts[0] for file in set(MODULES) - set(FRAME_FILES)}
    found = {name for name in others if (LIBRARY / name / "analysis.py").is_file()}
    offered = PROJECT["entry-points"]["shortloop.analyses"].values()
    assert others == found | {place.split(".")[1] for place in offered}
    assert len(FRAME_FILES) > 60


def test_the_frame_has_no_words_of_an_analysis() -> None:
    assert {
        f"{id_of(file)}: {match[0]}"
        for file in FRAME_FILES
        for match in WORDS.finditer(file.read_text(encoding="utf-8"))
    } == set()


def test_the_frame_names_no_analysis() -> None:
    """So it imports none."""
    found = {id_of(file) for file in FRAME_FILES if ANALYSIS.search(file.read_text(encoding="utf-8"))}
    assert found - NAME_THE_ANALYSIS == set()


def public_annotations(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.expr]]:
    """The type that each public name is said to have: fields, parameters, results, other names of types."""
    for node in body:
        if isinstance(node, ast.AnnAssign):
            yield prefix + ast.unparse(node.target), node.annotation
        elif isinstance(node, ast.Assign):
            yield prefix + ast.unparse(node.targets[0]), node.value
        elif isinstance(node, ast.ClassDef):
            yield from public_annotations(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            every += [each for each in (node.args.vararg, node.args.kwarg) if each is not None]
            for said in (*(each.annotation for each in every), node.returns):
                if said is not None:
                    yield prefix + node.name, said


def says_any(annotation: ast.expr) -> bool:
    return re.search(r"(?<![\w.])(?:typing\.)?Any(?!\w)", ast.unparse(annotation)) is not None


def is_public(name: str) -> bool:
    return not any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


def any_in(file: Path) -> set[str]:
    said = public_annotations(tree_of(file).body)
    return {f"{id_of(file)}: {name}" for name, each in said if is_public(name) and says_any(each)}


def test_the_frame_says_of_what_type_everything_is() -> None:
    assert {found for file in FRAME_FILES for found in any_in(file)} == MAY_SAY_ANY
