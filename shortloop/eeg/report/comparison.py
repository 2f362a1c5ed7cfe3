"""Comparison of two jobs of one stage: their scores, and a figure of both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.analyses import Compared, Comparison
from shortloop.base.types import FloatArray
from shortloop.eeg.report.figure_parts import colour_limits, draw_map
from shortloop.eeg.report.labels import SCORES
from shortloop.eeg.report.times import TimeScale, bin_edges, scale_of
from shortloop.report.style import BLACK, BLUE, GREY, VERMILION, new_figure, styled
from shortloop.stages.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

PERCENT = SCORES["balanced-accuracy"]


@dataclass(frozen=True)
class Scores:
    """Scores of a job over time: a curve, or a plane of testing by training time."""

    values: FloatArray  # (bins,) or (test bins, bins)
    train_times: FloatArray  # (bins,): centres
    test_times: FloatArray | None  # (test bins,), of a plane
    time_unit: str
    label: str  # of the values, with their unit
    chance: float | None  # if it is one number

    @property
    def scale(self) -> TimeScale:
        return scale_of(self.time_unit, self.train_times, self.test_times)

    def like(self, other: Scores) -> bool:
        """True if both are of the same bins and of the same score, so that one can be subtracted."""
        if self.values.shape != other.values.shape or self.label != other.label:
            return False
        times = [(self.train_times, other.train_times), (self.test_times, other.test_times)]
        return all(np.allclose(one, two) for one, two in times if one is not None and two is not None)


def compare_scores(first: Result, second: Result) -> Comparison | None:
    one, other = scores_in(first), scores_in(second)
    if not (pairs := {shape: (one[shape], other[shape]) for shape in one if shape in other}):
        return None
    who = sorted({result.partition for result in (first, second) if result.partition is not None})
    title = ", ".join(filter(None, [str(first.facts.get("kind", "")).capitalize(), first.stage, *who]))
    draw = partial(comparison_figure, title, (first.job, second.job), pairs)
    numbers = [
        Compared(what, one[shape].label, summary, *(float(of(each.values)) for each in pairs[shape]))
        for shape, what in (("curve", "over time"), ("plane", "generalization"))
        for summary, of in (("mean", np.nanmean), ("peak", np.nanmax))
        if shape in pairs
    ]
    return Comparison("scores", tuple(numbers), draw)


def scores_in(result: Result) -> dict[str, Scores]:
    """Return the scores of a job as ``"curve"`` and ``"plane"``."""
    arrays, facts = result.arrays, result.facts
    unit = str(facts.get("time_unit", "s"))
    found: dict[str, Scores] = {}

    def add(values: FloatArray, label: str, chance: float | None) -> None:
        plane = values.ndim == 2
        times = np.asarray(arrays["train_times" if "train_times" in arrays else "times"])
        test = np.asarray(arrays["test_times"]) if plane else None
        found["plane" if plane else "curve"] = Scores(values, times, test, unit, label, chance)

    for shape in ("curve", "plane") if "score" in facts else ():
        if names := [name for name in (f"{shape}_mean", f"{shape}_scores") if name in arrays]:
            known = facts["statistics"][shape] if "statistics" in facts else facts
            chance = known["chance"][shape] if isinstance(known["chance"], dict) else known["chance"]
            add(np.asarray(arrays[names[0]]), SCORES.get(facts["score"], PERCENT), chance)
    if "confusions" in arrays:
        counts = np.asarray(arrays["confusions"])
        diagonal = np.diagonal(counts, axis1=-2, axis2=-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            add(100 * np.mean(diagonal / counts.sum(axis=-1), axis=-1), PERCENT, 100 / counts.shape[-1])
    elif not found and "scores" in arrays and "times" in arrays and arrays["scores"].ndim == 1:
        described = result.record["arrays"]["scores"]
        unit = result.record["arrays"]["times"]["unit"] or unit
        label = f"Score ({described['unit']})" if described["unit"] else "Score"
        add(np.asarray(arrays["scores"]), label, None)
    return found


def comparison_figure(title: str, names: tuple[str, str], pairs: dict[str, tuple[Scores, Scores]]) -> Figure:
    heights = [{"curve": 2.6, "plane": 2.8}[shape] for shape in pairs]
    with styled():
        figure = new_figure(0.3 + sum(heights), title)
        parts = figure.subfigures(len(pairs), 1, height_ratios=heights, squeeze=False)
        for part, (shape, pair) in zip(parts.flat, pairs.items()):
            (_draw_curves if shape == "curve" else _draw_planes)(part, names, pair)
    return figure


def _draw_curves(part: SubFigure, names: tuple[str, str], pair: tuple[Scores, Scores]) -> None:
    first, second = pair
    alike = first.like(second)
    panels: list[Axes] = list(part.subplots(1, 2 if alike else 1, squeeze=False).flat)
    styles: list[dict[str, Any]] = [{"color": BLUE}, {"color": VERMILION, "linestyle": "--"}]
    for name, scores, style in zip(names, pair, styles):
        panels[0].plot(scores.train_times * scores.scale.factor, scores.values, label=name, **style)
    if first.chance is not None:
        panels[0].axhline(first.chance, color=GREY, linestyle=":", label="chance")
    panels[0].set(ylabel=first.label, title="Over time")
    panels[0].legend()
    if alike:
        difference = second.values - first.values
        panels[1].axhline(0, color=GREY, linestyle=":")
        panels[1].plot(first.train_times * first.scale.factor, difference, color=BLACK)
        panels[1].set(title=f"{names[1]} − {names[0]}", ylabel="Difference")
    for axes in panels:
        axes.set_xlabel(first.scale.label())


def _draw_planes(part: SubFigure, names: tuple[str, str], pair: tuple[Scores, Scores]) -> None:
    first, second = pair
    maps = [(name, scores.values, scores) for name, scores in zip(names, pair)]
    centre = float(np.nanmean(first.values)) if first.chance is None else first.chance
    both = colour_limits(np.concatenate([scores.values.ravel() for scores in pair]), centre)
    limits = [both, both]
    if first.like(second):
        difference = second.values - first.values
        maps.append((f"{names[1]} − {names[0]}", difference, first))
        limits.append(colour_limits(difference, 0.0))
    panels: list[Axes] = list(part.subplots(1, len(maps), squeeze=False).flat)
    for axes, (name, values, scores), limit in zip(panels, maps, limits):
        assert scores.test_times is not None  # planes have both
        scale = scores.scale
        times = scores.train_times, scores.test_times
        x_edges, y_edges = (bin_edges(each * scale.factor) for each in times)
        image = draw_map(axes, values, x_edges, y_edges, limit, scale)
        axes.set(title=name, xlabel=scale.label("Training"))
        axes.locator_params(nbins=5)
        label = "Difference" if values is not scores.values else scores.label
        bar = part.colorbar(image, ax=axes, location="bottom", label=label)
        bar.outline.set_visible(False)
        bar.ax.locator_params(nbins=4)
    panels[0].set_ylabel(first.scale.label("Testing"))
