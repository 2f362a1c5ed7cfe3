"""Decoding over time: the curve of cross-validated scores, and the bins that differ from chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.labels import SCORES, chance_text, p_text, score_text
from shortloop.eeg.report.sections.section import TIMES, Section, SectionFigure, fields_of, title_of
from shortloop.eeg.report.sentences import corrected, during, mean_score, significance, statistic
from shortloop.eeg.report.summary import confidence_half_width, effect_text, group_findings, statistics_csv
from shortloop.eeg.report.times import edges_of, time_scale
from shortloop.report.layout import PAD, arrange, short
from shortloop.report.style import BLACK, BLUE, GREY, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


CURVE = "alpha chance expected level level_of_chance mean note p_max score scores significant t"
READS = (*TIMES, "smoothed", "train_phase", *fields_of("curve", CURVE))


def finding(result: KindResult) -> str:
    """Say when decoding differs from chance, and when it is best."""
    found, scale = group_findings(result), time_scale(result)
    curve = found["curve"]
    windows = [
        f"{cluster['direction']} chance {during(scale, cluster['start'], cluster['end'])} "
        f"({p_text(cluster['p'])})"
        for cluster in curve["clusters"]
    ]
    start = f"{result.kind.capitalize()}, cross-validated within {result.train_phase}: decoding"
    sentence = significance(start, windows, curve, found["alpha"])
    if curve["peak"] is None:
        return sentence
    at, peak = scale.point(curve["peak_time"]), score_text(result.curve.score, curve["peak"])
    sentence += f" The {mean_score(result)} was highest at {at}, {peak}{effect_text(curve['effect'])}."
    for cluster in curve["clusters"]:
        if cluster["direction"] == "below":
            at, low = scale.point(cluster["peak_time"]), score_text(result.curve.score, cluster["peak"])
            sentence += f" Below chance it was lowest at {at}, {low}{effect_text(cluster['effect'])}."
    return sentence


def decoding_over_time(result: KindResult) -> Figure:
    """Draw cross-validated decoding of the training phase over time."""
    stats, scale = result.curve, time_scale(result)
    alone = stats.level == "participant"
    thin = ("not smoothed" if result.smoothed else None) if alone else "participants"
    edges = edges_of(result.train_times, scale)
    name = short(result.participants[0], 14)
    who = f"mean of {len(stats.scores)}" if not alone else f"{name}, smoothed" if result.smoothed else name
    with styled():
        figure = new_figure()
        axes = figure.subplots()
        times = result.train_times * scale.factor
        _lines(axes, result, times, thin, who)
        dashed: dict[str, Any] = {"color": BLACK, "linestyle": "--", "linewidth": 1.0}
        chance = f"chance, {chance_text(stats)}"
        if stats.expected is None:
            axes.axhline(stats.chance, label=chance, **dashed)
        else:
            axes.plot(times, stats.expected, label=chance, **dashed)
        if scale.has_event(edges):
            axes.axvline(0, color=GREY, linestyle=":", linewidth=1.0)
        bottom, top = axes.get_ylim()
        axes.set_ylim(bottom - 0.16 * (top - bottom), top)
        alpha = f"p ≤ {stats.alpha:g}"
        _bar(axes, edges, stats.significant, 0.075, BLACK, f"{alpha}, clusters")
        _bar(axes, edges, stats.p_max <= stats.alpha, 0.02, VERMILION, f"{alpha}, max. statistic")
        axes.set_xlim(edges[0], edges[-1])
        axes.set(xlabel=scale.label(), ylabel=SCORES[stats.score])
        scale.ticks(axes.xaxis, result.train_times, 9)
        axes.set_title(f"Trained and tested in {short(result.train_phase, 18)}, cross-validated")
        legend = figure.legend(loc="center right", borderaxespad=0.3)
        right = legend.get_window_extent().width / figure.dpi + 2 * PAD
        title = title_of(result, "decoding over time")
        arrange(figure, [axes], 1, title, stats.note, height=2.55, right=right)
    return figure


def _caption(result: KindResult, settings: dict[str, Any]) -> str:
    decoding = settings.get("decoding", {})
    by_run = decoding.get("fold_by") == "run"
    folded = "cross-validation" if by_run or not decoding else f"{decoding['folds']}-fold cross-validation"
    folded += " that holds out whole runs" if by_run else ""
    smoothed = ", smoothed as for the statistics" if result.smoothed else ""
    rough = ", not smoothed" if result.smoothed else ""
    band = f"Blue: mean over participants{smoothed}, with its 95 % confidence interval (Student's t); "
    band += f"grey: each participant{rough}."
    if result.curve.level == "participant":
        band = f"Blue: the participant's score{smoothed}{'; grey: not smoothed' if result.smoothed else ''}."
    stats = result.curve
    bars = "Dashed: chance; no bin differs significantly from it"
    if stats.significant.any() or (stats.p_max <= stats.alpha).any():
        bars = (
            "Bars below: bins that differ from chance (dashed), by cluster mass (black) and by the maximum "
            "statistic (orange)"
        )
    return (
        f"Decoding of {result.train_phase} trials from {result.kind} features of the same time bin, by "
        f"{folded}. {band} {bars}; the statistic is {statistic(result)}. {corrected(stats, settings)}"
    )


def _lines(axes: Axes, result: KindResult, times: FloatArray, thin: str | None, thick: str) -> None:
    stats = result.curve
    marker = "o" if len(times) == 1 else None  # one point makes no line
    for index, scores in enumerate(stats.scores):
        label = thin if index == 0 else None
        axes.plot(times, scores, color=GREY, linewidth=0.7, alpha=0.7, marker=marker, label=label)
    half, name = confidence_half_width(stats), "95 % CI of the mean"
    if np.isfinite(half).any():
        low, high = stats.mean - half, stats.mean + half
        if marker:
            axes.errorbar(times, stats.mean, half, color=BLUE, capsize=4, label=name)
        else:
            axes.fill_between(times, low, high, color=BLUE, alpha=0.25, linewidth=0, label=name)
    axes.plot(times, stats.mean, color=BLUE, linewidth=2.0, marker=marker, label=thick)


def _bar(axes: Axes, edges: FloatArray, mask: Any, height: float, color: str, label: str) -> None:
    # A strip of bins, at a height given as a fraction of the axes, so that it never covers the data.
    spans = [(edges[index], edges[index + 1] - edges[index]) for index in np.flatnonzero(mask)]
    if spans:
        axes.broken_barh(
            spans, (height, 0.03), transform=axes.get_xaxis_transform(), color=color, linewidth=0, label=label
        )


def _csv(result: KindResult) -> str:
    return statistics_csv(result, result.curve)


SECTION = Section(
    "decoding_over_time",
    "Decoding over time",
    finding=finding,
    figure=SectionFigure(decoding_over_time, READS, _caption, alt=finding, numbers=_csv),
)
