"""The effects that were found: where they are, in which direction, how large."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.effects import effect_parts
from shortloop.eeg.report.labels import chance_text, score_text
from shortloop.eeg.report.sections.section import Section
from shortloop.eeg.report.sentences import p_alone
from shortloop.eeg.report.summary import group_findings
from shortloop.eeg.report.times import TimeScale, time_scale
from shortloop.report.files import TABLES
from shortloop.report.page import PageTable, TableRow, slug
from shortloop.report.tables import csv_text

__all__ = ["SECTION", "effects"]


def effects(result: KindResult) -> PageTable:
    """A row for each significant cluster of the curve and of the map."""
    found, scale = group_findings(result), time_scale(result)
    curve, plane = found["curve"], found["generalization"]
    here = f"Decoding in {result.train_phase}"
    rows = [_row(here, each or curve, scale, result) for each in curve["clusters"] or [None]]
    if plane is not None:
        to = f"Generalization to {result.test_phase}"
        rows += [_row(to, each or plane, scale, result) for each in plane["regions"] or [None]]
    heads = ("Direction", "When", "Corrected p", f"Peak (chance {chance_text(result.curve)})", "Peak at")
    d = () if result.curve.level == "participant" else ("Cohen's d (95 % CI)",)
    said = (
        ""
        if result.curve.level == "participant"
        else (
            f" Cohen's d is that of the {'smoothed ' if result.smoothed else ''}scores against chance, over "
            "participants, in the one bin of the peak; as this is chosen for its size, it tends to be too "
            "large."
        )
    )
    return PageTable(
        title=f"Effects, {result.kind}",
        caption="Clusters that differ from chance; where there is none, the highest score. A peak is the "
        f"score farthest from chance; p is corrected by cluster mass.{said}",
        of="Scores",
        columns=heads + d,
        rows=tuple(rows),
        file=f"{TABLES}/{slug(result.kind)}_effects.csv",
        content=_csv(result),
        words=True,
    )


def _row(name: str, found: dict[str, Any], scale: TimeScale, result: KindResult) -> TableRow:
    cells = [
        found.get("direction", "not significant"),
        _when(found, scale),
        p_alone(found["p"]),
        score_text(result.curve.score, found["peak"]),
        _at(found, scale),
    ]
    if result.curve.level == "group":
        effect = found["effect"]
        said = "–"
        if effect is not None:
            d, ends = effect_parts(effect)
            said = f"{d} ({ends})" if ends else d
        cells.append(said)
    return TableRow(name, tuple(cells))


def _when(found: dict[str, Any], scale: TimeScale) -> str:
    if "start" in found:
        return scale.span(found["start"], found["end"])
    if "train" in found:
        return f"trained {scale.span(*found['train'])}, tested {scale.span(*found['test'])}"
    return "–"


def _at(found: dict[str, Any], scale: TimeScale) -> str:
    if found["peak"] is None:
        return "–"
    if "peak_time" in found:
        return scale.point(found["peak_time"])
    trained, tested = scale.point(found["peak_train_time"]), scale.point(found["peak_test_time"])
    return f"trained {trained}, tested {tested}"


def _csv(result: KindResult) -> str:
    unit = result.time_unit
    columns = ["scores", "direction", f"train from ({unit})", f"train to ({unit})", f"test from ({unit})"]
    columns += [f"test to ({unit})", "corrected p", "peak", f"peak train time ({unit})"]
    columns += [f"peak test time ({unit})", "d", "d low", "d high"]
    return csv_text(columns, _lines(result))


def _lines(result: KindResult) -> Iterator[list[Any]]:
    found = group_findings(result)
    for each in found["curve"]["clusters"]:
        effect = each["effect"] or {}
        yield [
            *("decoding", each["direction"], each["start"], each["end"], None, None, each["p"]),
            *(each["peak"], each["peak_time"], None, *map(effect.get, ("d", "low", "high"))),
        ]
    for each in (found["generalization"] or {"regions": ()})["regions"]:
        effect = each["effect"] or {}
        yield [
            *("generalization", each["direction"], *each["train"], *each["test"], each["p"], each["peak"]),
            *(each["peak_train_time"], each["peak_test_time"], *map(effect.get, ("d", "low", "high"))),
        ]


SECTION = Section("effects", "Effects", table=effects)
