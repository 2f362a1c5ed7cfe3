"""The server reads few jobs itself, and has processes read many."""

from __future__ import annotations

import os

import pytest
from accelerator import control

from shortloop.jobs.exax import patches


@pytest.mark.parametrize(("number", "is_own"), [(3, True), (4, False)])
def test_who_reads_jobs(number: int, is_own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "multiprocessing", control.multiprocessing)
    monkeypatch.setattr(patches, "FEW", 3)
    patches.read_few_jobs_itself()
    pool = control.multiprocessing.get_context("spawn").Pool(initializer=os.getpid)
    for share in (pool.imap, pool.imap_unordered):
        assert sorted(share(abs, range(number), chunksize=64)) == [*range(number)]
        assert (set(share(process_of, range(number), chunksize=64)) == {os.getpid()}) == is_own
    pool.close()


def process_of(_: int) -> int:
    return os.getpid()
