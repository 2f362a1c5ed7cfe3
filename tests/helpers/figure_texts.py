"""The texts of a figure, as they are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from shortloop.report.style import styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def texts(figure: Figure) -> list[Any]:
    """All texts that are really drawn: not the labels of ticks beyond the limits."""
    from matplotlib.text import Text

    drawn: list[Any] = []
    draw = Text.draw

    def record(text: Text, *args: Any) -> None:
        if text.get_visible() and text.get_text().strip():
            drawn.append(text)
        draw(text, *args)

    with styled(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", record)
        figure.draw_without_rendering()
    return drawn


def check_texts(figure: Figure, drawn: list[Any]) -> None:
    """All texts are legible, inside the figure, and apart from each other."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in drawn]
    assert min(text.get_fontsize() for text in drawn) >= 9
    page = figure.bbox
    for index, (words, box) in enumerate(boxes):
        inside = box.x0 >= page.x0 and box.x1 <= page.x1 and box.y0 >= page.y0 and box.y1 <= page.y1
        assert inside, words
        assert [other for other, place in boxes[:index] if box.overlaps(place)] == [], words
