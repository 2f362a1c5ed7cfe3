"""Activation patterns of classifiers, and the features that folds selected."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortloop.base.text import listed
from shortloop.base.types import FloatArray
from shortloop.eeg.report.content import KindResult, Patterns
from shortloop.eeg.report.figure_parts import Limits, colour_bar, colour_bar_below, colour_limits, scaled_to
from shortloop.eeg.report.labels import readable
from shortloop.eeg.report.sections.section import TIMES, Section, fields_of, title_of
from shortloop.eeg.report.sensors import Topography, topography_of
from shortloop.eeg.report.times import bin_edges, edges_of, time_scale
from shortloop.report.layout import arrange, short, subplots
from shortloop.report.page import csv_text
from shortloop.report.style import BLUE, DIVERGING, GREY, SEQUENTIAL, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

PATTERNS = "channels frequencies of_frequencies patterns positions sensors shown unit"
CLASSES = 6  # at most, of which patterns are drawn
BINS = 5
# Frequency bands, and the frequency (Hz) at which the next one begins.
BANDS = (("delta", 4.0), ("theta", 8.0), ("alpha", 13.0), ("beta", 30.0), ("gamma", np.inf))
RIGHT = 0.15  # inches, for half of the last number of the colour bar
NAMES = 26  # channels that have a name at an axis


class Column(NamedTuple):
    """Topographies of one time or frequency band below each other, one for each class."""

    title: str
    values: FloatArray  # (shown classes, channels), in a readable unit
    limits: Limits


def activation_patterns(result: KindResult) -> Figure:
    """Draw patterns as topographies; as a map of all channels if their positions are unknown."""
    # Haufe et al. 2014, Interpretation of weight vectors of linear models in multivariate neuroimaging.
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
    assert result.patterns is not None  # the sections apply
    return result.patterns


def _columns(result: KindResult) -> tuple[list[Column], str]:
    known, scale = _known(result), time_scale(result)
    assert known.patterns is not None
    if known.of_frequencies is None or known.frequencies is None:
        bins = shown_bins(result)
        values = known.patterns[bins, :CLASSES]
        factor, unit = scaled_to(values, known.unit)
        limits = colour_limits(factor * values, 0.0)
        titles = [scale.point(float(result.train_times[index])) for index in bins]
        return [Column(*each, limits) for each in zip(titles, factor * values, strict=True)], unit
    every = known.of_frequencies[result.peak, :CLASSES]
    factor, unit = scaled_to(every, known.unit)
    columns, low = [], 0.0
    for name, high in BANDS:
        inside = (known.frequencies >= low) & (known.frequencies < high)
        if inside.any():
            values = factor * every[..., inside].mean(axis=-1)
            lowest, highest = known.frequencies[inside].min(), known.frequencies[inside].max()
            span = f"{lowest:g}" if lowest == highest else f"{lowest:g}–{highest:g}"
            columns.append(Column(f"{name}\n{span} Hz", values, colour_limits(values, 0.0)))
        low = high
    return columns, unit


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
            for axes, each in zip(panels, head.values_of(column.values[:, placed]), strict=True):
                if not np.isfinite(each).all():
                    axes.set_axis_off()
                    continue
                style: dict[str, Any] = {"vlim": column.limits[:2], "contours": 4, "res": 40}
                mne.viz.plot_topomap(each, head.info, cmap=DIVERGING, axes=axes, show=False, **style)
        for axes, name in zip(grid[:, 0], classes, strict=True):
            style = {"transform": axes.transAxes, "rotation": 90, "ha": "right", "va": "center"}
            axes.text(-0.06, 0.5, short(name, 16), **style)
        title = _title(result)
        area = arrange(figure, list(grid.flat), len(columns), title, height=1.3, shape=1.0, below=0.62)
        if known.of_frequencies is None:
            _bar(figure, columns[0].limits, area.y0, f"Pattern ({unit})")
        else:
            for axes, column in zip(grid[-1], columns, strict=True):
                _bar(figure, column.limits, area.y0, f"Pattern ({unit})", axes)
    return figure


def _images(result: KindResult) -> Figure:
    """Draw a map for each class: channels × times, or channels × frequencies at the peak."""
    known, scale = _known(result), time_scale(result)
    assert known.patterns is not None
    values = known.patterns[:, :CLASSES].transpose(1, 2, 0)
    factor, unit = scaled_to(values, known.unit)
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
        for place, (axes, each) in enumerate(zip(panels, values, strict=True)):
            _channel_map(axes, edges, each, known.channels, limits, DIVERGING)
            axes.set_title(short(classes[place], 20))
            axes.set_xlabel(label)
            if known.of_frequencies is None:
                scale.ticks(axes.xaxis, result.train_times, 5)
            if place % columns:
                axes.tick_params(labelleft=False)
        area = arrange(figure, panels, columns, _title(result), height=3.2, below=0.62)
        _bar(figure, limits, area.y0, said)
    return figure


def _channel_map(
    axes: Axes, edges: FloatArray, values: FloatArray, channels: tuple[str, ...], limits: Limits, cmap: str
) -> ScalarMappable:
    """Draw values of (channels, bins), the first channel on top; of many, every other one has a name."""
    colours: dict[str, Any] = {"cmap": cmap, "vmin": limits[0], "vmax": limits[1]}
    image = axes.pcolormesh(edges, np.arange(len(values) + 1), values, rasterized=True, **colours)
    step = -(-len(channels) // NAMES)
    axes.set_yticks(np.arange(0, len(channels), step) + 0.5, [short(name, 10) for name in channels[::step]])
    axes.set_ylim(len(channels), 0)
    axes.tick_params(axis="y", length=0)
    return image


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


def _patterns_apply(result: KindResult) -> bool:
    known = result.patterns
    return known is not None and known.patterns is not None and bool(np.isfinite(known.patterns).any())


def _parts(result: KindResult) -> list[tuple[str, str, KindResult]]:
    # Types of sensors have scales and positions of their own.
    parts = [
        (f"_{name}", f" of {part.sensors}", replace(result, patterns=part))
        for name, part in _known(result).parts.items()
    ]
    return parts or [("", "", result)]


def _title(result: KindResult) -> str:
    of = _known(result).sensors
    return title_of(result, f"activation patterns of {of}" if of else "activation patterns")


def _patterns_caption(result: KindResult, settings: dict[str, Any]) -> str:
    known = _known(result)
    place = topography_of(known.channels, known.positions)
    peak = time_scale(result).point(float(result.train_times[result.peak]))
    bands = known.of_frequencies is not None
    if place is not None:
        shown = f"Topographies at the peak and at other times{' of the effect' if result.effect else ''}"
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
    larger = "larger, in either direction," if place is not None and place.pairs else "larger"
    more = "" if len(known.shown) <= CLASSES else f" The first {CLASSES} of {len(known.shown)} classes."
    whose = "" if len(result.participants) == 1 else " and participants"
    of = f", of {known.sensors} alone" if known.sensors else ""
    return (
        f"Activation patterns of the {result.kind} classifiers (Haufe et al., 2014, NeuroImage 87:96-110), "
        f"mean over folds{whose} and over the features of a channel{of}. {shown}. "
        f"Red: {larger} in trials that are taken for {taken}; "
        "a pattern is by how much the signal rises as the classifier's decision rises by one of its standard "
        "deviations. A pattern shows the signal that the decision goes along with, which weights do not."
        f"{more}"
    )


def _patterns_alt(result: KindResult) -> str:
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


def _patterns_csv(result: KindResult) -> str:
    known = _known(result)
    factor, unit = readable(known.unit)
    columns = [f"train time ({result.time_unit})", "class", "channel"]
    values, hertz = known.patterns, known.frequencies
    if known.of_frequencies is not None:
        values, columns = known.of_frequencies, [*columns, "frequency (Hz)"]
    rows: list[list[str | float]] = []
    for (time, label, channel, *at), value in np.ndenumerate(factor * np.asarray(values)):
        rows.append([float(result.train_times[time]), known.shown[label], known.channels[channel]])
        rows[-1] += [*(float(hertz[index]) for index in at if hertz is not None), float(value)]
    return csv_text([*columns, f"pattern ({unit})"], rows)


def selected_features(result: KindResult) -> Figure:
    known, scale = _known(result), time_scale(result)
    edges, times = edges_of(result.train_times, scale), result.train_times * scale.factor
    channels = known.kept_channels
    with styled():
        figure = new_figure()
        panels = list(figure.subplots(1, 1 if channels is None else 2, squeeze=False).flat)
        _draw_kept(panels[0], known, times)
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
            image = _channel_map(panels[1], edges, share, known.channels, limits, SEQUENTIAL)
            panels[1].set_title("Of each channel")
            area = arrange(figure, panels, 2, title, height=3.4, right=RIGHT, below=0.62)
            colour_bar_below(image, panels[1], area, limits, "Features kept (%)")
        handles, labels = panels[0].get_legend_handles_labels()
        frame = panels[0].get_position()
        anchor = frame.x0 + frame.width / 2, 0.01
        figure.legend(handles, labels, loc="lower center", ncols=3, borderaxespad=0.2, bbox_to_anchor=anchor)
    return figure


def _draw_kept(axes: Axes, known: Patterns, times: FloatArray) -> None:
    marker = "o" if len(times) == 1 else None  # one point makes no line
    share = 100 * known.kept
    for index, each in enumerate(share if len(share) > 1 else ()):
        label = "participants" if index == 0 else None
        axes.plot(times, each, color=GREY, linewidth=0.7, alpha=0.7, marker=marker, label=label)
    label = "mean" if len(share) > 1 else "mean over folds"
    axes.plot(times, share.mean(axis=0), color=BLUE, linewidth=2.0, marker=marker, label=label)
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("Features kept (%)")
    axes.set_title(f"Of all {known.features:,}")


def _selected_caption(result: KindResult, settings: dict[str, Any]) -> str:
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


def _selected_alt(result: KindResult) -> str:
    share, scale = 100 * _known(result).kept.mean(axis=0), time_scale(result)
    most = scale.point(result.train_times[int(np.argmax(share))])
    return f"From {share.min():.0f} to {share.max():.0f} %, most at {most}."


def _selected_csv(result: KindResult) -> str:
    known, times = _known(result), result.train_times.tolist()
    rows = [
        [time, name, "all", float(share)]
        for name, shares in zip(result.participants, 100 * known.kept, strict=True)
        for time, share in zip(times, shares)
    ]
    if known.kept_channels is not None:
        rows += [
            [time, "mean", name, float(share)]
            for time, shares in zip(times, 100 * known.kept_channels)
            for name, share in zip(known.channels, shares, strict=True)
        ]
    return csv_text([f"train time ({result.time_unit})", "participant", "channel", "features kept (%)"], rows)


ACTIVATION = Section(
    "patterns",
    "Activation patterns",
    activation_patterns,
    f"{TIMES} effect peak {fields_of('patterns', PATTERNS)}",
    _patterns_caption,
    _patterns_csv,
    _patterns_alt,
    cost=lambda result: 12.0,
    applies=_patterns_apply,
    stages=("patterns",),
    parts=_parts,
)
SELECTED = Section(
    "selected_features",
    "Selected features",
    selected_features,
    f"{TIMES} {fields_of('patterns', 'channels features kept kept_channels')}",
    _selected_caption,
    _selected_csv,
    _selected_alt,
    applies=lambda result: result.patterns is not None and bool((result.patterns.kept < 1).any()),
    stages=("patterns",),
)
