"""Statistics of the group stage in the files of jobs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shortloop.base.plain import Plain
from shortloop.eeg.group.maps import MapStatistics
from shortloop.eeg.stages.feature_files import MAP_AXES
from shortloop.stages.results import Result
from shortloop.stages.stage import Values

NULL = {"null_max": "permutations", "null_mass": "permutations"}

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
    """Arrays and facts of one kind of map, ``"curve"`` or ``"plane"``."""
    arrays, facts = _parted(found)
    axes = {"scores": f"participants × {MAP_AXES[shape]}", **NULL}
    described = {
        f"{shape}_{name}": _values(each, name, axes.get(name, MAP_AXES[shape]), found.score)
        for name, each in arrays.items()
    }
    return described, facts


def packed(found: MapStatistics, shape: str) -> dict[str, np.ndarray | str]:
    """Statistics of one participant, as values of a unit."""
    arrays, facts = _parted(found)
    return {f"{shape}_{name}": each for name, each in arrays.items()} | {shape: json.dumps(facts)}


def stacked_values(
    rows: Sequence[Mapping[str, Any]],
) -> tuple[dict[str, Values], dict[str, list[dict[str, Plain]]]]:
    """Arrays and facts of all participants, from the `packed` statistics of each."""
    arrays, facts = {}, {}
    for shape in (shape for shape in MAP_AXES if shape in rows[0]):
        facts[shape] = known = [json.loads(str(row[shape])) for row in rows]
        for name in STATISTICS:
            given = [np.asarray(row[key]) for row in rows if (key := f"{shape}_{name}") in row]
            if not given:
                continue
            if name == "expected":  # a participant may have one level in all cells
                given = [
                    np.asarray(row.get(f"{shape}_{name}", np.full(given[0].shape, each["chance"])))
                    for row, each in zip(rows, known, strict=True)
                ]
            whole = np.concatenate(given) if name == "scores" else np.stack(given)
            axes = f"participants × {NULL.get(name, MAP_AXES[shape])}"
            arrays[f"{shape}_{name}"] = _values(whole, name, axes, known[0]["score"])
    return arrays, facts


def load_statistics(result: Result, shape: str) -> MapStatistics | None:
    """Statistics of one kind of map in a job of the group."""
    known: Any = result.facts["statistics"].get(shape)
    if known is None:
        return None
    arrays: dict[str, Any] = {
        name: np.asarray(result.arrays[f"{shape}_{name}"])
        for name in STATISTICS
        if f"{shape}_{name}" in result.arrays
    }
    return MapStatistics(**arrays, **known)


def _parted(found: MapStatistics) -> tuple[dict[str, np.ndarray], dict[str, Plain]]:
    fields = {each.name: getattr(found, each.name) for each in dataclasses.fields(found)}
    arrays = {name: each for name, each in fields.items() if isinstance(each, np.ndarray)}
    return arrays, {name: each for name, each in fields.items() if name not in arrays}


def _values(array: np.ndarray, name: str, axes: str, score: Plain) -> Values:
    names = {"score": score, "unit": "" if score == "auc" else "%"}
    description, unit = (text.format(**names) for text in STATISTICS[name])
    return Values(array, axes, description, unit)
