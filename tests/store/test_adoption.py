"""A job of a shared cache becomes one of this project, if its files are what they say."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jobs_project import empty_project
from jobs_recorded import finished_job, manifest_for

from shortloop.keys.hashing import hash_file
from shortloop.stages.content import SIZE
from shortloop.stages.records import EARLIER, ROWS
from shortloop.stages.rows import FOR_OTHERS, pack, write_rows
from shortloop.store.adoption import Asked, adopt
from shortloop.store.manifest import Manifest, read_manifest
from shortloop.store.shared_cache import NotTaken
from shortloop.store.store import Store

project = pytest.fixture(empty_project)
ASKED = Asked("script", "from the shared cache", "A", {"number": 1}, {"previous": "main-1"}, {})


def fetched(project: Path, changes: dict[str, Any], values: object = 1.0) -> tuple[Path, Manifest]:
    """Files of somebody else's job, with changes of its setup."""
    job = finished_job(project, "main-7", taken={"main-3": 1})
    setup = json.loads((job / "setup.json").read_text())
    setup |= {"jobid": "main-7", "versions": {}, "datasets": {}, "slices": 2, "parent": "main-2"}
    setup |= {"jobs": {"previous": "main-6", "before": "main-4", "all": []}} | changes
    (job / "setup.json").write_text(json.dumps(setup))
    write_rows(job / ROWS, [bytes(SIZE) + FOR_OTHERS + pack({"value": values}, "a unit")])
    manifest = manifest_for(job)
    there = project / "fetched"
    job.rename(there)
    return there, manifest


def test_it_is_made_from_the_jobs_here(project: Path) -> None:
    there, manifest = fetched(project, {})
    folder = project / "workdirs/main/main-2"
    with Store(lambda: 2) as store:
        found = adopt(store, manifest, there, folder, ASKED, trusted=False)
        assert store.find(manifest.key) == found
    assert found.content == manifest.content
    setup = json.loads((folder / "setup.json").read_text())
    assert setup["jobs"] == {"previous": "main-1", "before": None, "all": []}
    assert (setup["jobid"], setup["parent"]) == ("main-2", None)
    assert EARLIER not in setup["options"]
    assert "taken" not in json.loads((folder / "record.json").read_text())
    kept = read_manifest(folder)
    assert kept is not None
    assert (kept.job, kept.reason, kept.partition) == ("main-2", "from the shared cache", "A")
    assert kept.files["setup.json"][1] == hash_file(folder / "setup.json")
    with Store(lambda: 2) as store:
        assert store.whole(folder) == kept


@pytest.mark.parametrize(
    ("changes", "values", "problem"),
    [
        ({"method": "another"}, 1.0, "setup.json methods.another"),
        ({"options": {"number": 2, "settings": {"C": [0.1, 1]}}}, 1.0, "setup.json 2"),
        ({}, {1, "two"}, "its units hold objects, which only a trusted cache may give"),
    ],
)
def test_what_it_says_must_be_true(
    project: Path, changes: dict[str, Any], values: object, problem: str
) -> None:
    there, manifest = fetched(project, {}, values)
    setup = json.loads((there / "setup.json").read_text())
    (there / "setup.json").write_text(json.dumps(setup | changes))
    folder = project / "workdirs/main/main-2"
    with Store(lambda: 2) as store:
        with pytest.raises(NotTaken, match=problem):
            adopt(store, manifest, there, folder, replace(ASKED, options={}), trusted=False)
        assert store.find(manifest.key) is None
    assert not folder.exists()


@pytest.mark.parametrize("content", [b"", b"\0" * 40, b"\1" + b"\0" * 7 + b"\xff" * 60])
def test_rows_that_cannot_be_read_hold_no_objects_or_are_refused(project: Path, content: bytes) -> None:
    """Who takes such rows over later reads them the same way."""
    there, manifest = fetched(project, {})
    (there / ROWS).write_bytes(content)
    files = {**manifest.files, ROWS: (len(content), hash_file(there / ROWS))}
    folder = project / "workdirs/main/main-2"
    with Store(lambda: 2) as store:
        adopt(store, replace(manifest, files=files), there, folder, ASKED, trusted=False)
    shutil.rmtree(folder)
