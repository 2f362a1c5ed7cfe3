"""Pickle objects deterministically, and refuse those that cannot be read back."""

from __future__ import annotations

import io
import pickle
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from shortloop.base.errors import InputError

__all__ = ["loaded", "pickled", "without_addresses"]

CELLS = "notebook_cells"
NOBODYS = ("__main__", "__mp_main__")
ADDRESS = re.compile(r"( at |(?<=\)))0x[0-9A-Fa-f]+")
TEXTS = (str, bytes)
ATOMS = {str, bytes, int, float, complex, bool, type(None)}
DEPTH = 10_000
FRAMES = 8  # patsy looks through five
DEEPEST = 20  # parts within parts that are looked at for what cannot be kept
SHOWN = 100  # characters of a value
ANYWHERE = (
    "an object that another process can read back: of classes and functions with a name in a module of the "
    "project or of a library"
)


def pickled(value: object, name: str, what: str) -> tuple[bytes, list[str]]:
    """An object as bytes that `pickle.loads` reads, and the modules that this imports.

    Raises `InputError`, which names the part that cannot be read back and says what to do about it.
    """
    try:
        data, modules = _dumped(value)
        back = loaded(data)
        problem = "" if type(back) is type(value) else f"it is read back as {_kind(back)}"
    except MemoryError:
        raise
    except Exception as error:  # whatever the type says
        problem = without_addresses(f"{type(error).__name__}: {error}")
    if not problem:
        return data, modules
    where, part = _culprit(value, name)
    raise InputError(
        f"{what} returns a value that cannot be stored",
        field=where,
        found=f"{_said(part)}: {problem}"[: 5 * SHOWN],
        expected=ANYWHERE,
        hint=_remedy(part),
    )


def loaded(data: bytes, frames: int = FRAMES) -> object:
    """What a pickle holds, read below calls of this function alone.

    Models with a formula look for its names in those who called, which must not differ between processes.
    """
    return loaded(data, frames - 1) if frames else pickle.loads(data)


def without_addresses(text: str) -> str:
    """A repr that is the same in every process."""
    return ADDRESS.sub("", text)


def _dumped(value: object) -> tuple[bytes, list[str]]:
    stream, limit = io.BytesIO(), sys.getrecursionlimit()
    pickler = _Pickler(stream)
    sys.setrecursionlimit(max(limit, DEPTH))  # this pickler takes several calls for a part of a part
    try:
        pickler.dump(value)
    finally:
        sys.setrecursionlimit(limit)
    names = sorted(name for name in pickler.modules if name.partition(".")[0] not in sys.stdlib_module_names)
    return stream.getvalue(), names


class _Pickler(pickle._Pickler):  # noqa: SLF001  the one in Python
    """Pickles alike what is alike: sets in an order, and texts however many objects hold them.

    The hash of these bytes decides what is built again. Python orders sets by hashes that are other ones in
    each process, and whether equal texts, types of NumPy or short tuples are one object is chance.
    """

    dispatch: ClassVar[dict[type, Callable[..., None]]] = dict(pickle._Pickler.dispatch)  # noqa: SLF001  the one in Python

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=5)
        self.modules: set[str] = set()
        numpy = sys.modules.get("numpy")
        self._values = TEXTS if numpy is None else (*TEXTS, numpy.dtype, numpy.generic)

    def memoize(self, obj: Any) -> None:
        if isinstance(obj, self._values) or (type(obj) is tuple and ATOMS.issuperset(map(type, obj))):
            return
        super().memoize(obj)  # type: ignore[misc]

    def save_global(self, obj: Any, name: str | None = None) -> None:
        super().save_global(obj, name)  # type: ignore[misc]
        module = pickle.whichmodule(obj, name or obj.__qualname__)  # type: ignore[attr-defined]
        if not _is_importable(module):
            raise pickle.PicklingError(f"nobody else can import {obj.__qualname__} from {module}")
        self.modules.add(module)

    def save_set(self, obj: Any) -> None:
        self.write(pickle.EMPTY_SET)  # type: ignore[attr-defined]
        self.memoize(obj)
        self._save_members(obj)
        self.write(pickle.ADDITEMS)  # type: ignore[attr-defined]

    def save_frozenset(self, obj: Any) -> None:
        self._save_members(obj)
        memo: dict[int, tuple[int, object]] = self.memo  # type: ignore[attr-defined]
        if id(obj) in memo:  # it is part of itself
            self.write(pickle.POP_MARK + self.get(memo[id(obj)][0]))  # type: ignore[attr-defined]
            return
        self.write(pickle.FROZENSET)  # type: ignore[attr-defined]
        self.memoize(obj)

    def _save_members(self, obj: Any) -> None:
        self.write(pickle.MARK)  # type: ignore[attr-defined]
        kinds = {*map(type, obj)}
        of_one = kinds <= {str} or kinds <= {int}  # others may have no order, or one of parts
        for each in sorted(obj) if of_one else sorted(obj, key=lambda member: _dumped(member)[0]):
            self.save(each)  # type: ignore[attr-defined]

    dispatch[set] = save_set
    dispatch[frozenset] = save_frozenset
    dispatch[types.FunctionType] = save_global


def _is_importable(module: str) -> bool:
    """True if a module has a place where others find it by its name."""
    if module in NOBODYS or module.partition(".")[0] == CELLS:
        return False
    return getattr(sys.modules.get(module), "__spec__", None) is not None


def _culprit(value: object, where: str, depth: int = 0) -> tuple[str, object]:
    """The innermost part that cannot be pickled, and where it is."""
    for label, part in _parts(value) if depth < DEEPEST else ():
        if type(part) not in ATOMS and not _is_kept(part):
            return _culprit(part, f"{where}{label}", depth + 1)
    return where, value


def _is_kept(value: object) -> bool:
    try:
        loaded(_dumped(value)[0])
    except Exception:  # whatever the type says
        return False
    return True


def _parts(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        yield from ((f"[{key!r:.40}]", each) for key, each in value.items())
        yield from ((f", the key {key!r:.40}", key) for key in value)
    elif isinstance(value, list | tuple):
        yield from ((f"[{number}]", each) for number, each in enumerate(value))
    elif isinstance(value, set | frozenset):
        yield from ((", a member", each) for each in value)
    elif not isinstance(value, type | types.FunctionType | types.ModuleType):
        yield from ((f".{name}", each) for name, each in getattr(value, "__dict__", {}).items())


def _remedy(value: object) -> str:
    kind = value if isinstance(value, type) else type(value)
    if isinstance(value, types.FunctionType):
        if value.__module__.partition(".")[0] == CELLS:
            return f"put {value.__qualname__} into a module of the project, and import it in the cell"
        return "write it as a function with a name at the top of a module, and import it"
    if isinstance(value, io.IOBase):
        return "give its path as a text, or what it holds"
    if isinstance(value, Iterator):
        return "give a list of what it yields: `list(x)`"
    if isinstance(value, types.ModuleType):
        return "leave it out, and import it where it is used"
    if "<locals>" in kind.__qualname__ or not _is_importable(kind.__module__):
        return f"define {kind.__name__} at the top of a module of the project, and import it from there"
    return "leave it out, and make it again where it is used"


def _said(value: object) -> str:
    try:
        return without_addresses(f"{_kind(value)} {value!r}")[:SHOWN]
    except Exception:  # whatever the type says
        return _kind(value)


def _kind(value: object) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
