"""Everything says what it is; what docs/api.md lists says what it takes and gives, too."""

from __future__ import annotations

import ast
import functools
import inspect
import pkgutil
import re
import tomllib
from pathlib import Path
from typing import Any

from source_tree import MODULES, ROOT, docstring_of, id_of, tree_of

import shortloop


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
