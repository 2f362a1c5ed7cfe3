"""A recording under two names is refused: counted twice, noise looks like an effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortloop.base.errors import InputError
from shortloop.eeg.checks.consistency import refuse_repeated
from shortloop.stages.inputs import File

A1, A2, B1, B2 = (File(f"content of {name}", Path(f"/data/{name}.mat")) for name in ("A1", "A2", "B1", "B2"))


def test_each_its_own() -> None:
    refuse_repeated({"A": {"study": [A1], "test": [A2]}, "B": {"study": [B1], "test": [B2]}}, "input.files")


def test_a_file_may_hold_all_phases_of_a_participant() -> None:
    refuse_repeated({"A": {"study": [A1], "test": [A1]}, "B": {"study": [B1], "test": [B1]}}, "input.files")


def test_what_no_one_has_read_is_not_compared() -> None:
    unread = [File("", file.path) for file in (A1, B1)]
    refuse_repeated({"A": {"study": unread[:1]}, "B": {"study": unread[1:]}}, "input.files")


@pytest.mark.parametrize(
    ("files", "participant", "phase"),
    [
        ({"A": {"study": [A1]}, "B": {"study": [A1]}}, "B", "study"),
        ({"A": {"study": [A1]}, "B": {"study": [File(A1.content, B1.path)]}}, "B", "study"),
        ({"A": {"study": [A1], "test": [File(A1.content, A2.path)]}}, "A", "test"),
        ({"A": {"study": [A1, File(A1.content, A2.path)]}}, "A", "study"),
    ],
    ids=["one file for two", "a copy for another", "trained on and decoded", "in one phase"],
)
def test_twice_is_refused(files: dict[str, dict[str, list[File]]], participant: str, phase: str) -> None:
    with pytest.raises(InputError, match="there twice") as caught:
        refuse_repeated(files, "input.files")
    error = caught.value
    assert error.where["participant"] == participant
    assert f"input.files.{phase}" in error.message
    assert str(A1.path) in error.message
