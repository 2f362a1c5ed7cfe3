"""Where the values of units belong: each place of each output is filled by one unit, and by no other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from shortloop.worker.stage import Index, Out, Stage

if TYPE_CHECKING:
    import numpy as np

__all__ = ["check_places", "places_of"]


def places_of(stage: Stage, unit: int, outs: Mapping[str, object]) -> Mapping[str, Index]:
    """Where the values of a unit belong, in each output that it fills.

    Parameters
    ----------
    stage : Stage
        The stage, opened.
    unit : int
        Number of the unit.
    outs : mapping
        The outputs of the stage, by name.

    Returns
    -------
    mapping of str to index
    """
    index = stage.index(unit)
    return index if isinstance(index, Mapping) else dict.fromkeys(outs, index)


def check_places(stage: Stage, outs: Mapping[str, Out], units: int) -> None:
    """Refuse a stage whose units leave a place of an output as it was, or fill one several times.

    What they left would be zeros that nobody computed, and what two fill would depend on which is the last.

    Parameters
    ----------
    stage : Stage
        The stage, opened.
    outs : mapping of str to Out
        Its outputs.
    units : int
        How many units it has.

    Raises
    ------
    ValueError
        Which names the output and the place.
    """
    kind = type(stage).__name__
    if type(stage).index is Stage.index and not stage.have:  # without a look at each of them
        for name, out in outs.items():
            if out.shape[:1] != (units,):
                raise ValueError(
                    f"{kind} has {units} units, and the first axis of its output {name} is not that long: "
                    f"{out.shape}; `index` says where the values of a unit belong"
                )
        return
    found: dict[str, list[tuple[int | slice, ...]]] = {name: [] for name in outs}
    for unit in range(units):
        for name, where in places_of(stage, unit, outs).items():
            if name not in outs:
                raise ValueError(f"index({unit}) of {kind} names {name}; its outputs are {', '.join(outs)}")
            found[name].append(where if isinstance(where, tuple) else (where,))
    for name, out in outs.items():
        _check_filled(f"{name} of {kind}", out.shape, found[name], stage.have)


def _check_filled(
    name: str, shape: tuple[int, ...], places: list[tuple[int | slice, ...]], have: int
) -> None:
    import numpy as np

    axes = max(*map(len, places), min(1, len(shape)), 0)  # those behind are filled as a whole
    filled = np.zeros(shape[:axes], dtype=np.int32)
    if have:
        filled[:have] += 1
    for where in places:
        try:
            filled[where] += 1
        except IndexError as error:
            raise ValueError(f"a unit belongs to no place in {name}: {error}") from None
    if np.prod(shape) and (filled != 1).any():
        place = next(_places_of_others(filled))
        raise ValueError(
            f"{filled[place]} units fill {list(map(int, place))} of {name}, of shape {shape}: "
            "each place is filled by one unit"
        )


def _places_of_others(filled: np.ndarray) -> Iterator[tuple[int, ...]]:
    import numpy as np

    yield from map(tuple, np.argwhere(filled != 1))
