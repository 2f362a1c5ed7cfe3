"""Scores of all participants to statistics over participants."""

from __future__ import annotations

from typing import Any

from shortloop.jobs.keys.code import code_of

description = "Group: statistics over participants, corrected for all bins"
depend_extra = code_of(__file__)
options: dict[str, Any] = {"settings": {}, "seed": 0}
jobs = (["permuted"],)


def synthesis() -> None:
    import dataclasses

    import numpy as np

    from shortloop.eeg.group.chance import own_level
    from shortloop.eeg.group.limits import SHARED_TRAINING
    from shortloop.eeg.group.statistics import group_statistics
    from shortloop.eeg.stages.statistics_files import save_statistics
    from shortloop.eeg.study.inference import GroupSettings
    from shortloop.seeds import seed_for
    from shortloop.worker.records import Array, save_array, write_record
    from shortloop.worker.results import open_result
    from shortloop.worker.threads import check_single_thread

    each = [open_result(job.path) for job in jobs.permuted]  # type: ignore[attr-defined]
    facts = each[0].facts
    arrays, statistics = {}, {}
    for shape in ("curve", "plane"):
        if f"{shape}_scores" not in each[0].arrays:
            continue
        scores = np.stack([result.arrays[f"{shape}_scores"] for result in each])
        nulls = [result.arrays[f"{shape}_null"] for result in each]
        known = {result.facts["chance"][shape] for result in each}
        chance: Any = known.pop()
        if known or chance is None:
            chance = np.stack([own_level(*maps) for maps in zip(scores, nulls, strict=True)])
        found = group_statistics(
            scores,
            nulls,
            chance=chance,
            score=facts["score"],
            settings=GroupSettings.model_validate(options["settings"]),
            seed=seed_for(options["seed"], "group", facts["kind"], shape),
        )
        cross_validated = shape == "curve" or facts["test_phase"] == facts["train_phase"]
        if len(each) == 1 and cross_validated and facts["null"] == "test-labels":
            found = dataclasses.replace(found, note=f"{found.note} {SHARED_TRAINING}".strip())
        described, statistics[shape] = save_statistics(found, shape)
        arrays.update(described)
    for times in ("train_times", "test_times"):
        if times in each[0].arrays:
            save_array(times, each[0].arrays[times])
            arrays[times] = Array("bins", "centre of each bin, 0 at the event", facts["time_unit"])
    write_record(
        "group",
        None,
        arrays,
        facts={
            **{name: value for name, value in facts.items() if name != "chance"},
            "participants": [result.partition for result in each],
            "left_out": sum(result.facts["left_out"] for result in each),
            "statistics": statistics,
        },
        threads=check_single_thread(),
    )
