"""One way to say and draw times, so that words, tables and axes of a report agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.eeg.report.content import KindResult

if TYPE_CHECKING:
    from matplotlib.axis import Axis

__all__ = ["MS_UP_TO", "TimeScale", "bin_edges", "time_scale"]

MS_UP_TO = 2.0  # seconds: longer epochs read better in seconds


@dataclass(frozen=True)
class TimeScale:
    """Unit in which times are shown.

    unit: ``"ms"``, ``"s"`` or ``"bin"``.
    factor: shown times are stored times multiplied by this.
    """

    unit: str
    factor: float

    def number(self, time: float) -> str:
        """A time without its unit, e.g. ``"−21"``."""
        value = time * self.factor
        text = {"ms": f"{value:.0f}", "s": f"{value:.2f}"}.get(self.unit, f"{value:g}")
        return text.replace("-", "−") if float(text) else text.lstrip("-")

    def point(self, time: float) -> str:
        """A time with its unit, e.g. ``"120 ms"`` or ``"bin 4"``."""
        return f"bin {self.number(time)}" if self.unit == "bin" else f"{self.number(time)} {self.unit}"

    def span(self, start: float, end: float) -> str:
        """From one bin centre to another, e.g. ``"120 to 410 ms"``; one point if they are the same."""
        if start == end:
            return self.point(start)
        both = f"{self.number(start)} to {self.number(end)}"
        return f"bins {both}" if self.unit == "bin" else f"{both} {self.unit}"

    def has_event(self, edges: FloatArray) -> bool:
        """Whether 0, the event, lies within some edges; of bins without times nobody knows where it is."""
        return self.unit != "bin" and bool(edges[0] < 0 < edges[-1])

    def ticks(self, axis: Axis, times: FloatArray, most: int) -> None:
        """Ticks of an axis that shows bins, in the unit that is shown; of one bin at its centre alone."""
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


def time_scale(result: KindResult) -> TimeScale:
    """The unit that suits all times of a result."""
    if result.time_unit != "s":
        return TimeScale(result.time_unit, 1.0)
    latest = float(np.abs(result.train_times).max())
    if result.test_times is not None:
        latest = max(latest, float(np.abs(result.test_times).max()))
    return TimeScale("ms", 1000.0) if latest <= MS_UP_TO else TimeScale("s", 1.0)


def bin_edges(centres: FloatArray, alone: float = 1.0) -> FloatArray:
    """Edges halfway between bin centres, the outer ones as far out as the inner ones.

    centres: float, (bins,). Increasing.
    returns: float, (bins + 1,)
    """
    centres = np.asarray(centres, dtype=float)
    if len(centres) == 1:
        edges: FloatArray = centres[0] + np.array([-alone / 2, alone / 2])
        return edges
    inner = (centres[1:] + centres[:-1]) / 2
    first, last = 2 * centres[0] - inner[0], 2 * centres[-1] - inner[-1]
    return np.concatenate([[first], inner, [last]])
