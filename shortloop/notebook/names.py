"""Names that a notebook function or class uses, and the import statements behind them."""

from __future__ import annotations

import ast
import importlib.util
import symtable
import sys
import types
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from shortloop.base.errors import InputError
from shortloop.keys.own_code import is_own
from shortloop.notebook.definitions import NOTHING, Notebook, imports_in, literal
from shortloop.project.project import project_directory

IDENTITY = ("__module__", "__qualname__")
AT_ONCE = ("listcomp", "setcomp", "dictcomp", "genexpr")  # scopes that run immediately


class UsedNames(NamedTuple):
    defining: set[str]  # looked up when the statement runs, e.g. decorators, base classes, types
    calling: set[str]  # looked up when what it defines is called
    assigned: set[str]  # global names that it assigns when it is called


def used_names(text: str, types: bool = False) -> UsedNames:
    """Names that a statement uses without defining them; with `types`, those of parameter annotations."""
    found = UsedNames(set(), set(), set())
    _walk(symtable.symtable(text, "<notebook>", "exec"), True, found)
    outer = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)][:1]
    for node in outer if types else []:
        found.defining.update(_in_annotations(node.args))
    return found


def dotted_names(text: str) -> set[str]:
    """Dotted names in a statement, e.g. ``scipy.stats.norm``, with all their beginnings."""
    return {name for node in ast.walk(ast.parse(text)) if (name := _dotted(node))}


def _walk(table: symtable.SymbolTable, at_once: bool, found: UsedNames) -> None:
    kind = str(table.get_type())
    for symbol in table.get_symbols():
        # A class may read a name before it assigns it.
        outside = symbol.is_global() or kind == "module" or (kind == "class" and not symbol.is_free())
        if symbol.is_referenced() and outside:
            (found.defining if at_once else found.calling).add(symbol.get_name())
        if symbol.is_declared_global() and symbol.is_assigned():
            found.assigned.add(symbol.get_name())
    for child in table.get_children():
        inside = str(child.get_type()) == "class" or child.get_name() in AT_ONCE
        _walk(child, at_once and inside, found)


def _in_annotations(arguments: ast.arguments) -> Iterator[str]:
    """Names in annotations of parameters, including annotations in strings."""
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    waiting: list[ast.AST] = [each.annotation for each in every if each.annotation is not None]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            with suppress(SyntaxError):
                waiting.append(ast.parse(node.value, mode="eval").body)
        elif isinstance(node, ast.Subscript) and _dotted(node.value).endswith("Literal"):
            waiting.append(node.value)  # its strings are not types
        else:
            waiting += ast.iter_child_nodes(node)


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    above = _dotted(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{above}.{node.attr}" if above and isinstance(node, ast.Attribute) else ""


def imports_of(notebook: Notebook, name: str, value: object, known: Collection[str]) -> set[str] | None:
    """Statements that import a value of the notebook, of known dotted names; None if it was not imported."""
    own = notebook.space.get("__name__")
    if isinstance(value, types.ModuleType):
        if sys.modules.get(value.__name__) is not value or value.__name__ == own:
            return None
        _check_place(value)
        renamed = "" if value.__name__ == name else f" as {name}"
        return {f"import {value.__name__}{renamed}", *_submodules(name, value, known)}
    for given, module, taken in (each for _, text in reversed(notebook.cells) for each in imports_in(text)):
        if given == name and not module:
            break
        if given not in (name, "*") or module not in sys.modules:
            continue
        there = getattr(sys.modules[module], name if given == "*" else taken, NOTHING)
        if there is value or _is_same(there, value):
            _check_place(sys.modules[module])
            return {_from(module, name if given == "*" else taken, name)}
    home, made = getattr(value, "__module__", None), str(getattr(value, "__qualname__", ""))
    is_named = isinstance(home, str) and home in sys.modules and home != own and made.isidentifier()
    if is_named and callable(value) and getattr(sys.modules[str(home)], made, NOTHING) is value:
        _check_place(sys.modules[str(home)])
        return {_from(str(home), made, name)}
    return None


def _from(module: str, taken: str, name: str) -> str:
    return f"from {module} import {taken}" + ("" if taken == name else f" as {name}")


def _is_same(there: object, value: object) -> bool:
    """True if both are one object of a module that was reloaded, or equal plain values."""
    first, second = [[getattr(each, name, None) for name in IDENTITY] for each in (there, value)]
    if None not in first and first == second:
        return True
    text = literal(value)
    return text is not None and literal(there) == text


def _check_place(module: types.ModuleType) -> None:
    """Refuse a module beside a notebook, where jobs do not look for modules."""
    if not (file := getattr(module, "__file__", None)) or not is_own(file):
        return
    here, project = Path.cwd().resolve(), project_directory().resolve()
    top = module.__name__.partition(".")[0]
    beside = {here / f"{top}.py", here / top}
    resolved = Path(file).resolve()
    if here != project and beside & {resolved, *resolved.parents}:
        problem = "jobs do not look for modules beside a notebook"
        hint = f"move it to {project}, so that other notebooks and pipelines can use it too"
        raise InputError(problem, file=file, found=f"import {top}", hint=hint)


def _submodules(name: str, module: types.ModuleType, known: Collection[str]) -> Iterator[str]:
    """Imports of submodules used through a module, which another import may have loaded."""
    for dotted_name in sorted(known):
        value, dotted = module, module.__name__
        for part in dotted_name.split(".")[1:] if dotted_name.startswith(f"{name}.") else ():
            inside = getattr(value, part, None)
            if inside is not None and not isinstance(inside, types.ModuleType):
                break
            dotted = f"{dotted}.{part}"
            try:
                spec = importlib.util.find_spec(dotted)
            except (ImportError, ValueError, AttributeError):
                break
            if spec is None or dotted not in sys.modules:
                break
            value = sys.modules[dotted]
            yield f"import {dotted} as _{dotted.replace('.', '_')}"
