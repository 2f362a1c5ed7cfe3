"""How far each stage is from what the same core can do: arithmetic against a matrix product, traffic
against a copy of memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import ours
from benchmarks.counted_svm import updates
from benchmarks.measure import interleaved, seconds_of, spread
from benchmarks.options import Options
from benchmarks.thesis_data import QUICK, THESIS, Participant, simulate
from benchmarks.write import figures
from shortloop.eeg.decoding.selection.anova import select_features
from shortloop.eeg.decoding.selection.scaling import zscore
from shortloop.eeg.decoding.solvers.svm import choose_and_fit
from shortloop.types import FloatArray

__all__ = ["run"]

PERMUTATIONS = 100
WORDS = {
    "anova": "class and square sums of every feature, each value read once",
    "gram": "the lower triangle of X Xᵀ of each fold",
    "svm": "Gram rows that a plain coordinate descent adds up",
    "train": "the three above, gathering, z-scores and weights included",
    "apply": "products of a test bin with all weights of kept features",
    "permute": "one product of all votes with all shuffled labels",
}


def run(options: Options) -> dict[str, Any]:
    """Measure the stages on one power bin, one core, and the limits in between.

    Parameters
    ----------
    options : Options

    Returns
    -------
    dict
        ``stages``: for each stage ``seconds``, ``flops``, ``bytes`` (what the method cannot avoid) and the
        spreads of GFLOP/s, GB/s and their shares of the limits; ``limits``; ``tables``.
    """
    person = simulate(1, QUICK if options.quick else THESIS)
    ours.ready()
    works, counts = _stages(person)
    order, copied = (256, 2**23) if options.quick else (1200, 2**27)
    works |= {f"gemm {kind}": _gemm(order, kind) for kind in ("f64", "f32")}
    works["copy"] = _copy(copied)
    for work in works.values():
        work()
    timed: dict[str, Callable[[int], float]] = {
        name: partial(lambda run, each: seconds_of(each), each=work) for name, work in works.items()
    }
    seconds = interleaved(timed, options.runs)
    peak = {
        "f64": 2 * order**3 / np.array(seconds["gemm f64"]),
        "f32": 2 * order**3 / np.array(seconds["gemm f32"]),
    }
    copy = 2 * copied / np.array(seconds["copy"])
    stages = {}
    for name, (flops, traffic, kind) in counts.items():
        spent = np.array(seconds[name])
        stages[name] = {
            "what": WORDS[name],
            "seconds": spread(seconds[name]),
            "flops": flops,
            "bytes": traffic,
            "precision": kind,
            "gflops": spread(flops / spent / 1e9),
            "gbytes": spread(traffic / spent / 1e9),
            "share_of_gemm": spread(flops / spent / peak[kind]),
            "share_of_copy": spread(traffic / spent / copy),
        }
    limits = {
        "gemm_f64_gflops": spread(peak["f64"] / 1e9),
        "gemm_f32_gflops": spread(peak["f32"] / 1e9),
        "copy_gbytes": spread(copy / 1e9),
        "gemm_order": order,
        "copy_bytes": copied,
    }
    result = {"stages": stages, "limits": limits}
    return {**result, "tables": _tables(result)}


def _stages(person: Participant) -> tuple[dict[str, Callable[[], Any]], dict[str, tuple[float, float, str]]]:
    """What is timed, and its operations, bytes and precision."""
    labels, folds = person.labels, ours.folds_of(person.labels)
    x = person.study[len(person.study) // 4]  # where there is something to find
    n_folds, n_classes = ours.DECODING.folds, ours.N_CLASSES
    kept = select_features(
        x, labels, folds, n_classes=n_classes, n_folds=n_folds, alpha=ours.DECODING.select_alpha
    )
    chosen = [zscore(x[np.ix_(folds != fold, kept[fold])]) for fold in range(n_folds) if kept[fold].any()]
    labels_of = [labels[folds != fold] for fold in range(n_folds) if kept[fold].any()]
    grams = [each @ each.T + 1.0 for each in chosen]
    grid, inner, tol = ours.ESTIMATOR.C, ours.ESTIMATOR.inner_folds, ours.ESTIMATOR.tol
    trained = ours.train(x, labels, folds)
    models = ours.applied_models([trained] * len(person.study))
    votes = np.stack([ours.apply(each, models) for each in person.test])
    works: dict[str, Callable[[], Any]] = {
        "anova": lambda: select_features(
            x, labels, folds, n_classes=n_classes, n_folds=n_folds, alpha=ours.DECODING.select_alpha
        ),
        "gram": lambda: [each @ each.T for each in chosen],
        "svm": lambda: [choose_and_fit(gram, each, grid, inner, tol) for gram, each in zip(grams, labels_of)],
        "train": lambda: ours.train(x, labels, folds),
        "apply": lambda: ours.apply(person.test[0], models),
        "permute": lambda: ours.permute(votes, labels, PERMUTATIONS),
    }
    descended = sum(2.0 * len(g) * updates(g, y, grid, inner, tol) for g, y in zip(grams, labels_of))
    anova = (3.0 * x.size, 8.0 * x.size, "f64")
    gram = (sum(float(n * (n + 1) * k) for n, k in (each.shape for each in chosen)), 0.0, "f64")
    gram = (gram[0], sum(8.0 * each.size for each in chosen), "f64")
    svm = (descended, 4.0 * descended, "f64")  # a multiply-add for each 8 bytes of a row
    weights = float(len(person.study) * n_classes * trained.kept.sum())
    applied = 2.0 * len(x) * weights
    cells = votes.size / n_classes  # bins · bins · trials
    counts = {
        "anova": anova,
        "gram": gram,
        "svm": svm,
        "train": (anova[0] + gram[0] + svm[0], anova[1] + gram[1], "f64"),
        "apply": (applied, 8.0 * (weights + x.size), "f64"),
        "permute": (2.0 * PERMUTATIONS * n_classes * cells, float(votes.size), "f32"),
    }
    return works, counts


def _gemm(order: int, kind: str) -> Callable[[], Any]:
    rng = np.random.default_rng(0)
    a: FloatArray = rng.standard_normal((order, order)).astype({"f64": np.float64, "f32": np.float32}[kind])
    b = a[::-1].copy()
    out = np.empty_like(a)
    return lambda: np.matmul(a, b, out=out)


def _copy(size: int) -> Callable[[], Any]:
    source: FloatArray = np.ones(size // 8)
    target = np.empty_like(source)
    return lambda: np.copyto(target, source)


def _tables(result: dict[str, Any]) -> list[dict[str, Any]]:
    limits = result["limits"]
    rows = [
        [name, each["what"], figures(each["seconds"], "s"), figures(each["gflops"]), figures(each["gbytes"])]
        + [f"{100 * each[share]['median']:.0f} %" for share in ("share_of_gemm", "share_of_copy")]
        for name, each in result["stages"].items()
    ]
    return [
        {
            "title": "One power bin on one core: how near to the limit",
            "columns": ["stage", "counted", "seconds", "GFLOP/s", "GB/s", "of GEMM", "of copy"],
            "rows": rows,
            "note": f"GEMM of order {limits['gemm_order']}: {figures(limits['gemm_f64_gflops'], 'GFLOP/s')} "
            f"in double, {figures(limits['gemm_f32_gflops'], 'GFLOP/s')} in single precision (permute); "
            f"copy of {limits['copy_bytes'] // 2**20} MB: {figures(limits['copy_gbytes'], 'GB/s')} "
            "read and written. Counted is what the method cannot avoid, so a share below 100 % is room, or "
            "work of another kind; of what stays in cache, more bytes than a copy's are possible.",
        }
    ]
