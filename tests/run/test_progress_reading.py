"""A word on reading input files, once it takes long: none for a few, one now and then off a terminal."""

from __future__ import annotations

import pytest

from shortloop.run.progress import Progress, Reading


def test_reading_is_worth_a_word_after_a_while(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress([], {})
    for _ in range(2):  # files of one kind, then of another
        for quarters in range(101):
            progress.on(Reading(36, 90_400_000 * quarters, 9_040_000_000, quarters / 4))
    lines = [
        "reading 36 files, 0.7 of 9.0 GB, 23 s left",
        "reading 36 files, 4.3 of 9.0 GB, 13 s left",
        "reading 36 files, 8.0 of 9.0 GB, 3 s left",
    ]
    assert capsys.readouterr().out.splitlines() == lines * 2


def test_reading_megabytes(capsys: pytest.CaptureFixture[str]) -> None:
    Progress([], {}).on(Reading(2, 100_000_000, 300_000_000, 2.0))
    Progress([], {}).on(Reading(2, 0, 300_000_000, 60.0))  # a disk that has not answered yet
    assert capsys.readouterr().out == "reading 2 files, 100.0 of 300.0 MB, 4 s left\n"


def test_a_second_or_two_is_not_worth_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    for quarters in range(8):
        Progress([], {}).on(Reading(2, 1_000 * quarters, 8_000, quarters / 4))
    assert capsys.readouterr().out == ""
