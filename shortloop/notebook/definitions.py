"""Definitions and plain values of a notebook as source text, even if a cell was edited since."""

from __future__ import annotations

import ast
import linecache
import math
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from io import StringIO
from typing import NamedTuple

from shortloop.base.errors import InputError
from shortloop.stages.results import Result

DEEPEST = 50  # decorators
Defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda

NOTHING = object()
GIVE = "give it as an input (`name: Job`, a file with `ax.file`) or as an option of the stage"
LONGEST = 10_000  # characters; longer values are data
SINGLE = (type(None), bool, int, float, str, bytes, type(...))


class Notebook(NamedTuple):
    space: Mapping[str, object]  # its global names
    cells: Sequence[tuple[str, str]] = ()  # name and text of each, in the order of execution
    is_session: Callable[[object], bool] = lambda value: False


class Definition(NamedTuple):
    file: str  # Python's name for the cell
    lines: list[str]  # of the cell
    node: Defined


def line_of(node: ast.stmt | ast.expr) -> int:
    """First line, from 1, including decorators."""
    first: int = min(each.lineno for each in (node, *getattr(node, "decorator_list", [])))
    return first


def unwrapped(value: object) -> tuple[types.FunctionType | None, int]:
    """The original function behind its decorators, and their number."""
    for layers in range(DEEPEST):
        is_class = isinstance(value, type) or not callable(value)
        inside = None if is_class else getattr(value, "__wrapped__", None)
        if inside is None and not isinstance(value, types.FunctionType | type):
            inside = getattr(value, "py_func", None)  # of numba
        if inside is None:
            return value if isinstance(value, types.FunctionType) else None, layers
        value = inside
    return None, 0


def function_definition(function: types.FunctionType) -> Definition | None:
    """Definition of a function or lambda; None if it is not unique or not available."""
    code = function.__code__
    text = "".join(linecache.getlines(code.co_filename))
    tree = tree_of(text)
    found = [
        node
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        and getattr(node, "name", "<lambda>") == code.co_name
        and line_of(node) == code.co_firstlineno
    ]
    return Definition(code.co_filename, _lines(text), found[0]) if len(found) == 1 else None


def class_definition(kind: type, cells: Sequence[tuple[str, str]]) -> Definition | None:
    """Cell of a class: that of its methods; without methods, the last cell that fits."""
    inside = [getattr(each, "__func__", getattr(each, "fget", None)) or each for each in vars(kind).values()]
    functions = [
        each
        for value in inside
        if (each := unwrapped(value)[0]) is not None
        and each.__module__ == kind.__module__
        and linecache.getlines(each.__code__.co_filename)
    ]
    own = [each.__code__ for each in functions]
    if any(each.__qualname__ != f"{kind.__qualname__}.{each.__name__}" for each in functions):
        return None  # a method was added afterwards
    places = [(code.co_filename, "".join(linecache.getlines(code.co_filename))) for code in own]
    for file, text in places or reversed(cells):
        for node in ast.walk(tree) if (tree := tree_of(text)) is not None else ():
            if isinstance(node, ast.ClassDef) and node.name == kind.__name__ and _fits(node, kind, own):
                return Definition(file, _lines(text), node)
    return None


@lru_cache(maxsize=512)
def imports_in(text: str) -> list[tuple[str, str, str]]:
    """Names that a cell assigns or takes ``from`` a module, with module and name there; the last first."""
    found: list[tuple[str, str, str]] = []
    waiting: list[ast.AST] = [*reversed(tree.body)] if (tree := tree_of(text)) is not None else []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [(each.asname or each.name, node.module, each.name) for each in node.names]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append((node.id, "", ""))
        elif not isinstance(node, Defined):  # their assignments are local
            waiting += reversed([*ast.iter_child_nodes(node)])
    return found[::-1]


def _fits(node: ast.ClassDef, kind: type, codes: Sequence[types.CodeType]) -> bool:
    """True if a class agrees with its source, as far as plain values tell."""
    last = node.end_lineno or node.lineno
    if any(not node.lineno <= code.co_firstlineno <= last for code in codes):
        return False
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    assigned = {each.id for each in names if isinstance(each.ctx, ast.Store)}
    plain, annotated = dict[str, object](), set[str]()
    for statement in node.body:
        value = getattr(statement, "value", None)
        for target in getattr(statement, "targets", None) or [getattr(statement, "target", None)]:
            if isinstance(target, ast.Name) and isinstance(value, ast.Constant):
                plain[target.id] = value.value
            if isinstance(target, ast.Name) and isinstance(statement, ast.AnnAssign):
                annotated.add(target.id)
    current = {name: literal(value) for name, value in vars(kind).items()}
    same = all(current.get(name) in (None, literal(value)) for name, value in plain.items())
    inherited = [vars(each) for each in kind.__mro__[1:]]  # of which some classes get copies, as pydantic's
    added = {
        name
        for name, value in current.items()
        if value and not name.startswith("_") and all(literal(each.get(name)) != value for each in inherited)
    } - assigned
    return same and not added and annotated == {*vars(kind).get("__annotations__", annotated)}


def _lines(text: str) -> list[str]:
    """Lines as Python counts them: a form feed does not end one."""
    return StringIO(text).readlines()


@lru_cache(maxsize=512)
def tree_of(text: str) -> ast.Module | None:
    try:
        return ast.parse(text) if text else None
    except SyntaxError:
        return None


class Edit(NamedTuple):
    line: int  # first line, from 1
    column: int  # in bytes
    last: int  # last line
    end: int  # column
    text: str  # with as many lines


