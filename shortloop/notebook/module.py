"""Write the module of a notebook stage: the function and all names that it uses."""

from __future__ import annotations
import __future__

import ast
import builtins
import re
import types
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from typing import NamedTuple

from shortloop.base.errors import InputError
from shortloop.exax.declare import stage as stage_decorator
from shortloop.notebook.definitions import (
    NOTHING,
    Definition,
    Edit,
    Notebook,
    class_definition,
    decorated,
    defaults_of,
    edited,
    evaluated,
    first_line,
    function_definition,
    hint_for,
    line_of,
    literal,
    refused,
    renaming,
    replacing,
    sort_of,
    tree_of,
    unwrapped,
)
from shortloop.notebook.names import dotted_names, imports_of, used_names
from shortloop.stages.function import FunctionStage, UnitsStage
from shortloop.stages.needs import Needs, needs_of
from shortloop.stages.stage import STAGE_OF

HEADING = '"""A stage of a notebook, written by shortloop.notebook; it may be deleted."""\n'
DECORATOR = "_shortloop_stage"
FUTURE = "from __future__ import annotations\n"
OF_IPYTHON = re.compile(r"In|Out|get_ipython|exit|quit|_+|_i+|_i?\d+|_[ido]h")
FUTURE_FLAG = __future__.annotations.compiler_flag
ALIASES = (types.GenericAlias, types.UnionType)

Line = tuple[str, int]  # name of a cell, and a line in it


class Module(NamedTuple):
    name: str  # of the stage
    text: str
    lines: dict[int, Line]  # origin of its lines, which are numbered from 1


def module_of_stage(stage: object, notebook: Notebook) -> Module:
    function, _ = unwrapped(stage)
    kind: type[FunctionStage] | None = getattr(stage, STAGE_OF, None)
    if function is None or kind is None or kind.function is not stage:
        found = getattr(stage, "__name__", repr(stage)[:200])
        expected = "a function, with `@ax.stage` as the first line above it, or the name of one in a file"
        raise InputError("not a stage of the notebook", found=found, expected=expected)
    if not re.fullmatch(r"[A-Za-z]\w*", function.__name__, re.ASCII):
        expected = "ASCII letters, digits and _, and a letter first"
        raise InputError("invalid name of a stage", found=function.__name__, expected=expected)
    if function.__code__.co_flags & 0x380:  # a coroutine or an asynchronous generator
        problem = "a stage cannot be an async function"
        raise InputError(problem, found=function.__name__, expected="`def` without async")
    return _Writer(notebook).module(function.__name__, stage, kind)


