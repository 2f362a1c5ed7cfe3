"""One model in every group of a frame, without jobs: for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shortloop.panel.data import from_frame
from shortloop.panel.equation import Equation
from shortloop.panel.fit import Fitter
from shortloop.panel.models.base import ModelSettings
from shortloop.panel.results import Results, check_computed, with_others
from shortloop.panel.statistics import COEFFICIENTS, FITS, LEVEL

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["fit_frame"]


def fit_frame(frame: pd.DataFrame, by: Sequence[str], *, level: float = LEVEL, **settings: Any) -> Results:
    """Fit a model to every group of a frame.

    Parameters
    ----------
    frame : DataFrame
        A row for each observation, in any order.
    by : sequence of str
        Columns whose values make a group.
    level : float, default 0.95
        Of confidence intervals.
    **settings
        As in a panel file: ``model``, ``formula`` and what else the model has.

    Returns
    -------
    Results
        Groups are in the order of the values that make them.

    Raises
    ------
    InputError
        If a column is not there, or cannot be computed with.

    Examples
    --------
    >>> found = fit_frame(frame, ["firm"], model="ols", formula="invest ~ value + capital")
    >>> found.coefficients("holm")
    """
    model = ModelSettings.model_validate(settings)
    equation = Equation(model.formula)
    names = [*map(str, frame.columns)]
    needed = {*by, *equation.variables(names), *model.roles().values()}
    panel = from_frame(frame[[name for name in frame.columns if name in needed]], by)
    fits = Fitter(model, equation, panel.columns, panel.starts, level).fit()
    arrays = {name: getattr(fits.statistics, name) for name in (*COEFFICIENTS, *FITS)}
    said = [""] * len(panel.keys)
    for g, texts in fits.said.items():
        said[g] = "; ".join(texts)
    said = with_others(fits.names, fits.statistics.params, said)
    arrays |= {"status": fits.status, "path": fits.path}
    found = Results(panel.by, panel.keys, fits.names, arrays, said)
    check_computed(found, equation.where)
    return found
