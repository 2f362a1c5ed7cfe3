"""Recordings are read in the process of the test: a fork for each file takes longer than to read it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shortloop.eeg.formats import read as reading
from shortloop.eeg.formats.files import process
from shortloop.eeg.formats.files.find import LINKED
from shortloop.eeg.inspect import check_study, scan


@contextmanager
def start_here(
    read: Callable[[], Any],
    files: Sequence[Path],
    *,
    participant: str,
    declared: Callable[[Path, str], int],
) -> Iterator[Callable[[], Any]]:
    """Read as `start_reading` does, with its messages and warnings, but in this process."""

    def wait() -> Any:
        with process.located(participant, ", ".join(map(str, files))):
            try:
                with warnings.catch_warnings(record=True) as caught:
                    for file in files:
                        with process.reading(file, participant):
                            declared(file, participant)
                    return read()
            finally:
                for each in caught:
                    said = LINKED.sub("", str(each.message))
                    warnings.warn_explicit(said, each.category, each.filename, each.lineno)

    yield wait


def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have all recordings read in this process."""
    for module in (process, reading):
        monkeypatch.setattr(module, "start_reading", start_here)
    for caller in (check_study, scan):
        monkeypatch.setattr(caller, "parallel_map", lambda work, items, tell: [*map(work, items)])
