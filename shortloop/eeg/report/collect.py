"""Collect the content of a report, and its provenance, from the jobs of a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.eeg.features.names import squared
from shortloop.eeg.report.content import (
    Confusion,
    Evoked,
    Individual,
    KindResult,
    Patterns,
    ReportContent,
    mean_of_known,
)
from shortloop.eeg.report.sensors import Sensors, positions_of, sensors_of, types_of
from shortloop.eeg.stages.statistics_files import load_statistics
from shortloop.report.provenance import source_of, thread_note
from shortloop.stages.inputs import renamed
from shortloop.stages.results import Result, upstream

Names = Mapping[str, Sequence[str]]


class OtherJobs(NamedTuple):
    """Jobs of other stages than `group`; of each participant and kind of features if not said otherwise."""

    evoked: Sequence[Result] = ()  # of each participant
    train: Sequence[Result] = ()
    apply: Sequence[Result] = ()
    individual: Sequence[Result] = ()  # of each kind of features
    intervals: Sequence[Result] = ()
    patterns: Sequence[Result] = ()
    check: Sequence[Result] = ()  # the job that compared the recordings

    def of_kind(self, kind: str) -> OtherJobs:
        """Select the jobs of one kind of features."""
        every = ([job for job in jobs if job.record["facts"]["kind"] == kind] for jobs in self[1:-1])
        return OtherJobs(self.evoked, *every)


def collect(
    groups: Sequence[Result],
    imported: Sequence[Result],
    settings: dict[str, Any],
    jobs: OtherJobs,
    names: Names,
) -> ReportContent:
    """Collect the content of a report; `names` are today's names of each participant's files."""
    chains = [list(upstream(group)) for group in groups]
    versions: dict[str, set[str]] = {}
    for result in (each for chain in chains for each in chain):
        for name, version in result.record["versions"].items():
            versions.setdefault(name, set()).add(str(version))
    return ReportContent(
        study=settings["name"],
        settings=settings,
        kinds=tuple(_kind_result(results, jobs, imported) for results in chains),
        versions={name: ", ".join(sorted(found)) for name, found in versions.items()},
        thread_note=thread_note(result for results in chains for result in results),
        notes=tuple(_notes(imported, jobs.check, names)),
        recordings=tuple(_recordings(imported, jobs.check, names)),
        evoked=tuple(collect_evoked(jobs.evoked, imported)),
    )


def _kind_result(chain: list[Result], every: OtherJobs, imported: Sequence[Result]) -> KindResult:
    group = chain[0]
    facts = group.facts
    asked: Any = group.options["settings"]
    jobs = every.of_kind(facts["kind"])
    curve, plane = load_statistics(group, "curve"), load_statistics(group, "plane")
    assert curve is not None  # every group job has one
    phases = facts["train_phase"], facts["test_phase"] or facts["train_phase"]
    if curve.mean.size == 1 and phases[0] == phases[1]:
        plane = None  # there is no other time to generalize to: it equals the curve
    more = [*jobs.individual, *jobs.intervals, *jobs.patterns]
    return KindResult(
        kind=facts["kind"],
        participants=tuple(facts["participants"]),
        train_times=np.asarray(group.arrays["train_times"]),
        test_times=None if plane is None else np.asarray(group.arrays["test_times"]),
        time_unit=facts["time_unit"],
        curve=curve,
        generalization=plane,
        sources=tuple(
            source_of(each, "" if each.stage == "import_epochs" else facts["kind"])
            for each in (*chain, *more)
        ),
        left_out=facts["left_out"],
        train_phase=phases[0],
        test_phase=phases[1],
        classes=tuple(facts["classes"]),
        individual=tuple(_individual(jobs, plane is not None)),
        confusions=tuple(_confusions(jobs, curve.mean, None if plane is None else plane.mean)),
        patterns=collect_patterns(jobs.patterns, imported),
        smoothed=bool(asked["smooth"]),
    )


def _individual(jobs: OtherJobs, with_plane: bool) -> Iterator[Individual]:
    """Collect the tests of single participants whose scores have intervals."""
    with_intervals = {result.partition: result for result in jobs.intervals}
    for result in jobs.individual:
        for number, who in enumerate(result.facts["participants"]):
            curve, ends = load_statistics(result, "curve", number), with_intervals.get(who)
            if curve is None or ends is None:
                continue
            yield Individual(
                participant=who,
                curve=curve,
                plane=load_statistics(result, "plane", number) if with_plane else None,
                curve_ends=_ends(ends, "curve"),
                plane_ends=_ends(ends, "plane") if with_plane and "plane_low" in ends.arrays else None,
                level=ends.facts["interval"],
                draws=ends.facts["draws"],
            )


def _ends(result: Result, shape: str) -> FloatArray:
    return np.stack([result.arrays[f"{shape}_low"], result.arrays[f"{shape}_high"]])


def _confusions(jobs: OtherJobs, curve: FloatArray, plane: FloatArray | None) -> list[Confusion]:
    found = []
    if jobs.train:
        at = int(np.nanargmax(curve))
        counts = sum(np.asarray(job.arrays["confusions"][at], dtype=float) for job in jobs.train)
        found.append(Confusion(np.asarray(counts), at, None))
    if jobs.apply and plane is not None:
        test, train = (int(each) for each in np.unravel_index(int(np.nanargmax(plane)), plane.shape))
        counts = sum(np.asarray(job.arrays["confusions"][test, train], dtype=float) for job in jobs.apply)
        found.append(Confusion(np.asarray(counts), train, test))
    return found


def collect_patterns(jobs: Sequence[Result], imported: Sequence[Result]) -> Patterns | None:
    """Collect selected features and patterns of one kind of features; None if there are no jobs."""
    if not jobs:
        return None
    facts, arrays = jobs[0].facts, jobs[0].arrays
    whole = Patterns(
        kept=np.stack([job.arrays["kept"] for job in jobs]),
        features=facts["features"],
        channels=tuple(facts["channels"]),
        kept_channels=_mean(jobs, "kept_channels"),
        patterns=_mean(jobs, "patterns"),
        shown=tuple(facts["shown"]),
        unit=facts["unit"],
        positions=positions_of(imported, facts["phase"], facts["channels"]),
        frequencies=np.asarray(arrays["frequencies"]) if "frequencies" in arrays else None,
        of_frequencies=_mean(jobs, "patterns_of_frequencies"),
    )
    parts = sensors_of(types_of(imported, facts["phase"], facts["channels"]))
    if whole.patterns is None or not parts:
        return whole
    return replace(whole, parts={each.name: _part(whole, each, facts, imported) for each in parts})


def _part(whole: Patterns, sensors: Sensors, facts: Any, imported: Sequence[Result]) -> Patterns:
    """Select the patterns of sensors of one type."""
    channels = tuple(whole.channels[index] for index in sensors.at)
    every = whole.of_frequencies
    return replace(
        whole,
        channels=channels,
        kept_channels=None if whole.kept_channels is None else whole.kept_channels[:, sensors.at],
        patterns=None if whole.patterns is None else whole.patterns[:, :, sensors.at],
        unit=squared(sensors.unit) if facts["kind"] == "power" else sensors.unit,
        positions=positions_of(imported, facts["phase"], channels, sensors.unit),
        of_frequencies=None if every is None else every[:, :, sensors.at],
        sensors=sensors.called,
    )


def _mean(jobs: Sequence[Result], name: str) -> FloatArray | None:
    if name not in jobs[0].arrays:
        return None
    return mean_of_known(np.stack([job.arrays[name] for job in jobs]))


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
        yield from (_of_sensors(whole, each) for each in parts) if parts else [whole]


def _of_sensors(whole: Evoked, sensors: Sensors) -> Evoked:
    return replace(
        whole,
        channels=tuple(whole.channels[index] for index in sensors.at),
        means=whole.means[:, :, sensors.at],
        errors=whole.errors[:, :, sensors.at],
        unit=sensors.unit,
        name=sensors.name,
        sensors=sensors.called,
    )


def _recordings(
    imported: Sequence[Result], checked: Sequence[Result], names: Names
) -> Iterator[dict[str, Any]]:
    """Collect facts of recordings, with today's names of files and the warnings of the comparison."""
    compared = {
        _whose(each): each["warnings"] for result in checked for each in result.facts.get("recordings", ())
    }
    for result, now in _with_names(imported, names):
        for each in result.facts["recordings"]:
            warnings = compared.get(_whose(each), each.get("warnings", ()))
            renames = {
                "file": renamed(each["file"], now),
                "warnings": [renamed(text, now) for text in warnings],
            }
            yield {**each, **renames}


def _notes(imported: Sequence[Result], checked: Sequence[Result], names: Names) -> list[str]:
    """Collect notes on recordings, with today's names of files."""
    notes = [note for result in checked for note in _fact(result, "notes", ())]
    for result, now in _with_names(imported, names):
        notes += [renamed(note, now) for note in _fact(result, "notes", ())]
    return sorted(set(notes))


def _whose(recording: Mapping[str, Any]) -> tuple[str, str, str]:
    return recording["participant"], recording["phase"], recording["kind"]


def _fact(result: Result, name: str, default: Any) -> Any:
    """Return one fact of a job, not to be changed: `facts` copies all of them."""
    return result.record["facts"].get(name, default)


def _with_names(imported: Sequence[Result], names: Names) -> Iterator[tuple[Result, dict[str, str]]]:
    """Pair each job with the renames of its files since it was built, old to new."""
    following = {who: iter(every) for who, every in names.items()}
    for result in imported:
        then = [each["name"] for every in _fact(result, "files", {}).values() for each in every]
        now = [name for _, name in zip(then, following.get(result.partition or "", ()))]
        pairs = zip((PurePath(name).name for name in then), now, strict=False)
        yield result, {old: new for old, new in pairs if old != new}
