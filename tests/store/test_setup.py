"""exax's own record of a job, whatever is left of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from jobs_project import empty_project

from shortloop.exax import listener
from shortloop.exax.listener import slices_now
from shortloop.stages.results import sources_of
from shortloop.store.setup import holds_slices, setup_of, wanted


def test_what_cannot_be_read_is_empty(tmp_path: Path) -> None:
    assert setup_of(tmp_path) == {}
    for text in ("", "[]", "{", "\0"):
        (tmp_path / "setup.json").write_text(text, encoding="utf-8")
        assert setup_of(tmp_path) == {}
    assert sources_of({}) == []
    jobs = {"one": "main-1", "none": None, "all": ["main-2", "other-3"], "empty": []}
    assert sources_of({"jobs": jobs}) == [("one", "main-1"), ("all", "main-2"), ("all", "other-3")]


@pytest.mark.parametrize(("setting", "number"), [(-1, 3), (0, 3), (1, 1), (2, 2), (3, 3), (1000, 3)])
def test_at_most_as_many_as_cores(monkeypatch: pytest.MonkeyPatch, setting: int, number: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 7})
    assert wanted(setting) == number


@pytest.mark.parametrize(("reply", "number"), [(None, 2), (b'{"slices": 7, "urd": null}', 7)])
def test_those_of_the_server_else_of_one_that_would_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reply: bytes | None, number: int
) -> None:
    empty_project(tmp_path, monkeypatch)  # its configuration says 2
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 7})
    monkeypatch.setattr(listener, "ask", lambda what: reply)
    assert slices_now() == number


@pytest.mark.parametrize(
    ("names", "number", "held"),
    [
        (["x.npy", "record.json"], 2, False),
        (["DS/default.p", "DS/LIST"], 2, True),
        (["DS"], 2, True),  # as a folder is listed
        (["DSP/x.npy"], 2, False),
        (["part.0", "part.1"], 2, True),
        (["deep/part.0", "deep/part.1", "deep/part.2"], 3, True),
        (["part.0"], 2, False),
        (["part.0", "other.1"], 2, False),
        (["part.0"], 1, True),
        ([], 1, False),
    ],
)
def test_files_by_slice_are_known_by_name(names: list[str], number: int, held: bool) -> None:
    assert holds_slices(names, number) is held
