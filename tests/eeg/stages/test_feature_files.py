"""Epochs, features and statistics survive the way through the files of a job."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from jobs_project import empty_project

from shortloop.base.seeds import seed_for
from shortloop.eeg.data import Epochs, Features
from shortloop.eeg.group.maps import MapStatistics
from shortloop.eeg.group.settings import GroupSettings
from shortloop.eeg.group.statistics import group_statistics
from shortloop.eeg.stages.feature_files import (
    feature_values,
    finish_features,
    keep_epochs,
    load_epochs,
    load_features,
)
from shortloop.eeg.stages.statistics_files import load_statistics, statistics_values
from shortloop.eeg.study.schema import Phases
from shortloop.stages.output import write_output
from shortloop.stages.results import Result, open_result
from shortloop.stages.stage import Finished, Outputs, Stage, Values
from shortloop.stages.task import Task


class OnlyFinishes(Stage):
    def __init__(self, finish: Callable[[Outputs], Finished]) -> None:
        self._finish = finish

    def finish(self, out: Outputs) -> Finished:
        return self._finish(out)


def written(finish: Callable[[Outputs], Finished], stage: str = "toy") -> Result:
    """The job in the current folder, after it was written there."""
    write_output(OnlyFinishes(finish), Task(stage, "", "", None, {}, {}), {}, [])
    return open_result(Path())


project = pytest.fixture(empty_project)
SETTINGS = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)


def make_epochs(seed: int, trials: int = 5, **changes: Any) -> Epochs:
    rng = np.random.default_rng(seed)
    values: dict[str, Any] = {
        "data": rng.standard_normal((trials, 2, 7)),
        "labels": rng.integers(0, 2, trials),
        "classes": ("left", "right"),
        "times": (np.arange(7) - 2) / 256,
        "sfreq": 256.0,
        "channels": ("Cz", "Pz"),
        "unit": "µV",
        "trial_info": {"event": np.array([f"e{n}" for n in range(trials)]), "rt": rng.random(trials)},
    }
    return Epochs(**{**values, **changes})


def make_features(seed: int, **changes: Any) -> Features:
    rng = np.random.default_rng(seed)
    values: dict[str, Any] = {
        "data": rng.standard_normal((4, 5, 3)).astype(np.float32),
        "labels": rng.integers(0, 3, 5),
        "classes": ("a", "b", "c"),
        "times": np.linspace(0, 1, 4),
        "names": ("Cz 12 ms", "Cz 16 ms", "Pz – 1"),
        "kind": "power",
        "unit": "V²",
        "time_unit": "bin",
    }
    return Features(**{**values, **changes})


def assert_same(one: Any, two: Any) -> None:
    for field in dataclasses.fields(one):
        left, right = getattr(one, field.name), getattr(two, field.name)
        if isinstance(left, np.ndarray):
            assert left.dtype == right.dtype
            np.testing.assert_array_equal(left, right, strict=True)
        elif isinstance(left, dict):
            assert left.keys() == right.keys()
            for name in left:
                np.testing.assert_array_equal(left[name], right[name], strict=True)
        else:
            assert left == right
            assert type(left) is type(right) or isinstance(left, float)


def through_a_job(epochs: dict[str, Epochs]) -> dict[str, Epochs]:
    def finish(out: Outputs) -> Finished:
        arrays: dict[str, Values] = {}
        facts = {}
        for phase, each in epochs.items():
            _, described, _, facts[phase] = keep_epochs(each, phase, out)
            arrays |= described
        return Finished({"phases": facts}, arrays)

    result = written(finish, "import_epochs")
    assert {f"{name}.npy" for name in result.arrays} == {file.name for file in Path().glob("*.npy")}
    return {phase: load_epochs(result, phase) for phase in epochs}


def test_epochs_of_two_phases(project: Path) -> None:
    epochs = {"study": make_epochs(0), "test": make_epochs(1, trials=9, trial_info={})}
    for phase, back in through_a_job(epochs).items():
        assert_same(epochs[phase], back)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_type_of_the_data_stays_and_they_are_mapped(project: Path, dtype: Any) -> None:
    back = through_a_job({"study": make_epochs(0, data=np.zeros((5, 2, 7), dtype))})["study"]
    assert back.data.dtype == dtype
    assert isinstance(back.data, np.memmap)
    assert not isinstance(back.labels, np.memmap)


@pytest.mark.parametrize("other", ["test_late", "test_", "test.2", "test-e", "test+x"])
def test_phases_whose_names_begin_alike_do_not_mix(project: Path, other: str) -> None:
    Phases(train="test", decode=other)  # a study may name them so
    info = {"late_event": np.arange(5), "event": np.arange(5) * 2, "_event": np.arange(5) * 3}
    more = {"event": np.arange(9), "late_event": np.arange(9) * 4, "e": np.arange(9) * 5}
    epochs = {"test": make_epochs(0, trial_info=info), other: make_epochs(1, trials=9, trial_info=more)}
    for phase, back in through_a_job(epochs).items():
        assert_same(epochs[phase], back)


@SETTINGS
@given(
    names=st.lists(NAMES, min_size=2, max_size=2, unique=True),
    data=npst.arrays(np.float64, (3, 2, 4), elements=st.floats(width=64)),
    sfreq=st.floats(1, 1e5),
    values=npst.arrays(st.sampled_from([np.dtype(name) for name in ("i8", "f4", "?", "U3")]), (3, 2)),
)
def test_epochs(project: Path, names: list[str], data: np.ndarray, sfreq: float, values: np.ndarray) -> None:
    for file in Path().glob("*.npy"):
        file.unlink()
    changes = {"times": np.arange(4) / sfreq, "sfreq": sfreq, "channels": tuple(names), "data": data}
    epochs = make_epochs(0, trials=3, trial_info={names[0]: values}, **changes)
    assert_same(epochs, through_a_job({"study": epochs})["study"])


@pytest.mark.parametrize("changes", [{}, {"unit": "V", "time_unit": "s"}, {"data": np.zeros((4, 5, 3))}])
def test_features_of_two_phases(project: Path, changes: dict[str, Any]) -> None:
    features = {"study": make_features(0, **changes), "test": make_features(1, **changes)}

    def finish(out: Outputs) -> Finished:
        arrays: dict[str, Values] = {}
        for phase, each in features.items():
            arrays |= feature_values(phase, each.unit, each.data)
        return finish_features(features, arrays)

    result = written(finish, "power")
    for phase, each in features.items():
        back = load_features(result, phase)
        assert_same(each, back)
        assert isinstance(back.data, np.memmap)
        assert result.record["arrays"][f"times_{phase}"]["unit"] == each.time_unit
        assert result.record["arrays"][f"data_{phase}"]["unit"] == each.unit


def statistics(participants: int, shape: tuple[int, ...], seed: int, effect: float = 20.0) -> MapStatistics:
    rng = np.random.default_rng(seed)
    scores = 50 + rng.standard_normal((participants, *shape)) * 5
    scores[:, : shape[0] // 2] += effect
    nulls = [50 + rng.standard_normal((40, *shape)) * 5 for _ in range(participants)]
    return group_statistics(
        scores, nulls, chance=50.0, settings=GroupSettings(), seed=seed_for(seed, "group")
    )


def through_a_job_of_maps(found: dict[str, MapStatistics]) -> dict[str, MapStatistics | None]:
    def finish(out: Outputs) -> Finished:
        arrays, facts = {}, {}
        for shape, each in found.items():
            described, facts[shape] = statistics_values(each, shape)
            arrays.update(described)
        return Finished({"statistics": facts}, arrays)

    result = written(finish, "group")
    return {shape: load_statistics(result, shape) for shape in ("curve", "plane")}


def test_levels_of_chance_and_the_score(project: Path) -> None:
    maps = np.random.default_rng(0).normal(60, 5, (31, 4, 6))
    how: dict[str, Any] = {"settings": GroupSettings(), "seed": seed_for(0, "group")}
    of = group_statistics(maps[0], list(maps[1:].swapaxes(0, 1)), chance=maps.mean(axis=0), **how)
    found = {"curve": dataclasses.replace(of, score="accuracy")}
    assert_same(found["curve"], through_a_job_of_maps(found)["curve"])
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
    back = through_a_job_of_maps(found)
    for shape, each in found.items():
        assert_same(each, back[shape])


def test_scores_without_any_spread_and_a_shape_that_is_not_there(project: Path) -> None:
    """All scores alike give a t that is not a number or infinite; it must not spoil the record."""
    scores = np.full((3, 4), 75.0)
    how: dict[str, Any] = {"settings": GroupSettings(), "seed": seed_for(1, "group")}
    found = group_statistics(scores, [np.full((10, 4), 50.0)] * 3, chance=50.0, **how)
    assert_same(found, through_a_job_of_maps({"curve": found})["curve"])
    assert through_a_job_of_maps({"curve": statistics(3, (4,), 1)})["plane"] is None
