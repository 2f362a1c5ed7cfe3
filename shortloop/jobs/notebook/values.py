"""What a notebook knows, the values that parameters have when they are not given, and what is refused."""

from __future__ import annotations

import ast
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from shortloop.errors import InputError
from shortloop.jobs.notebook.constants import literal
from shortloop.worker.results import Result

__all__ = ["NOTHING", "Notebook", "decorated", "defaults_of", "evaluated", "hint_for", "refused", "sort_of"]

NOTHING = object()
GIVE = "give it as an input (`name: Job`, a file with `ax.file`) or as an option of the stage"


class Notebook(NamedTuple):
    """What is known of a notebook.

    Parameters
    ----------
    space : mapping of str to object
        What its names mean now.
    cells : sequence of (str, str)
        Name and text of each cell, in the order in which they were run.
    is_session : callable
        Whether a value is what declares stages and builds jobs.
    """

    space: Mapping[str, object]
    cells: Sequence[tuple[str, str]] = ()
    is_session: Callable[[object], bool] = lambda value: False


def defaults_of(
    notebook: Notebook, function: types.FunctionType, node: ast.AST, above: str
) -> Iterator[tuple[ast.expr, str]]:
    """Each default of a function, with the value that it has.

    Parameters
    ----------
    notebook : Notebook
        Where it was written.
    function : function
        The function.
    node : ast.AST
        Its definition.
    above : str
        What uses it.

    Yields
    ------
    default : ast.expr
        As it is written.
    text : str
        The value; empty where what is written says that.

    Raises
    ------
    InputError
        If one is no plain value.
    """
    arguments = node.args  # type: ignore[attr-defined]
    positional = [*arguments.posonlyargs, *arguments.args]
    said = list(zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True))
    values = dict(zip([each.arg for each, _ in said], function.__defaults__ or ()))
    said += [
        (each, one) for each, one in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if one
    ]
    values |= function.__kwdefaults__ or {}
    for parameter, default in said:
        value = values.get(parameter.arg, NOTHING)
        text = literal(value)
        if isinstance(default, ast.List | ast.Dict | ast.Set) and _is_literal(default):
            yield default, ""  # as it was, whatever calls of it have put there
            continue
        dotted = re.fullmatch(r"[\w.]+", ast.unparse(default)) is not None
        if text is not None:
            yield default, "" if text == ast.unparse(default) else text
        elif dotted and evaluated(ast.unparse(default), notebook.space) is value:
            yield default, ""
        else:
            raise refused(
                above,
                f"{function.__name__}({parameter.arg}=…)",
                f"a default that is {sort_of(notebook, value)}",
                GIVE,
            )


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def evaluated(text: str, space: Mapping[str, object]) -> object:
    """What a text means in the notebook.

    Parameters
    ----------
    text : str
        A name, or a type.
    space : mapping of str to object
        As of `Notebook`.

    Returns
    -------
    object
        `NOTHING` if it means nothing.
    """
    try:
        return eval(text, {**vars(typing), **space})
    except Exception:
        return NOTHING


def decorated(above: str, name: str) -> InputError:
    """A function is more than its text says.

    Parameters
    ----------
    above : str
        What uses it.
    name : str
        Its name.

    Returns
    -------
    InputError
    """
    return InputError(
        "a function of the notebook is not what its text says",
        field=above,
        found=f"{name}, which was changed after it was defined, or by a decorator that hides it",
        hint="write what it does into the function, or put it into a module of the project and import it",
    )


def sort_of(notebook: Notebook, value: object) -> str:
    """What sort of thing a value is, in words.

    Parameters
    ----------
    notebook : Notebook
        Where it is.
    value : object
        The value.

    Returns
    -------
    str
    """
    if notebook.is_session(value):
        return "the session, which builds jobs"
    kind = type(value)
    above = "" if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}."
    return f"a {above}{kind.__qualname__}"


def hint_for(notebook: Notebook, value: object) -> str:
    """What to do in place of using a value.

    Parameters
    ----------
    notebook : Notebook
        Where it is.
    value : object
        The value.

    Returns
    -------
    str
    """
    if notebook.is_session(value):
        return "build jobs in cells, and give them to the stage"
    return "give it as an input: `name: Job`" if isinstance(value, Result) else GIVE


def refused(above: str, name: str, found: str, hint: str) -> InputError:
    """A name that a stage may not use.

    Parameters
    ----------
    above : str
        What uses it.
    name : str
        The name.
    found : str
        What it is.
    hint : str
        What to do.

    Returns
    -------
    InputError
    """
    return InputError(
        "a stage uses a value of the notebook that is no plain constant",
        field=above,
        found=f"{name}, {found}",
        expected="imports, functions, classes, and constants: numbers, texts, and short lists of these",
        hint=hint,
    )
