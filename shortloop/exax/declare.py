"""``@stage``: turn a function or class into an exax method."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar, overload

from shortloop.base.errors import InputError
from shortloop.exax.method import exax_method
from shortloop.keys.methods import STAGE
from shortloop.stages.function import stage_of_function
from shortloop.stages.needs import STOP, Needs
from shortloop.stages.stage import STAGE_OF, Stage

F = TypeVar("F", bound=Callable[..., object])


@overload
def stage(function: F) -> F: ...
@overload
def stage(
    *,
    units: Callable[..., object] | None = None,
    allow_empty: bool = False,
    operation_counts: Callable[..., Mapping[str, float]] | None = None,
    cores: int = 1,
    memory: int | str = 0,
    gpus: int = 0,
    retries: int = 0,
    timeout: float | str | None = None,
    on_error: str = STOP,
) -> Callable[[F], F]: ...
def stage(
    function: F | None = None,
    *,
    units: Callable[..., object] | None = None,
    allow_empty: bool = False,
    operation_counts: Callable[..., Mapping[str, float]] | None = None,
    cores: int = 1,
    memory: int | str = 0,
    gpus: int = 0,
    retries: int = 0,
    timeout: float | str | None = None,
    on_error: str = STOP,
) -> F | Callable[[F], F]:
    """Make a stage of a function, or of a subclass of `Stage`, and in the file of a method, that method.

    The parameters of the function are what the stage is given: ``Job``, ``list[Job]`` and ``Job | None`` are
    jobs, ``File`` is an input file, all others are options, whose types are checked. What it returns, by
    name, is what the job leaves: arrays, frames of pandas or Polars, figures, under names with an ending
    texts or bytes as files, and any other object that can be pickled and read back elsewhere, as models.

    Parameters
    ----------
    function : callable or type of Stage
        What is decorated.
    units : callable, optional
        Has the function called for each of many units, on all cores, and gives what each reads: a dict, pairs
        of a name and data, or what ``groupby`` of pandas gives. The function then takes that as its first
        argument, and the name as ``unit`` if it has such a parameter. It returns numbers, texts, arrays,
        frames and other objects by name, the same names for each unit. When the job is built again, a unit
        that reads the same is not computed again.
    allow_empty : bool, default False
        True if there may be no units. By default that is an error: a pattern of files often finds none where
        it should.
    operation_counts : callable, optional
        Takes what the stage is given, by the names of its parameters, and counts what all units take together
        as `Stage.operation_counts` does; `shortloop limits` compares it with what the machine can do.
    cores, memory, gpus, retries, timeout, on_error
        As of `Stage`: how it is computed. All but `on_error` are part of no key.

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
    needs: dict[str, object] = {"cores": cores, "memory": memory, "gpus": gpus}
    needs |= {"retries": retries, "timeout": timeout, "on_error": on_error}

    def declare(decorated: F) -> F:
        if inspect.isclass(decorated) and issubclass(decorated, Stage):
            if any(needs[name] != usual for name, usual in vars(Needs()).items()):
                problem = "a stage that is a class sets how it is computed in its body"
                found = ", ".join(f"{name}={each!r}" for name, each in needs.items())
                hint = "write e.g. `retries = 2` in the class, and `@stage` above it"
                raise InputError(problem, stage=decorated.__name__, found=found, hint=hint)
            kind: type[Stage] = decorated
        else:
            kind = stage_of_function(decorated, units, allow_empty, operation_counts, needs)
            setattr(decorated, STAGE_OF, kind)
        space = vars(sys.modules[decorated.__module__])
        if (file := space.get("__file__")) is not None and Path(file).name.startswith("a_"):
            if STAGE in space:
                found = f"{space[STAGE].__name__} and {kind.__name__}"
                hint = "give each stage a file of its own"
                raise InputError("a method is made of one stage", file=file, found=found, hint=hint)
            space.update(exax_method(kind, file))
        return decorated

    return declare if function is None else declare(function)
