"""Writing into manifests what somebody declares harmless, and taking it back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from shortloop.jobs.store.harmless import Harmless
from shortloop.jobs.store.manifest import Manifest, write_manifest
from shortloop.jobs.store.store import Store
from shortloop.jobs.store.stored_job import StoredJob

__all__ = ["declare", "withdraw"]


def declare(store: Store, job: StoredJob, harmless: Harmless) -> None:
    """Keep with a job that a change does not change what it left, so that it is found by its key then.

    Parameters
    ----------
    store : Store
        Where it is.
    job : StoredJob
        As the store has just found it: whole.
    harmless : Harmless
        The change.
    """
    manifest = store.manifest_of(job.job)
    if manifest is not None:
        _rewrite(store, job.path, replace(manifest, harmless=[*manifest.harmless, harmless]))


def withdraw(store: Store, job: str, key: str) -> bool:
    """Take back the declaration by which a job has a key.

    Parameters
    ----------
    store : Store
        Where it is, and has just found it whole.
    job : str
        Job id.
    key : str
        The key.

    Returns
    -------
    bool
        Whether there was one.
    """
    folder, manifest = store.folder(job), store.manifest_of(job)
    if folder is None or manifest is None:
        return False
    kept = [each for of, _, each in manifest.declared() if of != key]
    if len(kept) == len(manifest.harmless):
        return False
    _rewrite(store, folder, replace(manifest, harmless=kept))
    return True


def _rewrite(store: Store, folder: Path, manifest: Manifest) -> None:
    write_manifest(folder, manifest)
    store.index.forget_declared(manifest.job)
    store.note(folder, manifest)
