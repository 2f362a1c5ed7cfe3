"""What an engine is: workers, wherever they are, that compute batches of a job's units."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar, NamedTuple

from shortloop.engines.batches import Batches
from shortloop.engines.messages import Reply
from shortloop.engines.supply import Supplies
from shortloop.plain import Plain

__all__ = ["Computed", "Engine"]


class Computed(NamedTuple):
    """A batch that was computed, or lost with its worker.

    Parameters
    ----------
    units : list of bytes
        Its units.
    reply : Reply
        What came of it.
    """

    units: list[bytes]
    reply: Reply


class Engine(ABC):
    """Workers of one library. It is kept for all jobs of a run, and asked by one thread for each job."""

    message: ClassVar[float]
    """Seconds of one core that the library's scheduler takes for a batch, whatever is in it."""

    @abstractmethod
    def workers(self, asked: Mapping[str, Plain]) -> int:
        """How many batches it computes at a time, now.

        Parameters
        ----------
        asked : mapping
            As of `compute`.

        Returns
        -------
        int
        """

    def shares(self, asked: Mapping[str, Plain]) -> bool:
        """Whether batches of several jobs share its workers; else each job has as many of its own.

        Parameters
        ----------
        asked : mapping
            As of `compute`.

        Returns
        -------
        bool
        """
        return True

    @abstractmethod
    def compute(
        self, supplies: Supplies, batches: Batches[bytes], asked: Mapping[str, Plain]
    ) -> Iterator[Computed]:
        """Compute batches until there are no more; in the order in which they are done.

        Parameters
        ----------
        supplies : Supplies
            The job, and what is to be sent to nodes that lack something of it.
        batches : Batches
            Is asked for the next batch whenever a worker is about to have none.
        asked : mapping
            What the pipeline asks of the engine for this job.

        Yields
        ------
        Computed
            A batch whose worker was lost has a reply that says so, and is not tried again here.

        Raises
        ------
        TransientError
            If there is nobody to compute them any more.
        """

    @abstractmethod
    def described(self) -> dict[str, Plain]:
        """What it is, for records: ``name``, ``version`` of its library, ``where``.

        Returns
        -------
        dict
            Plain data.
        """

    @abstractmethod
    def close(self) -> None:
        """End what was started for it; a cluster that was there before goes on."""
