"""One participant of the thesis workload: as the thesis computes it, as a careful user of scikit-learn would,
and by this library."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import ours, peers_thesis, peers_vectorised
from benchmarks.measure import interleaved, ratio, seconds_of, spread
from benchmarks.options import Options, cores
from benchmarks.thesis_data import QUICK, THESIS, Participant, simulate
from benchmarks.write import figures

PERMUTATIONS = 100


def run(options: Options) -> dict[str, Any]:
    """Measure all of them in turn."""
    person = simulate(1, QUICK if options.quick else THESIS)
    ours.ready()
    ours.whole(person, PERMUTATIONS)
    agreement = _agreement(person)  # imports all that is measured below
    stages: dict[str, list[dict[str, float]]] = {"thesis": [], "vectorised": [], "vectorised, all cores": []}

    def thesis(run: int) -> float:
        return _keep(stages["thesis"], peers_thesis.seconds(person, run, PERMUTATIONS))

    def vectorised(run: int) -> float:
        return _keep(stages["vectorised"], peers_vectorised.seconds(person, run, PERMUTATIONS, 1))

    def all_cores(run: int) -> float:
        found = peers_vectorised.seconds(person, run, PERMUTATIONS, cores())
        return _keep(stages["vectorised, all cores"], found)

    works: dict[str, Callable[[int], float]] = {
        "thesis": thesis,
        "vectorised": vectorised,
        "vectorised, all cores": all_cores,
        "ours": lambda run: seconds_of(lambda: ours.whole(person, PERMUTATIONS)),
        "ours, all cores": lambda run: _on_all_cores(person),
    }
    seconds = interleaved(works, options.runs)
    result = {
        "permutations": PERMUTATIONS,
        "cores": cores(),
        "seconds": {name: spread(each) for name, each in seconds.items()},
        "over_ours": {name: ratio(each, seconds["ours"]) for name, each in seconds.items()},
        "over_ours_all_cores": {
            name: ratio(each, seconds["ours, all cores"]) for name, each in seconds.items()
        },
        "stages": {
            name: {stage: spread([run[stage] for run in runs]) for stage in runs[0]}
            for name, runs in stages.items()
        },
        "agreement": agreement,
    }
    return {**result, "tables": _tables(result)}


def _keep(all_runs: list[dict[str, float]], stages: dict[str, float]) -> float:
    all_runs.append(stages)
    return sum(stages.values())


_inherited: list[Participant] = []


def _on_all_cores(person: Participant) -> float:
    """Seconds of a participant, of as many as there are cores at once."""
    _inherited[:] = [person]  # by the forks
    context = multiprocessing.get_context("fork")
    ready = context.Barrier(cores() + 1)
    with context.Pool(cores(), ready.wait) as pool:
        ready.wait(timeout=60)
        return seconds_of(lambda: pool.map(_whole, range(cores()), chunksize=1)) / cores()


def _whole(number: int) -> None:
    ours.whole(_inherited[0], PERMUTATIONS)


def _agreement(person: Participant) -> dict[str, float]:
    """Share of held-out predictions of one bin that are the same as the others'."""
    x, labels = person.study[len(person.study) // 4], person.labels
    folds = ours.folds_of(labels)
    expected = ours.train(x, labels, folds).predicted
    fold = 0
    held_out = folds == fold
    model = peers_thesis.train_fold(x, labels, ~held_out)
    by_thesis = peers_thesis.predict(model, peers_thesis.standardised(x[held_out]))
    peers_thesis.confusion(labels[held_out], by_thesis)
    by_vectorised = peers_vectorised.train_bin(x, labels)[2]
    return {
        "thesis, one fold": float(np.mean(by_thesis == expected[held_out])),
        "vectorised": float(np.mean(by_vectorised == expected)),
    }


def _tables(result: dict[str, Any]) -> list[dict[str, Any]]:
    names = {
        "thesis": ("plain scikit-learn, as the thesis", 1),
        "vectorised": ("scikit-learn, vectorised", 1),
        "vectorised, all cores": ("scikit-learn, vectorised, joblib", result["cores"]),
        "ours": ("Shortloop", 1),
        "ours, all cores": ("Shortloop, all cores", result["cores"]),
    }
    rows = [
        [title, used, *(figures(result[key][name], unit) for key, unit in _COLUMNS.items())]
        for name, (title, used) in names.items()
    ]
    stages = ["anova", "train", "apply", "permute"]
    agreement = ", ".join(f"{name} {100 * share:.1f} %" for name, share in result["agreement"].items())
    return [
        {
            "title": f"One participant, {result['permutations']} permutations",
            "columns": ["", "cores", "seconds", "times ours", "times ours on all cores"],
            "rows": rows,
            "note": "One thread of linear algebra each. scikit-learn's seconds are those of a sample of bins "
            "and folds (as the thesis: also of predictions and permutations), scaled up; ours are of "
            "everything. Held-out predictions of a bin that are the same as ours: " + agreement + ".",
        },
        {
            "title": "Seconds of the stages in scikit-learn, scaled up (vectorised: ANOVA is part of train)",
            "columns": ["", *stages],
            "rows": [
                [
                    names[name][0],
                    *(figures(each[stage], "s") if stage in each else "in train" for stage in stages),
                ]
                for name, each in result["stages"].items()
            ],
        },
    ]


_COLUMNS = {"seconds": "s", "over_ours": "", "over_ours_all_cores": ""}
