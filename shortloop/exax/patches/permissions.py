"""Restrict the exax server's sockets to its user.

exax makes its sockets open to everybody, in a folder that the group may enter.

Made for exax 2025.11.11. Upstream: exax could make its sockets for their user alone; this could go there as
it is.
"""

from __future__ import annotations

import os
import socket
import stat
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shortloop.base.errors import InputError
from shortloop.exax.listener import peer
from shortloop.project.project import project_directory

__all__ = ["answer_this_user_only", "keep_private", "private_folder"]

OTHERS = stat.S_IRWXG | stat.S_IRWXO
LOOK_EVERY, LOOK_FOR = 0.05, 60.0  # s; exax's other servers open theirs while this one starts


def private_folder() -> Path:
    """The folder of the project for what a server needs while it runs, made if needed, of this user alone."""
    folder = project_directory() / ".socket.dir"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _close(folder):
        raise InputError(
            "the folder of the exax server's sockets belongs to another user",
            file=folder,
            found=f"user {folder.stat().st_uid}",
            expected=f"user {os.geteuid()}",
            hint="work on a copy of the project that is yours: whoever asks a server can run anything",
        )
    return folder


def keep_private(sockets: Iterable[Path]) -> None:
    """Close sockets, and what else is a server's own, to others; also what is still to come."""
    folder = private_folder()
    files = [*sockets, *(folder / name for name in ("multiprocessing", "server.log"))]

    def close() -> None:
        end = time.monotonic() + LOOK_FOR
        while time.monotonic() < end:
            for file in [*files, *folder.glob("multiprocessing/*")]:
                _close(file)
            time.sleep(LOOK_EVERY)

    threading.Thread(target=close, daemon=True).start()


def answer_this_user_only() -> None:
    """Let the server refuse others, who may have come before its socket was closed to them."""
    from accelerator.web import ThreadedUnixHTTPServer

    def is_this_user(self: Any, request: socket.socket, address: object) -> bool:
        return peer(request)[1] in (os.geteuid(), 0)

    ThreadedUnixHTTPServer.verify_request = is_this_user


def _close(file: Path) -> bool:
    """Take a file's or folder's access from others; whether they have none now."""
    try:
        mode = file.lstat().st_mode
        if mode & OTHERS and not stat.S_ISLNK(mode):
            file.chmod(stat.S_IMODE(mode) & ~OTHERS)
    except FileNotFoundError:  # not there yet, or not any more
        return True
    except OSError:
        return False
    return True
