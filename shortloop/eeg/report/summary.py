"""What was found, as plain data: for the JSON summary, the terminal's table and the page's words."""

from __future__ import annotations

from typing import Any

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.eeg.group.result import MapStatistics
from shortloop.eeg.group.settings import SHARED_TRAINING
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.effects import effect_at

__all__ = ["group_findings", "participant_scores", "participant_table"]


def participant_table(result: KindResult) -> list[dict[str, Any]]:
    """Best score of each participant, not smoothed."""
    rows = []
    for index, participant in enumerate(result.participants):
        peak, at = _peak(result.curve.scores[index])
        row: dict[str, Any] = {
            "participant": participant,
            "peak": peak,
            "peak_time": _time(result.train_times, at, 0),
            "chance": float(result.curve.chance),
        }
        if result.generalization is not None:
            peak, at = _peak(result.generalization.scores[index])
            row["generalization_peak"] = peak
            row["generalization_train_time"] = _time(result.train_times, at, 1)
            row["generalization_test_time"] = _time(result.test_times, at, 0)
        rows.append({**row, **_alone(result, participant, index)})
    return rows


def _alone(result: KindResult, participant: str, index: int) -> dict[str, Any]:
    found = next((each for each in result.alone if each.participant == participant), None)
    _, at = _peak(result.curve.scores[index])
    if found is None or at is None:
        return {}
    low, high = found.curve_ends[:, at[0]].tolist()
    row = {"low": low, "high": high, "p": _smallest(found.curve.p_max)}
    if result.generalization is not None and found.plane is not None and found.plane_ends is not None:
        _, at = _peak(result.generalization.scores[index])
        low, high = (None, None) if at is None else found.plane_ends[:, at[0], at[1]].tolist()
        row["generalization_low"], row["generalization_high"] = low, high
        row["generalization_p"] = _smallest(found.plane.p_max)
    return row


def participant_scores(result: KindResult) -> list[dict[str, Any]]:
    """All scores of each participant, not smoothed."""
    plane = result.generalization
    return [
        {
            "participant": participant,
            "kind": result.kind,
            "score": result.curve.score,
            "time_unit": result.time_unit,
            "train_times": result.train_times.tolist(),
            "curve": result.curve.scores[index].tolist(),
            "test_times": None if result.test_times is None else result.test_times.tolist(),
            "generalization": None if plane is None else plane.scores[index].tolist(),
        }
        for index, participant in enumerate(result.participants)
    ]


def group_findings(result: KindResult) -> dict[str, Any]:
    """What the statistics say of the curve and of the generalization map."""
    return {
        "kind": result.kind,
        "level": result.curve.level,
        "participants": len(result.participants),
        "time_unit": result.time_unit,
        "score": result.curve.score,
        "chance": float(result.curve.chance),
        "alpha": float(result.curve.alpha),
        "curve": _curve_findings(result),
        "generalization": _map_findings(result),
        "left_out": int(result.left_out),
    }


def _curve_findings(result: KindResult) -> dict[str, Any]:
    stats, times = result.curve, result.train_times
    peak, at = _peak(stats.mean)
    clusters = []
    for first, last in _runs(stats):
        cells = np.zeros(len(times), dtype=bool)
        cells[first : last + 1] = True
        found, where = _cluster(stats, cells)
        start, end = float(times[first]), float(times[last])
        clusters.append({"start": start, "end": end, **found, "peak_time": _time(times, where, 0)})
    return {
        **_overall(stats),
        "peak": peak,
        "effect": _effect(stats, at),
        "peak_time": _time(times, at, 0),
        "windows": [[cluster["start"], cluster["end"]] for cluster in clusters],
        "clusters": clusters,
    }


def _map_findings(result: KindResult) -> dict[str, Any] | None:
    stats = result.generalization
    if stats is None or result.test_times is None:
        return None
    peak, at = _peak(stats.mean)
    regions = []
    for number in np.unique(stats.clusters[stats.significant]):
        cells = stats.significant & (stats.clusters == number)
        test, train = np.nonzero(cells)
        found, where = _cluster(stats, cells)
        regions.append(
            {
                "train": _range(result.train_times, train),
                "test": _range(result.test_times, test),
                "cells": int(cells.sum()),
                **found,
                "peak_train_time": _time(result.train_times, where, 1),
                "peak_test_time": _time(result.test_times, where, 0),
            }
        )
    return {
        **_overall(stats),
        "peak": peak,
        "effect": _effect(stats, at),
        "peak_train_time": _time(result.train_times, at, 1),
        "peak_test_time": _time(result.test_times, at, 0),
        "regions": sorted(regions, key=lambda region: (region["p"], -region["cells"])),
    }


def _overall(stats: MapStatistics) -> dict[str, Any]:
    return {
        "significant": bool(stats.significant.any()),
        "p": _smallest(stats.p_cluster),
        "p_max": _smallest(stats.p_max),
        "too_small": SHARED_TRAINING in stats.note,
    }


def _cluster(stats: MapStatistics, cells: np.ndarray) -> tuple[dict[str, Any], tuple[int, ...] | None]:
    above = float(np.nansum(stats.t[cells])) >= 0
    beyond = stats.mean - stats.level_of_chance
    _, at = _peak(np.where(cells, beyond if above else -beyond, np.nan))
    found = {
        "direction": "above" if above else "below",
        "p": _smallest(stats.p_cluster[cells]),
        "peak": None if at is None else float(stats.mean[at]),
        "effect": _effect(stats, at),
    }
    return found, at


def _effect(stats: MapStatistics, at: tuple[int, ...] | None) -> dict[str, Any] | None:
    effect = None if at is None else effect_at(stats, at)
    return None if effect is None else effect._asdict()


def _runs(stats: MapStatistics) -> list[tuple[int, int]]:
    # First and last index of each run of significant bins of one cluster.
    number = np.where(stats.significant, stats.clusters, 0)
    runs: list[tuple[int, int]] = []
    for index in np.flatnonzero(stats.significant):
        if runs and runs[-1][1] == index - 1 and number[index] == number[index - 1]:
            runs[-1] = (runs[-1][0], int(index))
        else:
            runs.append((int(index), int(index)))
    return runs


def _peak(values: FloatArray) -> tuple[float | None, tuple[int, ...] | None]:
    if not np.isfinite(values).any():
        return None, None
    at = np.unravel_index(int(np.argmax(np.where(np.isfinite(values), values, -np.inf))), values.shape)
    return float(values[at]), tuple(int(index) for index in at)


def _time(times: FloatArray | None, at: tuple[int, ...] | None, axis: int) -> float | None:
    return None if times is None or at is None else float(times[at[axis]])


def _range(times: FloatArray, indices: np.ndarray) -> list[float]:
    return [float(times[indices.min()]), float(times[indices.max()])]


def _smallest(p: FloatArray) -> float | None:
    known = p[np.isfinite(p)]
    return float(known.min()) if known.size else None
