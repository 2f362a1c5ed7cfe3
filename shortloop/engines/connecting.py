"""Connecting to a cluster that may not be there, or may not answer: libraries may wait for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from shortloop.errors import TransientError

__all__ = ["CONNECT", "connected"]

CONNECT = 8.0
"""Seconds that a cluster may take to answer."""
T = TypeVar("T")


def connected(what: str, address: str, hint: str, connect: Callable[[], T]) -> T:
    """Connect to a cluster, or say that it cannot be reached.

    Parameters
    ----------
    what : str
        What messages call that which is connected to.
    address : str
        Where it is.
    hint : str
        What to do if it cannot be reached.
    connect : callable
        Connects; called in a thread of its own, which is given up if it takes too long.

    Returns
    -------
    object
        As of `connect`.

    Raises
    ------
    TransientError
        If it does not answer in time, or refuses.
    """
    found: list[T] = []
    wrong: list[BaseException] = []

    def attempt() -> None:
        try:
            found.append(connect())
        except BaseException as error:
            wrong.append(error)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(CONNECT)
    if found:
        return found[0]
    if wrong and isinstance(wrong[0], TransientError):
        raise wrong[0]
    because = "no answer"
    if wrong:
        first = wrong[0].__cause__ or wrong[0]
        because = f"{type(first).__name__}: {first}"
    raise TransientError(
        f"{what} cannot be reached",
        field="engine.address",
        found=f"{address}: {because}",
        expected=f"one that answers within {CONNECT:g} s",
        hint=hint,
    )
