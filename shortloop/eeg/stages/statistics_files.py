"""Between the files of a job and the statistics of the group stage, in and out."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from shortloop.eeg.group.result import MapStatistics
from shortloop.eeg.stages.map_axes import MAP_AXES
from shortloop.plain import Plain
from shortloop.worker.results import Result
from shortloop.worker.stage import Values

__all__ = ["load_statistics", "statistics_values"]

STATISTICS = {
    "scores": ("{score} of each participant, not smoothed", "{unit}"),
    "mean": ("mean over participants of the smoothed scores", "{unit}"),
    "expected": ("chance level where it differs between cells, mean over participants", "{unit}"),
    "t": ("t against chance over participants", ""),
    "p_max": ("p corrected by the maximum statistic", ""),
    "p_cluster": ("p corrected by cluster mass", ""),
    "clusters": ("number of the cluster: positive 1 …, negative -1 …, 0 none", ""),
    "significant": ("cells of significant clusters", ""),
    "null_max": ("largest |t| of each permutation", ""),
    "null_mass": ("largest cluster mass of each permutation", ""),
}


def statistics_values(found: MapStatistics, shape: str) -> tuple[dict[str, Values], dict[str, Plain]]:
    """The arrays of statistics of one kind of map, and the rest.

    Parameters
    ----------
    found : MapStatistics
        The statistics.
    shape : str
        ``"curve"`` or ``"plane"``, part of the arrays' names.

    Returns
    -------
    arrays : dict of str to Values
        By name.
    facts : dict
        The rest, plain data.
    """
    axes = MAP_AXES[shape]
    arrays, facts = {}, {}
    for field in dataclasses.fields(found):
        value = getattr(found, field.name)
        if not isinstance(value, np.ndarray):
            facts[field.name] = value
            continue
        of = {"scores": f"participants × {axes}", "null_max": "permutations", "null_mass": "permutations"}
        names = {"score": found.score, "unit": "" if found.score == "auc" else "%"}
        description, unit = (text.format(**names) for text in STATISTICS[field.name])
        arrays[f"{shape}_{field.name}"] = Values(value, of.get(field.name, axes), description, unit)
    return arrays, facts


def load_statistics(result: Result, shape: str) -> MapStatistics | None:
    """Statistics of one kind of map that a job holds.

    Parameters
    ----------
    result : Result
        A job of the group stage.
    shape : str
        ``"curve"`` or ``"plane"``.

    Returns
    -------
    MapStatistics or None
        None where it has none of this shape.
    """
    facts = result.facts["statistics"].get(shape)
    if facts is None:
        return None
    arrays: dict[str, Any] = {
        name: np.asarray(result.arrays[f"{shape}_{name}"])
        for name in STATISTICS
        if f"{shape}_{name}" in result.arrays
    }
    return MapStatistics(**arrays, **facts)
