"""Activation patterns: the signal that covaries with the decision of classifiers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortloop.base.text import listed
from shortloop.base.types import FloatArray
from shortloop.eeg.report.content import KindResult, Patterns
from shortloop.eeg.report.labels import readable, scaled
from shortloop.eeg.report.panels import Limits, colour_bar, colour_limits
from shortloop.eeg.report.sections.section import TIMES, Section, SectionFigure, fields_of, title_of
from shortloop.eeg.report.sections.selected_features import name_channels
from shortloop.eeg.report.sensors import Topography, topography_of
from shortloop.eeg.report.times import bin_edges, edges_of, time_scale
from shortloop.report.layout import arrange, short, subplots
from shortloop.report.page import csv_text
from shortloop.report.style import DIVERGING, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


PATTERNS = "channels frequencies of_frequencies patterns positions sensors shown unit"
READS = (*TIMES, "curve.level", "effect", "peak", *fields_of("patterns", PATTERNS))
CLASSES = 6  # at most, of which patterns are drawn
BINS = 5
BANDS = (("delta", 4.0), ("theta", 8.0), ("alpha", 13.0), ("beta", 30.0), ("gamma", np.inf))
"""Names of frequency bands, and the frequency (Hz) at which the next one begins."""


class Column(NamedTuple):
    """Topographies of one time or frequency band below each other, one for each class."""

    title: str
    values: FloatArray  # (shown classes, channels), in a readable unit
    limits: Limits


def activation_patterns(result: KindResult) -> Figure:
    """Draw patterns as topographies; as a map of all channels if their positions are unknown.

    Haufe et al. 2014, On the interpretation of weight vectors of linear models in multivariate neuroimaging.
    """
    known = _known(result)
    place = topography_of(known.channels, known.positions)
    return _images(result) if place is None else _topographies(result, place)


def shown_bins(result: KindResult) -> list[int]:
    """Choose bins, increasing: the peak, and others spread over its effect, or over all if it has none."""
    first, last = result.effect or (0, len(result.train_times) - 1)
    spread = np.unique(np.linspace(first, last, BINS).round().astype(int))
    spread[np.argmin(np.abs(spread - result.peak))] = result.peak
    return [int(each) for each in np.unique(spread)]


def _known(result: KindResult) -> Patterns:
    assert result.patterns is not None
    return result.patterns


def _columns(result: KindResult) -> tuple[list[Column], str]:
    """Return the columns, and the unit of their values."""
    known, scale = _known(result), time_scale(result)
    assert known.patterns is not None
    if known.of_frequencies is None or known.frequencies is None:
        bins = shown_bins(result)
        values = known.patterns[bins, :CLASSES]
        factor, unit = scaled(known.unit, _largest(values))
        limits = colour_limits(factor * values, 0.0)
        titles = [scale.point(float(result.train_times[index])) for index in bins]
        return [
            Column(title, each, limits) for title, each in zip(titles, factor * values, strict=True)
        ], unit
    every = known.of_frequencies[result.peak, :CLASSES]
    factor, unit = scaled(known.unit, _largest(every))
    columns, low = [], 0.0
    for name, high in BANDS:
        inside = (known.frequencies >= low) & (known.frequencies < high)
        if inside.any():
            values = factor * every[..., inside].mean(axis=-1)
            lowest, highest = known.frequencies[inside].min(), known.frequencies[inside].max()
            span = f"{lowest:g} Hz" if lowest == highest else f"{lowest:g}–{highest:g} Hz"
            columns.append(Column(f"{name}\n{span}", values, colour_limits(values, 0.0)))
        low = high
    return columns, unit


def _largest(values: FloatArray) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


def _topographies(result: KindResult, head: Topography) -> Figure:
    import mne

    known, (columns, unit) = _known(result), _columns(result)
    placed = [name in head.channels for name in known.channels]
    classes = known.shown[:CLASSES]
    with styled():
        figure = new_figure()
        grid = figure.subplots(len(classes), len(columns), squeeze=False)
        for column, panels in zip(columns, grid.T, strict=True):
            panels[0].set_title(column.title, loc="center")
            low, high, _ = column.limits
            for axes, each in zip(panels, head.values_of(column.values[:, placed]), strict=True):
                if np.isfinite(each).all():
                    style: dict[str, Any] = {"cmap": DIVERGING, "vlim": (low, high), "contours": 4, "res": 40}
                    mne.viz.plot_topomap(each, head.info, axes=axes, show=False, **style)
                else:
                    axes.set_axis_off()
        for axes, name in zip(grid[:, 0], classes, strict=True):
            text = short(name, 16)
            axes.text(-0.06, 0.5, text, transform=axes.transAxes, rotation=90, ha="right", va="center")
        title = _title(result)
        area = arrange(figure, list(grid.flat), len(columns), title, height=1.3, shape=1.0, below=0.62)
        if known.of_frequencies is None:
            _bar(figure, columns[0].limits, area.y0, f"Pattern ({unit})")
        else:
            for axes, column in zip(grid[-1], columns, strict=True):
                _bar(figure, column.limits, area.y0, f"Pattern ({unit})", axes)
    return figure


def _images(result: KindResult) -> Figure:
    known, scale = _known(result), time_scale(result)
    assert known.patterns is not None
    # Of each class: channels × times, or channels × frequencies.
    values = known.patterns[:, :CLASSES].transpose(1, 2, 0)
    factor, unit = scaled(known.unit, _largest(values))
    values = factor * values
    edges, label, said = edges_of(result.train_times, scale), scale.label(), f"Pattern ({unit})"
    if known.of_frequencies is not None and known.frequencies is not None:
        values = known.of_frequencies[result.peak, :CLASSES]
        values = values / (np.abs(values).max(axis=(0, 1)) + np.finfo(float).tiny)
        edges, label, said = bin_edges(known.frequencies), "Frequency (Hz)", "Pattern (relative)"
    limits, classes = colour_limits(values, 0.0), known.shown[:CLASSES]
    columns = min(3, len(classes))
    with styled():
        figure = new_figure()
        panels = subplots(figure, len(classes), columns)
        for row, (axes, each) in enumerate(zip(panels, values, strict=True)):
            channels = np.arange(len(each) + 1)
            axes.pcolormesh(
                edges, channels, each, cmap=DIVERGING, vmin=limits[0], vmax=limits[1], rasterized=True
            )
            axes.set_title(short(classes[row], 20))
            axes.set_xlabel(label)
            if known.of_frequencies is None:
                scale.ticks(axes.xaxis, result.train_times, 5)
            name_channels(axes, known.channels)
            if row % columns:
                axes.tick_params(labelleft=False)
        title = _title(result)
        area = arrange(figure, panels, columns, title, height=3.2, below=0.62)
        _bar(figure, limits, area.y0, said)
    return figure


def _bar(figure: Figure, limits: Limits, top: float, label: str, below: Axes | None = None) -> None:
    """Draw a colour bar in the middle, or below a panel, under a height in inches."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    wide, high = figure.get_size_inches()
    left, width = 0.5 - 1.2 / wide, 2.4 / wide
    if below is not None:
        frame = below.get_position()
        left, width = frame.x0 + 0.1 * frame.width, 0.8 * frame.width
    image = ScalarMappable(Normalize(*limits[:2]), DIVERGING)
    colour_bar(image, (left, (top - 0.2) / high, width, 0.09 / high), limits, label, figure)


