"""Style and saving of all figures, independent of the user's matplotlib settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.base.extras import REPORT_LIBRARIES, need
from shortloop.base.text import one_line
from shortloop.report.files import FORMATS, FigureFormat

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType

# Okabe & Ito (2008), told apart with any colour vision.
BLACK, BLUE, VERMILION = "#000000", "#0072B2", "#D55E00"
GREY, DARK = "#8A8A8A", "#404040"
COLOURS = (BLUE, VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", BLACK)
"""For lines of several sorts, in this order."""
SEQUENTIAL = "Blues"

# Moreland (2009): diverging, steps of equal perceived size (CIELAB), light in the middle.
DIVERGING = "coolwarm"

WIDTH = 7.1  # inches, 180 mm: two columns of a journal; font sizes below are final at this width
DPI = 180

METADATA: dict[FigureFormat, dict[str, None]] = {  # nothing in files depends on time or version
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
}

RC: dict[RcKeyType, object] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same letters on every machine
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.titley": 1.0,  # where it belongs in any case, without looking for room
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
    "svg.fonttype": "none",  # as in a PDF
    "svg.hashsalt": "shortloop",  # ids are the same in any process
    "image.composite_image": False,  # maps stay images of their own
}


@contextmanager
def styled() -> Iterator[None]:
    """Apply matplotlib's defaults and this style, and restore the former settings afterwards."""
    need("report", REPORT_LIBRARIES)
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)
        yield


def import_matplotlib(formats: Sequence[FigureFormat] = FORMATS) -> None:
    """Import what drawing needs, so that processes forked later share it."""
    need("report", REPORT_LIBRARIES)
    from matplotlib.artist import Artist

    # Docstrings of `set`, which nobody reads in a job, take a quarter of the time.
    describe = Artist.__dict__["_update_set_signature_and_docstring"]
    Artist._update_set_signature_and_docstring = classmethod(lambda cls: None)  # type: ignore[attr-defined]  # noqa: SLF001  no public switch
    try:
        import matplotlib.figure  # noqa: F401
        from matplotlib.backend_bases import get_registered_canvas_class

        for ending in formats:
            get_registered_canvas_class(ending)
    finally:
        Artist._update_set_signature_and_docstring = describe  # type: ignore[attr-defined]  # noqa: SLF001  no public switch


def new_figure(height: float = 4.0, title: str = "", width: float = WIDTH) -> Figure:
    """Create an empty figure, without a window; one with a title is laid out when it is saved."""
    need("report", REPORT_LIBRARIES)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure((width, height), layout="constrained" if title else None)
    FigureCanvasAgg(figure)
    if title:
        figure.suptitle(one_line(title), x=0.01, ha="left")
    return figure


def save(figure: Figure, folder: Path, name: str, formats: Sequence[FigureFormat] = FORMATS) -> list[Path]:
    """Write a figure to a folder, as NAME.png and so on; the same figure gives the same bytes."""
    files = {folder / f"{name}.{ending}": data for ending, data in encoded(figure, formats).items()}
    for file, data in files.items():
        file.write_bytes(data)
    return [*files]


def encoded(figure: Figure, formats: Sequence[FigureFormat] = FORMATS) -> dict[FigureFormat, bytes]:
    """Encode a figure as PNG (180 dpi), PDF or SVG; the same figure gives the same bytes."""
    from matplotlib.backend_bases import get_registered_canvas_class

    found: dict[FigureFormat, bytes] = {}
    with styled(), _fonts_without_layout() if "pdf" in formats else nullcontext():
        _settle(figure)
        for ending in formats:
            # The canvases are called directly: `Figure.savefig` draws everything twice, once for the layout,
            # which is settled once for all formats.
            canvas: Any = get_registered_canvas_class(ending)(figure)
            getattr(canvas, f"print_{ending}")(file := BytesIO(), metadata=METADATA[ending])
            found[ending] = file.getvalue()
            figure.dpi = DPI  # a PDF leaves 72
    return found


def _settle(figure: Figure) -> None:
    # Passes are repeated until nothing moves: where cells are square, the first leaves titles of panels
    # under the figure's.
    if (engine := figure.get_layout_engine()) is None:
        return
    before = None
    for _ in range(8):
        engine.execute(figure)
        after = [axes.get_position().bounds for axes in figure.axes]
        if before is not None and np.allclose(before, after, atol=1e-3):
            break
        before = after
    figure.set_layout_engine("none")


@contextmanager
def _fonts_without_layout() -> Iterator[None]:
    # A PDF has the position of each letter, so its fonts need no tables of kerning and ligatures; reducing
    # these to the letters used takes three times as long as the rest of a font.
    from fontTools import subset

    load = subset.load_font

    def without(*args: Any, **options: Any) -> Any:
        font = load(*args, **options)
        for table in ("GDEF", "GPOS", "GSUB", "MATH", "kern"):
            if table in font:
                del font[table]
        return font

    subset.load_font = without
    try:
        yield
    finally:
        subset.load_font = load
