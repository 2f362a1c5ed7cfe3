"""Normalised source of one file, without comments, docstrings and formatting, and its imports.

Settings of a stage that no result depends on (cores, memory, retries, timeout) are left out, too. A class of
a stage gives them up when it is made (`shortloop.stages.needs`), so no code reads them. Only what certainly
is a setting is left out: a literal, in the body of a class whose bases are stages, or in the call of the
decorator. A constant with a name stays in the code, as does all that is written in another way.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import decode_source, resolve_name
from pathlib import Path
from typing import Any, NamedTuple

from blake3 import blake3

from shortloop.base.errors import InputError
from shortloop.keys.file_state import file_state, once_per_moment
from shortloop.keys.own_code import PACKAGE, ROOT
from shortloop.project.project import cache_directory, keep, user_cache
from shortloop.stages.needs import NOT_IN_KEY

NOTHING = "pass"  # normalised text of a file without code, like many `__init__.py`
KEPT = 5_000  # versions of files
READS_TEXT = re.compile(rb"\b(__doc__|getdoc|getcomments|getsource|getsourcelines|findsource|docopt)\b")
_DECORATED = ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
_TELLING = ast.Import, ast.ImportFrom, ast.Call, ast.Name, *_DECORATED
_HOLDERS = ast.Module, *_DECORATED
IMPORTING = "import_module", "__import__"


class Source(NamedTuple):
    """Content of a source file."""

    # Equal for files that differ in comments, docstrings and formatting only. Of a compiled module its hash;
    # of a module that reads its own docstrings or source, its source.
    text: str
    # Full names of imports, and of decorators like ``@package.name``; ``package.*`` for ``import *``.
    names: list[str]
    for_types: list[str]  # those of them that it imports below ``if TYPE_CHECKING:`` alone
    public: list[str] | None  # names in ``__all__``; None if it is computed
    hash: str


# Parsing a hundred files costs a second, so sources are cached, also on disk.
_memory: dict[str, tuple[list[int], Source]] = {}  # by path, with the state, in which any change shows
_text_hashes: dict[str, str] = {}  # hash of a file's bytes -> hash of its normalised text
_changed = False


def read_source(file: Path, module: str) -> Source:
    """Parse a file: its normalised text, and all that it imports."""
    path = str(file)
    return once_per_moment((read_source, path), lambda: _read_now(file, path, module))


def _read_now(file: Path, path: str, module: str) -> Source:
    global _changed
    if not _memory:
        _load_kept()
    state, settled = file_state(path)
    known = _memory.get(path)
    if known is None or known[0] != state:
        data = file.read_bytes()
        source = _parsed(data, file, module)
        known = state, source
        if settled:
            _memory[path] = known
        _text_hashes[blake3(data).hexdigest()] = source.hash
        _changed = True
    return known[1]


def normalised_hash(content: str) -> str | None:
    """Hash of normalised text, by the hash of a file's bytes."""
    if not _memory:
        _load_kept()
    return _text_hashes.get(content)


def hash_of(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=20).hexdigest()


def normalised(tree: ast.Module) -> str:
    """Source without comments, docstrings and formatting."""
    nodes = [*ast.walk(tree)]
    _leave_out_settings(nodes)
    for node in nodes:  # remove strings that stand alone; parsing has dropped comments and formatting
        if isinstance(node, _HOLDERS):
            node.body = [each for each in node.body if not _is_string(each)] or [ast.Pass()]
    return ast.unparse(tree)


def keep_sources() -> None:
    """Store what was parsed for the next process."""
    global _changed
    if _changed:
        said = _load()[1] | _text_hashes  # with what other processes have read meanwhile
        kept = {"parser": _parser(), "files": _memory, "said": dict([*said.items()][-KEPT:])}
        keep(_kept_file(), json.dumps(kept))
        _changed = False


def _load_kept() -> None:
    files, said = _load()
    _memory.update(files)
    _text_hashes.update(said)


def _load() -> tuple[dict[str, tuple[list[int], Source]], dict[str, str]]:
    with suppress(OSError, ValueError, KeyError, TypeError):
        loaded = json.loads(_kept_file().read_text(encoding="utf-8"))
        if loaded["parser"] == _parser():
            files = {path: (state, Source(*source)) for path, (state, source) in loaded["files"].items()}
            return files, dict(loaded["said"])
    return {}, {}


def _kept_file() -> Path:
    """In the project, or else for all scripts and notebooks of the user."""
    try:
        folder = cache_directory("code")
    except InputError:
        folder = user_cache("machine-code")
    return folder / "parsed.json"


def _parser() -> list[Any]:
    """Version of the cache: what else the normalised text depends on."""
    return [sys.version, sorted(NOT_IN_KEY), *file_state(__file__)[0]]