def _applies(result: KindResult) -> bool:
    known = result.patterns
    return known is not None and known.patterns is not None and bool(np.isfinite(known.patterns).any())


def _parts(result: KindResult) -> list[tuple[str, str, KindResult]]:
    # Types of sensors have scales and positions of their own.
    parts = _known(result).parts
    if not parts:
        return [("", "", result)]
    of_parts = [(name, each.sensors, replace(result, patterns=each)) for name, each in parts.items()]
    return [(f"_{name}", f" of {sensors}", part) for name, sensors, part in of_parts]


def _title(result: KindResult) -> str:
    of = _known(result).sensors
    return title_of(result, f"activation patterns of {of}" if of else "activation patterns")


def _caption(result: KindResult, settings: dict[str, Any]) -> str:
    known = _known(result)
    place = topography_of(known.channels, known.positions)
    peak = time_scale(result).point(float(result.train_times[result.peak]))
    bands = known.of_frequencies is not None
    if place is not None:
        effect = " of the effect" if result.effect else ""
        shown = f"Topographies at the peak and at other times{effect}"
        if bands:
            shown = (
                f"Topographies of frequency bands at the peak ({peak}), mean over the frequencies of a band; "
                "each has a scale of its own, as power falls with frequency"
            )
        shown += f", {place.said}"
        if lost := [name for name in known.channels if name not in place.channels]:
            shown += f" (none for {listed(lost)})"
    elif bands:
        shown = (
            f"Shown are all channels and frequencies at the peak ({peak}), relative to the largest pattern "
            "at each frequency, as power falls with frequency"
        )
    else:
        shown = "Shown are all channels and times"
    taken = "the class rather than for all other classes"
    if len(result.classes) == 2:
        taken = f"{result.classes[1]} rather than for {result.classes[0]}"
    red = f"larger in trials that are taken for {taken}"
    if place is not None and place.pairs:
        red = f"larger, in either direction, in trials that are taken for {taken}"
    more = "" if len(known.shown) <= CLASSES else f" The first {CLASSES} of {len(known.shown)} classes."
    whose = "" if len(result.participants) == 1 else " and participants"
    of = f", of {known.sensors} alone" if known.sensors else ""
    return (
        f"Activation patterns of the {result.kind} classifiers (Haufe et al., 2014, NeuroImage 87:96-110), "
        f"mean over folds{whose} and over the features of a channel{of}. {shown}. Red: {red}; "
        "a pattern is by how much the signal rises as the classifier's decision rises by one of its standard "
        "deviations. A pattern shows the signal that the "
        f"decision goes along with, which weights do not.{more}"
    )


