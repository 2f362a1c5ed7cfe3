"""Results with a known truth, for the tests of the report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats as scipy_stats
from whole_page import html_undrawn, write_whole

from shortloop.eeg.group.maps import MapStatistics
from shortloop.eeg.report.content import Confusion, Evoked, Individual, KindResult, Patterns, ReportContent
from shortloop.eeg.report.eeg_page import page_of, panels
from shortloop.report.page import Source

CHANCE = 100 / 3
CHANNELS = ("Fz", "Cz", "Pz", "Oz", "C3", "C4", "P7", "P8")


def statistics(
    truth: NDArray[np.bool_], participants: int = 8, seed: int = 0, note: str = "", effect: float = 9.0
) -> MapStatistics:
    """Scores at chance but where `truth` is true; there, one significant cluster for each run of cells."""
    from scipy.ndimage import label

    rng = np.random.default_rng(seed)
    scores = CHANCE + effect * truth + rng.normal(0, 1.5, (participants, *truth.shape))
    alone = participants == 1
    t = (scores[0] - CHANCE) / 1.5 if alone else scipy_stats.ttest_1samp(scores, CHANCE, axis=0).statistic
    clusters, count = label(truth)
    if effect < 0:
        clusters = -clusters
    p = np.ones(truth.shape)
    for number in range(1, count + 1):
        p[np.abs(clusters) == number] = 0.002 * number
    null = np.sort(rng.gumbel(3, 0.7, 499).clip(0.1))
    return MapStatistics(
        scores=scores,
        mean=scores.mean(axis=0),
        t=t,
        p_max=np.where(truth, 0.004, 0.8),
        p_cluster=p,
        clusters=clusters,
        significant=truth.copy(),
        null_max=null,
        null_mass=null * 4,
        threshold=2.36,
        chance=CHANCE,
        alpha=0.05,
        level="participant" if alone else "group",
        note=note,
    )


def kind_result(
    kind: str = "amplitude",
    participants: int | tuple[str, ...] = 8,
    bins: int = 12,
    test_bins: int | None = 10,
    unit: str = "s",
    effect: float = 9.0,
    note: str = "",
    **fields: Any,
) -> KindResult:
    """Bins every 50 ms from 0; decodable from 100 to 400 ms, generalizing at 150 to 300 ms."""
    if isinstance(participants, int):
        participants = tuple(f"s{number:02d}" for number in range(1, participants + 1))
    names = participants
    step = 0.05 if unit == "s" else 1.0
    number = np.arange(bins)
    curve = (number >= 2) & (number <= 8)
    plane = None
    if test_bins is not None:
        test = np.arange(test_bins)[:, np.newaxis]
        plane = curve[np.newaxis] & (test >= 3) & (test <= 6)
    given: dict[str, Any] = {
        "kind": kind,
        "participants": names,
        "train_times": number * step,
        "test_times": None if test_bins is None else np.arange(test_bins) * step,
        "time_unit": unit,
        "curve": statistics(curve, len(names), 1, note, effect),
        "generalization": None if plane is None else statistics(plane, len(names), 2, note, effect),
        "sources": sources(kind, names),
        "left_out": 0,
        "train_phase": "study",
        "test_phase": "test",
    }
    return KindResult(**{**given, **fields})


def plane_of(result: KindResult) -> MapStatistics:
    """Its map, where it has one."""
    assert result.generalization is not None
    return result.generalization


def patterns_of(result: KindResult) -> Patterns:
    """Its patterns, where it has some."""
    assert result.patterns is not None
    return result.patterns


def details(result: KindResult, classes: int = 3, channels: tuple[str, ...] = CHANNELS) -> KindResult:
    """The same with all that is shown beside the statistics."""
    rng = np.random.default_rng(5)
    bins, people = len(result.train_times), len(result.participants)
    names = tuple(f"class {number}" for number in range(classes))
    shown = names[1:] if classes == 2 else names
    plane = result.generalization
    alone = []
    for index, name in enumerate(result.participants):
        curve, p = result.curve, [float(stats.p_max.min()) for stats in result.maps]
        curve_ends = curve.scores[index] + np.array([[-5], [5]])
        plane_ends = None if plane is None else plane.scores[index] + np.array([[[-6]], [[7]]])
        alone_p = p[0], None if plane is None else p[1], len(curve.null_max), curve.note
        alone.append(Individual(name, *alone_p, curve_ends, plane_ends, 0.95, 2000))
    times = result.train_times
    counts = rng.integers(1, 99, (classes, classes)) + 99.0 * np.eye(classes)
    confusions = [Confusion(counts, float(times[bins // 2]), None)]
    if plane is not None:
        assert result.test_times is not None
        tested = float(result.test_times[0])
        confusions.append(Confusion(rng.random((classes, classes)), float(times[-1]), tested))
    hertz = np.arange(6.0, 34.0, 4.0)
    power = result.kind == "power" and bool(channels)
    patterns = Patterns(
        kept=rng.random((people, bins)),
        features=10 * len(channels),
        channels=channels,
        kept_channels=rng.random((bins, len(channels))) if channels else None,
        patterns=1e-6 * rng.standard_normal((bins, len(shown), len(channels))) if channels else None,
        shown=shown,
        unit="V²" if power else "V",
        frequencies=hertz if power else None,
        of_frequencies=1e-12 / hertz * rng.standard_normal((bins, len(shown), len(channels), len(hertz)))
        if power
        else None,
    )
    return replace(
        result, classes=names, individual=tuple(alone), confusions=tuple(confusions), patterns=patterns
    )


def evoked(participants: int = 8, channels: tuple[str, ...] = CHANNELS, classes: int = 3) -> Evoked:
    """Noise, and at 250 ms a bump that is higher for the last class, most so in the last channel."""
    times = np.arange(-50, 150) / 250
    rng = np.random.default_rng(6)
    bump = np.exp(-0.5 * ((times - 0.25) / 0.05) ** 2)
    size = np.arange(1, classes + 1)[:, np.newaxis] * np.arange(1, len(channels) + 1)
    means = 1e-6 * (size[..., np.newaxis] * bump + rng.normal(0, 0.3, (participants, *size.shape, 200)))
    return Evoked(
        phase="study",
        participants=tuple(f"s{number:02d}" for number in range(1, participants + 1)),
        classes=tuple(f"class {number}" for number in range(classes)),
        channels=channels,
        times=times,
        means=means,
        errors=np.full(means.shape, 2e-7),
        unit="V",
        trials=np.full((participants, classes), 40),
        baseline=(-0.2, 0.0),
        sources=sources("amplitude", ("s01",)),
    )


def sources(kind: str, names: tuple[str, ...]) -> tuple[Source, ...]:
    """A chain of jobs for each participant, and one of the group."""
    versions = {"numpy": "2.0.0"}
    chain = [
        Source(f"main-{10 * step + index}", stage, name, kind, {"folds": 10, "C": [0.001, 0.01]}, versions)
        for step, stage in enumerate(("features", "train", "apply"))
        for index, name in enumerate(names)
    ]
    return (*chain, Source("main-99", "group", "", kind, {"smooth": 1.0}, versions))


def report_content(*kinds: KindResult, **fields: Any) -> ReportContent:
    """A report of a study of three classes."""
    given: dict[str, Any] = {
        "study": "recall",
        "settings": {
            "name": "recall",
            "classes": ["face", "landmark", "object"],
            "decoding": {"folds": 10},
            "permutations": {"null": "test-labels"},
            "group": {"null": "permutations", "smooth": 1.0},
            "features": {"power": None},
        },
        "kinds": kinds,
        "versions": {"numpy": "2.0.0", "shortloop": "0.1.0"},
        "thread_note": "Every process used 1 thread.",
    }
    return ReportContent(**{**given, **fields})


def html_of_report(content: ReportContent) -> str:
    """The page of a report; its figures are not drawn."""
    return html_undrawn(page_of(content))


def write_report(content: ReportContent, folder: Path) -> list[Path]:
    """The files of a report, as its stage leaves them: the page, the figures, tables and texts."""
    return write_whole(page_of(content), folder, panels(content))
