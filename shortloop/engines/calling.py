"""How jobs, and the run, call the process of the run's engine."""

from __future__ import annotations

import contextlib
import os
import pickle
import secrets
import time
from collections.abc import Sequence
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import cast

from shortloop.engines.messages import EngineNote, JobWork, Work
from shortloop.errors import TransientError
from shortloop.jobs.keys.digest import digest
from shortloop.plain import Plain

__all__ = ["called", "gone", "hint_of", "packed"]

PATIENCE = 30.0  # s until the process of the engine listens
LOOK_EVERY = 0.02  # s
SAID = 25  # lines of a log


def packed(work: JobWork, here: Sequence[str] = ("", "")) -> Work:
    """The work of a job, to be sent.

    Parameters
    ----------
    work : JobWork
        What workers must know of it.
    here : sequence of str, optional
        As of `EngineNote`. Default: it is sent to nobody.

    Returns
    -------
    Work
    """
    what = digest(cast("Plain", work))
    file, text = here
    return Work(f"{what} {secrets.token_hex(8)}", pickle.dumps(work), what, (file, text))


def called(engine: EngineNote) -> Connection:
    """A connection to the process of an engine.

    Parameters
    ----------
    engine : EngineNote
        As of `engine_of_run`.

    Returns
    -------
    Connection

    Raises
    ------
    TransientError
        If it has ended, or does not listen.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return Client(engine["address"], "AF_UNIX", bytes.fromhex(engine["secret"]))
        except (OSError, EOFError, AuthenticationError) as error:
            if not _is_alive(engine["process"]) or time.monotonic() > deadline:
                raise gone(engine) from error
            time.sleep(LOOK_EVERY)


def gone(engine: EngineNote) -> TransientError:
    """What to say if the process of an engine has ended.

    Parameters
    ----------
    engine : EngineNote
        As of `engine_of_run`.

    Returns
    -------
    TransientError
        With the last that it has said.
    """
    lines = []
    with contextlib.suppress(OSError):
        lines = Path(engine["log"]).read_text(encoding="utf-8", errors="replace").splitlines()
    return TransientError(
        "the process of the engine has ended",
        found="\n    ".join(["", *lines[-SAID:]]) if lines else None,
        hint=hint_of(engine),
    )


def hint_of(engine: EngineNote) -> str:
    """What to do if an engine has failed.

    Parameters
    ----------
    engine : EngineNote
        As of `engine_of_run`.

    Returns
    -------
    str
    """
    return f"run again: units that are done are kept. {engine['log']} has what was said"


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    return fields.rpartition(")")[2].split()[0] != "Z"
