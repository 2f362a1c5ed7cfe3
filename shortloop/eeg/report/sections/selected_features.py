"""Selected features: the share of them that folds kept, by time and channel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.eeg.report.content import KindResult, Patterns
from shortloop.eeg.report.panels import colour_bar_below
from shortloop.eeg.report.sections.section import TIMES, Section, SectionFigure, fields_of, title_of
from shortloop.eeg.report.times import edges_of, time_scale
from shortloop.report.layout import arrange, short
from shortloop.report.page import csv_text
from shortloop.report.style import BLUE, GREY, SEQUENTIAL, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


READS = (*TIMES, "curve.level", *fields_of("patterns", "channels features kept kept_channels"))
RIGHT = 0.15  # inches, for half of the last number of the colour bar
NAMES = 26  # channels that have a name at an axis


def selected_features(result: KindResult) -> Figure:
    """Draw the share of the features that folds kept, over time, and that of each channel."""
    known, scale = _known(result), time_scale(result)
    edges = edges_of(result.train_times, scale)
    channels = known.kept_channels
    with styled():
        figure = new_figure()
        panels = list(figure.subplots(1, 1 if channels is None else 2, squeeze=False).flat)
        _curve(panels[0], known, result.train_times * scale.factor)
        for axes in panels:
            axes.set_xlabel(scale.label())
            axes.set_xlim(edges[0], edges[-1])
            scale.ticks(axes.xaxis, result.train_times, 6)
        if scale.has_event(edges):
            panels[0].axvline(0, color=GREY, linestyle=":", linewidth=1.0)
        title = title_of(result, "selected features")
        if channels is None:
            arrange(figure, panels, 1, title, height=2.4, below=0.3)
        else:
            share = 100 * channels.T
            limits = 0.0, float(share.max()) or 1.0, False
            colours: dict[str, Any] = {"cmap": SEQUENTIAL, "vmin": 0.0, "vmax": limits[1]}
            rows = np.arange(len(share) + 1)
            image = panels[1].pcolormesh(edges, rows, share, rasterized=True, **colours)
            panels[1].set_title("Of each channel")
            name_channels(panels[1], known.channels)
            area = arrange(figure, panels, 2, title, height=3.4, right=RIGHT, below=0.62)
            colour_bar_below(image, panels[1], area, limits, "Features kept (%)")
        handles, labels = panels[0].get_legend_handles_labels()
        frame = panels[0].get_position()
        anchor = frame.x0 + frame.width / 2, 0.01
        figure.legend(handles, labels, loc="lower center", ncols=3, borderaxespad=0.2, bbox_to_anchor=anchor)
    return figure


def name_channels(axes: Axes, channels: tuple[str, ...]) -> None:
    """Write names of channels at the y axis of a map, the first on top; every other one of many."""
    step = -(-len(channels) // NAMES)
    axes.set_yticks(np.arange(0, len(channels), step) + 0.5, [short(name, 10) for name in channels[::step]])
    axes.set_ylim(len(channels), 0)
    axes.tick_params(axis="y", length=0)


def _known(result: KindResult) -> Patterns:
    assert result.patterns is not None  # the section applies
    return result.patterns


def _curve(axes: Axes, known: Patterns, times: FloatArray) -> None:
    marker = "o" if len(times) == 1 else None
    share = 100 * known.kept
    if len(share) > 1:
        for index, each in enumerate(share):
            label = "participants" if index == 0 else None
            axes.plot(times, each, color=GREY, linewidth=0.7, alpha=0.7, marker=marker, label=label)
    label = "mean" if len(share) > 1 else "mean over folds"
    axes.plot(times, share.mean(axis=0), color=BLUE, linewidth=2.0, marker=marker, label=label)
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("Features kept (%)")
    axes.set_title(f"Of all {known.features:,}")


def _caption(result: KindResult, settings: dict[str, Any]) -> str:
    alpha = settings.get("decoding", {}).get("select_alpha")
    expected = "" if alpha is None else f" Where classes do not differ, about {100 * alpha:g} % are kept."
    alone = len(result.participants) == 1
    shown = " Left: all features." if alone else " Left: each participant (grey) and their mean (blue)."
    if _known(result).channels:
        shown += f" Right: the features of each channel{'' if alone else ', mean over participants'}."
    return (
        f"Share of the {result.kind} features of each bin that the analysis of variance kept in the training "
        f"trials of a fold, mean over folds.{expected}{shown}"
    )


def _alt(result: KindResult) -> str:
    share, scale = 100 * _known(result).kept.mean(axis=0), time_scale(result)
    most = int(np.argmax(share))
    return f"From {share.min():.0f} to {share.max():.0f} %, most at {scale.point(result.train_times[most])}."


def _csv(result: KindResult) -> str:
    known, rows = _known(result), []
    for name, share in zip(result.participants, 100 * known.kept, strict=True):
        rows += [[float(time), name, "all", value] for time, value in zip(result.train_times, share.tolist())]
    if known.kept_channels is not None:
        for time, share in zip(result.train_times, 100 * known.kept_channels):
            named = zip(known.channels, share.tolist(), strict=True)
            rows += [[float(time), "mean", *each] for each in named]
    columns = [f"train time ({result.time_unit})", "participant", "channel", "features kept (%)"]
    return csv_text(columns, rows)


SECTION = Section(
    "selected_features",
    "Selected features",
    lambda result: result.patterns is not None and bool((result.patterns.kept < 1).any()),
    figure=SectionFigure(selected_features, READS, _caption, _alt, numbers=_csv),
    stages=("patterns",),
)
