"""Objects among a job's results: pickled deterministically, or refused, and read on access."""

from __future__ import annotations

import io
import itertools
import os
import pickle
import pwd
import re
import reprlib
import sys
import types
import warnings
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar

from shortloop.base.errors import InputError, TransientError
from shortloop.base.text import one_line
from shortloop.stages.lazy_results import ResultsByName
from shortloop.stages.records import OBJECT, DescribedObject, Pickled

SHOWN = 200  # characters of an object in a record
NOTEBOOK = "notebook_cells"
MAIN = ("__main__", "__mp_main__")
ADDRESS = re.compile(r"( at |(?<=\)))0x[0-9A-Fa-f]+")
TEXTS = (str, bytes)
ATOMS = {str, bytes, int, float, complex, bool, type(None)}
DEPTH = 10_000
FRAMES = 8  # patsy looks through five
DEEPEST = 20  # parts within parts that are searched for what cannot be pickled
REMEDIES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (types.FunctionType, "write it as a function with a name at the top of a module, and import it"),
    (io.IOBase, "give its path as a text, or what it holds"),
    (tuple, "give what it holds: `tuple(x)`, or each part by a name of its own"),
    (memoryview, "give what it holds: `bytes(x)`"),
    ((KeysView, ValuesView, ItemsView), "give a list of what it holds: `list(x)`"),
    (Iterator, "give a list of what it yields: `list(x)`"),
    (types.ModuleType, "leave it out, and import it where it is used"),
)


