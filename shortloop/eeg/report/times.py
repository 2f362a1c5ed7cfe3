"""Times as text, tables and axes show them, and edges of bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.eeg.report.content import KindResult

if TYPE_CHECKING:
    from matplotlib.axis import Axis

MS_UP_TO = 2.0  # seconds: longer epochs read better in seconds


@dataclass(frozen=True)
class TimeScale:
    """Unit in which times are shown, ``"ms"``, ``"s"`` or ``"bin"``, and its factor on stored times."""

    unit: str
    factor: float

    def number(self, time: float) -> str:
        """Format a time without its unit, e.g. ``"−21"``."""
        value = time * self.factor
        text = {"ms": f"{value:.0f}", "s": f"{value:.2f}"}.get(self.unit, f"{value:g}")
        return text.replace("-", "−") if float(text) else text.lstrip("-")

    def point(self, time: float) -> str:
        """Format a time with its unit, e.g. ``"120 ms"`` or ``"bin 4"``."""
        return f"bin {self.number(time)}" if self.unit == "bin" else f"{self.number(time)} {self.unit}"

    def span(self, start: float, end: float) -> str:
        """Format the span between two bin centres, e.g. ``"120 to 410 ms"``."""
        if start == end:
            return self.point(start)
        both = f"{self.number(start)} to {self.number(end)}"
        return f"bins {both}" if self.unit == "bin" else f"{both} {self.unit}"

    def during(self, start: float, end: float) -> str:
        """Format a span within a sentence, e.g. ``"from 120 to 410 ms"``."""
        return f"at {self.point(start)}" if start == end else f"from {self.span(start, end)}"

    def has_event(self, edges: FloatArray) -> bool:
        """True if 0, the event, lies within the edges; the event of bins without times is unknown."""
        return self.unit != "bin" and bool(edges[0] < 0 < edges[-1])

    def ticks(self, axis: Axis, times: FloatArray, most: int) -> None:
        """Set ticks of an axis of bins in the shown unit; a single bin has one at its centre."""
        from matplotlib.ticker import FixedLocator, MaxNLocator

        if len(times) == 1:
            axis.set_major_locator(FixedLocator([times[0] * self.factor]))
            axis.set_major_formatter(lambda *_: self.number(times[0]))
        else:
            axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10], integer=self.unit == "bin"))

    def label(self, what: str = "", phase: str = "") -> str:
        """Label of an axis, e.g. ``"Training time, study (ms)"`` or ``"Training bin, study"``."""
        name = "bin" if self.unit == "bin" else "time"
        text = f"{what} {name}" if what else name.capitalize()
        text += f", {phase}" if phase else ""
        return text if self.unit == "bin" else f"{text} ({self.unit})"


def scale_of(unit: str, *times: FloatArray | None) -> TimeScale:
    if unit != "s":
        return TimeScale(unit, 1.0)
    latest = max(float(np.abs(each).max()) for each in times if each is not None)
    return TimeScale("ms", 1000.0) if latest <= MS_UP_TO else TimeScale("s", 1.0)


def time_scale(result: KindResult) -> TimeScale:
    return scale_of(result.time_unit, result.train_times, result.test_times)


def bin_edges(centres: FloatArray, alone: float = 1.0) -> FloatArray:
    """Return edges, (bins + 1,), halfway between increasing centres; `alone` is the width of a single bin."""
    if len(centres) == 1:
        return np.asarray(centres[0] + np.array([-alone / 2, alone / 2]))
    inner = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([[2 * centres[0] - inner[0]], inner, [2 * centres[-1] - inner[-1]]])


def edges_of(times: FloatArray, scale: TimeScale) -> FloatArray:
    """Return edges, (bins + 1,), of bins with these centres, in the shown unit."""
    return bin_edges(times, 1.0 if scale.unit == "bin" else 0.02) * scale.factor


def plane_of(result: KindResult) -> tuple[FloatArray, FloatArray]:
    """Return edges of training and of test bins of a generalization map, in the shown unit."""
    assert result.test_times is not None  # every result with a map has them
    scale = time_scale(result)
    return edges_of(result.train_times, scale), edges_of(result.test_times, scale)
