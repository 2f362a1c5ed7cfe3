"""Interface of engines, and connecting to clusters with a time limit."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, NamedTuple, TypeVar

from shortloop.base.errors import TransientError
from shortloop.base.plain import Plain
from shortloop.engines.supply import Supplies
from shortloop.units.messages import Reply
from shortloop.units.queue import Batches

__all__ = ["CONNECT", "Computed", "Engine", "connected"]

CONNECT = 8.0
"""Seconds that a cluster may take to answer."""
T = TypeVar("T")


class Computed(NamedTuple):
    """A batch that was computed, or lost with its worker."""

    units: list[bytes]
    reply: Reply


class Engine(ABC):
    """Workers of one library. It is kept for all jobs of a run, and asked by one thread for each job.

    It is made of the settings, and of how many workers to start: ``Kind(settings, workers)``.
    """

    message: ClassVar[float]
    """Seconds of one core that the library's scheduler takes for a batch, whatever is in it."""

    @abstractmethod
    def workers(self, asked: Mapping[str, Plain]) -> int:
        """How many batches it computes at a time, now."""

    @abstractmethod
    def compute(
        self, supplies: Supplies, batches: Batches[bytes], asked: Mapping[str, Plain]
    ) -> Iterator[Computed]:
        """Compute batches until there are no more; in the order in which they are done."""

    @abstractmethod
    def described(self) -> dict[str, Plain]:
        """What it is, for records: ``name``, ``version`` of its library, ``where``."""

    @abstractmethod
    def close(self) -> None:
        """End what was started for it; a cluster that was there before goes on."""


def connected(what: str, address: str, hint: str, connect: Callable[[], T]) -> T:
    """Connect to a cluster, or say that it cannot be reached."""
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
