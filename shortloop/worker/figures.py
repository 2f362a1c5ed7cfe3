"""Figures of a job: those of matplotlib, kept as PNG and PDF. The same figure gives the same bytes."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["figure_files", "is_figure"]

DPI = 200
# What says when and with what a file was written is left out.
ENDINGS = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Creator": None, "Producer": None}}


def is_figure(value: object) -> bool:
    """Whether a value is a figure of matplotlib, which is loaded then.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    bool
    """
    library = sys.modules.get("matplotlib.figure")
    return library is not None and isinstance(value, library.Figure)


def figure_files(name: str, figure: Figure) -> dict[str, bytes]:
    """A figure as files.

    Parameters
    ----------
    name : str
        Its name.
    figure : Figure
        The figure, which is closed if pyplot made it.

    Returns
    -------
    dict of str to bytes
        ``NAME.png`` (200 dots per inch) and ``NAME.pdf``.
    """
    files = {}
    for ending, metadata in ENDINGS.items():
        stream = io.BytesIO()
        figure.savefig(stream, format=ending, dpi=DPI, metadata=metadata, bbox_inches="tight")
        files[f"{name}.{ending}"] = stream.getvalue()
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close(figure)
    return files
