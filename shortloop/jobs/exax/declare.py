"""``@stage``: an exax method made of a function, or of a class, where it is written."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, overload

from shortloop.errors import InputError
from shortloop.jobs.exax.method import STAGE, exax_method
from shortloop.worker.function import stage_of_function
from shortloop.worker.stage import STAGE_OF, Stage

__all__ = ["stage"]

F = TypeVar("F", bound=Callable[..., object])


@overload
def stage(function: F) -> F: ...
@overload
def stage(*, units: Callable[..., object], allow_empty: bool = False) -> Callable[[F], F]: ...
def stage(
    function: F | None = None, *, units: Callable[..., object] | None = None, allow_empty: bool = False
) -> F | Callable[[F], F]:
    """Make a stage of a function, or of a subclass of `Stage`, and in the file of a method, that method.

    The parameters of the function are what the stage is given: ``Job``, ``list[Job]`` and ``Job | None`` are
    jobs, ``File`` is an input file, all others are options, whose types are checked. What it returns, by
    name, is what the job leaves: arrays, frames of pandas or Polars, figures, plain data, and under names
    with an ending texts or bytes as files.

    Parameters
    ----------
    function : callable or type of Stage
        What is decorated.
    units : callable, optional
        Has the function called for each of many units, on all cores, and gives what each reads: a dict, pairs
        of a name and data, or what ``groupby`` of pandas gives. The function then takes that as its first
        argument, and the name as ``unit`` if it has such a parameter. It returns numbers, texts, arrays and
        frames by name, the same names for each unit. When the job is built again, a unit that reads the same
        is not computed again.
    allow_empty : bool, default False
        True if there may be no units. By default that is an error: a pattern of files often finds none where
        it should.

    Returns
    -------
    callable
        The function itself, which can be called and tested as before.

    Raises
    ------
    InputError
        If a parameter has no type, or there are two stages in the file of a method.

    Examples
    --------
    >>> @stage
    ... def panel(file: File):
    ...     import pandas as pd
    ...     return {"rows": pd.read_parquet(file.path)}

    >>> def firms(panel: Job):
    ...     return panel["rows"].groupby("firm")
    ...
    >>> @stage(units=firms)
    ... def slope(rows, column: str):
    ...     return {"slope": np.polyfit(rows["year"], rows[column], 1)[0]}
    """
    if function is None:
        return lambda decorated: _declared(decorated, units, allow_empty)
    return _declared(function, None)


def _declared(decorated: F, units: Callable[..., object] | None, allow_empty: bool = False) -> F:
    if inspect.isclass(decorated) and issubclass(decorated, Stage):
        kind: type[Stage] = decorated
    else:
        kind = stage_of_function(decorated, units, allow_empty)
        setattr(decorated, STAGE_OF, kind)
    space = vars(sys.modules[decorated.__module__])
    file = space.get("__file__")
    if file is not None and Path(file).name.startswith("a_"):
        if STAGE in space:
            raise InputError(
                "a method is made of one stage",
                file=file,
                found=f"{space[STAGE].__name__} and {kind.__name__}",
                hint="give each stage a file of its own",
            )
        space.update(exax_method(kind, file))
    return decorated
