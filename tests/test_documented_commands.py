"""What README.md and docs/ name is there: commands, options, files, messages, public names."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest
from documented import NOT_RUN, PAGES, RUN_IN, blocks, spoken
from source_tree import MODULES, ROOT, TEMPLATES, id_of, tree_of

import shortloop
from shortloop.cli import entry
from shortloop.keys.source import normalised

COMMANDS = [(block, command) for page in PAGES for block in blocks(page) for command in block.commands]
PLACES = [
    ROOT,
    ROOT / "shortloop",
    ROOT / "shortloop/eeg/template",
    TEMPLATES / "analysis",
    TEMPLATES / "project",
]
EXAMPLES = ("methods/a_bootstrap", "build_scripts/build_bootstrap", "shortloop/engines/NAME")
INSIDE = ("architecture", "extending")
"""Pages for those who change the code, on which the end of a path will do."""
MADE = ("results/", "workdirs/", ".venv/", "data/", ".shortloop/", "methods/a_NAME", *EXAMPLES)


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 60


@pytest.mark.parametrize(
    "page", sorted({block.page + "#" + block.section for block, _ in COMMANDS}), ids=lambda page: page
)
def test_every_command_is_run_or_named(page: str) -> None:
    """By tests/live/test_live_commands.py, which takes all that have a project and are not named."""
    for block, command in COMMANDS:
        if f"{block.page}#{block.section}" == page:
            assert command in NOT_RUN or block.run_in, f"{page}: {command!r}: add it to RUN_IN or to NOT_RUN"


def test_nothing_is_named_that_is_not_there() -> None:
    assert NOT_RUN.keys() <= {command for _, command in COMMANDS}
    assert RUN_IN.keys() <= {f"{block.page}#{block.section}" for block, _ in COMMANDS} | {
        block.page for block, _ in COMMANDS
    }


@cache
def options() -> dict[str, set[str]]:
    """Options of each command."""
    return {
        name: {"--help"}.union(*(option.opts for option in each.params))
        for name, each in entry.command("").commands.items()
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_are_there(page: Path) -> None:
    """Those in blocks, and those that the text names."""
    said = [*spoken(page), *(command for block in blocks(page) for command in block.commands)]
    for each in said:
        words = re.sub(r"^(\w+=\S+ )*(\.venv/bin/)?", "", each).replace("…", "")
        if re.match(r"shortloop [a-z]", words):
            _, name, *rest = shlex.split(words)
            assert name in options(), each
            known = options()[name]
            given = {word.partition("=")[0] for word in rest if word.startswith("--")}
            assert given <= known, each


TARGETS = sorted(
    {
        word
        for page in PAGES
        for word in re.findall(
            r"`?\bmake ((?:test|run|docs|bench|check|soak)[\w-]*)", page.read_text(encoding="utf-8")
        )
    }
)


@pytest.mark.parametrize("target", TARGETS)
def test_make_can_do_it(target: str) -> None:
    done = subprocess.run(
        ["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_files_that_are_named_are_there() -> None:
    missing = []
    for page in PAGES:
        for each in spoken(page):
            if not re.fullmatch(r"(?:[\w-]+/)+[\w.-]+\.(?:py|toml|md|conf|yaml|sh|cff|txt)", each):
                continue
            if each.startswith(MADE):
                continue
            known = any((place / each).is_file() for place in PLACES)
            if page.stem in INSIDE:
                known |= any(f"/{id_of(file)}".endswith(f"/{each}") for file in MODULES)
            if not known:
                missing.append(f"{page.name}: {each}")
    assert missing == []


@cache
def texts() -> str:
    """All texts in the code, with … where values are put in."""
    found = []
    for file in MODULES:
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = [each.value if isinstance(each, ast.Constant) else "…" for each in node.values]
                found.append("".join(map(str, parts)))
    return "\n".join(found)


TROUBLES = re.findall(
    r"^\*\*([^*]+)\*\*$", (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8"), re.M
)


@pytest.mark.parametrize("message", TROUBLES)
def test_messages_are_those_of_the_code(message: str) -> None:
    assert len(TROUBLES) > 25
    pieces = [piece.strip(" ()") for piece in message.split("…")]
    assert all(piece in texts() for piece in pieces if piece), message


def test_the_page_of_python_has_all_public_names() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^\.\. auto(?:function|class|exception|data):: shortloop\.(\w+)$", page, re.M))
    assert shown == {*vars(shortloop)["__all__"]}


def test_versions_are_one() -> None:
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", cited, re.M) == [shortloop.__version__]
    assert f"version {shortloop.__version__}." in (ROOT / "docs/citing.md").read_text(encoding="utf-8")
    assert f"\n## {shortloop.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_first_page_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_of_settings_can_be_read(page: Path) -> None:
    for block in blocks(page):
        if block.language == "toml":
            assert tomllib.loads(block.text)


ANALYSIS = dict(
    re.findall(r"```python\n# (\S+)\n(.*?)```", (ROOT / "docs/your-own-analysis.md").read_text("utf-8"), re.S)
)
"""Files that docs/your-own-analysis.md shows; tests/live/test_live_documented.py runs the last of them."""


def test_the_analysis_that_is_shown_is_that_of_a_new_project() -> None:
    files = ("methods/a_panel.py", "methods/a_fit.py", "build_scripts/build_analysis.py")
    assert {*ANALYSIS} == {*files, "build_scripts/build_market.py"}
    for file in files:
        written = (TEMPLATES / "analysis" / file).read_text(encoding="utf-8")
        assert _code_of(ANALYSIS[file]) == _code_of(written)


def _code_of(text: str) -> str:
    """Without docstrings and comments; how rows are sorted is left out of the page."""
    return normalised(ast.parse(text)).replace(".sort_values(['firm', 'year'])", "")
