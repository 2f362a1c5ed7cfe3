"""Two jobs beside each other: their scores, and the figure of both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from jobs_recorded import result_with

from shortloop.eeg.report.comparison import compare_scores, comparison_figure, scores_in
from shortloop.stages.results import Result

TIMES = np.array([-0.1, 0.0, 0.1])


def permuted(folder: Path, shift: float = 0.0, bins: int = 3) -> Result:
    facts = {"score": "balanced-accuracy", "time_unit": "s", "chance": {"curve": 50.0, "plane": 50.0}}
    times = np.linspace(-0.1, 0.1, bins)
    return result_with(
        folder,
        facts,
        train_times=times,
        test_times=times + 1,
        curve_scores=50 + shift + 100 * times,
        plane_scores=50 + shift + 100 * times[:, None] * times,
    )


def test_scores_of_a_participant(tmp_path: Path) -> None:
    found = scores_in(permuted(tmp_path / "a"))
    assert list(found) == ["curve", "plane"]
    assert found["curve"].values.tolist() == [40, 50, 60]
    assert (found["curve"].label, found["curve"].chance) == ("Balanced accuracy (%)", 50.0)
    assert found["plane"].test_times is not None
    assert found["curve"].scale.unit == "ms"


def test_scores_of_a_group_are_its_means(tmp_path: Path) -> None:
    facts = {"score": "auc", "time_unit": "s", "statistics": {"curve": {"chance": 0.5}}}
    group = result_with(
        tmp_path / "a", facts, train_times=TIMES, curve_mean=TIMES, curve_scores=np.zeros((8, 3))
    )
    (curve,) = scores_in(group).values()
    assert curve.values.tolist() == TIMES.tolist()
    assert (curve.label, curve.chance) == ("AUC", 0.5)


def test_scores_of_confusions_are_mean_recall(tmp_path: Path) -> None:
    counts = np.array([[[8, 2], [5, 5]]] * 3)
    found = scores_in(result_with(tmp_path / "a", {"time_unit": "s"}, confusions=counts, times=TIMES))
    assert found["curve"].values.tolist() == [65.0] * 3
    assert found["curve"].chance == 50.0
    plane = result_with(
        tmp_path / "b", {}, confusions=np.array([counts] * 2), train_times=TIMES, test_times=TIMES[:2]
    )
    assert scores_in(plane)["plane"].values.shape == (2, 3)


def test_jobs_that_test_each_participant_are_not_compared_by_scores(tmp_path: Path) -> None:
    """As of the stage `individual`, whose facts name no score for all."""
    facts = {"kind": "amplitude", "participants": ["A", "B"], "statistics": {"curve": [{"chance": 50.0}] * 2}}
    alone = result_with(tmp_path / "a", facts, curve_mean=np.zeros((2, 3)), curve_scores=np.zeros((2, 3)))
    assert scores_in(alone) == {}
    assert compare_scores(alone, alone) is None


def test_a_job_without_scores_is_not_compared(tmp_path: Path) -> None:
    assert compare_scores(permuted(tmp_path / "a"), result_with(tmp_path / "b", data=np.zeros(3))) is None


def panels(one: Result, other: Result) -> list[str]:
    scores = scores_in(one), scores_in(other)
    pairs = {shape: (scores[0][shape], scores[1][shape]) for shape in scores[0]}
    figure = comparison_figure("any", ("main-1", "main-2"), pairs)
    titles = [axes.get_title(loc="left") for part in figure.subfigs for axes in part.axes]
    return [title for title in titles if title]


def test_the_figure_shows_both_and_the_difference_if_bins_are_the_same(tmp_path: Path) -> None:
    difference = "main-2 − main-1"
    drawn = panels(permuted(tmp_path / "a"), permuted(tmp_path / "b", 3.0))
    assert drawn == ["Over time", difference, "main-1", "main-2", difference]
    drawn = panels(permuted(tmp_path / "a"), permuted(tmp_path / "c", bins=5))
    assert drawn == ["Over time", "main-1", "main-2"]


def test_the_difference_is_drawn(tmp_path: Path) -> None:
    one, other = (scores_in(permuted(tmp_path / name, shift)) for name, shift in (("a", 0.0), ("b", 3.0)))
    figure = comparison_figure("any", ("a", "b"), {"curve": (one["curve"], other["curve"])})
    line = figure.subfigs[0].axes[1].lines[1]
    assert np.allclose(np.asarray(line.get_xdata()), [-100, 0, 100])
    assert np.allclose(np.asarray(line.get_ydata()), 3)


def test_what_the_command_shows_of_two_jobs(tmp_path: Path) -> None:
    one, other = (permuted(tmp_path / name, shift) for name, shift in (("a", 0.0), ("b", 3.0)))
    found = compare_scores(one, other)
    assert found is not None
    assert found.title == "scores"
    assert [each[:3] for each in found.numbers] == [
        (what, "Balanced accuracy (%)", summary)
        for what in ("over time", "generalization")
        for summary in ("mean", "peak")
    ]
    assert found.numbers[1].second - found.numbers[1].first == pytest.approx(3.0)
    assert found.draw().get_suptitle() == "any"
