"""What a job left, as keys below it see it: the same whenever and however it was made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jobs_project import empty_project
from jobs_recorded import finished_job

from shortloop.store.integrity import content_of_job, hash_outputs, output_files

project = pytest.fixture(empty_project)


def content_of(folder: Path) -> str:
    return content_of_job(folder, hash_outputs(folder, output_files(folder)))[0]


@pytest.fixture
def folder(project: Path) -> Path:
    return finished_job(project, "main-1")


def change_record(folder: Path, **changes: Any) -> None:
    file = folder / "record.json"
    plain = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**plain, **changes}), encoding="utf-8")


def test_how_it_was_made_does_not_count(project: Path, folder: Path) -> None:
    before = content_of(folder)
    for name in ("setup.json", "post.json"):
        (folder / name).write_text('{"starttime": 3}', encoding="utf-8")
    (folder / "method.tar.gz").write_bytes(b"other code")
    (folder / "OUTPUT").mkdir()
    (folder / "OUTPUT" / "synthesis").write_text("said", encoding="utf-8")
    (folder / ".progress").write_text("0.5", encoding="utf-8")
    change_record(folder, versions={"python": "3.13"}, threads=[])
    assert content_of(folder) == before
    assert content_of(finished_job(project, "other-5")) == before


@pytest.mark.parametrize(
    "changes",
    [{"facts": {"a": 1}}, {"arrays": {"x": {"shape": [2]}}}, {"stage": "other"}, {"partition": "S01"}],
)
def test_what_its_record_says_counts(folder: Path, changes: dict[str, Any]) -> None:
    before = content_of(folder)
    change_record(folder, **changes)
    assert content_of(folder) != before


def test_every_file_counts_with_its_name(folder: Path) -> None:
    seen = {content_of(folder)}
    (folder / "x.npy").write_bytes(b"another")
    seen.add(content_of(folder))
    (folder / "x.npy").rename(folder / "y.npy")
    seen.add(content_of(folder))
    (folder / "more").mkdir()
    (folder / "y.npy").rename(folder / "more" / "y.npy")
    seen.add(content_of(folder))
    (folder / "more" / "y.npy").unlink()
    seen.add(content_of(folder))
    assert len(seen) == 5


def test_the_order_and_the_spaces_of_a_record_do_not_count(folder: Path) -> None:
    before = content_of(folder)
    plain = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    reversed_record = json.dumps(dict(reversed(plain.items())), indent=3)
    (folder / "record.json").write_text(reversed_record, encoding="utf-8")
    assert content_of(folder) == before


def test_a_method_without_a_record_has_a_content(folder: Path) -> None:
    (folder / "record.json").unlink()
    assert len(content_of(folder)) == 40


def test_a_rejected_input_is_told(folder: Path) -> None:
    change_record(folder, problem="no labels")
    assert content_of_job(folder, hash_outputs(folder, output_files(folder)))[1]
