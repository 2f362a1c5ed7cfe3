"""Decoding over time, temporal generalization, and confusions at the peaks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.base.text import listed
from shortloop.base.types import FloatArray
from shortloop.eeg.group.maps import MapStatistics
from shortloop.eeg.group.settings import NULLS, TOO_SMALL
from shortloop.eeg.report import summary
from shortloop.eeg.report.content import Confusion, KindResult
from shortloop.eeg.report.figure_parts import colour_bar_below, colour_limits, draw_map, map_shape
from shortloop.eeg.report.labels import SCORES, chance_text, letter_of, p_text, score_label, score_text
from shortloop.eeg.report.sections.section import TIMES, Section, fields_of, title_of, transfer
from shortloop.eeg.report.times import edges_of, plane_of, time_scale
from shortloop.report.layout import PAD, arrange, short
from shortloop.report.page import csv_text
from shortloop.report.style import BLACK, BLUE, GREY, SEQUENTIAL, VERMILION, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CURVE = "alpha chance expected level level_of_chance mean note p_max score scores significant t"
MAP = "alpha chance expected level mean note score significant t"
NUMBERED = 8  # classes at most, for cells to have room for numbers
NAMED = 16  # classes at most, for all to have their names at the axis
LARGEST = 50.0  # t or z at the ends of a scale of colours: all larger ones say the same


def finding(shape: str, result: KindResult) -> str:
    """Say where the ``"curve"`` or the ``"generalization"`` map differs from chance, and where it is best."""
    found, scale = summary.group_findings(result)[shape], time_scale(result)
    what, clusters = f"cross-validated within {result.train_phase}", found.get("clusters")
    if shape == "generalization":
        what, clusters = f"generalization {transfer(result)}", found["regions"]

    def where(spans: list[list[float]]) -> str:
        said = [scale.during(*span) for span in spans]
        return f"for training {said[0]} and testing {said[1]}" if len(said) > 1 else said[0]

    start = f"{result.kind.capitalize()}, {what}: decoding"
    caution = f" But {TOO_SMALL}." if found["too_small"] else ""
    p, p_max = p_text(found["p"]), p_text(found["p_max"])
    if clusters:
        places = [
            f"{each['direction']} chance {where(summary.spans_of(each))} ({p_text(each['p'])})"
            for each in clusters
        ]
        said = f"{start} was significantly {listed(places)}.{caution}"
    elif found["p_max"] <= result.curve.alpha:
        said = (
            f"{start} differed from chance in no cluster (smallest corrected {p}), but in single "
            f"bins by the maximum statistic ({p_max}).{caution}"
        )
    else:
        said = (
            f"{start} did not differ significantly from chance anywhere (smallest corrected {p} by clusters, "
            f"{p_max} by the maximum statistic)."
        )
    peaks = [("Below chance it was lowest", each) for each in clusters if each["direction"] == "below"]
    for words, each in [(f"The {_mean_score(result)} was highest", found), *peaks]:
        score = score_text(result.curve.score, each["peak"])
        at = where([[time, time] for time in summary.peaks_of(each)])
        said += f" {words} {at}, {score}{summary.effect_text(each['effect'])}."
    return said


def decoding_over_time(result: KindResult) -> Figure:
    stats, scale = result.curve, time_scale(result)
    thin, thick = "participants", f"mean of {len(stats.scores)}"
    if stats.level == "participant":
        name = short(result.participants[0], 14)
        thin, thick = ("not smoothed", f"{name}, smoothed") if result.smoothed else ("", name)
    edges = edges_of(result.train_times, scale)
    with styled():
        figure = new_figure()
        axes = figure.subplots()
        times = result.train_times * scale.factor
        _draw_scores(axes, stats, times, thin, thick)
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
        _draw_bar(axes, edges, stats.significant, 0.075, BLACK, f"{alpha}, clusters")
        _draw_bar(axes, edges, stats.p_max <= stats.alpha, 0.02, VERMILION, f"{alpha}, max. statistic")
        axes.set_xlim(edges[0], edges[-1])
        axes.set(xlabel=scale.label(), ylabel=SCORES[stats.score])
        scale.ticks(axes.xaxis, result.train_times, 9)
        axes.set_title(f"Trained and tested in {short(result.train_phase, 18)}, cross-validated")
        legend = figure.legend(loc="center right", borderaxespad=0.3)
        right = legend.get_window_extent().width / figure.dpi + 2 * PAD
        title = title_of(result, "decoding over time")
        arrange(figure, [axes], 1, title, stats.note, height=2.55, right=right)
    return figure


def _draw_scores(axes: Axes, stats: MapStatistics, times: FloatArray, thin: str, thick: str) -> None:
    marker = "o" if len(times) == 1 else None  # one point makes no line
    for index, scores in enumerate(stats.scores):
        label = (thin or None) if index == 0 else None
        axes.plot(times, scores, color=GREY, linewidth=0.7, alpha=0.7, marker=marker, label=label)
    half, name = summary.confidence_half_width(stats), "95 % CI of the mean"
    if np.isfinite(half).any() and marker:
        axes.errorbar(times, stats.mean, half, color=BLUE, capsize=4, label=name)
    elif np.isfinite(half).any():
        low, high = stats.mean - half, stats.mean + half
        axes.fill_between(times, low, high, color=BLUE, alpha=0.25, linewidth=0, label=name)
    axes.plot(times, stats.mean, color=BLUE, linewidth=2.0, marker=marker, label=thick)


def _draw_bar(axes: Axes, edges: FloatArray, mask: Any, height: float, color: str, label: str) -> None:
    # The height is a fraction of the axes, so that the bar never covers the data.
    if spans := [(edges[index], edges[index + 1] - edges[index]) for index in np.flatnonzero(mask)]:
        style: dict[str, Any] = {"color": color, "linewidth": 0, "label": label}
        axes.broken_barh(spans, (height, 0.03), transform=axes.get_xaxis_transform(), **style)


def generalization_map(result: KindResult) -> Figure:
    """Draw mean scores and their statistic, with the significant region outlined."""
    # King & Dehaene (2014), Trends Cogn. Sci. 18:203-210.
    stats, scale = _plane(result), time_scale(result)
    assert result.test_times is not None  # every result with a map has them
    x_edges, y_edges = plane_of(result)
    letter, key = letter_of(stats), "Dashed: same time in training and testing."
    if stats.significant.any():
        key = f"Outlined: p ≤ {stats.alpha:g}, cluster-corrected. {key}"
    # At the ceiling of a score, where participants hardly differ, t can be in the thousands.
    low, high, outside = colour_limits(stats.t, 0.0, 99.0)
    t_limits = max(low, -LARGEST), min(high, LARGEST), outside or high > LARGEST
    with styled():
        figure = new_figure()
        left, right = panels = list(figure.subplots(1, 2))
        maps = [
            (stats.mean, colour_limits(stats.mean, stats.chance), score_label(stats)),
            (stats.t, t_limits, f"{letter} value"),
        ]
        images = []
        for axes, (values, limits, _) in zip(panels, maps):
            images.append(draw_map(axes, values, x_edges, y_edges, limits, scale, stats.significant))
            axes.set_xlabel(scale.label("Training", short(result.train_phase, 16)))
            scale.ticks(axes.xaxis, result.train_times, 6)
            scale.ticks(axes.yaxis, result.test_times, 6)
        left.set_title(_mean_score(result).capitalize())
        right.set_title(f"{letter} against chance")
        left.set_ylabel(scale.label("Testing", short(result.test_phase, 16)))
        right.tick_params(labelleft=False)
        title, note = title_of(result, "temporal generalization"), f"{key} {stats.note}"
        shape = map_shape(x_edges, y_edges)
        area = arrange(figure, panels, 2, title, note, height=2.6, shape=shape, below=0.62)
        for axes, image, (_, limits, label) in zip(panels, images, maps):
            colour_bar_below(image, axes, area, limits, label)
    return figure


def _plane(result: KindResult) -> MapStatistics:
    assert result.generalization is not None  # the section applies
    return result.generalization


def _mean_score(result: KindResult) -> str:
    if result.curve.level == "group":
        return "mean score"
    return "smoothed score" if result.smoothed else "score"


def _over_time_caption(result: KindResult, settings: dict[str, Any]) -> str:
    decoding, stats = settings.get("decoding", {}), result.curve
    by_run = decoding.get("fold_by") == "run"
    folded = "cross-validation" if by_run or not decoding else f"{decoding['folds']}-fold cross-validation"
    folded += " that holds out whole runs" if by_run else ""
    smoothed = ", smoothed as for the statistics" if result.smoothed else ""
    rough = ", not smoothed" if result.smoothed else ""
    band = f"Blue: mean over participants{smoothed}, with its 95 % confidence interval (Student's t); "
    band += f"grey: each participant{rough}."
    if stats.level == "participant":
        band = f"Blue: the participant's score{smoothed}{'; grey: not smoothed' if result.smoothed else ''}."
    return (
        f"Decoding of {result.train_phase} trials from {result.kind} features of the same time bin, by "
        f"{folded}. {band} Dashed: chance; bars below: bins that differ from it, by cluster mass (black) and "
        f"by the maximum statistic (orange). The statistic is {_corrected(stats)}"
    )


def _generalization_caption(result: KindResult, settings: dict[str, Any]) -> str:
    stats = _plane(result)
    left = "score" if result.curve.level == "participant" else "mean over participants"
    smoothed = ", smoothed" if result.smoothed else ""
    return (
        f"Classifiers trained on each time bin of {result.train_phase} (x) decode each time bin of "
        f"{result.test_phase} (y) from {result.kind} features. Left: {left}{smoothed}; outlined: significant "
        f"clusters; right: {_corrected(stats)}"
    )


def _corrected(stats: MapStatistics) -> str:
    alone = stats.level == "participant"
    statistic = "z in the participant's own permutations" if alone else "one-sample t against chance"
    return (
        f"{statistic}. Corrected for all cells with {len(stats.null_max):,} {NULLS[stats.null]} "
        f"(two-sided, family-wise α = {stats.alpha:g})."
    )


def confusion_matrices(result: KindResult) -> Figure:
    shares = [_shares(each.counts) for each in result.confusions]
    top = max(float(np.nanmax(each, initial=0.0)) for each in shares)
    with styled():
        figure = new_figure()
        panels = list(figure.subplots(1, len(shares), squeeze=False).flat)
        for axes, each, share in zip(panels, result.confusions, shares, strict=True):
            image = axes.imshow(share, cmap=SEQUENTIAL, vmin=0.0, vmax=top, aspect="auto")
            axes.set_title(_at_peak(result, each))
            axes.set_xlabel("Predicted class")
            _ticks(axes, result.classes)
            for row, column in np.ndindex(share.shape) if len(share) <= NUMBERED else ():
                if np.isfinite(share[row, column]):
                    colour = "white" if share[row, column] > 0.6 * top else "black"
                    style: dict[str, Any] = {"ha": "center", "va": "center_baseline", "color": colour}
                    axes.text(column, row, f"{share[row, column]:.0f}", **style)
        panels[0].set_ylabel("True class")
        for axes in panels[1:]:
            axes.tick_params(labelleft=False)
        title = title_of(result, "confusions at the peaks")
        area = arrange(figure, panels, max(2, len(panels)), title, height=2.6, shape=1.0, below=0.62)
        colour_bar_below(image, panels[0], area, (0.0, top, False), "Trials of the class (%)")
    return figure


def _shares(counts: FloatArray) -> FloatArray:
    total = counts.sum(axis=1, keepdims=True)
    return np.asarray(100 * np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0))


def _at_peak(result: KindResult, confusion: Confusion) -> str:
    scale = time_scale(result)
    at = scale.point(confusion.train_time)
    if confusion.test_time is None:
        return f"{short(result.train_phase, 18)}, {at}"
    tested = scale.point(confusion.test_time)
    return f"{short(result.train_phase, 9)}, {at} → {short(result.test_phase, 9)}, {tested}"


def _ticks(axes: Axes, classes: tuple[str, ...]) -> None:
    at = range(0, len(classes), -(-len(classes) // NAMED))
    names = [short(classes[index], 10) for index in at]
    axes.set_xticks(list(at), names, rotation=90 if max(map(len, names)) * len(names) > 24 else 0)
    axes.set_yticks(list(at), names)
    axes.tick_params(length=0)


def _confusion_caption(result: KindResult, settings: dict[str, Any]) -> str:
    whose = "" if len(result.participants) == 1 else ", of all participants together"
    said = f"Left: held-out trials of {result.train_phase} at the bin with the highest score{whose}."
    if len(result.confusions) > 1:
        trials, mean = "held-out trials", ""
        if result.train_phase != result.test_phase:
            trials, mean = "trials", ", mean over the classifiers of the folds"
        said += (
            f" Right: {trials} of {result.test_phase} at the best pair of training and testing time{mean}."
        )
    return (
        f"{said} Rows are the true class, columns what trials are called; rows add up to 100 % unless folds "
        "gave no model. The peaks are chosen by the score, so the diagonals tend to be too high."
    )


def _confusion_alt(result: KindResult) -> str:
    said = []
    for each in result.confusions:
        right = zip(result.classes, np.diagonal(_shares(each.counts)), strict=True)
        parts = [f"{short(name, 20)} {share:.0f} %" for name, share in right]
        said.append(f"{_at_peak(result, each)}: called right: {', '.join(parts[:12])}.")
    return " ".join(said)


def _confusion_csv(result: KindResult) -> str:
    unit, rows = result.time_unit, []
    for each in result.confusions:
        shares = _shares(each.counts)
        for (row, column), count in np.ndenumerate(each.counts):
            named = result.classes[row], result.classes[column]
            rows.append([each.train_time, each.test_time, *named, float(count), float(shares[row, column])])
    columns = [f"train time ({unit})", f"test time ({unit})", "true class", "predicted class", "trials"]
    return csv_text([*columns, "trials of the class (%)"], rows)


OVER_TIME = Section(
    "decoding_over_time",
    "Decoding over time",
    decoding_over_time,
    f"{TIMES} smoothed train_phase {fields_of('curve', CURVE)}",
    _over_time_caption,
    lambda result: summary.statistics_csv(result, result.curve),
    alt=partial(finding, "curve"),
    finding=partial(finding, "curve"),
)
GENERALIZATION = Section(
    "generalization",
    "Temporal generalization",
    generalization_map,
    f"{TIMES} curve.level smoothed test_phase train_phase {fields_of('generalization', MAP)}",
    _generalization_caption,
    lambda result: summary.statistics_csv(result, _plane(result)),
    alt=partial(finding, "generalization"),
    applies=lambda result: result.generalization is not None,
    finding=partial(finding, "generalization"),
)
CONFUSIONS = Section(
    "confusion",
    "Confusions at the peaks",
    confusion_matrices,
    f"{TIMES} classes confusions test_phase train_phase",
    _confusion_caption,
    _confusion_csv,
    _confusion_alt,
    applies=lambda result: bool(result.confusions),
)
