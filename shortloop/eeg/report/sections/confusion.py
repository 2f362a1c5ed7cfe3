"""Confusion matrices at the peaks: the classes that trials of each class are taken for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.eeg.report.content import Confusion, KindResult
from shortloop.eeg.report.panels import colour_bar_below
from shortloop.eeg.report.sections.section import TIMES, Section, SectionFigure, title_of
from shortloop.eeg.report.times import time_scale
from shortloop.report.layout import arrange, short
from shortloop.report.page import csv_text
from shortloop.report.style import SEQUENTIAL, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


READS = (*TIMES, "classes", "confusions", "curve.level", "test_phase", "train_phase")
NUMBERED = 8  # classes at most, for cells to have room for numbers
NAMED = 16  # classes at most, for all to have their names at the axis


def confusion_matrices(result: KindResult) -> Figure:
    """Draw the confusions at the best bin, and at the best cell of the map."""
    shares = [_shares(each.counts) for each in result.confusions]
    top = max(float(np.nanmax(each, initial=0.0)) for each in shares)
    with styled():
        figure = new_figure()
        panels = list(figure.subplots(1, len(shares), squeeze=False).flat)
        for axes, each, share in zip(panels, result.confusions, shares, strict=True):
            image = axes.imshow(share, cmap=SEQUENTIAL, vmin=0.0, vmax=top, aspect="auto")
            axes.set_title(_title(result, each))
            axes.set_xlabel("Predicted class")
            _ticks(axes, result.classes)
            _numbers(axes, share, top)
        panels[0].set_ylabel("True class")
        for axes in panels[1:]:
            axes.tick_params(labelleft=False)
        title = title_of(result, "confusions at the peaks")
        area = arrange(figure, panels, max(2, len(panels)), title, height=2.6, shape=1.0, below=0.62)
        colour_bar_below(image, panels[0], area, (0.0, top, False), "Trials of the class (%)")
    return figure


def _shares(counts: FloatArray) -> FloatArray:
    total = counts.sum(axis=1, keepdims=True)
    percent: FloatArray = 100 * np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0)
    return percent


def _title(result: KindResult, confusion: Confusion) -> str:
    scale = time_scale(result)
    at = scale.point(float(result.train_times[confusion.train_bin]))
    if confusion.test_bin is None or result.test_times is None:
        return f"{short(result.train_phase, 18)}, {at}"
    tested = scale.point(float(result.test_times[confusion.test_bin]))
    return f"{short(result.train_phase, 9)}, {at} → {short(result.test_phase, 9)}, {tested}"


def _ticks(axes: Axes, classes: tuple[str, ...]) -> None:
    step = -(-len(classes) // NAMED)
    at = range(0, len(classes), step)
    names = [short(classes[index], 10) for index in at]
    long = max(map(len, names)) * len(names) > 24
    axes.set_xticks(list(at), names, rotation=90 if long else 0)
    axes.set_yticks(list(at), names)
    axes.tick_params(length=0)


def _numbers(axes: Axes, shares: FloatArray, top: float) -> None:
    if len(shares) > NUMBERED:
        return
    for row, column in np.ndindex(shares.shape):
        if np.isfinite(shares[row, column]):
            colour = "white" if shares[row, column] > 0.6 * top else "black"
            text = f"{shares[row, column]:.0f}"
            axes.text(column, row, text, ha="center", va="center_baseline", color=colour)


def _caption(result: KindResult, settings: dict[str, Any]) -> str:
    whose = "" if len(result.participants) == 1 else ", of all participants together"
    said = f"Left: held-out trials of {result.train_phase} at the bin with the highest score{whose}."
    if len(result.confusions) > 1:
        whose_trials = "held-out trials" if result.train_phase == result.test_phase else "trials"
        each = "" if result.train_phase == result.test_phase else ", mean over the classifiers of the folds"
        said += (
            f" Right: {whose_trials} of {result.test_phase} at the best pair of training and testing "
            f"time{each}."
        )
    return (
        f"{said} Rows are the true class, columns what trials are called; rows add up to 100 % unless folds "
        "gave no model. The peaks are chosen by the score, so the diagonals tend to be too high."
    )


def _alt(result: KindResult) -> str:
    said = []
    for each in result.confusions:
        right = np.diagonal(_shares(each.counts))
        parts = [
            f"{short(name, 20)} {share:.0f} %" for name, share in zip(result.classes, right, strict=True)
        ]
        said.append(f"{_title(result, each)}: called right: {', '.join(parts[:12])}.")
    return " ".join(said)


def _csv(result: KindResult) -> str:
    unit, rows = result.time_unit, []
    for each in result.confusions:
        tested = None
        if each.test_bin is not None and result.test_times is not None:
            tested = result.test_times[each.test_bin]
        trained, shares = result.train_times[each.train_bin], _shares(each.counts)
        for (row, column), count in np.ndenumerate(each.counts):
            named = result.classes[row], result.classes[column]
            rows.append([trained, tested, *named, float(count), float(shares[row, column])])
    columns = [f"train time ({unit})", f"test time ({unit})", "true class", "predicted class", "trials"]
    return csv_text([*columns, "trials of the class (%)"], rows)


SECTION = Section(
    "confusion",
    "Confusions at the peaks",
    lambda result: bool(result.confusions),
    figure=SectionFigure(confusion_matrices, READS, _caption, _alt, numbers=_csv),
)
