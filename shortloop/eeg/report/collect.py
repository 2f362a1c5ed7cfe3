"""Collect the content of a report, and its provenance, from the jobs of a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any, TypeVar

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.eeg.data import mean_of_known
from shortloop.eeg.features.names import squared
from shortloop.eeg.report.content import Confusion, Evoked, Individual, KindResult, Patterns, ReportContent
from shortloop.eeg.report.sensors import Sensors, positions_of, sensors_of, types_of
from shortloop.eeg.stages.statistics_files import load_statistics
from shortloop.report.page import source_of, thread_note
from shortloop.stages.inputs import renamed
from shortloop.stages.results import Result, upstream

Jobs = Mapping[str, Sequence[Result]]  # jobs of stages other than `group`, by stage
Names = Mapping[str, Sequence[str]]
R = TypeVar("R", Evoked, Patterns)


def collect(
    groups: Sequence[Result], imported: Sequence[Result], settings: dict[str, Any], jobs: Jobs, names: Names
) -> ReportContent:
    """Collect the content of a report; `names` are today's names of each participant's files."""
    chains = [list(upstream(group)) for group in groups]
    versions: dict[str, set[str]] = {}
    for result in (each for chain in chains for each in chain):
        for name, version in result.record["versions"].items():
            versions.setdefault(name, set()).add(str(version))
    notes = {note for job in jobs["check"] for note in _facts(job).get("notes", ())}
    for facts, now in _with_names(imported, names):
        notes |= {renamed(note, now) for note in facts.get("notes", ())}
    return ReportContent(
        study=settings["name"],
        settings=settings,
        kinds=tuple(_kind_result(results, jobs, imported) for results in chains),
        versions={name: ", ".join(sorted(found)) for name, found in versions.items()},
        thread_note=thread_note(result for results in chains for result in results),
        notes=tuple(sorted(notes)),
        recordings=tuple(_recordings(imported, jobs["check"], names)),
        evoked=tuple(collect_evoked(jobs["evoked"], imported)),
    )


def _kind_result(chain: list[Result], every: Jobs, imported: Sequence[Result]) -> KindResult:
    group = chain[0]
    facts = group.facts
    asked: Any = group.options["settings"]
    jobs = {
        name: [job for job in of if _facts(job).get("kind") == facts["kind"]] for name, of in every.items()
    }
    curve, plane = load_statistics(group, "curve"), load_statistics(group, "plane")
    assert curve is not None  # every group job has one
    train_phase, test_phase = facts["train_phase"], facts["test_phase"] or facts["train_phase"]
    if curve.mean.size == 1 and train_phase == test_phase:
        plane = None  # there is no other time to generalize to: it equals the curve
    every_job = [*chain, *jobs["individual"], *jobs["intervals"], *jobs["patterns"]]
    return KindResult(
        kind=facts["kind"],
        participants=tuple(facts["participants"]),
        train_times=np.asarray(group.arrays["train_times"]),
        test_times=None if plane is None else np.asarray(group.arrays["test_times"]),
        time_unit=facts["time_unit"],
        curve=curve,
        generalization=plane,
        sources=tuple(
            source_of(each, "" if each.stage == "import_epochs" else facts["kind"]) for each in every_job
        ),
        left_out=facts["left_out"],
        train_phase=train_phase,
        test_phase=test_phase,
        classes=tuple(facts["classes"]),
        individual=tuple(_individual(jobs, plane is not None)),
        confusions=tuple(_confusions(group, jobs, curve.mean, None if plane is None else plane.mean)),
        patterns=collect_patterns(jobs["patterns"], imported),
        smoothed=bool(asked["smooth"]),
    )


def _individual(jobs: Jobs, with_plane: bool) -> Iterator[Individual]:
    intervals = {result.partition: result for result in jobs["intervals"]}
    for result in jobs["individual"]:
        tested: Any = result.facts
        p = {shape: result.arrays[f"{shape}_p_max"] for shape in tested["statistics"]}
        for number, who in enumerate(tested["participants"]):
            if (ends := intervals.get(who)) is not None:
                yield Individual(
                    participant=who,
                    curve_p=float(p["curve"][number].min()),
                    plane_p=float(p["plane"][number].min()) if with_plane and "plane" in p else None,
                    permutations=result.arrays["curve_null_max"].shape[1],
                    note=tested["statistics"]["curve"][number]["note"],
                    curve_ends=_ends(ends, "curve"),
                    plane_ends=_ends(ends, "plane") if with_plane and "plane_low" in ends.arrays else None,
                    level=ends.facts["interval"],
                    draws=ends.facts["draws"],
                )


def _ends(result: Result, shape: str) -> FloatArray:
    return np.stack([result.arrays[f"{shape}_low"], result.arrays[f"{shape}_high"]])


def _confusions(
    group: Result, jobs: Jobs, curve: FloatArray, plane: FloatArray | None
) -> Iterator[Confusion]:
    for every, scores in ((jobs["train"], curve), (jobs["apply"], plane)):
        if every and scores is not None:
            *test, train = (int(each) for each in np.unravel_index(int(np.nanargmax(scores)), scores.shape))
            counts = [np.asarray(job.arrays["confusions"][(*test, train)], dtype=float) for job in every]
            trained = float(group.arrays["train_times"][train])
            tested = float(group.arrays["test_times"][test[0]]) if test else None
            yield Confusion(sum(counts, start=np.zeros(())), trained, tested)


def collect_patterns(jobs: Sequence[Result], imported: Sequence[Result]) -> Patterns | None:
    """Collect selected features and patterns of one kind of features; None if there are no jobs."""
    if not jobs:
        return None
    facts, arrays = jobs[0].facts, jobs[0].arrays
    phase, power = facts["phase"], facts["kind"] == "power"

    def mean(name: str) -> FloatArray | None:
        return mean_of_known(np.stack([job.arrays[name] for job in jobs])) if name in arrays else None

    whole = Patterns(
        kept=np.stack([job.arrays["kept"] for job in jobs]),
        features=facts["features"],
        channels=tuple(facts["channels"]),
        kept_channels=mean("kept_channels"),
        patterns=mean("patterns"),
        shown=tuple(facts["shown"]),
        unit=facts["unit"],
        positions=positions_of(imported, phase, facts["channels"]),
        frequencies=np.asarray(arrays["frequencies"]) if "frequencies" in arrays else None,
        of_frequencies=mean("patterns_of_frequencies"),
    )
    if whole.patterns is None:
        return whole
    parts = {}
    for each in sensors_of(types_of(imported, phase, whole.channels)):
        unit = squared(each.unit) if power else each.unit
        part = _part(whole, each, "patterns", "of_frequencies", unit=unit, kept_channels=None)
        parts[each.name] = replace(part, positions=positions_of(imported, phase, part.channels, each.unit))
    return replace(whole, parts=parts)


def collect_evoked(jobs: Sequence[Result], imported: Sequence[Result]) -> Iterator[Evoked]:
    """Collect event-related potentials or fields, apart for each phase and type of sensors."""
    facts: Any = jobs[0].facts if jobs else {"phases": ()}
    for phase in facts["phases"]:
        whole = Evoked(
            phase=phase,
            participants=tuple(job.partition or "" for job in jobs),
            classes=tuple(facts["classes"]),
            channels=tuple(facts["channels"]),
            times=np.asarray(jobs[0].arrays[f"times_{phase}"]),
            means=np.stack([job.arrays[f"mean_{phase}"] for job in jobs]),
            errors=np.stack([job.arrays[f"error_{phase}"] for job in jobs]),
            unit=facts["unit"],
            trials=np.array([job.facts["trials"][phase] for job in jobs]),
            baseline=None if facts["baseline"] is None else (facts["baseline"][0], facts["baseline"][1]),
            sources=tuple(source_of(result) for job in jobs for result in reversed([*upstream(job)])),
        )
        parts = sensors_of(types_of(imported, phase, whole.channels))
        yield from [
            _part(whole, each, "means", "errors", unit=each.unit, name=each.name) for each in parts
        ] or [whole]


def _part(whole: R, sensors: Sensors, *arrays: str, **changes: Any) -> R:
    """Select the channels of one type of sensors, the third axis of arrays."""
    selected = {name: each[:, :, sensors.at] for name in arrays if (each := getattr(whole, name)) is not None}
    channels = tuple(whole.channels[index] for index in sensors.at)
    return replace(whole, channels=channels, sensors=sensors.called, **selected, **changes)


def _recordings(
    imported: Sequence[Result], checked: Sequence[Result], names: Names
) -> Iterator[dict[str, Any]]:
    compared = {_whose(one): one["warnings"] for job in checked for one in _facts(job).get("recordings", ())}
    for facts, now in _with_names(imported, names):
        for each in facts["recordings"]:
            warnings = compared.get(_whose(each), each.get("warnings", ()))
            file = renamed(each["file"], now)
            yield {**each, "file": file, "warnings": [renamed(text, now) for text in warnings]}


def _whose(recording: Mapping[str, Any]) -> tuple[str, str, str]:
    return recording["participant"], recording["phase"], recording["kind"]


def _facts(result: Result) -> dict[str, Any]:
    """Return the facts of a job, not to be changed: `Result.facts` copies them."""
    return result.record["facts"]


def _with_names(imported: Sequence[Result], names: Names) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
    """Pair facts of each job with the renames of its files since it was built, old to new."""
    following = {who: iter(every) for who, every in names.items()}
    for result in imported:
        files = _facts(result).get("files", {}).values()
        then = [PurePath(each["name"]).name for every in files for each in every]
        pairs = zip(then, following.get(result.partition or "", ()))
        yield _facts(result), {old: new for old, new in pairs if old != new}
