"""Limits of a machine: measured, kept, and read back."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from shortloop.base.errors import TransientError
from shortloop.profile import limits
from shortloop.profile.limits import kept_limits, measure


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A project in a folder of its own, and measurements that take a moment."""
    for name, value in (("LEAST", 0.02), ("COPIED", 4_000_000), ("ON_DISK", 16_000_000), ("SIDE", 64)):
        monkeypatch.setattr(limits, name, value)
    for name in ("cache_directory", "cache_place"):
        monkeypatch.setattr(limits, name, lambda name: tmp_path)
    return tmp_path


def test_limits_are_measured_once_and_kept(quick: Path) -> None:
    assert kept_limits() is None
    told: list[tuple[int, int]] = []
    found = measure(lambda done, total: told.append((done, total)))
    assert told == [(number, len(told)) for number in range(1, len(told) + 1)]
    assert found.processes[0] == 1
    facts = asdict(found)
    assert all(len(facts[name]) == len(found.processes) for name in ("flop", "flop32", "bytes"))
    single = [facts[name] for name in ("disk_write", "disk_read", "fork", "message", "fsync")]
    assert all(0 < each < math.inf for each in [*single, *found.flop, *found.flop32, *found.bytes])
    assert found.message < found.fork < 1
    assert found.others >= 0
    assert kept_limits() == found
    (file,) = quick.glob("*.json")
    file.write_text("{")
    assert kept_limits() is None


def test_a_rate_is_what_numpy_does_in_that_time(quick: Path) -> None:
    calls = np.memmap(quick / "calls", "i8", "w+", shape=(1,))

    def once() -> float:
        calls[0] += 1
        return 2.0

    rate = limits._rate(once, 1)
    assert rate == pytest.approx(2.0 * (calls[0] - 1) / limits.LEAST, rel=0.5)


def test_a_process_that_ends_early_is_told(quick: Path) -> None:
    with pytest.raises(TransientError, match="a process that measures ended early"):
        limits._rate(lambda: exit(3), 1)
