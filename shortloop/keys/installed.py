"""Installed libraries by import name, and evidence that one was replaced."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from shortloop.base.errors import InputError
from shortloop.keys.file_state import (
    State,
    at_one_moment,
    is_settled,
    once_per_moment,
    states_at_moment,
    states_of_files,
)
from shortloop.keys.hashing import hash_file
from shortloop.project.project import cache_directory, write_atomically

OF = " of "
INFO = (".dist-info", ".egg-info")
MODULE = re.compile(r"\.(py|pyc|so|pyd)$|\.(cpython|abi3|pypy)[^/]*$")
NO_CODE = re.compile(r"__pycache__/|-info/|^\.\./|\.pth,")  # bytecode, an installer's notes, scripts
OPTIONAL = re.compile(r";.*\bextra\b")


class _Distribution(NamedTuple):
    state: list[int]  # of the file that lists what it has installed
    name: str
    version: str
    content: str
    is_local: bool  # installed from a folder or a repository
    tops: list[str]
    requires: list[str]
    starts: list[str]  # its files that Python reads as it starts


class _Folder(NamedTuple):
    """A folder of sys.path."""

    state: State  # empty if it may change and look the same
    distributions: dict[str, _Distribution]  # by the folder that describes each
    owners: dict[str, list[_Distribution]]  # by the name that they are imported by
    tops: dict[str, list[str]]  # what is imported of each, by its name as requirements have it
    loose: list[str]  # names of modules that belong to none of them
    starts: list[str]  # files that Python reads as it starts, and that belong to none of them


_folders: dict[str, _Folder] = {}


def version_of(library: str) -> str | None:
    owners = _owners(library)
    return _version(library, owners)[0] if owners else None


def as_installed(library: str) -> str:
    if owners := _owners(library):
        version, content = _version(library, owners)
        return version if OF in version else OF.join(filter(None, (version, content)))
    above = next((folder for folder in _path() if library in _scanned(folder).loose), None)
    return "" if above is None else f"a file{OF}{_hash_of(Path(above), library)}"


def required_by(library: str) -> set[str]:
    """Import names of the libraries that a library requires."""
    names = {name for each in _owners(library) for name in each.requires}
    return {top for name in names for folder in _path() for top in _scanned(folder).tops.get(name, ())}


def _owners(library: str) -> list[_Distribution]:
    return next((found for folder in _path() if (found := _scanned(folder).owners.get(library))), [])


def startup_lines() -> list[str]:
    """Code in ``.pth`` files of no library, which Python runs at start-up."""
    files = [f"{folder}/{name}" for folder in _path() for name in _scanned(folder).starts]
    lines = [line.strip() for file in files for line in _read(file).splitlines()]
    return [line for line in lines if line.startswith(("import ", "import\t"))]


def number_of(installed: str) -> str:
    return installed.partition(OF)[0]


def differing(libraries: str) -> list[str]:
    def compare() -> list[str]:
        then: dict[str, str] = json.loads(libraries)
        now = installed_now(then)
        return [name for name, version in then.items() if now[name] != version]

    return once_per_moment((differing, libraries), compare)


def installed_now(libraries: Iterable[str]) -> dict[str, str]:
    with at_one_moment():
        return {name: as_installed(name) for name in libraries}


def environment() -> list[tuple[str, State]]:
    """Folders of installed libraries, with states that change at each installation."""
    folders = [folder for folder in _path() if _scanned(folder).distributions]
    return [(folder, *states_of_files([folder])) for folder in folders]  # type: ignore[misc]


def _path() -> list[str]:
    def folders() -> list[str]:
        return [os.path.abspath(folder) for folder in dict.fromkeys(sys.path) if os.path.isdir(folder)]

    return once_per_moment((_path, *sys.path), folders)


def _version(library: str, owners: list[_Distribution]) -> tuple[str, str]:
    """Version, and hash of the installed files; empty if they are not listed."""
    same = [each for each in owners if _normal(each.name) == _normal(library)]
    if len(owners) > 1 and len(same) != 1:  # a package that they share
        texts = sorted(f"{each.name} {each.version}" for each in owners)
        return ", ".join(texts), _digest(sorted(each.content for each in owners))
    found = (same or owners)[0]
    # From a folder or a repository, two may share a number.
    return f"{found.version}{OF}{found.content}" if found.is_local else found.version, found.content


def _scanned(folder: str) -> _Folder:
    """Scan a folder of sys.path; cached until something is installed or removed there."""
    known = _folders.get(folder)
    state = next(iter(states_at_moment([folder])), ())
    if known is None or known.state != state:
        before = _kept().get(folder, {}) if known is None else known.distributions
        names: list[str] = []
        with contextlib.suppress(OSError):
            names = sorted(os.listdir(folder))
        infos = [name for name in names if name.endswith(INFO)]
        found = {name: _described(f"{folder}/{name}", before.get(name)) for name in infos}
        settled = state if state and is_settled(state) else ()  # else another change may not show
        known = _folders[folder] = _folder(settled, found, names if found else [])
        if found != before:
            _keep()
    return known


def _folder(state: State, distributions: dict[str, _Distribution], names: Iterable[str]) -> _Folder:
    owners: dict[str, list[_Distribution]] = {}
    for each in distributions.values():
        for top in each.tops:
            owners.setdefault(top, []).append(each)
    names = {*names}
    modules = {MODULE.sub("", name) for name in names}
    starts = {name for name in names if name.endswith(".pth")}
    starts -= {name for each in distributions.values() for name in each.starts}
    return _Folder(
        state,
        distributions,
        owners,
        {_normal(each.name): each.tops for each in distributions.values()},
        sorted(filter(str.isidentifier, modules - owners.keys())),
        sorted(starts),
    )


def _described(info: str, before: _Distribution | None) -> _Distribution:
    """Read the metadata of a distribution, if it changed."""
    record = f"{info}/RECORD"
    listing = (record, f"{info}/METADATA", f"{info}/PKG-INFO", info)
    state = next(([*states[0]] for each in listing if (states := states_of_files([each]))), [])
    if before is not None and before.state == state:
        return before
    says = next(filter(None, map(_read, listing[1:])), "")
    says = says.partition("\n\n")[0]
    name, version = (next(iter(_headers(says, each)), "") for each in ("Name", "Version"))
    requires = [each for each in _headers(says, "Requires-Dist") if not OPTIONAL.search(each)]
    requires = sorted({_normal(re.split(r"[^\w.-]", each, maxsplit=1)[0]) for each in requires})
    lines = _read(record).splitlines()
    starts = [each.partition(",")[0] for each in lines if ".pth," in each]
    lines = [each for each in lines if not NO_CODE.search(each)]
    tops = {MODULE.sub("", line.partition("/")[0].partition(",")[0].strip('"')) for line in lines}
    tops = tops or {*_read(f"{info}/top_level.txt").split()} or {name.replace("-", "_")}
    content = _digest(sorted(lines)) if lines else ""
    is_local = os.path.isfile(f"{info}/direct_url.json")
    return _Distribution(state, name, version, content, is_local, sorted(tops), requires, starts)


def _hash_of(folder: Path, name: str) -> str:
    """Hash a module among installed libraries that belongs to none of them."""
    every = sorted(chain(folder.glob(f"{name}.*"), (folder / name).rglob("*")))
    files = [each for each in every if MODULE.search(each.name) and each.suffix != ".pyc"]
    return _digest([[each.name, hash_file(each)] for each in files])


def _digest(lines: object) -> str:
    return hashlib.blake2b(json.dumps(lines).encode(), digest_size=10).hexdigest()


def _headers(text: str, name: str) -> list[str]:
    return re.findall(rf"^{name}: *(.*?) *$", text, re.MULTILINE)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _read(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


@cache
def _kept() -> dict[str, dict[str, _Distribution]]:
    """Distributions in each folder, as found by an earlier process."""
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError, InputError):
        plain = json.loads(_file().read_text(encoding="utf-8")).items()
        return {name: {info: _Distribution(*each) for info, each in of.items()} for name, of in plain}
    return {}


def _keep() -> None:
    found = {name: each.distributions for name, each in _folders.items() if each.distributions}
    plain = {**_kept(), **found}
    with contextlib.suppress(OSError, InputError):
        write_atomically(_file(), json.dumps(plain))


def _file() -> Path:
    return cache_directory("code") / "installed.json"