def replacing(node: ast.expr, text: str, at_sign: Sequence[str] | None = None) -> Edit:
    """Replace an expression by a text, from its @ on if it is a decorator."""
    last, end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
    column = node.col_offset
    if at_sign is not None:
        column = at_sign[node.lineno - 1].encode()[:column].rindex(b"@")
    return Edit(node.lineno, column, last, end, text + "\n" * (last - node.lineno))


def renaming(found: Definition, name: str) -> list[Edit]:
    """Give a function or class the name that it has in the notebook."""
    node = found.node
    line = found.lines[node.lineno - 1].encode()[node.col_offset :].decode()
    header = re.match(r"(?:async\s+)?(?:def|class)\s+(\w+)", line)
    if header is None or getattr(node, "name", name) == name:
        return []
    start = node.col_offset + len(line[: header.start(1)].encode())
    return [Edit(node.lineno, start, node.lineno, start + len(header[1].encode()), name)]


def edited(lines: Sequence[str], first: int, edits: Sequence[Edit]) -> list[str]:
    """Apply edits; the number of lines stays."""
    made = [line.encode() for line in lines]
    for edit in sorted(edits, reverse=True):
        top, bottom = edit.line - first, edit.last - first
        text = made[top][: edit.column] + edit.text.encode() + made[bottom][edit.end :]
        made[top : bottom + 1] = text.splitlines(keepends=True)
    return [line.decode() for line in made]


def first_line(found: Definition) -> int | None:
    """First line of a function's body after its docstring; None if it shares its line."""
    body = found.node.body
    assert isinstance(body, list)
    is_text = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    first = body[1] if is_text and len(body) > 1 else body[0]
    line = line_of(first)
    before = found.lines[line - 1].encode()[: first.col_offset]
    return line if not before.strip() and not found.lines[line - 2].rstrip().endswith("\\") else None


def defaults_of(
    notebook: Notebook, function: types.FunctionType, node: ast.AST, above: str
) -> Iterator[tuple[ast.expr, str]]:
    """Each default of a function, with its value as text; empty if its source says it."""
    arguments = node.args  # type: ignore[attr-defined]
    positional = [*arguments.posonlyargs, *arguments.args]
    last = positional[len(positional) - len(arguments.defaults) :]
    values = dict(zip([each.arg for each in last], function.__defaults__ or ()))
    values |= function.__kwdefaults__ or {}
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    for parameter, default in (*zip(last, arguments.defaults, strict=True), *keywords):
        if default is None:
            continue
        value, written = values.get(parameter.arg, NOTHING), ast.unparse(default)
        text = literal(value)
        if isinstance(default, ast.List | ast.Dict | ast.Set) and _is_literal(default):
            yield default, ""  # as written, even if calls have changed it
        elif text is not None:
            yield default, "" if text == written else text
        elif re.fullmatch(r"[\w.]+", written) and evaluated(written, notebook.space) is value:
            yield default, ""
        else:
            name = f"{function.__name__}({parameter.arg}=…)"
            raise refused(above, name, f"a default that is {sort_of(notebook, value)}", GIVE)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def evaluated(text: str, space: Mapping[str, object]) -> object:
    """Value of an expression in the notebook, or `NOTHING`."""
    try:
        return eval(text, {**vars(typing), **space})
    except Exception:
        return NOTHING


def decorated(above: str, name: str) -> InputError:
    """The error for a function that its source does not describe."""
    problem = "a function of the notebook differs from its source"
    found = f"{name}, which was changed after it was defined, or by a decorator that hides it"
    hint = "write what it does into the function, or put it into a module of the project and import it"
    return InputError(problem, field=above, found=found, hint=hint)


def sort_of(notebook: Notebook, value: object) -> str:
    if notebook.is_session(value):
        return "the session, which builds jobs"
    kind = type(value)
    above = "" if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}."
    return f"a {above}{kind.__qualname__}"


def hint_for(notebook: Notebook, value: object) -> str:
    """Advice for a value that cannot be used."""
    if notebook.is_session(value):
        return "build jobs in cells, and give them to the stage"
    return "give it as an input: `name: Job`" if isinstance(value, Result) else GIVE


def refused(above: str, name: str, found: str, hint: str) -> InputError:
    """The error for a name that a stage may not use."""
    problem = "a stage uses a value of the notebook that is no plain constant"
    expected = "imports, functions, classes, and constants: numbers, texts, and short lists of these"
    return InputError(problem, field=above, found=f"{name}, {found}", expected=expected, hint=hint)


def literal(value: object) -> str | None:
    """Source text of a plain value, equal in every process; None for other values."""
    try:
        text = _text(value)
    except (RecursionError, TypeError):
        return None
    return text if len(text) <= LONGEST else None


def _text(value: typing.Any) -> str:
    kind = type(value)  # a subclass may hold more
    if kind is float and not math.isfinite(value):
        return f"float({str(value)!r})"
    if kind in SINGLE:
        return repr(value)
    if kind not in (dict, tuple, list, set, frozenset) or len(value) > LONGEST:
        raise TypeError
    texts = [*map(_text, value)]
    if kind is dict:
        return "{" + ", ".join(f"{key}: {_text(each)}" for key, each in zip(texts, value.values())) + "}"
    if kind in (set, frozenset):
        return f"{kind.__name__}([{', '.join(sorted(texts))}])"
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})" if kind is tuple else f"[{', '.join(texts)}]"