def _alt(result: KindResult) -> str:
    known = _known(result)
    assert known.patterns is not None
    factor, unit = readable(known.unit)
    said = []
    for name, each in zip(known.shown[:CLASSES], factor * known.patterns[result.peak], strict=False):
        if np.isfinite(each).all():
            at = int(np.argmax(np.abs(each)))
            said.append(f"{short(name, 20)}: strongest at {known.channels[at]}, {each[at]:.2g} {unit}")
    at_peak = time_scale(result).point(float(result.train_times[result.peak]))
    over = "" if known.of_frequencies is None else ", over all frequencies"
    return f"At {at_peak}{over}: {'; '.join(said)}." if said else ""


def _csv(result: KindResult) -> str:
    known = _known(result)
    factor, unit = readable(known.unit)
    hertz = known.frequencies if known.of_frequencies is not None else None
    values = known.patterns[..., np.newaxis] if hertz is None else known.of_frequencies  # type: ignore[index]
    columns = [f"train time ({result.time_unit})", "class", "channel"]
    columns += ["frequency (Hz)"] * (hertz is not None)
    rows: list[list[str | float]] = []
    for (time, label, channel, at), value in np.ndenumerate(factor * np.asarray(values)):
        rows.append([float(result.train_times[time]), known.shown[label], known.channels[channel]])
        rows[-1] += [float(value)] if hertz is None else [float(hertz[at]), float(value)]
    return csv_text([*columns, f"pattern ({unit})"], rows)


SECTION = Section(
    "patterns",
    "Activation patterns",
    _applies,
    figure=SectionFigure(activation_patterns, READS, _caption, _alt, lambda result: 12.0, _csv),
    stages=("patterns",),
    parts=_parts,
)
