"""What a library is asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from shortloop.frames.work import Aggregates, Work
from shortloop.types import FloatArray

__all__ = ["Found", "Runner"]

Found = object
"""What a library gives, in its own form."""


class Runner(ABC):
    """A library, at work.

    Parameters
    ----------
    work : Work
        The table.
    """

    def __init__(self, work: Work) -> None:
        self.work = work

    def start(self) -> None:  # noqa: B027  most need not
        """Start workers, and compile; counted apart from the work itself."""

    @abstractmethod
    def run(self, transformation: str, parts: Sequence[int]) -> Found:
        """Do the work, from the files to a result in the memory of this process.

        Parameters
        ----------
        transformation : str
            Which.
        parts : sequence of int
            Numbers of the files.

        Returns
        -------
        object
            In the library's own form.
        """

    @abstractmethod
    def values(self, found: Found) -> FloatArray:
        """New column as an array, in the order of the table.

        Parameters
        ----------
        found : object
            What `run` gave for ``apply`` and ``column``.

        Returns
        -------
        array, shape (rows,)
        """

    @abstractmethod
    def aggregates(self, found: Found) -> Aggregates:
        """Counts and sums as arrays.

        Parameters
        ----------
        found : object
            What `run` gave for ``groups``.

        Returns
        -------
        Aggregates
        """

    def close(self) -> None:  # noqa: B027  most need not
        """End workers."""
