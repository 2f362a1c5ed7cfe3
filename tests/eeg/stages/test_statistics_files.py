"""Statistics of the group survive the way through the files of a job."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from finished_stage import written
from jobs_project import empty_project

from shortloop.base.seeds import seed_for
from shortloop.eeg.group.maps import MapStatistics
from shortloop.eeg.group.settings import GroupSettings
from shortloop.eeg.group.statistics import group_statistics
from shortloop.eeg.stages.statistics_files import load_statistics, statistics_values
from shortloop.stages.results import open_result
from shortloop.stages.stage import Finished, Outputs

project = pytest.fixture(empty_project)


def statistics(participants: int, shape: tuple[int, ...], seed: int, effect: float = 20.0) -> MapStatistics:
    rng = np.random.default_rng(seed)
    scores = 50 + rng.standard_normal((participants, *shape)) * 5
    scores[:, : shape[0] // 2] += effect
    nulls = [50 + rng.standard_normal((40, *shape)) * 5 for _ in range(participants)]
    return group_statistics(
        scores, nulls, chance=50.0, settings=GroupSettings(), seed=seed_for(seed, "group")
    )


def through_a_job(found: dict[str, MapStatistics]) -> dict[str, MapStatistics | None]:
    def finish(out: Outputs) -> Finished:
        arrays, facts = {}, {}
        for shape, each in found.items():
            described, facts[shape] = statistics_values(each, shape)
            arrays.update(described)
        return Finished({"statistics": facts}, arrays)

    result = written(finish, "group")
    return {shape: load_statistics(result, shape) for shape in ("curve", "plane")}


def assert_same(one: MapStatistics, two: MapStatistics | None) -> None:
    assert two is not None
    for field in dataclasses.fields(one):
        left, right = getattr(one, field.name), getattr(two, field.name)
        if isinstance(left, np.ndarray):
            np.testing.assert_array_equal(left, right, strict=True)
        else:
            assert left == right


def test_levels_of_chance_and_the_score(project: Path) -> None:
    maps = np.random.default_rng(0).normal(60, 5, (31, 4, 6))
    found = {
        "curve": group_statistics(
            maps[0],
            list(maps[1:].swapaxes(0, 1)),
            chance=maps.mean(axis=0),
            settings=GroupSettings(),
            seed=seed_for(0, "group"),
        )
    }
    found["curve"] = dataclasses.replace(found["curve"], score="accuracy")
    back = through_a_job(found)["curve"]
    assert_same(found["curve"], back)
    described = open_result(Path()).record["arrays"]
    assert described["curve_expected"]["unit"] == "%"
    assert described["curve_scores"]["description"].startswith("accuracy of each participant")


@pytest.mark.parametrize("participants", [1, 2, 6])
@pytest.mark.parametrize("effect", [0.0, 20.0, -20.0])
def test_a_curve_and_a_plane(project: Path, participants: int, effect: float) -> None:
    found = {
        "curve": statistics(participants, (6,), 1, effect),
        "plane": statistics(participants, (5, 6), 2, effect),
    }
    back = through_a_job(found)
    for shape, each in found.items():
        assert_same(each, back[shape])


def test_scores_without_any_spread(project: Path) -> None:
    """All scores alike give a t that is not a number or infinite; it must not spoil the record."""
    scores = np.full((3, 4), 75.0)
    found = group_statistics(
        scores, [np.full((10, 4), 50.0)] * 3, chance=50.0, settings=GroupSettings(), seed=seed_for(1, "group")
    )
    assert_same(found, through_a_job({"curve": found})["curve"])


def test_a_shape_that_is_not_there_is_none(project: Path) -> None:
    assert through_a_job({"curve": statistics(3, (4,), 1)})["plane"] is None
