"""A plan reads each stored job a few times, however many jobs are planned and stored."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs_project import empty_project, own_package, write
from jobs_runs import Runs

from shortloop.plan.pipeline import BUILD, PERHAPS, Built, Run
from shortloop.store.manifest import Manifest, read_manifest

project = pytest.fixture(empty_project)
package = pytest.fixture(own_package)

METHOD = """\
options = {"partition": "", "number": 0}
jobs = ("above",)


def synthesis():
    from shortloop.toy import f
"""


def test_a_chain_whose_options_all_changed(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(package, "methods/a_toy.py", METHOD)
    write(package, "shortloop/toy.py", "def f(): return 1\n")
    length, numbers = 12, [0]

    def pipeline(run: Run) -> Built:
        last = None
        for number in numbers:
            last = run.build("toy", number=number, above=last)
        assert last is not None
        return last

    runs = Runs(package)
    for begin in (0, 100, 200):
        numbers[:] = range(begin, begin + length)
        runs.run(pipeline)
    numbers[:] = range(300, 300 + length)
    read: list[Path] = []

    def reader(folder: Path) -> Manifest | None:
        read.append(folder)
        return read_manifest(folder)

    monkeypatch.setattr("shortloop.store.store.read_manifest", reader)
    assert {job.plan for job in runs.plan(pipeline).jobs} == {BUILD}
    assert len(read) <= 3 * 3 * length  # 12 × 36 if each planned job looked at all stored ones

    numbers[:] = [99, *range(101, 100 + length)]  # all but the first are stored with these options
    assert [job.plan for job in runs.plan(pipeline).jobs] == [BUILD] + [PERHAPS] * (length - 1)
