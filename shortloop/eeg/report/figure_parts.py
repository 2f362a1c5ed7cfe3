"""Parts of figures: maps, outlines along cell edges, and colour bars."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.eeg.report.labels import readable
from shortloop.eeg.report.times import TimeScale
from shortloop.report.style import BLACK, DARK, DIVERGING, GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage, PcolorImage
    from matplotlib.transforms import Bbox

NARROW = 1.6  # inches: a shorter bar has room for three numbers
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
Limits = tuple[float, float, bool]  # ends of a colour scale, and whether values lie outside them


def scaled_to(values: FloatArray, unit: str) -> tuple[float, str]:
    """As `readable`, with a power of ten if the largest value is not easy to read in that unit."""
    factor, said = readable(unit)
    size = factor * float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    if size == 0 or 1e-2 <= size < 1e4:
        return factor, said
    power = 3 * math.floor(math.log10(size) / 3)
    return factor / 10.0**power, f"10{str(power).translate(RAISED)} {said}"


def outline_segments(mask: np.ndarray, x_edges: FloatArray, y_edges: FloatArray) -> FloatArray:
    """Return edges of the masked cells, (edges, 2, 2): both ends as x, y; `mask`: (rows, columns)."""
    padded = np.pad(mask, 1)
    # Between two neighbours in a row lies a vertical edge, between two in a column a horizontal one.
    row, x = np.nonzero(padded[1:-1, 1:] != padded[1:-1, :-1])
    y, column = np.nonzero(padded[1:, 1:-1] != padded[:-1, 1:-1])
    vertical = [[x_edges[x], y_edges[row]], [x_edges[x], y_edges[row + 1]]]
    horizontal = [[x_edges[column], y_edges[y]], [x_edges[column + 1], y_edges[y]]]
    return np.asarray(np.concatenate([vertical, horizontal], axis=2).transpose(2, 0, 1))


def colour_limits(values: FloatArray, centre: float, percentile: float = 100.0) -> Limits:
    """Choose limits symmetric about a centre for the finite values."""
    distance = np.abs(values[np.isfinite(values)] - centre)
    outside = bool(np.isinf(values).any())
    if distance.size == 0 or distance.max() == 0:
        return centre - 1.0, centre + 1.0, outside
    reach = float(np.percentile(distance, percentile)) or float(distance.max())
    return centre - reach, centre + reach, outside or bool(distance.max() > reach)


def draw_cells(
    axes: Axes, values: FloatArray, x_edges: FloatArray, y_edges: FloatArray, limits: Limits
) -> AxesImage | PcolorImage:
    """Draw the cells of a map, (rows, columns), white where there is no value."""
    shown = np.ma.masked_where(np.isnan(values), values)
    image: Any = axes.pcolorfast(x_edges, y_edges, shown, cmap=DIVERGING, vmin=limits[0], vmax=limits[1])
    return cast("AxesImage | PcolorImage", image)  # for edges at equal distances, and for others


def draw_map(
    axes: Axes,
    values: FloatArray,
    x_edges: FloatArray,
    y_edges: FloatArray,
    limits: Limits,
    scale: TimeScale,
    mask: np.ndarray | None = None,
) -> AxesImage | PcolorImage:
    """Draw a map, (test bins, bins), with an outline of the cells in `mask`, the diagonal and the event."""
    image = draw_cells(axes, values, x_edges, y_edges, limits)
    axes.set_facecolor("#FFFFFF")
    low, high = max(x_edges[0], y_edges[0]), min(x_edges[-1], y_edges[-1])
    if low < high and values.size > 1:
        axes.plot([low, high], [low, high], color=DARK, linewidth=0.9, linestyle=(0, (5, 3)))
    for edges, line in [(x_edges, axes.axvline), (y_edges, axes.axhline)]:
        if scale.has_event(edges):
            line(0, color=DARK, linewidth=0.8, linestyle=":")
    if mask is not None and mask.any():
        from matplotlib.collections import LineCollection

        lines: list[Any] = list(outline_segments(mask, x_edges, y_edges))
        for color, width in [("#FFFFFF", 3.0), (BLACK, 1.4)]:  # black on white: visible on any colour
            style: dict[str, Any] = {"colors": color, "linewidths": width, "capstyle": "projecting"}
            axes.add_collection(LineCollection(lines, gid="outline", **style), autolim=False)
    axes.set_xlim(x_edges[0], x_edges[-1])
    axes.set_ylim(y_edges[0], y_edges[-1])
    axes.set_aspect("auto" if map_shape(x_edges, y_edges) is None else "equal")
    for spine in axes.spines.values():
        spine.set(visible=True, color=GREY)
    return image


def map_shape(x_edges: FloatArray, y_edges: FloatArray) -> float | None:
    """Height over width of a map with equal scales; None if it is too far from a square."""
    shape = float(np.ptp(y_edges) / np.ptp(x_edges))
    return shape if 0.5 <= shape <= 2 else None


def colour_bar(
    image: ScalarMappable,
    place: tuple[float, float, float, float],
    limits: Limits,
    label: str,
    figure: Figure,
) -> None:
    """Draw a colour bar, pointed if values lie outside its limits."""
    flat = place[2] > place[3]
    ends, orientation = "both" if limits[2] else "neither", "horizontal" if flat else "vertical"
    cax = figure.add_axes(place)
    bar = figure.colorbar(image, cax=cax, label=label, extend=ends, orientation=orientation)
    bar.outline.set_visible(False)
    if flat and place[2] * figure.get_figwidth() < NARROW:
        ticks = sorted({limits[0], 0.5 * (limits[0] + limits[1]), limits[1]})
        bar.set_ticks(ticks, labels=[f"{float(f'{each:.2g}'):g}".replace("-", "−") for each in ticks])


def colour_bar_below(image: ScalarMappable, axes: Axes, area: Bbox, limits: Limits, label: str) -> None:
    """Draw a colour bar as wide as a panel, below the area of all panels."""
    figure: Any = axes.get_figure(root=True)
    high, frame = figure.get_figheight(), axes.get_position()
    place = frame.x0, (area.y0 - 0.16) / high, frame.width, 0.09 / high
    colour_bar(image, place, limits, label, figure)
