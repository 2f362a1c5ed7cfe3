"""Values of a notebook that a stage may use, and those that are refused."""

from __future__ import annotations

import ast
import math
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from shortloop.base.errors import InputError
from shortloop.stages.results import Result

NOTHING = object()
GIVE = "give it as an input (`name: Job`, a file with `ax.file`) or as an option of the stage"
LONGEST = 10_000  # characters; longer values are data
SINGLE = (type(None), bool, int, str, bytes, type(...))


class Notebook(NamedTuple):
    """State of a notebook."""

    space: Mapping[str, object]  # its global names
    cells: Sequence[tuple[str, str]] = ()  # name and text of each, in the order of execution
    is_session: Callable[[object], bool] = lambda value: False


def defaults_of(
    notebook: Notebook, function: types.FunctionType, node: ast.AST, above: str
) -> Iterator[tuple[ast.expr, str]]:
    """Each default of a function, with its value as text; empty if its source says it."""
    arguments = node.args  # type: ignore[attr-defined]
    positional = [*arguments.posonlyargs, *arguments.args]
    last = positional[len(positional) - len(arguments.defaults) :]
    values = dict(zip([each.arg for each in last], function.__defaults__ or ()))
    values |= function.__kwdefaults__ or {}
    pairs = [*zip(last, arguments.defaults, strict=True)]
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    pairs += [(parameter, default) for parameter, default in keywords if default]
    for parameter, default in pairs:
        value = values.get(parameter.arg, NOTHING)
        text = literal(value)
        if isinstance(default, ast.List | ast.Dict | ast.Set) and _is_literal(default):
            yield default, ""  # as written, even if calls have changed it
            continue
        dotted = re.fullmatch(r"[\w.]+", ast.unparse(default)) is not None
        if text is not None:
            yield default, "" if text == ast.unparse(default) else text
        elif dotted and evaluated(ast.unparse(default), notebook.space) is value:
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
    return InputError(
        "a function of the notebook differs from its source",
        field=above,
        found=f"{name}, which was changed after it was defined, or by a decorator that hides it",
        hint="write what it does into the function, or put it into a module of the project and import it",
    )


def sort_of(notebook: Notebook, value: object) -> str:
    """The type of a value, in words."""
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
    return InputError(
        "a stage uses a value of the notebook that is no plain constant",
        field=above,
        found=f"{name}, {found}",
        expected="imports, functions, classes, and constants: numbers, texts, and short lists of these",
        hint=hint,
    )


def literal(value: object) -> str | None:
    """Source text of a plain value, equal in every process; None for other values."""
    try:
        text = _text(value)
    except RecursionError:
        return None
    return text if text is not None and len(text) <= LONGEST else None


def _text(value: object) -> str | None:
    kind = type(value)  # a subclass may hold more
    if isinstance(value, float) and kind is float:
        return repr(value) if math.isfinite(value) else f"float({str(value)!r})"
    if kind in SINGLE:
        return repr(value)
    if isinstance(value, dict) and kind is dict:
        pairs = [(_text(key), _text(each)) for key, each in value.items()]
        complete = all(None not in pair for pair in pairs)
        return "{" + ", ".join(f"{key}: {each}" for key, each in pairs) + "}" if complete else None
    if isinstance(value, tuple | list | set | frozenset) and kind in (tuple, list, set, frozenset):
        if len(value) > LONGEST:
            return None
        texts = [text for each in value if (text := _text(each)) is not None]
        if len(texts) < len(value):
            return None
        if isinstance(value, set | frozenset):
            return f"{kind.__name__}([{', '.join(sorted(texts))}])"
        if isinstance(value, tuple):
            return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
        return f"[{', '.join(texts)}]"
    return None
