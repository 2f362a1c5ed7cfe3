"""exax's own record of a job, whatever is left of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortloop.store.setup import setup_of, sources_of


@pytest.mark.parametrize("text", [None, "", "[]", "{", "\0"])
def test_what_cannot_be_read_is_empty(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "setup.json").write_text(text, encoding="utf-8")
    assert setup_of(tmp_path) == {}
    assert sources_of({}) == []


def test_every_job_that_it_was_made_from_is_named() -> None:
    jobs = {"one": "main-1", "none": None, "all": ["main-2", "other-3"], "empty": []}
    assert sources_of({"jobs": jobs}) == [("one", "main-1"), ("all", "main-2"), ("all", "other-3")]
