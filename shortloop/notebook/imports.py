"""The import statements behind a notebook's imported names."""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.keys.own_code import is_own
from shortloop.notebook.definitions import imports_in
from shortloop.notebook.values import literal
from shortloop.project.project import project_directory

__all__ = ["imports_of"]

_NOTHING = object()


def imports_of(
    name: str, value: object, own: object, cells: Sequence[tuple[str, str]], chains: Collection[str]
) -> set[str] | None:
    """Statements that import a value of the notebook."""
    if isinstance(value, types.ModuleType):
        if sys.modules.get(value.__name__) is not value or value.__name__ == own:
            return None
        _check_place(value)
        renamed = "" if value.__name__ == name else f" as {name}"
        return {f"import {value.__name__}{renamed}", *_submodules(name, value, chains)}
    for given, (module, taken) in imports_in(cells):
        if given == name and not module:
            break
        if given not in (name, "*") or module not in sys.modules:
            continue
        there = getattr(sys.modules[module], name if given == "*" else taken, _NOTHING)
        if there is value or _is_same(there, value):
            _check_place(sys.modules[module])
            return {_from(module, name if given == "*" else taken, name)}
    home, made = getattr(value, "__module__", None), str(getattr(value, "__qualname__", ""))
    is_named = isinstance(home, str) and home in sys.modules and home != own and made.isidentifier()
    if is_named and callable(value) and getattr(sys.modules[str(home)], made, _NOTHING) is value:
        _check_place(sys.modules[str(home)])
        return {_from(str(home), made, name)}
    return None


def _from(module: str, taken: str, name: str) -> str:
    return f"from {module} import {taken}" + ("" if taken == name else f" as {name}")


def _is_same(there: object, value: object) -> bool:
    """Whether two are one thing, loaded twice, as when a module was loaded anew; or plain and equal."""
    names = [
        (getattr(each, "__module__", None), getattr(each, "__qualname__", None)) for each in (there, value)
    ]
    if None not in names[0] and names[0] == names[1]:
        return True
    text = literal(value)
    return text is not None and literal(there) == text


def _check_place(module: types.ModuleType) -> None:
    """Jobs do not look for modules beside a notebook."""
    file = getattr(module, "__file__", None)
    if not file or not is_own(file):
        return
    here, project = Path.cwd().resolve(), project_directory().resolve()
    top = module.__name__.partition(".")[0]
    beside = {here / f"{top}.py", here / top}
    resolved = Path(file).resolve()
    if here != project and beside & {resolved, *resolved.parents}:
        raise InputError(
            "jobs do not look for modules beside a notebook",
            file=file,
            found=f"import {top}",
            expected=f"a module in {project}",
            hint="move it there, so that other notebooks and pipelines can use it too",
        )


def _submodules(name: str, module: types.ModuleType, known: Collection[str]) -> Iterator[str]:
    """Imports of modules below one that are used through it, which somebody else may have imported."""
    for chain in sorted(known):
        value, dotted = module, module.__name__
        for part in chain.split(".")[1:] if chain.startswith(f"{name}.") else ():
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
