"""What a function returns, sorted out: arrays, tables, figures, files and facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from shortloop.errors import InputError
from shortloop.worker.exact_arrays import exact_array
from shortloop.worker.fact_types import NotPlain, with_types
from shortloop.worker.figures import is_figure
from shortloop.worker.names import check_array_name, check_file_name
from shortloop.worker.stage import Finished, Values
from shortloop.worker.tables import is_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shortloop.plain import Plain
    from shortloop.worker.tables import Table

__all__ = ["sorted_out"]


def sorted_out(given: object, what: str) -> Finished:
    """Sort what a function returns by what it is.

    Parameters
    ----------
    given : mapping of str to object
        By name. A NumPy array is an array, a frame of pandas or Polars a table, a figure of matplotlib a
        figure; text or bytes under a name with an ending, as ``"page.html"``, are a file; all else must be
        plain data, and is a fact.
    what : str
        The stage, for messages.

    Returns
    -------
    Finished

    Raises
    ------
    InputError
        If it is no mapping, or a value is nothing of these, or has a name that no file can have.
    """
    import numpy as np

    if not isinstance(given, Mapping):
        raise InputError(
            f"{what} returns no values by name",
            found=type(given).__name__,
            expected='a dict, e.g. {"table": frame}',
        )
    facts: dict[str, Plain] = {}
    arrays: dict[str, Values] = {}
    files: dict[str, bytes] = {}
    tables: dict[str, Table] = {}
    figures: dict[str, Figure] = {}
    for name, value in given.items():
        if not isinstance(name, str):
            raise InputError(f"{what} returns a value whose name is no text", found=repr(name))
        if isinstance(value, Values):
            arrays[name] = value
        elif isinstance(value, str | bytes) and "." in name:
            files[name] = value.encode() if isinstance(value, str) else value
        elif is_table(value):
            tables[name] = cast("Table", value)
        elif is_figure(value):
            figures[name] = cast("Figure", value)
        elif isinstance(value, np.ndarray | np.generic):
            _check_array(value, name, what)
            arrays[name] = Values(cast("np.ndarray", value), "", "")
        else:
            _check_plain(value, name, what)
            facts[name] = cast("Plain", value)
    try:
        for name in arrays:
            check_array_name(name)
        for name in (*files, *tables, *figures):
            check_file_name(name)
    except ValueError as error:
        raise InputError(f"{what} returns a value of a name that it cannot have", found=str(error)) from None
    return Finished(facts, arrays, files, tables, figures)


def _check_array(value: object, name: str, what: str) -> None:
    try:
        exact_array(value, name)
    except ValueError as error:
        found, _, hint = str(error).partition("; ")
        raise _not_kept(name, what, found, hint) from None


def _check_plain(value: object, name: str, what: str) -> None:
    try:
        with_types(value)
    except NotPlain as error:
        raise _not_kept(f"{name}{error.where}", what, error.found, error.hint) from None


def _not_kept(name: str, what: str, found: str, hint: str) -> InputError:
    return InputError(
        f"{what} returns what cannot be kept",
        field=name,
        found=found,
        expected="an array of numbers, texts or times, a frame, a figure, plain data, or text or bytes under "
        "a name with an ending",
        hint=hint,
    )