def _parsed(data: bytes, file: Path, module: str) -> Source:
    if file.suffix != ".py":
        text = f"compiled = {blake3(data).hexdigest()!r}"
        return Source(text, [], [], [], hash_of(text))
    tree = ast.parse(data, filename=str(file))
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    nodes = [*_nodes(tree)]
    run = {*_imports((node for node, is_run in nodes if is_run), package)}
    run |= {*_decorators([node for node, _ in nodes])}
    for_types = {*_imports((node for node, is_run in nodes if not is_run), package)} - run
    public = _public(tree, (node for node, _ in nodes))
    # What a module reads of its own text may be in its results.
    reads_text = READS_TEXT.search(data) is not None and not str(file).startswith(f"{ROOT}/{PACKAGE}/")
    text = decode_source(data) if reads_text else normalised(tree)
    return Source(text, sorted(run | for_types), sorted(for_types), public, hash_of(text))


def _nodes(tree: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """Yield relevant nodes, with True if not below ``if TYPE_CHECKING:``."""
    waiting = [(tree, True)]
    for node, is_run in waiting:  # to which more are added
        if isinstance(node, _TELLING):
            yield node, is_run
        is_for_types = isinstance(node, ast.If) and _last_name(node.test) == "TYPE_CHECKING"
        for field in node._fields:
            value = getattr(node, field, None)
            here = is_run and (not is_for_types or field == "orelse")
            if isinstance(value, list):
                waiting += [(each, here) for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST):
                waiting.append((value, here))


def _last_name(node: ast.expr) -> str:
    return str(getattr(node, "id", getattr(node, "attr", "")))


def _imports(nodes: Iterable[ast.AST], package: str) -> Iterator[str]:
    for node in nodes:
        with suppress(ImportError):  # beyond the outermost package, where Python refuses it as well
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = resolve_name("." * node.level + (node.module or ""), package)
                # `from a.b import c` may import the module a.b.c
                yield from (f"{base}.{alias.name}" for alias in node.names)
            elif isinstance(node, ast.Call) and _last_name(node.func) in IMPORTING and node.args:
                name = node.args[0]
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    yield resolve_name(name.value, package)


def imports_at_top(file: Path) -> set[str]:
    """Return what a file imports outside of functions, by absolute names."""
    nodes: list[ast.AST] = [ast.parse(file.read_bytes())] if file.suffix == ".py" else []
    for node in nodes:  # to which more are added
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            nodes += ast.iter_child_nodes(node)
    return {*_imports(nodes, "")}


def _decorators(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Full names of decorators that are imported, also as attributes of modules like ``@package.name``."""
    full = dict(_imported(nodes))
    decorators = (each for node in nodes for each in getattr(node, "decorator_list", ()))
    names = (_full_name(each.func if isinstance(each, ast.Call) else each, full) for each in decorators)
    yield from filter(None, names)


def _public(tree: ast.Module, nodes: Iterable[ast.AST]) -> list[str] | None:
    """Names in `__all__`."""
    named = {node for node in nodes if isinstance(node, ast.Name) and node.id == "__all__"}
    assigned: list[Any] = [
        each for each in tree.body if named & {*getattr(each, "targets", [getattr(each, "target", None)])}
    ]
    if len(assigned) < len(named):  # put together on the way, e.g. by `__all__.append`
        return None
    try:
        return [str(name) for each in assigned for name in ast.literal_eval(each.value)]
    except (AttributeError, ValueError, TypeError):
        return None


def _is_string(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


STAGES = {f"{PACKAGE}.{at}{name}" for at in ("", "stages.stage.") for name in ("Stage", "CollectingStage")}
DECORATORS = {f"{PACKAGE}.stage", f"{PACKAGE}.exax.declare.stage"}
BY_NAME = {"vars", "locals", "dir", "eval", "exec", "globals"}
LITERAL = ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop


def _leave_out_settings(nodes: list[ast.AST]) -> None:
    """Remove settings that no result depends on from the nodes of a module."""
    if not any(getattr(node, "id", getattr(node, "arg", None)) in NOT_IN_KEY for node in nodes):
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


def _bound(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield each name that is bound, as often as it is."""
    for node in nodes:
        if isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        else:  # classes, functions, arguments, handlers, patterns
            fields = () if isinstance(node, ast.keyword) else ("name", "arg", "rest")
            names = (getattr(node, field, None) for field in fields)
            yield from (each for each in names if isinstance(each, str))


def _imported(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
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
    """True if all bases are known stages, and nothing else sees how the class is made."""
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
    """True if a statement of a class only assigns a setting that nothing else in the class names."""
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
    """Remove settings from the call of a decorator."""
    if not isinstance(decorator, ast.Call) or _full_name(decorator.func, full) not in DECORATORS:
        return decorator
    kept = [each for each in decorator.keywords if each.arg not in NOT_IN_KEY or not _is_literal(each.value)]
    if not kept and not decorator.args:
        return decorator.func
    decorator.keywords = kept
    return decorator


def _is_literal(value: ast.expr | None) -> bool:
    return value is not None and all(isinstance(each, LITERAL) for each in ast.walk(value))
