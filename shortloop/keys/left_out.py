"""Stage settings excluded from the key: cores, memory, retries, timeout.

A class of a stage gives them up when it is made (`shortloop.stages.needs`), so no code reads them. Only what
certainly is one is left out: a literal, in the body of a class whose bases are stages, or in the call of the
decorator. A constant with a name stays in the code, as does all that is written in another way.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

from shortloop.keys.own_code import PACKAGE
from shortloop.stages.needs import NOT_IN_KEY

__all__ = ["leave_out_settings"]

STAGES = {
    f"{PACKAGE}.{below}{name}" for below in ("", "stages.stage.") for name in ("Stage", "CollectingStage")
}
DECORATORS = {f"{PACKAGE}.stage", f"{PACKAGE}.exax.declare.stage"}
BY_NAME = {"vars", "locals", "dir", "eval", "exec", "globals"}
LITERAL = ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop


def leave_out_settings(tree: ast.Module) -> None:
    """Leave settings that no result depends on out of a file's code."""
    nodes = [*ast.walk(tree)]
    if not any(_is_setting(node) for node in nodes):
        return
    counts = Counter(_bound(nodes))
    if "*" in counts:  # which may bind any name
        return
    full = {name: each for name, each in _imported(nodes) if counts[name] == 1}
    classes = {each.name: each for each in nodes if isinstance(each, ast.ClassDef) and counts[each.name] == 1}
    for node in nodes:
        if isinstance(node, ast.ClassDef) and _is_stage(node, full, classes):
            node.body = [each for each in node.body if not _is_unread(each, node)]
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = [_without(each, full) for each in node.decorator_list]


def _is_setting(node: ast.AST) -> bool:
    return (isinstance(node, ast.Name) and node.id in NOT_IN_KEY) or (
        isinstance(node, ast.keyword) and node.arg in NOT_IN_KEY
    )


def _bound(nodes: list[ast.AST]) -> Iterator[str]:
    """Each name that something binds, as often as it does."""
    for node in nodes:
        if isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        else:  # classes, functions, arguments, handlers, patterns
            names = [
                getattr(node, field, None)
                for field in ("name", "arg", "rest")
                if not isinstance(node, ast.keyword)
            ]
            yield from (each for each in names if isinstance(each, str))


def _imported(nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """Names here, and the full names of what they are imported from."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((each.asname or each.name, f"{node.module}.{each.name}") for each in node.names)
        elif isinstance(node, ast.Import):
            for each in node.names:
                top = each.name.partition(".")[0]
                yield (each.asname, each.name) if each.asname else (top, top)


def _full_name(node: ast.expr, full: Mapping[str, str]) -> str:
    if isinstance(node, ast.Name):
        return full.get(node.id, "")
    if isinstance(node, ast.Attribute):
        above = _full_name(node.value, full)
        return f"{above}.{node.attr}" if above else ""
    return ""


def _is_stage(node: ast.ClassDef, full: Mapping[str, str], classes: Mapping[str, ast.ClassDef]) -> bool:
    """True if all bases are known to be stages, and nothing else is there when the class is made."""
    if node.keywords or not node.bases:
        return False
    if any(getattr(each, "name", "") == "__init_subclass__" for each in node.body):
        return False
    for base in node.bases:
        above = classes.get(base.id) if isinstance(base, ast.Name) else None
        others = {name: each for name, each in classes.items() if each is not node}
        if _full_name(base, full) not in STAGES and not (above and _is_stage(above, full, others)):
            return False
    return True


def _is_unread(statement: ast.stmt, kind: ast.ClassDef) -> bool:
    """True if a statement of a class only sets one of the settings, which nothing else in the class names."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign) and ast.unparse(statement.annotation).find("ClassVar") >= 0:
        target = statement.target
    else:
        return False
    if not (isinstance(target, ast.Name) and target.id in NOT_IN_KEY and _is_literal(statement.value)):
        return False
    named = [each.id for each in ast.walk(kind) if isinstance(each, ast.Name)]
    return named.count(target.id) == 1 and BY_NAME.isdisjoint(named)


def _without(decorator: ast.expr, full: Mapping[str, str]) -> ast.expr:
    """A decorator without the settings that it is given."""
    if not isinstance(decorator, ast.Call) or _full_name(decorator.func, full) not in DECORATORS:
        return decorator
    kept = [each for each in decorator.keywords if each.arg not in NOT_IN_KEY or not _is_literal(each.value)]
    if not kept and not decorator.args:
        return decorator.func
    decorator.keywords = kept
    return decorator


def _is_literal(value: ast.expr | None) -> bool:
    return value is not None and all(isinstance(each, LITERAL) for each in ast.walk(value))
