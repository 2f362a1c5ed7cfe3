"""Check that units fill each output element exactly once."""

from __future__ import annotations

from collections.abc import Mapping

from shortloop.stages.stage import Index, Out, Stage

__all__ = ["check_coverage", "indices_of"]


def indices_of(stage: Stage, unit: int, outs: Mapping[str, object]) -> Mapping[str, Index]:
    """Where the values of a unit belong, in each output that it fills."""
    index = stage.index(unit)
    return index if isinstance(index, Mapping) else dict.fromkeys(outs, index)


def check_coverage(stage: Stage, outs: Mapping[str, Out], units: int) -> None:
    """Refuse a stage whose units leave an element of an output as it was, or fill one several times.

    What they left would be zeros that nobody computed, and what two fill would depend on which is the last.
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
