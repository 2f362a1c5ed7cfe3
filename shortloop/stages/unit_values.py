"""Write the values of units into a job's arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from shortloop.stages.coverage import indices_of
from shortloop.stages.exact_arrays import exact_array
from shortloop.stages.names import check_file_name
from shortloop.stages.retries import missing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from shortloop.stages.stage import Index, Stage

__all__ = ["keep_nothing", "keep_unit"]


def keep_unit(
    stage: Stage,
    unit: int,
    values: Mapping[str, ArrayLike | bytes],
    arrays: Mapping[str, np.ndarray],
    keep_file: Callable[[str, bytes], None],
) -> None:
    """Put what a unit gave where it belongs in the arrays."""
    indices = indices_of(stage, unit, arrays)
    if values.keys() != indices.keys() or not values:
        _keep_files(stage, unit, values, arrays, indices, keep_file)
    for name, where in indices.items():
        value, array = exact_array(values[name], name), arrays[name]
        shape = array.shape[1:] if isinstance(where, int) else array[where].shape
        if value.shape != shape or value.dtype is not array.dtype:
            _check_fit(stage, unit, name, value, array.dtype, shape)
        array[where] = value


def keep_nothing(stage: Stage, unit: int, arrays: Mapping[str, np.ndarray]) -> None:
    """Put missing values where those of a unit belong that failed."""
    for name, where in indices_of(stage, unit, arrays).items():
        arrays[name][where] = missing(arrays[name])


def _keep_files(
    stage: Stage,
    unit: int,
    values: Mapping[str, ArrayLike | bytes],
    arrays: Mapping[str, np.ndarray],
    indices: Mapping[str, Index],
    keep_file: Callable[[str, bytes], None],
) -> None:
    """Keep what a unit gives beside what it fills, if that may be."""
    files = {name: each for name, each in values.items() if isinstance(each, bytes) and name not in arrays}
    if values.keys() - files.keys() != indices.keys() or not values:
        found = ", ".join(sorted(values.keys() - files.keys())) or "nothing"
        raise ValueError(
            f"{stage.unit_name(unit)} gives {found}; it is to fill {', '.join(indices) or 'nothing'}"
        )
    if stage.grows:
        raise ValueError(f"{stage.unit_name(unit)} gives files; those of a job before are not taken over")
    for name, content in files.items():
        check_file_name(name)
        keep_file(name, content)


def _check_fit(
    stage: Stage, unit: int, name: str, value: np.ndarray, dtype: np.dtype, shape: tuple[int, ...]
) -> None:
    """Refuse values that would be repeated, cut off or changed where they belong."""
    import numpy as np

    if value.shape != shape or not np.can_cast(value.dtype, dtype, "same_kind"):
        found, wanted = f"{value.dtype} {value.shape}", f"{dtype} {shape}"
        raise ValueError(f"{stage.unit_name(unit)} gives {name} as {found}; its output is {wanted}")
    if not _can_hold(dtype, value):
        raise ValueError(f"{stage.unit_name(unit)} gives {name} with values that {dtype} cannot hold")


def _can_hold(dtype: np.dtype, value: np.ndarray) -> bool:
    """Whether values stay what they are, but for the rounding of floats."""
    import numpy as np

    if value.dtype == dtype or dtype.kind == "V":
        return True
    with np.errstate(over="ignore"):
        cast = value.astype(dtype)
    if dtype.kind in "fc":
        return bool((np.isinf(cast) <= np.isinf(value)).all())
    return np.array_equal(cast, value, equal_nan=dtype.kind in "mM")