class _Writer:
    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self._imports: set[str] = set()
        self._constants: dict[str, str] = {}
        self._pieces: list[tuple[list[str], list[Line | None]]] = []  # lines, and the origin of each
        self._seen: set[str] = set()
        self._future = False
        self._stage: tuple[str, str] = ("", "")  # its name, and that of its units
        self._decorator = ""  # of the stage

    def module(self, name: str, stage: object, kind: type[FunctionStage]) -> Module:
        units = ""
        value: object = None
        if issubclass(kind, UnitsStage):
            # By the name that the notebook has now, as for a helper.
            units, value = kind.units_of.__name__, self._notebook.space.get(kind.units_of.__name__)
            if not isinstance(value, types.FunctionType):
                units, value = f"units_of_{name}", kind.units_of
        given = [f"units={units}"] if units else []
        given += ["allow_empty=True"] if issubclass(kind, UnitsStage) and kind.allow_empty else []
        defaults = vars(Needs())
        settings = vars(needs_of(kind)).items()
        given += [f"{field}={value!r}" for field, value in settings if value != defaults[field]]
        self._stage, self._decorator = (name, units), f"@{DECORATOR}" + f"({', '.join(given)})" * bool(given)
        self._seen |= {name, units}
        if units:
            self._name(units, value, frozenset(), name)
        self._function(name, stage, name)
        lines = [HEADING, *[FUTURE] * self._future, f"from shortloop import stage as {DECORATOR}\n"]
        lines += [f"{line}\n" for line in sorted(self._imports)]
        lines += [f"{each} = {text}\n" for each, text in sorted(self._constants.items())]
        places: list[Line | None] = [None] * len(lines)
        for piece, origins in self._pieces:
            lines += ["\n", "\n", *piece]
            places += [None, None, *origins]
        return Module(name, "".join(lines), {number: each for number, each in enumerate(places, 1) if each})

    def _reach(self, names: Collection[str], known: frozenset[str], above: str) -> set[str]:
        """Write all names, and return the imports among them."""
        found: set[str] = set()
        for name in sorted(names):
            if name.startswith("__") and name.endswith("__") and not OF_IPYTHON.fullmatch(name):
                continue
            space = self._notebook.space
            if name not in space:
                if not hasattr(builtins, name) and name not in self._seen:
                    problem, hint = "a notebook function uses an undefined name", "define it, or import it"
                    raise InputError(problem, field=above, found=name, hint=hint)
                continue
            if OF_IPYTHON.fullmatch(name):
                raise refused(
                    above, name, "a name of IPython, of magics or `!`", "use Python alone in stages"
                )
            if (imported := imports_of(self._notebook, name, space[name], known)) is not None:
                found |= imported
            elif name not in self._seen:
                self._seen.add(name)
                self._name(name, space[name], known, above)
        return found

    def _name(self, name: str, value: object, known: frozenset[str], above: str) -> None:
        imported = imports_of(self._notebook, name, value, known)
        function, _ = unwrapped(value)
        text = literal(value)
        if imported is not None:
            self._imports |= imported
        elif text is not None:
            self._constants[name] = text
        elif isinstance(value, type) and value.__module__ == self._notebook.space.get("__name__"):
            self._class(name, value, above)
        elif function is not None and function.__globals__ is self._notebook.space:
            self._function(name, value, above)
        elif isinstance(value, ALIASES) or type(value).__module__ == "typing":
            self._alias(name, value, above)
        else:
            raise refused(above, name, sort_of(self._notebook, value), hint_for(self._notebook, value))

    def _function(self, name: str, value: object, above: str) -> None:
        function, layers = unwrapped(value)
        assert function is not None
        if function.__code__.co_freevars:
            raise InputError(
                "a function of the notebook is a closure, whose values its source does not show",
                field=above,
                found=f"{name}, which was made inside another function, with its own "
                f"{', '.join(function.__code__.co_freevars)}",
                hint="define it at the left margin, and pass these as parameters",
            )
        if (found := function_definition(function)) is None:
            problem = "the source of a notebook function is not available"
            hint = "define it with `def` in a cell, without %%time or exec, and a lambda alone in its line"
            raise InputError(problem, field=above, found=name, hint=hint)
        self._future |= bool(function.__code__.co_flags & FUTURE_FLAG)
        node = found.node
        defaults = list(defaults_of(self._notebook, function, node, above))
        if isinstance(node, ast.Lambda):
            if layers:
                raise decorated(above, name)
            self._lambda(name, found, defaults, above)
            return
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        of_session = [each for each in node.decorator_list if self._is_stage(each)]
        kept = [each for each in node.decorator_list if each not in of_session]
        added = {*vars(value)} - {"__wrapped__", STAGE_OF} if isinstance(value, types.FunctionType) else None
        if layers != len(kept) or hasattr(value, "registry") or added:
            raise decorated(above, name)
        self._check_decorators(kept, value, name, above)
        edits = [replacing(each, text) for each, text in defaults if text]
        decorator = self._decorator if name == self._stage[0] else ""
        edits += [replacing(each, decorator, at_sign=found.lines) for each in of_session]
        edits += renaming(found, name)
        self._place(name, found, edits, above, can_import=not kept, constants=not kept)

    def _class(self, name: str, kind: type, above: str) -> None:
        found = class_definition(kind, self._notebook.cells)
        bases = [each for each in kind.__bases__ if each.__module__ == kind.__module__]
        current = all(self._notebook.space.get(each.__name__) is each for each in bases)
        if found is None or "." in kind.__qualname__ or not current:
            problem = "the source of a notebook class is not available"
            hint = "define it at the left margin of a cell, run that again, and change nothing of it after"
            raise InputError(problem, field=above, found=name, hint=hint)
        self._place(name, found, renaming(found, name), above, can_import=False, constants=False)

    def _lambda(self, name: str, found: Definition, defaults: list[tuple[ast.expr, str]], above: str) -> None:
        node = found.node
        assert isinstance(node, ast.Lambda)
        now = {default: ast.parse(text, mode="eval").body for default, text in defaults if text}
        given = copy(node.args)
        given.defaults = [now.get(each, each) for each in given.defaults]
        given.kw_defaults = [each and now.get(each, each) for each in given.kw_defaults]
        text = ast.unparse(ast.Lambda(given, node.body))
        self._write(f"{name} = {text}\n", (found.file, node.lineno), above)

    def _alias(self, name: str, value: object, above: str) -> None:
        for file, text in reversed(self._notebook.cells):
            for node in reversed(tree.body if (tree := tree_of(text)) else []):
                targets = node.targets if isinstance(node, ast.Assign) else []
                if [target.id for target in targets if isinstance(target, ast.Name)] == [name]:
                    expression = ast.unparse(node.value)  # type: ignore[attr-defined]
                    if evaluated(expression, self._notebook.space) == value:
                        self._write(f"{name} = {expression}\n", (file, node.lineno), above)
                        return
        raise refused(above, name, "a type whose definition is not known", "write it out where it is used")

    def _write(self, text: str, origin: Line, above: str) -> None:
        names = used_names(text)
        self._imports |= self._reach(names.defining | names.calling, frozenset(dotted_names(text)), above)
        self._pieces.append(([text], [origin]))

    def _place(
        self, name: str, found: Definition, edits: list[Edit], above: str, can_import: bool, constants: bool
    ) -> None:
        """Write a definition, below all that it uses."""
        first, last = line_of(found.node), found.node.end_lineno or found.node.lineno
        lines = edited(found.lines[first - 1 : last], first, edits)
        origins: list[Line | None] = [(found.file, line) for line in range(first, last + 1)]
        if not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        if found.node.col_offset:
            lines, origins = ["if True:\n", *lines], [None, *origins]
        text = "".join(lines)
        names = used_names(FUTURE * self._future + text, types=name in self._stage)
        for each in sorted(names.assigned):
            raise refused(above, each, f"to which {name} assigns with `global`", "have it return the value")
        outer = names.defining - {name, DECORATOR}
        for each in sorted(() if constants else outer):
            value = self._notebook.space.get(each, NOTHING)
            is_constant = value is not NOTHING and literal(value) is not None
            if is_constant and imports_of(self._notebook, each, value, frozenset()) is None:
                was = f"a value that was used when {name} was defined, and may have been different then"
                raise refused(above, each, was, "write the value itself there")
        known = frozenset(dotted_names(text))
        self._imports |= self._reach(outer, known, name)
        inside = self._reach(names.calling - {DECORATOR}, known, name)
        where = first_line(found) if can_import and inside else None
        if where is None:
            self._imports |= inside
        else:
            # Import it inside the function: a method must load quickly, whatever the notebook imports.
            place = len(lines) - 1 - last + where
            margin = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
            needed = [line for line in sorted(inside) if line not in self._imports]
            lines[place:place] = [f"{margin}{line}\n" for line in needed]
            origins[place:place] = [None] * len(needed)
        self._pieces.append((lines, origins))

    def _is_stage(self, decorator: ast.expr) -> bool:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if re.fullmatch(r"[\w.]+", text := ast.unparse(target)) is None:
            return False
        value = evaluated(text, self._notebook.space)
        return value is stage_decorator or self._notebook.is_session(getattr(value, "__self__", value))

    def _check_decorators(self, kept: Sequence[ast.expr], value: object, name: str, above: str) -> None:
        """Refuse a function that was decorated before its decorator was edited."""
        code = getattr(value, "__code__", None)
        if not kept or code is None:
            return
        target = kept[0].func if isinstance(kept[0], ast.Call) else kept[0]
        decorator, _ = unwrapped(evaluated(ast.unparse(target), self._notebook.space))
        if decorator is None or decorator.__globals__ is not self._notebook.space:
            return
        if code not in _codes_in(decorator.__code__):
            hint = f"run the cell of {name} again"
            raise InputError("a decorator was edited after it was used", field=above, found=name, hint=hint)


def _codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from _codes_in(each)
