"""How every figure looks and is saved: one place, whatever the user's own matplotlib settings are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "BLACK",
    "BLUE",
    "DIVERGING",
    "DPI",
    "GREY",
    "VERMILION",
    "WIDTH",
    "new_figure",
    "save",
    "settle",
    "styled",
]

# Okabe & Ito (2008), told apart with any colour vision.
BLACK, BLUE, VERMILION = "#000000", "#0072B2", "#D55E00"
GREY = "#8A8A8A"

# Moreland (2009): diverging, steps of equal perceived size (CIELAB), light in the middle.
DIVERGING = "coolwarm"

WIDTH = 7.1  # inches, 180 mm: two columns of a journal; font sizes below are final at this width
DPI = 180

RC: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same letters on every machine
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.labelsize": 9.5,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "figure.titlesize": 11,
    "figure.titleweight": "bold",
    "figure.dpi": DPI,
    "lines.linewidth": 1.2,
    "text.parse_math": False,  # a $ in a name is a $
    "pdf.fonttype": 42,  # TrueType: text stays text in a drawing program
    "pdf.compression": 6,
    "svg.fonttype": "none",
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw and save within this: matplotlib's defaults and this style, and afterwards what was there."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)
        yield


def new_figure(height: float, title: str, note: str = "", width: float = WIDTH) -> Figure:
    """An empty figure that belongs to no window.

    Parameters
    ----------
    height : float
        Inches.
    title : str
        Shown above, in bold.
    note : str, default ""
        Shown below, e.g. what the statistics cannot say.
    width : float, default WIDTH
        Inches.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import textwrap

    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    lines = textwrap.wrap(note, int(14.5 * width))
    figure = Figure(figsize=(width, height + 0.18 * len(lines)), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, x=0.01, ha="left")
    if lines:
        figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=9, color="#333333")
    return figure


def settle(figure: Figure) -> None:
    """Lay a figure out, once and for all files that it is saved to.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Changed in place; left as it is if it has no layout engine.

    Notes
    -----
    Passes are repeated until nothing moves: where cells are square, the first leaves titles of panels under
    the figure's. Of many small panels a pass takes long, and two are enough.
    """
    engine = figure.get_layout_engine()
    if engine is None:
        return
    with styled():
        before = None
        for _ in range(8 if len(figure.axes) < 5 else 2):
            engine.execute(figure)
            after = [axes.get_position().bounds for axes in figure.axes]
            if before is not None and np.allclose(before, after, atol=1e-3):
                break
            before = after
        figure.set_layout_engine("none")


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG (180 dpi) and PDF, the same bytes for the same figure.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    folder : Path
        Must exist.
    name : str
        File name without ending.

    Returns
    -------
    list of Path
        The PNG and the PDF.
    """
    png, pdf = folder / f"{name}.png", folder / f"{name}.pdf"
    with styled():
        settle(figure)
        figure.savefig(png, dpi=DPI, metadata={"Software": None})
        figure.savefig(pdf, dpi=DPI, metadata={"CreationDate": None, "Creator": None, "Producer": None})
    return [png, pdf]
