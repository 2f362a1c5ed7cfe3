"""Event-related potentials: the mean signal of each class, in channels and as global field power."""

from __future__ import annotations

from dataclasses import fields
from itertools import cycle, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from shortloop.base.text import listed
from shortloop.base.types import FloatArray
from shortloop.eeg.data import mean_of_known
from shortloop.eeg.report.content import Evoked
from shortloop.eeg.report.figure_parts import scaled_to
from shortloop.eeg.report.labels import readable
from shortloop.eeg.report.sections.section import Section, whose
from shortloop.eeg.report.sensors import responses
from shortloop.report.layout import arrange, short, subplots
from shortloop.report.page import csv_text
from shortloop.report.style import COLOURS, GREY, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CHANNELS = 5
LEVEL = 0.95
POINTS = 400  # of a line: more than a figure can show
LINES = ("-", "--", "-.", ":")
ACROSS = 4  # names in a row of the legend


class Course(NamedTuple):
    """The signal of each class over time, (classes, samples), with its 95 % interval or NaN."""

    name: str  # of the channel, or "Global field power"
    mean: FloatArray
    low: FloatArray
    high: FloatArray


def courses(evoked: Evoked) -> list[Course]:
    """Return global field power, and the channels in which classes differ most."""
    # Lehmann & Skrandies 1980, Reference-free identification of components of checkerboard-evoked
    # multichannel potential fields, Electroencephalogr Clin Neurophysiol 48:609-621.
    found = []
    if len(evoked.channels) > 1:
        mean, low, high = _over_people(evoked.means.std(axis=2))
        found.append(Course("Global field power", mean, np.maximum(low, 0.0), high))  # none is below 0
    apart = np.nan_to_num(np.ptp(mean_of_known(evoked.means), axis=0)).max(axis=1)
    for index in sorted(np.argsort(-apart, kind="stable")[:CHANNELS]):
        each = evoked.means[:, :, index]
        band = _over_people(each)
        if len(each) == 1:  # over trials
            freedom = np.maximum(evoked.trials[0][:, np.newaxis] - 1, 1)
            half = evoked.errors[0, :, index] * stdtrit(freedom, (1 + LEVEL) / 2)
            band = each[0], each[0] - half, each[0] + half
        found.append(Course(evoked.channels[index], *band))
    return found


def evoked_figure(evoked: Evoked) -> Figure:
    shown = courses(evoked)
    columns = min(2, len(shown))
    rows = -(-len(shown) // columns)
    with styled():
        figure = new_figure(1.95 * rows + 0.6)  # about the final height, so that ticks stay
        panels = subplots(figure, len(shown), columns)
        for index, (axes, course) in enumerate(zip(panels, shown, strict=True)):
            _draw(axes, evoked, course)
            if index >= len(shown) - columns:
                axes.set_xlabel("Time (ms)")
        handles, labels = panels[0].get_legend_handles_labels()
        what = f"{responses(evoked.unit)}{f' of {evoked.sensors}' if evoked.sensors else ''}"
        title = f"{short(evoked.phase, 24)}: {what}, {whose(evoked.participants)}"
        below = 0.22 * -(-len(labels) // ACROSS) + 0.05
        arrange(figure, panels, columns, title, height=1.45, left=0.1, below=below)
        figure.legend(handles, labels, loc="lower center", ncols=min(len(labels), ACROSS), borderaxespad=0.2)
    return figure


def _csv(evoked: Evoked) -> str:
    factor, unit = readable(evoked.unit)
    columns = ["channel", "class", "time (s)", f"mean ({unit})", f"low ({unit})", f"high ({unit})"]
    rows: list[tuple[str | float, ...]] = []
    for course in courses(evoked):
        for label, name in enumerate(evoked.classes):
            for index, time in enumerate(evoked.times.tolist()):
                values = (float(f"{factor * each[label, index]:.6g}") for each in course[1:])
                rows.append((course.name, name, time, *values))
    return csv_text(columns, rows)


def _draw(axes: Axes, evoked: Evoked, course: Course) -> None:
    every = np.stack(course[1:])
    factor, unit = scaled_to(every, evoked.unit)
    step = -(-len(evoked.times) // POINTS)
    times = 1000 * evoked.times[::step]
    styles = product(LINES, COLOURS)
    for (mean, low, high), name, (line, colour) in zip(
        factor * every[:, :, ::step].swapaxes(0, 1), evoked.classes, cycle(styles)
    ):
        if np.isfinite(low).any():
            axes.fill_between(times, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.plot(times, mean, label=short(name, 18), color=colour, linestyle=line)
    axes.set_title(short(course.name, 30))
    axes.set_xlim(times[0], times[-1])
    axes.axhline(0.0, color=GREY, linewidth=0.7)
    if times[0] < 0 < times[-1]:
        axes.axvline(0.0, color=GREY, linestyle=":", linewidth=1.0)
    axes.set_ylabel(unit)
    axes.locator_params(axis="x", nbins=6)


def _over_people(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean over participants and its interval of values (participants, classes, samples)."""
    mean, count = mean_of_known(values), np.isfinite(values).sum(axis=0)
    square, more = mean_of_known((values - mean) ** 2), np.maximum(count - 1, 1)
    half = np.sqrt(square / more) * stdtrit(more, (1 + LEVEL) / 2)
    half = np.where(count > 1, half, np.nan)
    return mean, mean - half, mean + half


def _caption(evoked: Evoked, settings: dict[str, Any]) -> str:
    what, over, of = "Mean over participants of means over trials", "participants", "each participant's mean"
    if len(evoked.participants) == 1:
        what, over, of = "Mean over trials", "trials", "the mean"
    baseline = "no baseline subtracted"
    imported = (settings.get("input", {}).get("preprocessing") or {}).get("baseline")
    if (given := evoked.baseline or imported) is not None:
        start, end = (f"{1000 * each:g}".replace("-", "−") for each in given)
        baseline = f"the mean of {start} to {end} ms subtracted from each trial"
    names = [course.name for course in courses(evoked) if course.name in evoked.channels]
    channels = evoked.sensors or "channels"
    most = f"the {channels} in which classes differ most"
    if len(names) == len(evoked.channels):
        most = f"all {channels}"
    power = f" Global field power is the standard deviation over {channels} of {of}."
    scales = " Each panel has a scale of its own." if len(names) > 1 else ""
    return (
        f"{what} of each class in {evoked.phase}, of the epochs as they were imported, {baseline}; bands "
        f"are 95 % confidence intervals over {over} (Student's t), not corrected for the number of times and "
        f"channels.{power if len(evoked.channels) > 1 else ''} Shown are {most}: {listed(names)}.{scales}"
    )


def _alt(evoked: Evoked) -> str:
    factor, unit = readable(evoked.unit)
    course = courses(evoked)[0]
    said = []
    for name, mean in zip(evoked.classes, course.mean, strict=True):
        if np.isfinite(mean).any():
            at = int(np.nanargmax(np.abs(mean)))
            peak = f"{factor * mean[at]:.2g} {unit}"
            said.append(f"{short(name, 20)} {peak} at {1000 * evoked.times[at]:.0f} ms")
    return f"Largest {course.name[:1].lower()}{course.name[1:]}: {listed(said)}."


READS = " ".join(each.name for each in fields(Evoked) if each.name != "sources")
EVOKED: Section[Evoked] = Section("evoked", "", evoked_figure, READS, _caption, _csv, _alt)