def packed(value: object, name: str, what: str) -> Pickled:
    """Pickle an object with its description; an error names the part that could not be read back."""
    if isinstance(value, Pickled):
        return value
    try:
        data, modules = _dumped(value)
        back = loaded(data)
        problem = "" if type(back) is type(value) else f"it is read back as {_kind(back)}"
    except MemoryError:
        raise
    except Exception as error:  # whatever the type says
        problem = ADDRESS.sub("", f"{type(error).__name__}: {error}")
    if problem:
        where, part = _culprit(value, name)
        wrong = f"{what} returns a value that cannot be stored"
        said = f"{_kind(part)} {_text(part)}"[: SHOWN // 2] + f": {problem[: 2 * SHOWN]}"
        raise InputError(wrong, field=where, found=said, hint=_remedy(part))
    tops = sorted({module.partition(".")[0] for module in modules} - {__name__.partition(".")[0]})
    versions = {top: found for top in tops if (found := _version(top))}
    return Pickled(
        data, {"type": _kind(value), "text": _text(value), "modules": modules, "versions": versions}
    )


def in_one_file(column: Sequence[Pickled]) -> Pickled:
    """Objects of all units as one file: one pickle after the other."""
    first, every = column[0].described, [each.described for each in column]
    described: DescribedObject = {
        "type": ", ".join(sorted({each["type"] for each in every})),
        "text": f"{len(column)} units; the first: {first['text']}"[:SHOWN],
        "modules": sorted({module for each in every for module in each["modules"]}),
        "versions": {name: each["versions"][name] for each in every for name in each["versions"]},
        "units": [len(each.data) for each in column],
    }
    return Pickled(b"".join(each.data for each in column), described)


class Objects(ResultsByName[object]):
    """The objects of a job by name, each read when it is asked for, if `allow` raises no `InputError`."""

    def __init__(
        self,
        folder: Path,
        described: Mapping[str, DescribedObject],
        units: Callable[[], Sequence[object]],
        allow: Callable[[Path], None],
    ) -> None:
        super().__init__(folder, described)
        self._units, self._allow = units, allow

    def _read(self, name: str) -> object:
        described, file = self._described[name], self._folder / f"{name}{OBJECT}"

        def read(start: int = 0, size: int = -1) -> object:
            self._allow(file)
            return _read(file, described, start, size)

        return _UnitObjects(self._units(), described["units"], read) if "units" in described else read()


class _UnitObjects(Mapping[object, object]):
    """The objects of one name by the name of their unit, read when they are asked for."""

    def __init__(
        self, units: Sequence[object], sizes: Sequence[int], read: Callable[[int, int], object]
    ) -> None:
        self._units, self._read = units, read
        places = zip(itertools.accumulate(sizes, initial=0), sizes)
        self._places = dict(zip(map(repr, units), places, strict=True))  # 1 and True are two units

    def __getitem__(self, unit: object) -> object:
        if (place := self._places.get(repr(_plain(unit)))) is None:
            raise KeyError(f"{unit}; there are {reprlib.repr([*self._units])}")
        return self._read(*place) if place[1] else None  # of a unit that failed

    def __iter__(self) -> Iterator[object]:
        return iter(self._units)

    def __len__(self) -> int:
        return len(self._units)

    def __repr__(self) -> str:
        return one_line(f"<objects of {len(self._units)} units: {reprlib.repr([*self._units])}>")


def refusal(file: Path) -> str:
    """Reason not to read a pickle, which runs its writer's code, unless told to; empty if there is none."""
    if (owner := file.stat().st_uid) in (os.geteuid(), 0):
        return ""
    try:
        return f"it belongs to {pwd.getpwuid(owner).pw_name}"
    except KeyError:
        return f"it belongs to another user, number {owner}"


def _read(file: Path, described: DescribedObject, start: int, size: int) -> object:
    with file.open("rb") as stream:
        stream.seek(start)
        data = stream.read(size)
    try:
        value = loaded(data)
    except MemoryError:
        raise
    except Exception as error:  # whatever the type says
        differing = _differing(described["versions"])
        problem = "an object of a job cannot be read back"
        found = f"{type(error).__name__}: {error}{f'; {differing}' if differing else ''}"
        expected = f"{described['type']}, of {', '.join(described['modules']) or 'no library'}"
        hint = "see that its modules can be imported here, with the versions that wrote it, or run again"
        raise TransientError(problem, file=file, found=found, expected=expected, hint=hint) from error
    if differing := _differing(described["versions"]):
        warnings.warn(
            f"{file.parent.name}, {file.stem}: {differing}. It may compute something else. Run again, "
            "which builds it with what is installed, or install the versions that wrote it",
            stacklevel=4,
        )
    return value


def _differing(versions: Mapping[str, str]) -> str:
    """Sentence on libraries whose versions have changed since an object was written; empty if none."""
    other = {name: now for name, was in versions.items() if (now := _version(name) or "none") != was}
    was = ", ".join(f"{name} {versions[name]}" for name in other)
    now = ", ".join(f"{name} {version}" for name, version in other.items())
    return f"written with {was}, read with {now}" if other else ""


def _version(library: str) -> str:
    """The version of a library; empty if none is known."""
    found = getattr(sys.modules.get(library), "__version__", None)
    if isinstance(found, str):
        return found
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""


_short = reprlib.Repr()
_short.maxstring = _short.maxother = SHOWN


def _text(value: object) -> str:
    try:
        text = " ".join(_short.repr(value).split())
    except Exception:  # whatever the type says
        text = f"<{type(value).__name__}>"
    return ADDRESS.sub("", one_line(text))[:SHOWN]  # the same in every process


def _plain(unit: object) -> object:
    """Name of a unit as it is kept: numbers of NumPy are those of Python."""
    if isinstance(unit, tuple):
        return tuple(map(_plain, unit))
    return unit.item() if hasattr(unit, "item") else unit


def loaded(data: bytes, frames: int = FRAMES) -> object:
    """Unpickle below calls of this function alone: models with a formula look for its names in callers."""
    return loaded(data, frames - 1) if frames else pickle.loads(data)


def _dumped(value: object) -> tuple[bytes, list[str]]:
    """Bytes that `pickle.loads` reads, and the modules that it imports."""
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
    """Pickle equal objects alike: sets in an order, and texts however many objects hold them.

    The hash of these bytes decides what is built again. Python orders sets by hashes that differ between
    processes, and whether equal texts, types of NumPy or short tuples are one object is chance.
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
            raise pickle.PicklingError(f"no other process can import {obj.__qualname__} from {module}")
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
    """True if another process can import a module by its name."""
    if module in MAIN or module.partition(".")[0] == NOTEBOOK:
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
    if hint := next((hint for kind, hint in REMEDIES if isinstance(value, kind)), None):
        return hint
    kind = value if isinstance(value, type) else type(value)
    if "<locals>" in kind.__qualname__ or not _is_importable(kind.__module__):
        return f"define {kind.__name__} at the top of a module of the project, and import it from there"
    return "leave it out, and make it again where it is used"


def _kind(value: object) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
