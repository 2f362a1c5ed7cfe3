"""Job arrays with named axes and coordinates, as xarray and pandas objects."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shortloop.base.extras import need
from shortloop.stages.records import axes_of
from shortloop.stages.results import upstream

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import xarray as xr

    from shortloop.base.plain import Plain
    from shortloop.stages.records import Described, Record
    from shortloop.stages.results import Result

__all__ = ["Dimensions", "array_frame", "dataset", "dimensions", "said_facts"]


@dataclass(frozen=True)
class Dimensions:
    """Names of the axes of all arrays of a job, which are names for xarray.

    of: those of each array.
    coordinates: name of the array, or of the fact, that says what stands along an axis, by the name of this.
    """

    of: Mapping[str, tuple[str, ...]]
    coordinates: Mapping[str, str]


def dimensions(record: Record) -> Dimensions:
    """Names for the axes of all arrays of a job."""
    arrays, said = record["arrays"], record.get("coordinates", {})
    lengths: dict[str, set[int]] = {}
    for each in arrays.values():
        for axis, length in zip(axes_of(each), each["shape"], strict=True):
            lengths.setdefault(axis, set()).add(length)
    along = {
        axis: source
        for axis, known in lengths.items()
        if (source := said.get(axis) or _of_its_name(axis, record)) is not None and len(known) == 1
    }
    taken: dict[str, tuple[str, str, int]] = {}  # which axis each name is the name of
    of: dict[str, tuple[str, ...]] = {}
    coordinates: dict[str, str] = {}
    for array, each in arrays.items():
        axes, names = axes_of(each), []
        for place, axis in enumerate(axes):
            again = axes[:place].count(axis) if axis else 0  # as of a covariance
            owner = array if not axis or len(lengths[axis]) > 1 else ""
            text = axis or f"axis {place}"
            name = along[axis] if not again and along.get(axis) in arrays else _name(text, owner, again)
            this = (text, owner, again)
            # An array may be called as an axis only if it says what stands along it.
            while (name in arrays and along.get(axis) != name) or taken.setdefault(name, this) != this:
                name += "_"
            if axis in along:
                coordinates[name] = along[axis]
            names.append(name)
        of[array] = tuple(names)
    return Dimensions(of, coordinates)


def dataset(result: Result) -> xr.Dataset:
    """All arrays of a job."""
    need("xarray", ["xarray"])
    import numpy as np
    import xarray as xr

    named = dimensions(result.record)
    variables = {
        name: (named.of[name], np.asarray(values), _said_of(result.record["arrays"][name]))
        for name, values in result.arrays.items()
    }
    along = {
        name: (name, _places(result, source))
        for name, source in named.coordinates.items()
        if name not in variables
    }
    return xr.Dataset(variables, along, _attributes(result))


def array_frame(result: Result, array: str) -> pd.DataFrame:
    """An array of a job as a table: a row for each of its values."""
    need("tables", ["pandas"])
    import numpy as np
    import pandas as pd

    named, values = dimensions(result.record), np.asarray(result.arrays[array])
    levels = [
        _places(result, named.coordinates[name]) if name in named.coordinates else np.arange(length)
        for name, length in zip(named.of[array], values.shape, strict=True)
    ]
    frame = pd.DataFrame({array: values.reshape(-1)})
    if len(levels) == 1:
        frame.index = pd.Index(levels[0], name=named.of[array][0])
    elif levels:
        frame.index = pd.MultiIndex.from_product(levels, names=named.of[array])
    return frame


def said_facts(record: Record) -> dict[str, Plain]:
    """Facts of a job as JSON has them; what an object is, in its place."""
    return record["facts"] | {name: each["text"] for name, each in record.get("objects", {}).items()}


def _of_its_name(axis: str, record: Record) -> str | None:
    """The array that is called as its one axis is."""
    name = _name(axis)
    array = record["arrays"].get(name)
    return name if array is not None and axis and axes_of(array) == (axis,) else None


def _name(text: str, owner: str = "", again: int = 0) -> str:
    said = f"{text} of {owner}" if owner else text
    return (re.sub(r"\W+", "_", said).strip("_") or "axis") + (f"_{again + 1}" if again else "")


def _places(result: Result, source: str) -> np.ndarray:
    """What stands along an axis: numbers, or texts."""
    import numpy as np

    if source in result.arrays:
        return np.asarray(result.arrays[source])
    said = result.record["facts"][source]
    places = [", ".join(map(str, each)) if isinstance(each, list) else each for each in said]
    are_numbers = all(isinstance(each, int | float) and abs(each) < 2**63 for each in places)
    return np.array(places if are_numbers else ["" if each is None else str(each) for each in places])


def _said_of(array: Described) -> dict[str, str]:
    said = {"long_name": array["description"], "units": array["unit"]}
    return {name: text for name, text in said.items() if text}


def _attributes(result: Result) -> dict[str, str]:
    """What is known of a job and of all that it was made from, as texts, which all files can keep."""
    told = set(result.record.get("coordinates", {}).values())
    jobs = [
        {
            "job": each.job,
            "stage": each.stage,
            "partition": each.partition,
            "options": {name: option for name, option in each.options.items() if name != "partition"},
            "inputs": each.inputs,
            "versions": dict(each.record["versions"]),
        }
        for each in upstream(result)
    ]
    found = {
        "job": result.job,
        "stage": result.stage,
        "partition": result.partition or "",
        "made": result.made.isoformat(timespec="seconds"),
        "problem": result.problem or "",
        "facts": _json({name: fact for name, fact in said_facts(result.record).items() if name not in told}),
        "provenance": _json(jobs),
    }
    return {name: text for name, text in found.items() if text}


def _json(plain: object) -> str:
    return json.dumps(plain, ensure_ascii=False) if plain else ""
