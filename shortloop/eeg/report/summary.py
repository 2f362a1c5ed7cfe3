"""Findings as plain data and as CSV: for the JSON summary, the terminal's table and the page."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import nctdtrinc, stdtrit  # without the weight of SciPy's statistics

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.group.maps import SD_RESOLUTION, MapStatistics
from shortloop.eeg.group.settings import SHARED_TRAINING
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.labels import letter_of
from shortloop.report.page import csv_text

LEVEL = 0.95
LARGEST = 100  # Cohen's d that is printed
Cell = tuple[int, ...]


def cohens_d(t: float, participants: int) -> dict[str, float | None]:
    """Cohen's d of a one-sample t, the mean over the standard deviation, with its 95 % interval."""
    # Cumming & Finch 2001, A primer on the understanding, use, and calculation of confidence intervals that
    # are based on central and noncentral distributions, Educ Psychol Meas 61:532-574.
    root = math.sqrt(participants)
    ends = [float(nctdtrinc(participants - 1, p, t)) / root for p in ((1 + LEVEL) / 2, (1 - LEVEL) / 2)]
    low, high = (end if math.isfinite(end) else None for end in ends)
    return {"d": t / root, "low": low, "high": high}


def effect_at(stats: MapStatistics, at: Cell) -> dict[str, float | None] | None:
    if stats.level != "group":
        return None
    t = float(stats.t[at])
    points = 100.0 if stats.score == "auc" else 1.0
    away = points * abs(float(stats.mean[at] - stats.level_of_chance[at]))
    if abs(t) / math.sqrt(len(stats.scores)) * SD_RESOLUTION >= away * (1 - 1e-9) > 0:
        return None  # the standard deviation in t is a lower bound, not that of the scores
    return cohens_d(t, len(stats.scores))


def effect_text(effect: dict[str, Any] | None) -> str:
    if effect is None:
        return ""
    d, ends = effect_parts(effect)
    said = f"Cohen's d {d}" if d[0] in "<>" else f"Cohen's d = {d}"
    return f" ({said}, 95 % CI {ends})" if ends else f" ({said})"


def effect_parts(effect: dict[str, Any]) -> tuple[str, str]:
    if abs(effect["d"]) > LARGEST:
        return f"> {LARGEST}" if effect["d"] > 0 else f"< −{LARGEST}", ""
    ends = ""
    if effect["low"] is not None and effect["high"] is not None:
        ends = f"{effect['low']:.2f} to {effect['high']:.2f}"
    return f"{effect['d']:.2f}".replace("-", "−"), ends.replace("-", "−")


def confidence_half_width(stats: MapStatistics, level: float = LEVEL) -> FloatArray:
    """Half-width of the confidence interval of the mean over participants, by Student's t; NaN for one."""
    # The mean and t are of smoothed scores, so the standard error is too: it is (mean − chance) / t. Where
    # the mean is at chance that is 0 / 0, and the standard error of the scores themselves is taken.
    if (count := len(stats.scores)) < 2 or stats.level == "participant":
        return np.full(stats.mean.shape, np.nan)
    error = np.std(stats.scores, axis=0, ddof=1) / np.sqrt(count)
    known = np.abs(stats.t) > 1e-9
    error[known] = ((stats.mean - stats.level_of_chance)[known] / stats.t[known]).astype(error.dtype)
    return np.asarray(np.abs(error) * stdtrit(count - 1, (1 + level) / 2))


def participant_table(result: KindResult) -> list[dict[str, Any]]:
    rows = []
    alone = {each.participant: each for each in result.individual}
    for index, participant in enumerate(result.participants):
        peak, at = _peak(result.curve.scores[index])
        row: dict[str, Any] = {
            "participant": participant,
            "peak": peak,
            "peak_time": _times_of(result, at, 1)[0],
            "chance": float(result.curve.chance),
        }
        best = None
        if result.generalization is not None:
            row["generalization_peak"], best = _peak(result.generalization.scores[index])
            trained, tested = _times_of(result, best, 2)
            row |= {"generalization_train_time": trained, "generalization_test_time": tested}
        if (one := alone.get(participant)) is not None:
            row["low"], row["high"] = one.curve_ends[:, at[0]].tolist()
            row["p"] = one.curve_p
            if best is not None and one.plane_p is not None and one.plane_ends is not None:
                ends = one.plane_ends[:, best[0], best[1]].tolist()
                row["generalization_low"], row["generalization_high"] = ends
                row["generalization_p"] = one.plane_p
        rows.append(row)
    return rows


def participant_scores(result: KindResult) -> list[dict[str, Any]]:
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
    """Statistics of the curve and of the generalization map: peaks, clusters and their p values."""
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


def spans_of(found: dict[str, Any]) -> list[list[float]]:
    """Times of a cluster, from and to; of a map those of training, then those of testing."""
    return [[found["start"], found["end"]]] if "start" in found else [found["train"], found["test"]]


def peaks_of(found: dict[str, Any]) -> list[float]:
    """Time of a peak; of a map that of training, then that of testing."""
    names = ["peak_time"] if "peak_time" in found else ["peak_train_time", "peak_test_time"]
    return [found[name] for name in names]


