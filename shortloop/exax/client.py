"""Requests to the exax server: errors, retries and identification."""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any, Unpack

from shortloop.base.errors import InputError
from shortloop.base.text import printable
from shortloop.exax.cost import TICKS, runner
from shortloop.exax.listener import ask
from shortloop.exax.patches.method_loading import forget_what_is_read
from shortloop.exax.submission import Request, Urd, call_server
from shortloop.exax.tracebacks import of_user
from shortloop.keys.code import code_file, code_state, code_text, declares_code
from shortloop.keys.file_state import CHANGED, State, states_of_files
from shortloop.keys.installed import environment
from shortloop.keys.methods import find_method
from shortloop.project.project import project_directory
from shortloop.project.system_errors import system_error_in

# States of libraries and declared files that are older than the methods that exax has loaded.
_older: list[list[tuple[str, State]]] = []
_same: dict[Path, tuple[list[State], str]] = {}  # what is in a file that exax has written

RETRIES = 5


def build(
    urd: Urd,
    method: str,
    *,
    force: bool = False,
    number: Callable[[], int | None] | None = None,
    reload: Callable[[], None] | None = None,
    **request: Unpack[Request],
) -> Path:
    """Build a job, or find one that exax takes for the same; return its folder.

    Another client that has exax reload the methods kills the running job, which is then started again.
    """
    from accelerator.error import BuildError, JobError, ServerError

    request["force_build"] = force
    for attempt in range(RETRIES):
        since = time.clock_gettime(time.CLOCK_BOOTTIME)
        if number is not None:
            request["number"] = number()
        try:
            return Path(urd.build(method, **request).path)
        except JobError as error:
            if attempt + 1 == RETRIES or not _was_cut_off(error, since):
                for fault in filter(None, map(system_error_in, error.status.values())):
                    raise fault from None
                _say_failure(urd, request["caption"], error)
                raise
            print(f"{error.job} was cut off from outside; it starts again", flush=True)
            if attempt:  # else somebody had the methods loaded anew, and exax has a new process for them
                (reload or reload_methods)()
        except ServerError as error:
            text = str(error)
            if "Busy" not in text:
                raise InputError(
                    "the exax server does not answer", found=text, hint="run again: finished jobs are kept"
                ) from None
            with getattr(urd, "released", contextlib.nullcontext)():  # others, and Ctrl-C, do not wait for it
                _wait_until_idle()
        except BuildError as error:
            if "Unknown method" not in str(error):
                raise
            raise _broken(method) from None
        except (OSError, HTTPException) as error:
            found = f"{type(error).__name__}: {error}"
            raise system_error_in(found) or InputError(
                "the exax server ended while a job was running",
                found=found,
                hint="start it again and run again: finished jobs are kept",
            ) from None
    raise InputError("the exax server is busy with another user's jobs", hint="run again later")


def _say_failure(urd: Urd, caption: str, error: Any) -> None:
    """Print the traceback of a failed job if nobody else does."""
    if getattr(urd, "says_failures", False):
        text = of_user(printable(error.format_msg())).rstrip("\n")
        logs = f"what it printed: shortloop logs {error.job}"
        print(f"{caption} failed:\n{text}\n{logs}", file=sys.stderr, flush=True)


def is_idle() -> bool:
    """True if the server builds no job now; False while it is starting."""
    return bool(json.loads(ask("status") or b'{"idle": false}')["idle"])


def is_loaded_as_now(method: str) -> bool:
    """True if exax has loaded the method's code, and the libraries, as they are now."""
    file = find_method(method)[1]
    loaded = code_file(file)
    if declares_code(file) and not _is_as_loaded(loaded, code_text(file)):
        return False
    watched = [*code_state(file).watched, *environment()]
    if watched not in _older:
        since = _started()
        if any(state[CHANGED] > since for _, state in watched):
            return False
        _older.append(watched)
    return True


def _is_as_loaded(loaded: Path, text: str) -> bool:
    """True if a file that exax wrote when it loaded a method holds a text, or is missing."""
    state = states_of_files([str(loaded)])
    if state and _same.get(loaded) != (state, text):
        if loaded.read_text(encoding="utf-8") != text:
            return False
        _same[loaded] = state, text
    return True


def reload_methods() -> None:
    """Have exax reload the methods. No job may be running."""
    forget_what_is_read()
    call_server("update_methods")


def made_since_boot(folder: Path) -> bool:
    """True if a job was made since the machine started, so that no power cut can have truncated its files."""
    uptime = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
    post = json.loads((folder / "post.json").read_text(encoding="utf-8"))
    return bool(post["starttime"] > time.time() - uptime)


def _was_cut_off(error: Any, since: float) -> bool:
    """True if a job failed because the process that forks jobs was killed."""
    if "INTERNAL" in error.status or "Runner exited" in str(error.status):
        return True
    if "launcher" not in error.status:
        return False
    found = runner()  # killed with its job, it is another one now
    return found is None or found[1] / TICKS > since


def _started() -> float:
    """Return when the methods were loaded, nanoseconds since 1970; infinity if they were not."""
    found = runner()
    if found is None:
        return math.inf
    return time.time_ns() - 1e9 * (time.clock_gettime(time.CLOCK_BOOTTIME) - found[1] / TICKS)


def _wait_until_idle() -> None:
    while not call_server("status?timeout=60")["idle"]:
        pass


def _broken(method: str) -> InputError:
    """Say why exax's server cannot import a method, which is only in its log."""
    package, file = find_method(method)
    done = subprocess.run(
        [sys.executable, "-c", f"import {package}.a_{method}"],
        cwd=project_directory(),
        env={**os.environ, "PYTHONPATH": str(project_directory())},
        capture_output=True,
        text=True,
        check=False,
    )
    text = of_user(done.stderr).strip() or "the exax server cannot import it; its log says why"
    return InputError(
        f"the method {method} cannot be imported",
        file=file,
        found="".join(f"\n    {line}" for line in text.splitlines()),
        hint="correct it and run again; if it can be imported here, start the server again",
    )


def user() -> str:
    """Return the user's name as in exax's lists of jobs."""
    import getpass

    try:
        return os.environ.get("USER") or getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
