"""Pickled objects among a job's results, read on access."""

from __future__ import annotations

import os
import pwd
import reprlib
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from shortloop.base.errors import TransientError
from shortloop.base.text import one_line
from shortloop.stages.pickles import loaded, pickled, without_addresses
from shortloop.stages.records import OBJECT, DescribedObject, Pickled

__all__ = ["Objects", "UnitObjects", "in_one_file", "packed", "refusal"]

SHOWN = 200  # characters of an object in a record


def packed(value: object, name: str, what: str) -> Pickled:
    """An object as it is kept; `InputError` if it could not be read back."""
    if isinstance(value, Pickled):
        return value
    data, modules = pickled(value, name, what)
    kind = type(value)
    versions = {top: found for top in _tops(modules) if (found := _version(top))}
    type_ = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    return Pickled(data, {"type": type_, "text": _text(value), "modules": modules, "versions": versions})


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


class Objects(Mapping[str, object]):
    """The objects of a job by name, each read anew when it is asked for.

    `allow` is called with a file before it is read, and raises an `InputError` if it may not be.
    """

    def __init__(
        self,
        folder: Path,
        described: Mapping[str, DescribedObject],
        units: Callable[[], Sequence[object]],
        allow: Callable[[Path], None],
    ) -> None:
        self._folder = folder
        self._described = described
        self._units = units
        self._allow = allow

    def __getitem__(self, name: str) -> object:
        described = self._described[name]
        file = self._folder / f"{name}{OBJECT}"

        def read(start: int = 0, size: int = -1) -> object:
            self._allow(file)
            return _read(file, described, start, size)

        return UnitObjects(self._units(), described["units"], read) if "units" in described else read()

    def __iter__(self) -> Iterator[str]:
        return iter(self._described)

    def __len__(self) -> int:
        return len(self._described)


class UnitObjects(Mapping[object, object]):
    """What each unit of a job gave under one name, by the unit's name, read when it is asked for."""

    def __init__(
        self, units: Sequence[object], sizes: Sequence[int], read: Callable[[int, int], object]
    ) -> None:
        self._units = units
        self._places: dict[str, tuple[int, int]] = {}
        start = 0
        for unit, size in zip(units, sizes, strict=True):
            self._places[repr(unit)] = start, size  # 1 and True are two units
            start += size
        self._read = read

    def __getitem__(self, unit: object) -> object:
        place = self._places.get(repr(_plain(unit)))
        if place is None:
            raise KeyError(f"{unit}; there are {reprlib.repr([*self._units])}")
        return self._read(*place) if place[1] else None  # of a unit that failed

    def __iter__(self) -> Iterator[object]:
        return iter(self._units)

    def __len__(self) -> int:
        return len(self._units)

    def __repr__(self) -> str:
        return one_line(f"<objects of {len(self._units)} units: {reprlib.repr([*self._units])}>")


def refusal(file: Path) -> str:
    """Why a pickle of this machine is not read without being told to; empty if nothing speaks against it.

    Whoever wrote a pickle decides what the process that reads it does.
    """
    owner = file.stat().st_uid
    if owner in (os.geteuid(), 0):
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
        raise TransientError(
            "an object of a job cannot be read back",
            file=file,
            found=f"{type(error).__name__}: {error}{f'; {differing}' if differing else ''}",
            expected=f"{described['type']}, of {', '.join(described['modules']) or 'no library'}",
            hint="see that its modules can be imported here, with the versions that wrote it, or run again",
        ) from error
    if differing := _differing(described["versions"]):
        warnings.warn(
            f"{file.parent.name}, {file.stem}: {differing}. It may compute something else. Run again, "
            "which builds it with what is installed, or install the versions that wrote it",
            stacklevel=4,
        )
    return value


def _differing(versions: Mapping[str, str]) -> str:
    """Libraries that are not installed as they were when an object was written."""
    now = {name: _version(name) or "none" for name in versions}
    other = [name for name, version in versions.items() if now[name] != version]
    if not other:
        return ""
    was = ", ".join(f"{name} {versions[name]}" for name in other)
    return f"written with {was}, read with {', '.join(f'{name} {now[name]}' for name in other)}"


def _tops(modules: Sequence[str]) -> list[str]:
    return sorted({module.partition(".")[0] for module in modules} - {__name__.partition(".")[0]})


def _version(library: str) -> str:
    """The version of a library; empty if none is known."""
    found = getattr(sys.modules.get(library), "__version__", None)
    if isinstance(found, str):
        return found
    from importlib import metadata

    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = SHOWN


def _text(value: object) -> str:
    try:
        return without_addresses(one_line(" ".join(_Short().repr(value).split())))[:SHOWN]
    except Exception:  # whatever the type says
        return f"<{type(value).__name__}>"


def _plain(unit: object) -> object:
    """A name of a unit as it is kept: numbers of NumPy are those of Python."""
    if isinstance(unit, tuple):
        return tuple(map(_plain, unit))
    return unit.item() if hasattr(unit, "item") else unit
