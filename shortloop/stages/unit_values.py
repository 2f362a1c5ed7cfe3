"""Values of units in a job's arrays: which elements each unit fills, and writing them there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from shortloop.stages.exact_arrays import exact_array
from shortloop.stages.failures import missing
from shortloop.stages.records import check_file_name
from shortloop.stages.stage import Index, Out, Stage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike


def indices_of(stage: Stage, unit: int, outs: Mapping[str, object]) -> Mapping[str, Index]:
    """Index of a unit into each output that it fills."""
    index = stage.index(unit)
    return index if isinstance(index, Mapping) else dict.fromkeys(outs, index)


def check_coverage(stage: Stage, outs: Mapping[str, Out], units: int) -> None:
    """Refuse a stage whose units leave an element of an output unfilled, or fill one several times.

    Unfilled elements would be zeros that nobody computed; of those filled twice, the last one would count.
    """
    kind = type(stage).__name__
    if type(stage).index is Stage.index and not stage.have:  # without asking for each of them
        for name, out in outs.items():
            if out.shape[:1] != (units,):
                raise ValueError(
                    f"{kind} has {units} units, and the first axis of its output {name} is not that long: "
                    f"{out.shape}; `index` says where the values of a unit belong"
                )
        return
    found: dict[str, list[tuple[int | slice, ...]]] = {name: [] for name in outs}
    for unit in range(units):
        for name, where in indices_of(stage, unit, outs).items():
            if name not in outs:
                raise ValueError(f"index({unit}) of {kind} names {name}; its outputs are {', '.join(outs)}")
            found[name].append(where if isinstance(where, tuple) else (where,))
    for name, out in outs.items():
        _check_filled(f"{name} of {kind}", out.shape, found[name], stage.have)


def _check_filled(
    name: str, shape: tuple[int, ...], indices: list[tuple[int | slice, ...]], have: int
) -> None:
    import numpy as np

    axes = max(*map(len, indices), min(1, len(shape)), 0)  # those behind are filled as a whole
    filled = np.zeros(shape[:axes], dtype=np.int32)
    if have:
        filled[:have] += 1
    for where in indices:
        try:
            filled[where] += 1
        except IndexError as error:
            raise ValueError(f"the index of a unit is outside of {name}: {error}") from None
    others = np.argwhere(filled != 1)
    if np.prod(shape) and len(others):
        first = others[0].tolist()
        raise ValueError(
            f"{filled[tuple(first)]} units fill {first} of {name}, of shape {shape}: "
            "each element is filled by one unit"
        )


def keep_unit(
    stage: Stage,
    unit: int,
    values: Mapping[str, ArrayLike | bytes],
    arrays: Mapping[str, np.ndarray],
    keep_file: Callable[[str, bytes], None],
) -> None:
    """Write the values of a unit into the arrays, and keep its files."""
    import numpy as np

    indices = indices_of(stage, unit, arrays)
    files = {name: each for name, each in values.items() if isinstance(each, bytes) and name not in arrays}
    if values.keys() - files.keys() != indices.keys() or not values:
        found, wanted = (", ".join(names) or "nothing" for names in (sorted(values.keys() - files), indices))
        raise ValueError(f"{stage.unit_name(unit)} gives {found}; it is to fill {wanted}")
    if files and stage.grows:
        raise ValueError(f"{stage.unit_name(unit)} gives files; those of a job before are not taken over")
    for name, content in files.items():
        check_file_name(name)
        keep_file(name, content)
    for name, where in indices.items():
        value, array = exact_array(values[name], name), arrays[name]
        shape = array.shape[1:] if isinstance(where, int) else array[where].shape
        if value.shape != shape or not np.can_cast(value.dtype, array.dtype, "same_kind"):
            found, wanted = f"{value.dtype} {value.shape}", f"{array.dtype} {shape}"
            raise ValueError(f"{stage.unit_name(unit)} gives {name} as {found}; its output is {wanted}")
        if not _can_hold(array.dtype, value):
            raise ValueError(
                f"{stage.unit_name(unit)} gives {name} with values that {array.dtype} cannot hold"
            )
        array[where] = value


def keep_nothing(stage: Stage, unit: int, arrays: Mapping[str, np.ndarray]) -> None:
    """Write missing values in place of those of a unit that failed."""
    for name, where in indices_of(stage, unit, arrays).items():
        arrays[name][where] = missing(arrays[name])


def _can_hold(dtype: np.dtype, value: np.ndarray) -> bool:
    """True if values stay the same, but for the rounding of floats."""
    import numpy as np

    if value.dtype == dtype or dtype.kind == "V":
        return True
    with np.errstate(over="ignore"):
        cast = value.astype(dtype)
    if dtype.kind in "fc":
        return bool((np.isinf(cast) <= np.isinf(value)).all())
    return np.array_equal(cast, value, equal_nan=dtype.kind in "mM")
