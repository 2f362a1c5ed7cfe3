"""Input files at addresses of fsspec: copies in the cache of the project, which are validated in each run."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from shortloop.base.errors import InputError
from shortloop.base.text import amount, one_line
from shortloop.keys.hashing import digest
from shortloop.project.project import cache_directory
from shortloop.store.remote_files import RemoteFiles

# A `Path` of an address has one slash where that has two.
ADDRESS = re.compile(r"(?P<protocol>[a-z][a-z0-9+.:-]+):/+(?P<rest>.*)", re.DOTALL)
LOCAL = ("file", "local")
PATIENCE = 8.0  # s that a store may take to answer, or to send anything of a file
LARGE = 10_000_000  # bytes that are worth a line before they are fetched
VERSIONS = 2  # copies that are kept of a file: another run may use the one before

T = TypeVar("T")


def address_of(path: Path | str) -> str:
    """Return the address of fsspec that a path stands for; empty if it is one of this machine."""
    found = ADDRESS.fullmatch(os.fspath(path))
    return "" if found is None else f"{found[1]}:{'///' if found[1] in LOCAL else '//'}{found[2]}"


def local_copy(address: str) -> tuple[Path, str]:
    """Fetch a file unless its version is here; return the copy, and the address without a password."""
    known = re.sub(r"(?<=//)[^/]*@", "", address)
    folder = cache_directory("remote") / digest(known)
    at = address.rindex("/") + 1
    files, name = RemoteFiles(address[:at], "an input file"), address[at:]
    try:
        state, is_sure = _answered(files, lambda: files.state(name))
        version = state if is_sure else {**state, "asked": uuid.uuid4().hex}
        copy = folder / digest(version) / (re.sub(r"[?#].*", "", name) or "file")
        if not copy.is_file():
            _fetch(files, name, state, copy, known)
    except FileNotFoundError:
        hint = "check the address"
        raise InputError("an input file does not exist", found=known, hint=hint) from None
    except InputError:
        raise
    except Exception as error:
        copies = _copies(folder)
        said = f"{type(error).__name__}: {error}"
        if not copies:
            hint = (
                "check the address, the network, and the credentials, as fsspec takes them; no copy is here"
            )
            problem = "an input file cannot be reached"
            raise InputError(problem, field=known, found=said, hint=hint) from None
        copy = copies[-1]
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(copy.parent.stat().st_mtime))
        print(one_line(f"{known} cannot be reached ({said}): the copy of {when} is used"), file=sys.stderr)
    else:
        os.utime(copy.parent)  # the last one that was right
    return copy, known


def _fetch(files: RemoteFiles, name: str, state: dict[str, str], copy: Path, address: str) -> None:
    """Put a file into its place when all of it is here, and delete copies of older versions."""
    size = int(state["size"]) if "size" in state else None  # some stores do not say
    if size is not None and size >= LARGE:
        print(one_line(f"fetching {address}, {amount(size)}"), file=sys.stderr)
    copy.parent.mkdir(parents=True, exist_ok=True)
    part = copy.with_name(f".{uuid.uuid4().hex}")
    try:
        files.fetching.wait([files.fetching.submit(lambda: files.fetch(name, part))], PATIENCE)
        if _answered(files, lambda: files.state(name))[0] != state or size not in (None, part.stat().st_size):
            hint = "wait until it is complete, and run again"
            raise InputError("an input file changes while it is fetched", found=address, hint=hint)
        part.replace(copy)
    finally:
        part.unlink(missing_ok=True)
    for old in _copies(copy.parents[1])[:-VERSIONS]:
        shutil.rmtree(old.parent, ignore_errors=True)


def _copies(folder: Path) -> list[Path]:
    """List copies of a file, that which was right last at the end."""
    found = [copy for copy in folder.glob("*/*") if not copy.name.startswith(".")]
    return sorted(found, key=lambda copy: copy.parent.stat().st_mtime_ns)


def _answered(files: RemoteFiles, ask: Callable[[], T]) -> T:
    future = files.asking.submit(ask)
    files.asking.wait([future], PATIENCE)
    return future.result()
