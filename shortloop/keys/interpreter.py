"""Start-up state of Python (flags, site code), which is part of every key."""

from __future__ import annotations

import contextlib
import os
import sys
from functools import cache
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.keys.closure import closure_of
from shortloop.keys.hashing import digest, hash_file
from shortloop.keys.installed import startup_lines
from shortloop.keys.own_code import PACKAGE, ROOT, is_own

__all__ = ["VERSION", "hand_down", "python_here"]

VERSION = ".".join(map(str, sys.version_info[:3]))
OPTIONS = ("int_max_str_digits",)  # of -X
VARIABLES = ("PYTHONCASEOK", "PYTHONHASHSEED", "PYTHONINTMAXSTRDIGITS")
MODULES = ("sitecustomize", "usercustomize")


@cache
def python_here() -> str:
    """The version of Python, with all that makes it compute otherwise than by default."""
    said = [f"-{'O' * sys.flags.optimize}"] * bool(sys.flags.optimize)
    said += ["-X dev"] * sys.flags.dev_mode
    said += [f"-W {each}" for each in sys.warnoptions]
    said += [f"-X {name}={value}" for name, value in sorted(sys._xoptions.items()) if name in OPTIONS]
    variables = {name: os.environ.get(name, "") for name in VARIABLES}
    said += [f"{name}={value}" for name, value in variables.items() if value not in ("", "random")]
    said += [f"{name} {content}" for name in MODULES if (content := _content_of(name))]
    lines = startup_lines()
    said += [f".pth files {digest([*lines])[:10]}"] * bool(lines)
    return f"{VERSION} with {', '.join(said)}" if said else VERSION


def hand_down() -> None:
    """Start Python in programs of this process as it was started here: options reach no other program."""
    given = {
        "PYTHONOPTIMIZE": str(sys.flags.optimize or ""),
        "PYTHONWARNINGS": ",".join(sys.warnoptions),
        "PYTHONDEVMODE": "1" * sys.flags.dev_mode,
    }
    os.environ.update({name: value for name, value in given.items() if value})


def _content_of(name: str) -> str:
    """A hash of a module that Python ran as it started, and of one's own modules that it imports."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if not file or file.startswith(f"{ROOT}/{PACKAGE}/"):
        return ""
    modules = {name: Path(file)}
    with contextlib.suppress(InputError, SyntaxError):
        modules |= closure_of(name, Path(file))[0] if is_own(file) else {}
    with contextlib.suppress(OSError):
        return digest({name: hash_file(each) for name, each in modules.items()})[:10]
    return "gone"
