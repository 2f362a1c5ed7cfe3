"""A finished job that can be used."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shortloop.jobs.store.manifest import Seal

__all__ = ["Found"]


@dataclass(frozen=True)
class Found:
    """A finished job that is whole.

    Parameters
    ----------
    job : str
        Job id.
    path : Path
        Its folder.
    content : str
        Hash of what it left.
    seconds : float
        How long it took.
    rejected : bool
        Whether it rejected its input.
    """

    job: str
    path: Path
    content: str
    seconds: float
    rejected: bool

    @classmethod
    def sealed(cls, folder: Path, seal: Seal) -> Found:
        """A job by its seal.

        Parameters
        ----------
        folder : Path
            The job's folder.
        seal : Seal
            Its seal.

        Returns
        -------
        Found
        """
        return cls(seal.job, folder, seal.content, float(seal.cost.get("seconds", 0)), seal.rejected)
