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
from shortloop.store.remote_files import FILES, RemoteFiles

# A `Path` of an address has one slash where that has two.
ADDRESS = re.compile(r"(?P<protocol>[a-z][a-z0-9+.:-]+):/+(?P<rest>.*)", re.DOTALL)
LOCAL = ("file", "local")
PATIENCE = 8.0  # s that a store may take to answer, or to send anything of a file
LARGE = 10_000_000  # bytes that are worth a line before they are fetched
AGAIN = "run again; if it stays so, see whether its store has all of it"
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
    if not name:
        raise InputError("an input is not a file", found=f"the folder {known}", hint=FILES)
    try:
        state, is_sure = _answered(files, lambda: files.state(name))
    except FileNotFoundError:
        raise InputError("an input file does not exist", found=known, hint="check the address") from None
    except InputError:
        raise
    except Exception as error:
        return _copy_before(folder, known, f"{type(error).__name__}: {error}"), known
    version = state if is_sure else {**state, "asked": uuid.uuid4().hex}
    copy = folder / digest(version) / (re.sub(r"[?#].*", "", name) or "file")
    if not copy.is_file():
        try:
            _fetch(files, name, state, copy, known)
        except InputError:
            raise
        except Exception as error:  # its store has another version: no copy will do
            problem, found = "an input file cannot be fetched", f"{type(error).__name__}: {error}"
            raise InputError(problem, field=known, found=found, hint=AGAIN) from None
    os.utime(copy.parent)  # the last one that was right
    return copy, known


def _copy_before(folder: Path, address: str, said: str) -> Path:
    """Return the copy that was right last, where the store does not answer."""
    if not (copies := _copies(folder)):
        hint = "check the address, the network, and the credentials, as fsspec takes them; no copy is here"
        raise InputError("an input file cannot be reached", field=address, found=said, hint=hint)
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(copies[-1].parent.stat().st_mtime))
    print(one_line(f"{address} cannot be reached ({said}): the copy of {when} is used"), file=sys.stderr)
    return copies[-1]


def _fetch(files: RemoteFiles, name: str, state: dict[str, str], copy: Path, address: str) -> None:
    """Put a file into its place when all of it is here, and delete copies of older versions."""
    size = int(state["size"]) if "size" in state else None  # some stores do not say
    if size is not None and size >= LARGE:
        print(one_line(f"fetching {address}, {amount(size)}"), file=sys.stderr)
    copy.parent.mkdir(parents=True, exist_ok=True)
    part = copy.with_name(f".{uuid.uuid4().hex}")
    try:
        files.fetching.wait([files.fetching.submit(lambda: files.fetch(name, part))], PATIENCE)
        if _answered(files, lambda: files.state(name))[0] != state:
            hint = "wait until it is complete, and run again"
            raise InputError("an input file changes while it is fetched", found=address, hint=hint)
        if size not in (None, came := part.stat().st_size):
            problem, found = "an input file is cut short when it is fetched", f"{came:,} bytes"
            raise InputError(problem, field=address, found=found, expected=f"{size:,} bytes", hint=AGAIN)
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
