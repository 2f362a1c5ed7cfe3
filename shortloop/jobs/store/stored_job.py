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
    has_tables : bool
        Whether it left tables.
    harmless : str
        Why it is used though its code or versions changed, as somebody has declared; empty: they did not.
    libraries : str
        As of `Row`.
    partition : str or None
        Which part of the data it is of; None: all.
    """

    job: str
    path: Path
    content: str
    seconds: float
    rejected: bool
    has_tables: bool
    harmless: str = ""
    libraries: str = "{}"
    partition: str | None = None

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
        seconds = float(manifest.cost.get("seconds", 0))
        how = manifest.rejected, manifest.has_tables, "", manifest.parts.libraries_text
        return cls(manifest.job, folder, manifest.content, seconds, *how, partition=manifest.partition)