def _curve_findings(result: KindResult) -> dict[str, Any]:
    stats, times = result.curve, result.train_times
    clusters = []
    # Runs of significant bins of one cluster: clusters of opposite signs may touch.
    number = np.where(stats.significant, stats.clusters, 0)
    for run in np.split(np.arange(len(times)), np.flatnonzero(np.diff(number)) + 1):
        if stats.significant[run[0]]:
            start, end = _range(times, run)
            cells = np.isin(np.arange(len(times)), run)
            clusters.append({"start": start, "end": end, **_cluster(result, stats, cells)})
    windows = [[cluster["start"], cluster["end"]] for cluster in clusters]
    return {**_overall(result, stats), "windows": windows, "clusters": clusters}


def _map_findings(result: KindResult) -> dict[str, Any] | None:
    if (stats := result.generalization) is None or result.test_times is None:
        return None
    regions = []
    for number in np.unique(stats.clusters[stats.significant]):
        cells = stats.significant & (stats.clusters == number)
        test, train = np.nonzero(cells)
        spans = {"train": _range(result.train_times, train), "test": _range(result.test_times, test)}
        regions.append({**spans, "cells": int(cells.sum()), **_cluster(result, stats, cells)})
    regions.sort(key=lambda region: (region["p"], -region["cells"]))
    return {**_overall(result, stats), "regions": regions}


def _overall(result: KindResult, stats: MapStatistics) -> dict[str, Any]:
    peak, at = _peak(stats.mean)
    return {
        "significant": bool(stats.significant.any()),
        "p": float(stats.p_cluster.min()),
        "p_max": float(stats.p_max.min()),
        "too_small": SHARED_TRAINING in stats.note,
        "peak": peak,
        "effect": effect_at(stats, at),
        **_peak_times(result, stats, at),
    }


def _cluster(result: KindResult, stats: MapStatistics, cells: np.ndarray) -> dict[str, Any]:
    above = stats.t[cells].sum() >= 0
    beyond = stats.mean - stats.level_of_chance
    _, at = _peak(np.where(cells, beyond if above else -beyond, np.nan))
    return {
        "direction": "above" if above else "below",
        "p": float(stats.p_cluster[cells].min()),
        "peak": float(stats.mean[at]),
        "effect": effect_at(stats, at),
        **_peak_times(result, stats, at),
    }


def _peak(values: FloatArray) -> tuple[float, Cell]:
    at = np.unravel_index(int(np.nanargmax(values)), values.shape)
    return float(values[at]), tuple(int(index) for index in at)


def _peak_times(result: KindResult, stats: MapStatistics, at: Cell) -> dict[str, float | None]:
    names = ["peak_time"] if stats.mean.ndim == 1 else ["peak_train_time", "peak_test_time"]
    return dict(zip(names, _times_of(result, at, len(names))))


def _range(times: FloatArray, indices: IntArray) -> list[float]:
    return [float(times[indices.min()]), float(times[indices.max()])]


def statistics_csv(result: KindResult, stats: MapStatistics) -> str:
    """Statistics of the curve or of the map as CSV, with a row for each bin or cell."""
    half = confidence_half_width(stats)
    columns: dict[str, Any] = {
        "mean": stats.mean,
        "low": stats.mean - half,
        "high": stats.mean + half,
        "chance": stats.level_of_chance,
        letter_of(stats): stats.t,
        "p by clusters": stats.p_cluster,
        "p by maximum": stats.p_max,
        "significant": stats.significant,
    }
    rows = (
        [*_times_of(result, cell, stats.t.ndim), *(each[cell].item() for each in columns.values())]
        for cell in np.ndindex(stats.t.shape)
    )
    times = [f"{each} time ({result.time_unit})" for each in ("train", "test")[: stats.t.ndim]]
    return csv_text([*times, *columns], rows)


def participants_csv(result: KindResult) -> str:
    """Scores of each participant as CSV, not smoothed, with their intervals over trials if known."""
    times = [f"{each} time ({result.time_unit})" for each in ("train", "test")]
    alone = {each.participant: (each.curve_ends, each.plane_ends) for each in result.individual}
    rows: list[list[str | float | None]] = []
    for index, name in enumerate(result.participants):
        shown = zip(("decoding", "generalization"), result.maps, alone.get(name, (None, None)))
        for what, stats, ends in shown:
            for cell, score in np.ndenumerate(stats.scores[index]):
                low, high = (None, None) if ends is None else (float(each[cell]) for each in ends)
                rows.append([name, what, *_times_of(result, cell, 2), float(score), low, high])
    return csv_text(["participant", "scores", *times, "score", "low", "high"], rows)


def _times_of(result: KindResult, cell: Cell, number: int) -> list[float | None]:
    """Training time of a cell and, of a map, its testing time; filled up with None to so many."""
    times = [result.train_times] if result.test_times is None else [result.train_times, result.test_times]
    known: list[float | None] = [float(each[index]) for each, index in zip(times, reversed(cell))]
    return known + [None] * (number - len(known))
