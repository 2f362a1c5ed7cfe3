"""From the jobs of a study to the content of a report, with the provenance of all of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.eeg.features.names import squared
from shortloop.eeg.report.content import KindResult, ReportContent
from shortloop.eeg.report.details import Alone, Confusion, Evoked, Patterns
from shortloop.eeg.report.imported import notes_of, recordings_of
from shortloop.eeg.report.means import mean_of_known
from shortloop.eeg.report.positions import measured_of
from shortloop.eeg.report.sensors import Sensors, sensors_of, types_of
from shortloop.eeg.stages.statistics_files import load_statistics
from shortloop.report.provenance import Source, source_of, thread_note, upstream
from shortloop.stages.results import Result

__all__ = ["Made", "collect", "collect_evoked", "collect_patterns"]


class Made(NamedTuple):
    """Jobs beside those of the group stage, by the names of their stages.

    evoked, train, apply, intervals, patterns: of each participant, and but for the first of each kind of
        features; there may be none.
    individual: of each kind of features.
    check: the one job that has compared the recordings, or none.
    """

    evoked: Sequence[Result] = ()
    train: Sequence[Result] = ()
    apply: Sequence[Result] = ()
    individual: Sequence[Result] = ()
    intervals: Sequence[Result] = ()
    patterns: Sequence[Result] = ()
    check: Sequence[Result] = ()

    def of_kind(self, kind: str) -> Made:
        """Those of one kind of features."""
        every = ([job for job in jobs if job.record["facts"]["kind"] == kind] for jobs in self[1:-1])
        return Made(self.evoked, *every)


def collect(
    groups: Sequence[Result],
    imported: Sequence[Result],
    settings: dict[str, Any],
    made: Made | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
) -> ReportContent:
    """Gather what a report shows."""
    made = made or Made()
    chains = [list(upstream(group)) for group in groups]
    return ReportContent(
        study=settings["name"],
        settings=settings,
        kinds=tuple(_kind_result(results, made, imported) for results in chains),
        versions=_versions(chains),
        thread_note=thread_note(result for results in chains for result in results),
        notes=tuple(notes_of(imported, made.check, names or {})),
        recordings=tuple(recordings_of(imported, made.check, names or {})),
        evoked=tuple(collect_evoked(made.evoked, imported)),
    )


def _versions(chains: Sequence[Sequence[Result]]) -> dict[str, str]:
    """Of each library, all versions that anything was made with."""
    found: dict[str, set[str]] = {}
    for result in (each for chain in chains for each in chain):
        for name, version in result.record["versions"].items():
            found.setdefault(name, set()).add(str(version))
    return {name: ", ".join(sorted(every)) for name, every in found.items()}


def _kind_result(chain: list[Result], every: Made, imported: Sequence[Result]) -> KindResult:
    group = chain[0]
    facts = group.facts
    asked: Any = group.options["settings"]
    made = every.of_kind(facts["kind"])
    curve, plane = load_statistics(group, "curve"), load_statistics(group, "plane")
    assert curve is not None  # every group job has one
    phases = facts["train_phase"], facts["test_phase"] or facts["train_phase"]
    if curve.mean.size == 1 and phases[0] == phases[1]:
        plane = None  # there is no other time to generalize to: it is the curve again
    more = [*made.individual, *made.intervals, *made.patterns]
    alone = [*_alone(made.individual, made.intervals)]
    if plane is None:
        alone = [replace(each, plane=None, plane_ends=None) for each in alone]
    return KindResult(
        kind=facts["kind"],
        participants=tuple(facts["participants"]),
        train_times=np.asarray(group.arrays["train_times"]),
        test_times=None if plane is None else np.asarray(group.arrays["test_times"]),
        time_unit=facts["time_unit"],
        curve=curve,
        generalization=plane,
        sources=tuple(_source(result, facts["kind"]) for result in (*chain, *more)),
        left_out=facts["left_out"],
        train_phase=phases[0],
        test_phase=phases[1],
        classes=tuple(facts["classes"]),
        alone=tuple(alone),
        confusions=tuple(_confusions(made, curve.mean, None if plane is None else plane.mean)),
        patterns=collect_patterns(made.patterns, imported),
        smoothed=bool(asked["smooth"]),
    )


def _alone(tested: Sequence[Result], intervals: Sequence[Result]) -> Iterator[Alone]:
    """Each participant, tested alone, whose scores have intervals."""
    sure = {result.partition: result for result in intervals}
    for result in tested:
        for number, who in enumerate(result.facts["participants"]):
            curve, ends = load_statistics(result, "curve", number), sure.get(who)
            if curve is None or ends is None:
                continue
            yield Alone(
                participant=who,
                curve=curve,
                plane=load_statistics(result, "plane", number),
                curve_ends=_ends(ends, "curve"),
                plane_ends=_ends(ends, "plane") if "plane_low" in ends.arrays else None,
                level=ends.facts["interval"],
                draws=ends.facts["draws"],
            )


def _ends(result: Result, shape: str) -> FloatArray:
    return np.stack([result.arrays[f"{shape}_low"], result.arrays[f"{shape}_high"]])


def _confusions(made: Made, curve: FloatArray, plane: FloatArray | None) -> list[Confusion]:
    found = []
    if made.train:
        at = int(np.nanargmax(curve))
        counts = sum(np.asarray(job.arrays["confusions"][at], dtype=float) for job in made.train)
        found.append(Confusion(np.asarray(counts), at, None))
    if made.apply and plane is not None:
        test, train = (int(each) for each in np.unravel_index(int(np.nanargmax(plane)), plane.shape))
        counts = sum(np.asarray(job.arrays["confusions"][test, train], dtype=float) for job in made.apply)
        found.append(Confusion(np.asarray(counts), train, test))
    return found


def collect_patterns(jobs: Sequence[Result], imported: Sequence[Result]) -> Patterns | None:
    """What classifiers go by, of one kind of features."""
    if not jobs:
        return None
    facts, arrays = jobs[0].facts, jobs[0].arrays
    whole = Patterns(
        kept=np.stack([job.arrays["kept"] for job in jobs]),
        features=facts["features"],
        channels=tuple(facts["channels"]),
        kept_channels=_mean(jobs, "kept_channels") if "kept_channels" in arrays else None,
        patterns=_mean(jobs, "patterns") if "patterns" in arrays else None,
        shown=tuple(facts["shown"]),
        unit=facts["unit"],
        measured=measured_of(imported, facts["phase"], facts["channels"]),
        frequencies=np.asarray(arrays["frequencies"]) if "frequencies" in arrays else None,
        of_frequencies=_mean(jobs, "patterns_of_frequencies") if "frequencies" in arrays else None,
    )
    parts = sensors_of(types_of(imported, facts["phase"], facts["channels"]))
    if whole.patterns is None or not parts:
        return whole
    return replace(whole, parts={each.name: _part(whole, each, facts, imported) for each in parts})


def _part(whole: Patterns, sensors: Sensors, facts: Any, imported: Sequence[Result]) -> Patterns:
    """Patterns of the sensors of one type."""
    channels = tuple(whole.channels[index] for index in sensors.at)
    every = whole.of_frequencies
    return replace(
        whole,
        channels=channels,
        kept_channels=None if whole.kept_channels is None else whole.kept_channels[:, sensors.at],
        patterns=None if whole.patterns is None else whole.patterns[:, :, sensors.at],
        unit=squared(sensors.unit) if facts["kind"] == "power" else sensors.unit,
        measured=measured_of(imported, facts["phase"], channels, sensors.unit),
        of_frequencies=None if every is None else every[:, :, sensors.at],
        sensors=sensors.called,
    )


def _mean(jobs: Sequence[Result], name: str) -> FloatArray:
    return mean_of_known(np.stack([job.arrays[name] for job in jobs]))


def collect_evoked(jobs: Sequence[Result], imported: Sequence[Result]) -> Iterator[Evoked]:
    """Event-related potentials or fields."""
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


def _source(result: Result, kind: str) -> Source:
    return source_of(result, "" if result.stage == "import_epochs" else kind)
