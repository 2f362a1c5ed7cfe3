"""Numbers of figures as text for other programs: a row for each bin, or for each cell of a map."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.eeg.group.result import MapStatistics
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.panels import confidence_half_width
from shortloop.report.tables import csv_text

__all__ = ["curve_csv", "map_csv", "participants_csv"]

Row = list[str | float | bool | None]


def curve_csv(result: KindResult) -> str:
    """The curve of the group, or of the only participant, with its statistics."""
    return _statistics(result, result.curve)


def map_csv(result: KindResult) -> str:
    """The same of the generalization map, with a row for each cell."""
    assert result.generalization is not None
    return _statistics(result, result.generalization)


def participants_csv(result: KindResult) -> str:
    """Scores of each participant, not smoothed, with their intervals over trials where these are known."""
    columns = ["participant", "scores", *_times(result, True), "score", "low", "high"]
    return csv_text(columns, _scores(result))


def _times(result: KindResult, both: bool) -> list[str]:
    return [f"{each} time ({result.time_unit})" for each in (("train", "test") if both else ("train",))]


def _statistics(result: KindResult, stats: MapStatistics) -> str:
    half = confidence_half_width(stats)
    arrays: list[Any] = [stats.mean, stats.mean - half, stats.mean + half, stats.level_of_chance, stats.t]
    arrays += [stats.p_cluster, stats.p_max, stats.significant]
    letter = "z" if stats.level == "participant" else "t"
    names = ["mean", "low", "high", "chance", letter, "p by clusters", "p by maximum", "significant"]
    rows = (
        [*_at(result, cell), *(each[cell].item() for each in arrays)] for cell in np.ndindex(stats.t.shape)
    )
    return csv_text([*_times(result, stats.t.ndim == 2), *names], rows)


def _scores(result: KindResult) -> Iterator[Row]:
    alone = {each.participant: each for each in result.alone}
    for index, name in enumerate(result.participants):
        mine = alone.get(name)
        shown = [("decoding", result.curve, None if mine is None else mine.curve_ends)]
        if result.generalization is not None:
            ends = None if mine is None else mine.plane_ends
            shown.append(("generalization", result.generalization, ends))
        for what, stats, ends in shown:
            for cell, score in np.ndenumerate(stats.scores[index]):
                low, high = (None, None) if ends is None else (float(each[cell]) for each in ends)
                when = _at(result, cell)
                yield [name, what, *when, *[None] * (2 - len(when)), float(score), low, high]


def _at(result: KindResult, cell: tuple[int, ...]) -> list[float]:
    """Training time of a cell and, of a map, its testing time."""
    times: list[FloatArray] = [result.train_times]
    if len(cell) == 2:
        assert result.test_times is not None
        times.append(result.test_times)
    return [float(along[index]) for along, index in zip(times, reversed(cell), strict=True)]
