"""Sort a stage function's return value into arrays, tables, figures, files and facts."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from shortloop.base.errors import InputError
from shortloop.stages.exact_arrays import is_exact
from shortloop.stages.names import check_array_name, check_file_name
from shortloop.stages.stage import Finished, Values
from shortloop.stages.tables import is_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shortloop.stages.tables import Table

__all__ = ["figure_files", "is_figure", "sorted_out"]

DPI = 200
# What says when and with what a file was written is left out.
ENDINGS = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Creator": None, "Producer": None}}


def sorted_out(given: object, what: str) -> Finished:
    """Sort what a function returns by what it is."""
    import numpy as np

    if not isinstance(given, Mapping):
        raise InputError(
            f"{what} returns no values by name",
            found=type(given).__name__,
            expected='a dict, e.g. {"table": frame}',
            hint='give it a name: `return {"model": …}`',
        )
    facts: dict[str, object] = {}
    arrays: dict[str, Values] = {}
    files: dict[str, bytes] = {}
    tables: dict[str, Table] = {}
    figures: dict[str, Figure] = {}
    for name, value in given.items():
        if not isinstance(name, str):
            raise InputError(f"{what} returns a value whose name is not a string", found=repr(name))
        if isinstance(value, Values):
            arrays[name] = value
        elif isinstance(value, str | bytes) and "." in name:
            files[name] = value.encode() if isinstance(value, str) else value
        elif is_table(value):
            tables[name] = cast("Table", value)
        elif is_figure(value):
            figures[name] = cast("Figure", value)
        elif isinstance(value, np.ndarray | np.generic) and is_exact(value):
            arrays[name] = Values(cast("np.ndarray", value), "", "")
        else:
            facts[name] = value
    try:
        for name in arrays:
            check_array_name(name)
        for name in (*files, *tables, *figures):
            check_file_name(name)
    except ValueError as error:
        raise InputError(f"{what} returns a value with an invalid name", found=str(error)) from None
    return Finished(facts, arrays, files, tables, figures)


def is_figure(value: object) -> bool:
    """Whether a value is a figure of matplotlib, which is loaded then."""
    library = sys.modules.get("matplotlib.figure")
    return library is not None and isinstance(value, library.Figure)


def figure_files(name: str, figure: Figure) -> dict[str, bytes]:
    """A figure as files."""
    files = {}
    for ending, metadata in ENDINGS.items():
        stream = io.BytesIO()
        figure.savefig(stream, format=ending, dpi=DPI, metadata=metadata, bbox_inches="tight")
        files[f"{name}.{ending}"] = stream.getvalue()
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close(figure)
    return files
