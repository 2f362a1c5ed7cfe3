"""The content of a job with exax's datasets: what they hold and need, whatever the jobs are called."""

from __future__ import annotations

import datetime
import pickle
from pathlib import Path
from typing import Any

import pytest
from accelerator.dataset import DatasetColumn
from accelerator.extras import DotDict
from jobs_project import empty_project
from jobs_recorded import parts_with

from shortloop.store.integrity import content_of_job, dataset_content, hash_outputs, jobs_named, output_files
from shortloop.store.manifest import Manifest, StoredJob, write_manifest
from shortloop.store.store import Store

CONTENTS = {"main-1": "c1", "main-2": "c2"}


def written(above: Path, job: str, data: bytes = b"rows", **changes: Any) -> Path:
    """A job with a dataset, as exax leaves it: a column of its own, and one of main-1."""
    folder = above / job
    (folder / "DS").mkdir(parents=True)
    (folder / "DS/default.m").write_bytes(data)
    usual: dict[str, Any] = {
        "version": (3, 3),
        "filename": None,
        "hashlabel": None,
        "caption": f"typed dataset (from main-1/default) in {job}",
        "columns": {
            "a": DatasetColumn(
                "date", "gzip", f"{job}/DS/default.m", datetime.date(2020, 1, 1), None, [0], False
            ),
            "b": DatasetColumn("bytes", "gzip", "main-1/DS/default.d/%s.b", None, None, None, True),
        },
        "parent": "main-1/default",
        "previous": "main-2/default",
        "lines": [4],
    }
    (folder / "DS/default.p").write_bytes(pickle.dumps(usual | changes, 2))
    return folder


def content(folder: Path, contents: dict[str, str] = CONTENTS) -> str:
    return content_of_job(folder, hash_outputs(folder, output_files(folder)), {folder.name: "", **contents})[
        0
    ]


def test_it_names_the_jobs_that_it_needs_and_is_the_same_anew(tmp_path: Path) -> None:
    folder, again = written(tmp_path, "main-3"), written(tmp_path, "main-9")
    assert (folder / "DS/default.p").read_bytes() != (again / "DS/default.p").read_bytes()
    assert content(folder) == content(again)
    cached: dict[str, Any] = {"cache": (("main-2", DotDict(lines=[1])),), "cache_distance": 64}
    assert content(written(tmp_path, "main-8", **cached)) == content(folder)  # copies of what is before
    for job in CONTENTS:  # to which it is chained, or whose columns it borrows
        assert content(folder) != content(folder, {**CONTENTS, job: "another"})
    assert jobs_named(folder, output_files(folder)) == {"main-1", "main-2", "main-3"}
    assert jobs_named(folder, ["x.npy"]) == set()
    merged = written(tmp_path, "main-4", parent=("main-1/default", "main-7/bad"), previous=None)
    assert jobs_named(merged, output_files(merged)) == {"main-1", "main-4", "main-7"}


def test_so_it_is_on_jobs_that_were_made_anew(tmp_path: Path) -> None:
    column = DatasetColumn("bytes", "gzip", "main-7/DS/default.d/%s.b", None, None, None, True)
    first = written(tmp_path, "main-3", columns={"b": column})
    other = written(tmp_path, "main-4", columns={"b": column._replace(location="main-1/DS/default.d/%s.b")})
    assert content(first, {**CONTENTS, "main-7": "c1"}) == content(other)
    assert content(first, {**CONTENTS, "main-7": "c7"}) != content(other)


@pytest.mark.parametrize(
    "changes",
    [
        {"data": b"other"},
        {"previous": None},
        {"previous": "main-1/default"},
        {"previous": "main-2/bad"},
        {"parent": ("main-1/default", "main-2/default")},
        {"lines": [5]},
        {"hashlabel": "a"},
        {"filename": "a.csv"},
        {"caption": "another one"},
        {"columns": {}},
    ],
)
def test_what_a_reader_can_see_counts(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert content(written(tmp_path, "main-3")) != content(written(tmp_path, "main-9", **changes))


def test_the_order_of_columns_counts(tmp_path: Path) -> None:
    columns = {name: DatasetColumn("int64", "gzip", None, 1, 2, None, False) for name in "ab"}
    first = written(tmp_path, "main-3", columns=columns)
    other = written(tmp_path, "main-4", columns=dict(reversed(columns.items())))
    assert content(first) != content(other)


def test_a_description_of_another_kind_counts_by_its_bytes(tmp_path: Path) -> None:
    """And nothing that it names is run."""
    folder = written(tmp_path, "main-3", caption=Path("x"))
    file = folder / "DS/default.p"
    assert dataset_content(file, CONTENTS) is None
    assert jobs_named(folder, output_files(folder)) == {"main-3"}
    before = content(folder)
    file.write_bytes(b"no pickle")
    assert content(folder) != before


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
        with ChainStore(self) as store:
            return store.broken(self.folder / job, [DESCRIPTION])


class ChainStore(Store):
    """Finds jobs of a chain that are not lost, and whose datasets are whole."""

    def __init__(self, chain: Chain) -> None:
        super().__init__()
        self._chain = chain

    def by_id(self, job: str) -> StoredJob | None:
        folder = self._chain.folder / job
        if job in self._chain.lost or self.broken(folder, [DESCRIPTION]):
            return None
        return StoredJob(job, "", folder, f"c{job.partition('-')[2]}", 0.0, False, None, "{}", ())


def test_chains_of_datasets(project: Path) -> None:
    chain = Chain(project, LONG)
    assert chain.broken(f"main-{LONG - 1}") == ""
    chain.lost.add("main-2")  # which breaks all after it
    found = [chain.broken(f"main-{number}") for number in range(6)]
    assert found == ["", "", "", "main-2", "main-3", "main-4"]
    with ChainStore(chain) as store:  # files that are no datasets rest on nothing
        assert store.broken(chain.folder / "main-3", ["x.npy"]) == ""
        assert store.broken(chain.folder / "main-3", []) == "main-2"  # not known: its manifest says
