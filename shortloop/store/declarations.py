"""Write declarations of harmless changes into manifests, and withdraw them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from shortloop.store.harmless import Harmless
from shortloop.store.manifest import Manifest, write_manifest
from shortloop.store.store import Store
from shortloop.store.stored_job import StoredJob

__all__ = ["declare", "withdraw"]


def declare(store: Store, job: StoredJob, harmless: Harmless) -> None:
    """Keep with a job that a change does not change what it left, so that it is found by its key then."""
    manifest = store.manifest_of(job.job)
    if manifest is not None:
        _rewrite(store, job.path, replace(manifest, harmless=[*manifest.harmless, harmless]))


def withdraw(store: Store, job: str, key: str) -> bool:
    """Take back the declaration by which a job has a key."""
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
