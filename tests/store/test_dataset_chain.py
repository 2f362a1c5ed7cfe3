"""A job is used only while all jobs that its datasets name are what they were, however long the chain is."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs_project import empty_project
from jobs_recorded import parts_with

from shortloop.store.integrity import Dependencies
from shortloop.store.manifest import Manifest, StoredJob, write_manifest

project = pytest.fixture(empty_project)
DESCRIPTION = "DS/default.p"
LONG = 400  # more than Python lets functions call themselves


class Chain:
    """Jobs that each name the one before, of which some are not whole."""

    def __init__(self, project: Path, length: int) -> None:
        self.folder = project / "workdirs/main"
        self.lost: set[str] = set()
        parts = parts_with()
        for number in range(length):
            job = f"main-{number}"
            (self.folder / job).mkdir(parents=True)
            before = {f"main-{number - 1}": f"c{number - 1}"} if number else {}
            manifest = Manifest(job, parts.key(), parts, f"c{number}", {}, rests_on={**before, job: ""})
            write_manifest(self.folder / job, manifest)

    def broken(self, job: str) -> str:
        """As a run that only begins finds it."""
        rests = Dependencies(lambda each: self.folder / each, lambda each: self._whole(rests, each))
        return rests.broken(self.folder / job, [DESCRIPTION])

    def _whole(self, rests: Dependencies, job: str) -> StoredJob | None:
        if job in self.lost or rests.broken(self.folder / job, [DESCRIPTION]):
            return None
        return StoredJob(job, self.folder / job, f"c{job.partition('-')[2]}", 0.0, False, False)


def test_a_long_chain_that_is_whole(project: Path) -> None:
    assert Chain(project, LONG).broken(f"main-{LONG - 1}") == ""


def test_one_that_is_lost_breaks_all_after_it(project: Path) -> None:
    chain = Chain(project, 6)
    chain.lost.add("main-2")
    found = [chain.broken(f"main-{number}") for number in range(6)]
    assert found == ["", "", "", "main-2", "main-3", "main-4"]


def test_files_that_are_no_datasets_rest_on_nothing(project: Path) -> None:
    chain = Chain(project, 2)
    chain.lost.add("main-0")
    rests = Dependencies(lambda each: chain.folder / each, lambda each: None)
    assert rests.broken(chain.folder / "main-1", ["x.npy"]) == ""
    assert rests.broken(chain.folder / "main-1", []) == "main-0"  # not known: its manifest says
