"""Activation patterns: what in the signal goes along with what classifiers say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.labels import edges_of, short, title_of
from shortloop.eeg.report.panels import colour_bar, colour_limits
from shortloop.eeg.report.positions import Place, place_of
from shortloop.eeg.report.sections.section import Section, SectionFigure
from shortloop.eeg.report.sections.selected_features import name_channels
from shortloop.eeg.report.sentences import listed
from shortloop.eeg.report.times import time_scale
from shortloop.eeg.report.units import readable
from shortloop.report.layout import arrange, fractions, subplots
from shortloop.report.style import DIVERGING, new_figure, styled
from shortloop.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SECTION", "activation_patterns", "shown_bins"]

CLASSES = 6  # at most, of which patterns are drawn
TIMES = 5


def activation_patterns(result: KindResult) -> Figure:
    """Activation patterns as topographies, or over channels and time where positions are not known.

    Parameters
    ----------
    result : KindResult
        With patterns of linear classifiers.

    Returns
    -------
    matplotlib.figure.Figure

    References
    ----------
    Haufe et al. 2014, On the interpretation of weight vectors of linear models in multivariate neuroimaging.
    """
    assert result.patterns is not None
    place = place_of(result.patterns.channels, result.patterns.measured)
    return _images(result) if place is None else _topographies(result, place)


def shown_bins(result: KindResult) -> list[int]:
    """Bins whose patterns are shown: the peak, and others that are spread over the effect around it.

    Parameters
    ----------
    result : KindResult

    Returns
    -------
    list of int
        Increasing; spread over all bins where nothing is significant.
    """
    stats, bins = result.curve, len(result.train_times)
    peak = int(np.nanargmax(stats.mean))
    first, last = 0, bins - 1
    if stats.significant[peak]:
        other = np.flatnonzero(~stats.significant)
        first = int(max(other[other < peak], default=-1)) + 1
        last = int(min(other[other > peak], default=bins)) - 1
    spread = np.unique(np.linspace(first, last, TIMES).round().astype(int))
    spread[np.argmin(np.abs(spread - peak))] = peak
    return np.unique(spread).tolist()


def _values(result: KindResult) -> tuple[FloatArray, tuple[str, ...], str]:
    """Patterns (bins, shown classes, channels) in a readable unit, classes, and the unit."""
    known = result.patterns
    assert known is not None
    assert known.patterns is not None
    factor, unit = readable(known.unit)
    return factor * known.patterns[:, :CLASSES], known.shown[:CLASSES], unit


def _topographies(result: KindResult, head: Place) -> Figure:
    import mne

    values, classes, unit = _values(result)
    assert result.patterns is not None
    values = values[:, :, [name in head.channels for name in result.patterns.channels]]
    bins, scale = shown_bins(result), time_scale(result)
    low, high, outside = colour_limits(values[bins], 0.0)
    with styled():
        figure = new_figure()
        panels = subplots(figure, len(classes) * len(bins), len(bins))
        for index, axes in enumerate(panels):
            row, column = divmod(index, len(bins))
            each = values[bins[column], row]
            if np.isfinite(each).all():
                image, _ = mne.viz.plot_topomap(
                    each,
                    head.info,
                    axes=axes,
                    show=False,
                    cmap=DIVERGING,
                    vlim=(low, high),
                    contours=4,
                    res=40,
                )
            else:
                axes.set_axis_off()
            if row == 0:
                axes.set_title(scale.point(float(result.train_times[bins[column]])), loc="center")
            if column == 0:
                text = short(classes[row], 16)
                axes.text(-0.06, 0.5, text, transform=axes.transAxes, rotation=90, ha="right", va="center")
        title = title_of(result, "activation patterns")
        area = arrange(figure, panels, len(bins), title, height=1.3, shape=1.0, below=0.62)
        place = fractions(figure, figure.get_figwidth() / 2 - 1.2, area.y0 - 0.2, 2.4, 0.09)
        colour_bar(image, place, (low, high, outside), f"Pattern ({unit})")
    return figure


def _images(result: KindResult) -> Figure:
    values, classes, unit = _values(result)
    assert result.patterns is not None
    scale = time_scale(result)
    edges = edges_of(result.train_times, scale)
    low, high, outside = colour_limits(values, 0.0)
    columns = min(3, len(classes))
    with styled():
        figure = new_figure()
        panels = subplots(figure, len(classes), columns)
        for row, axes in enumerate(panels):
            image = axes.pcolormesh(
                edges,
                np.arange(values.shape[2] + 1),
                values[:, row].T,
                cmap=DIVERGING,
                vmin=low,
                vmax=high,
                rasterized=True,
            )
            axes.set_title(short(classes[row], 20))
            axes.set_xlabel(scale.label())
            axes.locator_params(axis="x", nbins=5, integer=scale.unit == "bin")
            name_channels(axes, result.patterns.channels)
            if row % columns:
                axes.tick_params(labelleft=False)
        title = title_of(result, "activation patterns")
        area = arrange(figure, panels, columns, title, height=3.2, below=0.62)
        place = fractions(figure, figure.get_figwidth() / 2 - 1.2, area.y0 - 0.2, 2.4, 0.09)
        colour_bar(image, place, (low, high, outside), f"Pattern ({unit})")
    return figure


def _applies(result: KindResult) -> bool:
    known = result.patterns
    return known is not None and known.patterns is not None and bool(np.isfinite(known.patterns).any())


def _caption(result: KindResult, settings: dict[str, Any]) -> str:
    known = result.patterns
    assert known is not None
    place = place_of(known.channels, known.measured)
    where = "Channels and times"
    if place is not None:
        where = f"Topographies at the peak and at other times of the effect, {place.said}"
    if place is not None and (lost := [name for name in known.channels if name not in place.channels]):
        where += f" (none for {listed(lost)})"
    against = f"{listed(list(result.classes[:1]))}" if len(result.classes) == 2 else "all other classes"
    more = "" if len(known.shown) <= CLASSES else f" The first {CLASSES} of {len(known.shown)} classes."
    whose = "" if len(result.participants) == 1 else " and participants"
    return (
        f"Activation patterns of the {result.kind} classifiers (Haufe et al., 2014, NeuroImage 87:96-110), "
        f"mean over folds{whose} and over the features of a channel. {where}. Red: larger in trials that are "
        f"taken for the class rather than for {against}; a pattern is by how much the signal rises as the "
        "classifier's decision rises by one of its standard deviations. A pattern shows the signal that the "
        f"decision goes along with, which weights do not.{more}"
    )


def _alt(result: KindResult) -> str:
    values, classes, unit = _values(result)
    assert result.patterns is not None
    peak = int(np.nanargmax(result.curve.mean))
    said = []
    for row, name in enumerate(classes):
        each = values[peak, row]
        if np.isfinite(each).all():
            at = int(np.argmax(np.abs(each)))
            said.append(
                f"{short(name, 20)}: strongest at {result.patterns.channels[at]}, {each[at]:.2g} {unit}"
            )
    scale = time_scale(result)
    return f"At {scale.point(float(result.train_times[peak]))}: {'; '.join(said)}." if said else ""


def _cost(result: KindResult) -> float:
    return 12.0


SECTION = Section(
    "patterns",
    "Activation patterns",
    _applies,
    figure=SectionFigure(activation_patterns, _caption, _alt, _cost),
    stages=("patterns",),
)
