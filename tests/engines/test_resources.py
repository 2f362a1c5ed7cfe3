"""What batches need of workers: how many have room, and what nobody has."""

from __future__ import annotations

from math import inf

import pytest

from shortloop.engines.engine import Resources
from shortloop.run.scheduler import JobNeeds
from shortloop.stages.needs import Needs

NEEDED = Resources.of({"cores": 2, "gpus": 1, "n_jobs": 3})


@pytest.mark.parametrize(
    ("has", "times"),
    [(Resources(5, 9, 3), 2), (Resources(9, 9, 3), 3), (Resources(1, 9, 3), 0), (Resources(9), 0)],
)
def test_how_many_batches_have_room(has: Resources, times: int) -> None:
    assert has.times(NEEDED) == times
    assert has._replace(memory=inf).times(NEEDED._replace(memory=1)) == times
    assert Resources(times).times(Resources.of({})) == times


def test_what_nobody_has_is_named() -> None:
    assert NEEDED.lacking([Resources(1), Resources(2, gpus=1)]) == ""
    assert NEEDED.lacking([Resources(4), Resources(1)]) == "1 GPU"
    assert NEEDED.lacking([Resources(2), Resources(1, gpus=1)]) == "2 cores and 1 GPU"  # not at one place
    assert NEEDED.lacking([]) == "2 cores and 1 GPU"
    assert Resources.of({"memory": 30_000_000_000}).lacking([Resources(8, 2e10)]) == "30 GB of memory"


def test_only_what_is_unusual_is_asked_for() -> None:
    assert JobNeeds(Needs(), True).resources == {}
    asked = JobNeeds(Needs(2, 10**9, 1, retries=3), True).resources
    assert asked == {"cores": 2, "memory": 10**9, "gpus": 1}
    assert Resources.of(asked) == (2, 1e9, 1)
