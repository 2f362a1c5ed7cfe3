"""What README.md and docs/ name is there, and everything says what it is."""

from __future__ import annotations

import ast
import functools
import inspect
import pkgutil
import re
import shlex
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from documented import NOT_RUN, PAGES, RUN_IN, blocks, spoken
from source_tree import MODULES, ROOT, TEMPLATES, docstring_of, id_of, tree_of

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
MADE = ("results/", "workdirs/", ".venv/", "data/", ".shortloop/", "methods/a_NAME", *EXAMPLES)


def test_every_command_is_run_or_named() -> None:
    """By tests/live/test_live_commands.py, which takes all that have a project and are not named."""
    assert len(COMMANDS) > 60
    assert [
        (block.page, command) for block, command in COMMANDS if not (command in NOT_RUN or block.run_in)
    ] == [], "add them to RUN_IN or to NOT_RUN"
    assert NOT_RUN.keys() <= {command for _, command in COMMANDS}
    pages = {block.page for block, _ in COMMANDS}
    assert RUN_IN.keys() <= {f"{block.page}#{block.section}" for block, _ in COMMANDS} | pages


@cache
def options() -> dict[str, set[str]]:
    """Options of each command."""
    return {
        name: {"--help"}.union(*(option.opts for option in each.params))
        for name, each in entry.command("").commands.items()
    }


def test_commands_and_their_options_are_there() -> None:
    """Those in blocks, and those that the text names; tables of settings can be read."""
    found = [(page.name, each) for page in PAGES for each in spoken(page)]
    found += [(block.page, command) for block, command in COMMANDS]
    for page, each in found:
        words = re.sub(r"^(\w+=\S+ )*(\.venv/bin/)?", "", each).replace("…", "")
        if re.match(r"shortloop [a-z]", words):
            _, name, *rest = shlex.split(words)
            assert name in options(), (page, each)
            given = {word.partition("=")[0] for word in rest if word.startswith("--")}
            assert given <= options()[name], (page, each)
    for block in [block for page in PAGES for block in blocks(page)]:
        if block.language == "toml":
            assert tomllib.loads(block.text)


def test_make_can_do_it() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    targets = {*re.findall(r"`?\bmake ((?:test|run|docs|bench|check|soak)[\w-]*)", text)}
    assert len(targets) > 4
    command = ["make", "--dry-run", *targets]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
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


def test_the_page_of_python_has_all_public_names() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^\.\. auto(?:function|class|exception|data):: shortloop\.(\w+)$", page, re.M))
    assert shown == {*vars(shortloop)["__all__"]}


def test_messages_are_those_of_the_code() -> None:
    page = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
    troubles = re.findall(r"^\*\*([^*]+)\*\*$", page, re.M)
    assert len(troubles) > 25
    pieces = [piece.strip(" ()") for message in troubles for piece in message.split("…")]
    assert [piece for piece in pieces if piece not in texts()] == []


def test_versions_are_one() -> None:
    """And the first page is short."""
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", cited, re.M) == [shortloop.__version__]
    assert f"version {shortloop.__version__}." in (ROOT / "docs/citing.md").read_text(encoding="utf-8")
    assert f"\n## {shortloop.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


ANALYSIS = dict(
    re.findall(r"```python\n# (\S+)\n(.*?)```", (ROOT / "docs/your-own-analysis.md").read_text("utf-8"), re.S)
)


def test_the_analysis_that_is_shown_is_that_of_a_new_project() -> None:
    files = ("methods/a_panel.py", "methods/a_fit.py", "build_scripts/build_analysis.py")
    assert {*ANALYSIS} == {*files, "build_scripts/build_market.py"}
    for file in files:
        written = (TEMPLATES / "analysis" / file).read_text(encoding="utf-8")
        assert _code_of(ANALYSIS[file]) == _code_of(written)


def _code_of(text: str) -> str:
    """Without docstrings and comments; how rows are sorted is left out of the page."""
    return normalised(ast.parse(text)).replace(".sort_values(['firm', 'year'])", "")


def test_every_module_says_what_it_is() -> None:
    """What a public one defines, ruff asks to say it, too."""
    assert {id_of(file) for file in MODULES if not docstring_of(tree_of(file))} == set()


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
    if (
        returned not in ("None", "NoReturn")
        and not context
        and not re.search(r"^(Returns|Yields)\n-+\n", docstring, re.M)
    ):
        missing.append("Returns")
    return missing


@functools.cache
def listed() -> list[Any]:
    """All that docs/api.md lists."""
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    named = sorted({*re.findall(r"(?:auto[a-z]+:: |   ~)(shortloop[\w.]*)", text)})
    return [*map(pkgutil.resolve_name, named)]


def test_ruff_reads_the_docstrings_of_public_modules() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    (others,) = [pattern for pattern, rules in settings["per-file-ignores"].items() if rules == ["D"]]
    files = {id_of(Path(inspect.getfile(inspect.unwrap(each)))) for each in listed()}
    read = re.fullmatch(r"!shortloop/\{(.*)\}\.py", others)
    assert read is not None
    assert {f"shortloop/{name}.py" for name in read[1].split(",")} == files


def test_the_stub_has_every_public_name() -> None:
    stub = ast.parse((ROOT / "shortloop" / "__init__.pyi").read_text(encoding="utf-8"))
    named = {
        each.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
        if each.asname == each.name
    }
    assert named == vars(shortloop)["_PUBLIC"]
    assert named.keys() == {*vars(shortloop)["__all__"]}


def test_public_functions_document_their_parameters_and_results() -> None:
    functions = [each for each in listed() if inspect.isfunction(each)]
    assert len(functions) > 15
    undocumented = {}
    for each in functions:
        node = ast.parse(inspect.getsource(each)).body[0]
        assert isinstance(node, ast.FunctionDef)
        if missing := missing_sections(node):
            undocumented[f"{each.__module__}.{each.__qualname__}"] = missing
    assert undocumented == {}
