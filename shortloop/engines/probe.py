"""Check of a worker before each of its batches, which finds out what it lacks without Shortloop there."""

from __future__ import annotations

import pickle
import platform
from collections.abc import Callable
from typing import Any, cast

import shortloop
from shortloop.base.errors import TransientError
from shortloop.units.messages import Reply, Work

# A library that sends a function sends its name, which a worker without Shortloop cannot look up: Dask's then
# loses its connection, again and again. Text and bytes arrive anywhere.
SOURCE = """
def checked(needs, function, work, units):
    import pickle, platform, socket, sys
    try:
        import shortloop
        version = shortloop.__version__
    except Exception as error:
        version = f"none ({type(error).__name__}: {error})"
    has = {"Python": platform.python_version(), "Shortloop": version}
    if has == needs:
        return pickle.loads(function)(pickle.loads(work), units)
    return {**has, "process": f"{sys.executable} on {socket.gethostname()}"}
"""
NEEDS = {"Python": platform.python_version(), "Shortloop": shortloop.__version__}
CALL = f"(lambda scope: exec({SOURCE!r}, scope) or scope['checked'](*given))({{}})"  # `given` for `eval`


def checked() -> Callable[..., object]:
    """Return the function of the source, as one of no module: it is sent whole."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(SOURCE, scope)
    return cast("Callable[..., object]", scope["checked"])


def arguments(
    function: Callable[[Work, list[bytes]], Reply], work: Work
) -> tuple[dict[str, str], bytes, bytes]:
    """Return all that it is given but for the units."""
    return NEEDS, pickle.dumps(function), pickle.dumps(work)


def reply_of(found: Reply | dict[str, str]) -> Reply:
    """Return a worker's reply; raise TransientError if it lacks this version of something."""
    if isinstance(found, Reply):
        return found
    process = found.pop("process")
    has, needs = (", ".join(f"{name} {each}" for name, each in of.items()) for of in (found, NEEDS))
    raise TransientError(
        "a worker cannot compute units of this run",
        found=f"{has}, in {process}",
        expected=f"{needs}, as here",
        hint=f"install shortloop=={shortloop.__version__} there, or start the worker with another Python",
    )
