"""The frame knows no analysis: it imports none, names none, and has no words of one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from source_tree import MODULES, PROJECT, ROOT, id_of, imports_of, tree_of

# EEG speaks of these; the frame of partitions, units and arrays. Parts of names count, as in `n_trials`.
WORDS = re.compile(r"(?<![a-z])(?:participant|trial|epoch|channel|bin)s?(?![a-z])", re.IGNORECASE)
ANALYSIS = re.compile(r"(?<![a-z])eeg(?![a-z])", re.IGNORECASE)

LIBRARY = ROOT / "shortloop"
ANALYSES = ("eeg", "frames", "panel")
FRAME = [file for file in MODULES if file.relative_to(LIBRARY).parts[0] not in (*ANALYSES, "templates")]

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
    "shortloop/engines/supply.py: Supplies.parcels",  # where a library keeps them
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
    "shortloop/stages/threads.py: found_pools",  # what threadpoolctl says of a pool
}


def test_every_file_but_those_of_analyses_is_the_frames() -> None:
    others = {file.relative_to(LIBRARY).parts[0] for file in set(MODULES) - set(FRAME)}
    found = {name for name in others if (LIBRARY / name / "analysis.py").is_file()}
    offered = PROJECT["entry-points"]["shortloop.analyses"].values()
    assert others == found | {place.split(".")[1] for place in offered}
    assert len(FRAME) > 60


def test_the_frame_has_no_words_of_an_analysis() -> None:
    found = {
        f"{id_of(file)}: {match[0]}"
        for file in FRAME
        for match in WORDS.finditer(file.read_text(encoding="utf-8"))
    }
    assert found == set()


def test_the_frame_names_no_analysis() -> None:
    found = {id_of(file) for file in FRAME if ANALYSIS.search(file.read_text(encoding="utf-8"))}
    assert found - NAME_THE_ANALYSIS == set()


def test_the_frame_imports_no_analysis() -> None:
    found = {
        id_of(file) for file in FRAME if any(name.startswith("shortloop.eeg") for name in imports_of(file))
    }
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
    text = ast.unparse(annotation)
    return re.search(r"(?<![\w.])(?:typing\.)?Any(?!\w)", text) is not None


def is_public(name: str) -> bool:
    return not any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


def any_in(file: Path) -> set[str]:
    said = public_annotations(tree_of(file).body)
    return {f"{id_of(file)}: {name}" for name, each in said if is_public(name) and says_any(each)}


def test_the_frame_says_of_what_type_everything_is() -> None:
    assert {found for file in FRAME for found in any_in(file)} == MAY_SAY_ANY


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x: Any", ["x"]),
        ("x: dict[str, 'Any']", ["x"]),
        ("Rows = list[tuple[Any, ...]]", ["Rows"]),
        ("class A:\n    x: Any\n    def f(self, y: Any) -> int: ...", ["A.x", "A.f"]),
        ("def f(*a: Any, **b: int) -> Any: ...", ["f", "f"]),
        ("def f(x: int) -> AnyOther: ...", []),
        ("def _f(x: Any): ...\nclass _A:\n    x: Any", []),
    ],
)
def test_the_reader_of_types_sees_them(text: str, found: list[str]) -> None:
    said = public_annotations(ast.parse(text).body)
    assert [name for name, each in said if is_public(name) and says_any(each)] == found


def test_the_reader_of_words_sees_them() -> None:
    """This test's own tool: plurals, parts of names, and no more than whole words."""
    for text in ("Trials", "n_trials", "the epoch's", "bins × features", "CHANNEL_1"):
        assert WORDS.search(text)
    for text in ("binary", "trialling", "combine", "participation", "cabin"):
        assert not WORDS.search(text)
