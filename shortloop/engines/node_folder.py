"""Where a node keeps what it was sent, and how much of it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import tempfile
from pathlib import Path

__all__ = ["FOLDER_VARIABLE", "LIMIT_VARIABLE", "folder_of_node", "limit_of_node", "machine", "name_of_node"]

FOLDER_VARIABLE = "SHORTLOOP_NODE_CACHE"
"""Variable that says where a node keeps what it was sent."""
LIMIT_VARIABLE = "SHORTLOOP_NODE_CACHE_GB"
"""Variable that says how much of that is kept."""
GB = 1e9
USUAL = 50 * GB  # bytes, or half of the disk, if that is less


def folder_of_node(given: Path | None = None) -> Path:
    """The folder, which nobody else may look into.

    Parameters
    ----------
    given : Path, optional
        Where it is. Default: as `FOLDER_VARIABLE` says, else in the user's folder for caches.

    Returns
    -------
    Path

    Raises
    ------
    OSError
        If others own it, or it cannot be made.
    """
    named = os.environ.get(FOLDER_VARIABLE)
    if given is not None or named:
        folder = Path(given or str(named)).absolute()
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    else:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        folder = Path(home, "shortloop", "nodes")
        try:
            folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        except OSError:  # users of containers may have no home
            folder = Path(tempfile.gettempdir(), f"shortloop-nodes-{os.geteuid()}")
            folder.mkdir(mode=0o700, exist_ok=True)
    state = folder.lstat()
    if folder.is_symlink() or state.st_uid != os.geteuid():
        raise PermissionError(f"the folder for what nodes are sent belongs to somebody else: {folder}")
    if state.st_mode & 0o077:
        folder.chmod(0o700)
    return folder


def limit_of_node(folder: Path) -> float:
    """How much is kept.

    Parameters
    ----------
    folder : Path
        Where it is kept.

    Returns
    -------
    float
        Bytes: as `LIMIT_VARIABLE` says, else 50 GB, or half of the disk.
    """
    said = os.environ.get(LIMIT_VARIABLE, "").strip()
    if said:
        return float(said) * GB
    return min(USUAL, shutil.disk_usage(folder).total / 2)


def machine() -> str:
    """What the folder of this machine is called: a home that machines share is the same folder for all.

    Returns
    -------
    str
    """
    return "of-" + re.sub(r"[^\w.-]", "_", os.uname().nodename)


def name_of_node(folder: Path) -> str:
    """A random name, by whoever comes first.

    Parameters
    ----------
    folder : Path
        That of this machine.

    Returns
    -------
    str
        The same for all workers that share the folder.
    """
    file, part = folder / "name", folder / f".name.{secrets.token_hex(8)}"
    if not file.exists():
        part.write_text(secrets.token_hex(16), encoding="ascii")
        with contextlib.suppress(FileExistsError):
            os.link(part, file)
        part.unlink(missing_ok=True)
    # Machines that are copies of one have the same folder, but not together.
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    name = f"{file.read_text(encoding='ascii')} {boot} {file.stat().st_ino}"
    return hashlib.sha256(name.encode()).hexdigest()
