"""Parts of sentences that the parts of a methods section share."""

from __future__ import annotations

from collections.abc import Sequence

from shortloop.eeg.report.sentences import listed

__all__ = ["counted", "numbers", "spread", "window"]


def counted(count: int, what: str) -> str:
    """A number of things."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def numbers(values: Sequence[float]) -> str:
    """Numbers in a sentence."""
    return listed([f"{value:g}" for value in values])


def spread(values: Sequence[float]) -> str:
    """Values of several recordings."""
    low, high = (
        f"{each:,.0f}" if each == round(each) else f"{each:g}" for each in (min(values), max(values))
    )
    return low if low == high else f"{low} to {high}"


def window(start: float, end: float) -> str:
    """From one time to another."""
    return f"{1000 * start:.5g} to {1000 * end:.5g} ms".replace("-", "−")
