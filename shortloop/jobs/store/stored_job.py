"""A finished job that can be used."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shortloop.jobs.store.manifest import Manifest

__all__ = ["StoredJob"]


@dataclass(frozen=True)
class StoredJob:
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
    def from_manifest(cls, folder: Path, manifest: Manifest) -> StoredJob:
        """A job by its manifest.

        Parameters
        ----------
        folder : Path
            The job's folder.
        manifest : Manifest
            Its manifest.

        Returns
        -------
        StoredJob
        """
        return cls(
            manifest.job, folder, manifest.content, float(manifest.cost.get("seconds", 0)), manifest.rejected
        )
