"""A stage over past runs: a loss is told where there is one, and noise is none."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from shortloop.profile.history import History, Point, draw, loss_in_words
from shortloop.report.style import styled


def history(relative: Sequence[float | None], cpu: Sequence[float] | None = None) -> History:
    used = cpu or [1.0] * len(relative)
    points = [
        Point(run, 1e9 + run, (f"main-{run}",), 100 * (each or 1.0), 1.0, each, of_cpu)
        for run, (each, of_cpu) in enumerate(zip(relative, used, strict=True), 1)
    ]
    return History("fit", True, points)


def test_a_loss_is_told_from_its_first_run_on() -> None:
    found = history([1.0, 1.02, 0.98, 1.01, 0.99, 0.5, 0.52, 0.49])
    assert found.loss is not None
    assert (found.loss.since.run, found.loss.last.run) == (6, 5)
    assert found.loss.factor == pytest.approx(2.0)
    assert "slower since run 6: 2.00 × as long" in loss_in_words(found)
    assert "`shortloop compare main-5 main-6`" in loss_in_words(found)
    assert "the machine was busy" in loss_in_words(found)
    worked = history([1.0, 1.0, 1.0, 0.5], cpu=[1.0, 1.0, 1.0, 2.0])
    assert "the computation itself" in loss_in_words(worked)


@pytest.mark.parametrize(
    "relative",
    [
        [1.0, 1.0, 0.5, 1.0],  # it has recovered
        [1.0, 1.0, 1.0, 0.93],  # too little
        [1.0, 2.0, 0.5, 1.7, 0.6, 0.55],  # as noisy as that before
        [1.0, 1.0, 0.3],  # too few runs before
        [0.5, 1.0, 1.0, 1.0],
        [None] * 6,
        [1.0],
    ],
)
def test_no_loss(relative: list[float | None]) -> None:
    found = history(relative)
    assert found.loss is None
    assert "slower since" not in loss_in_words(found)


def test_noise_of_a_machine_is_hardly_ever_a_loss() -> None:
    rng = np.random.default_rng(0)
    runs = np.exp(rng.normal(0, 0.08, (200, 30)))
    told = sum(history([*each]).loss is not None for each in runs)
    assert told <= 4
    slower = runs * np.where(np.arange(30) < 20, 1, 1 / 1.5)
    found = [history([*each]).loss for each in slower]
    assert sum(each is not None and abs(each.since.run - 21) <= 1 for each in found) >= 160


def test_the_figure_shows_each_run_and_the_loss() -> None:
    with styled():
        figure = draw(history([1.0, 1.0, 1.0, 1.0, 0.5]))
    (axes,) = figure.axes
    drawn = {line.get_marker(): [*map(float, np.asarray(line.get_ydata()))] for line in axes.lines}
    assert drawn["o"] == [100.0] * 4
    assert drawn["s"] == [50.0]
    assert axes.get_ylim()[0] == 0
    assert math.isclose(len(axes.get_xticks()), 5)
