"""Plot of a coefficient by group, the groups by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.text import counted, one_line
from shortloop.base.types import FloatArray
from shortloop.panel.paper.columns import Group, check_names, numbers_of, place_of, specifications
from shortloop.panel.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE = 10  # times the median length of intervals, from which on they are cut off
MOST = 100  # groups of a plot: more have no room for their names


def coefficient_figure(
    fits: Results | Mapping[str, Results],
    term: str,
    groups: Sequence[Group] = (),
    *,
    labels: Mapping[str, str] | None = None,
) -> Figure:
    """Plot a coefficient of each group, by name, with its interval.

    Parameters
    ----------
    fits : Results or mapping of str to Results
        As of `paper_table`; several are beside each other, in colours.
    term : str
        Coefficient.
    groups : sequence, optional
        As of `paper_table`, from top to bottom. Default: all, by the size of the coefficient of the first.
    labels : mapping of str to str, optional
        What to write for names of coefficients, groups and specifications.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        If there is no such group or coefficient, or there are more groups than a figure has room for.
    """
    from shortloop.report.layout import arrange, short
    from shortloop.report.style import COLOURS, GREY, new_figure, styled

    specs, words = specifications(fits), dict(labels or {})
    first = next(iter(specs.values()))
    check_names("term", [term], list(dict.fromkeys(name for found in specs.values() for name in found.names)))
    keys = [tuple(map(str, key)) for key in first.keys]
    chosen = [keys[place_of(first, group)] for group in groups] or _by_size(specs, term, keys)
    if not chosen:
        raise InputError(
            "no group has this coefficient", field="term", found=term, expected="one group fitted at least"
        )
    if len(chosen) > MOST:
        raise InputError(
            "too many groups for their names", field="groups", found=len(chosen), expected=f"up to {MOST}"
        )
    with styled():
        figure = new_figure()
        axes = figure.subplots()
        apart, drawn = 0.6 / len(specs), list[FloatArray]()
        for i, (spec, found) in enumerate(specs.items()):
            columns = [(spec, "", found, place_of(found, key)) for key in chosen]
            numbers = np.array([numbers_of(column, term, ("params", "lower", "upper")) for column in columns])
            up = -np.arange(len(chosen)) - (i - (len(specs) - 1) / 2) * apart
            colour = COLOURS[i % len(COLOURS)]
            axes.hlines(up, numbers[:, 1], numbers[:, 2], color=colour, linewidth=1.2)
            axes.plot(numbers[:, 0], up, "o", color=colour, markersize=3.5, label=words.get(spec, spec))
            drawn.append(numbers)
        low, high, cut = limits_of(np.concatenate(drawn))
        if cut:
            axes.set_xlim(low, high)
        axes.axvline(0.0, color=GREY, linewidth=0.8)
        shown = [short(words.get(" ".join(key), " ".join(key)), 40) for key in chosen]
        lacks = ~np.isfinite(np.array([numbers[:, 0] for numbers in drawn])).any(axis=0)
        shown = [f"{name} (none)" if no else name for name, no in zip(shown, lacks, strict=True)]
        axes.set_yticks(-np.arange(len(chosen)), shown)
        axes.set_ylim(-len(chosen) + 0.4, 0.6)
        axes.set_xlabel(one_line(words.get(term, term)))
        if len(specs) > 1:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        title = f"{words.get(term, term)} by {', '.join(first.by)}"
        if np.isfinite(np.concatenate(drawn)[:, 1]).any():
            title += f", {100 * first.level:g} % intervals"
        note = (
            f"{counted(cut, 'interval')} beyond the frame: more than {WIDE} times as long as most."
            if cut
            else ""
        )
        arrange(figure, [axes], 1, title, note, height=max(0.2 * len(chosen) * max(1, 0.6 * len(specs)), 0.8))
        return figure


def limits_of(numbers: FloatArray) -> tuple[float, float, int]:
    """Find the ends of the axis, and count intervals beyond."""
    widths = numbers[:, 2] - numbers[:, 1]
    known = widths[np.isfinite(widths)]
    long = widths > WIDE * (float(np.median(known)) or np.inf) if len(known) else np.zeros(len(widths), bool)
    some = numbers[~long]
    low, high = np.nanmin(some, initial=0.0), np.nanmax(some, initial=0.0)
    room = 0.05 * (high - low)
    return float(low - room), float(high + room), int(long.sum())


def _by_size(specs: Mapping[str, Results], term: str, keys: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Sort groups by the first specification's coefficient, the largest first."""
    column = next(iter(specs.values()))
    sizes = [numbers_of(("", "", column, place), term)[0] for place in range(len(keys))]
    return [
        keys[place]
        for place in np.argsort([-each for each in sizes], kind="stable")
        if sizes[place] == sizes[place]
    ]
