"""A figure is drawn again only if what it shows changed; what it draws is all in its key."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from report_synthetic import details, evoked, kind_result, report_content

from shortloop.eeg.report.content import KindResult, ReportContent
from shortloop.eeg.report.page import panels
from shortloop.report.style import encoded
from shortloop.stages.content import content_of

RESULTS = [
    details(kind_result()),
    details(kind_result(test_bins=None)),
    details(kind_result(participants=1)),
    details(kind_result("power", bins=1)),
    kind_result(participants=1, test_bins=None, unit="bin"),
]


def keys(content: ReportContent) -> dict[str, bytes]:
    return {each.name: content_of([each.name, each.shown]) for each in panels(content)}


def smoothed_more(result: KindResult) -> KindResult:
    """The same scores, with statistics of other smoothing."""
    stats = result.curve
    other = replace(stats, mean=stats.mean * 0.99 + 0.3, t=stats.t * 0.9, null_max=stats.null_max * 0.8)
    return replace(result, curve=other)


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(each, marks=[pytest.mark.slow] * (at in (2, 3)), id=str(at))
        for at, each in enumerate(RESULTS)
    ],
)
def test_figures_are_drawn_from_what_they_read_alone(result: KindResult) -> None:
    """A field that a figure does not declare is not there when it is drawn."""
    for each in panels(report_content(result, evoked=(evoked(3),))):
        whole = encoded(each.figure.draw(each.result), ["png"])
        assert encoded(each.draw(each.shown), ["png"]) == whole, each.name


def test_other_smoothing_redraws_what_shows_statistics() -> None:
    result = details(kind_result())
    before = keys(report_content(result, evoked=(evoked(3),)))
    after = keys(report_content(smoothed_more(result), evoked=(evoked(3),)))
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"amplitude_decoding_over_time", "amplitude_null_distribution"}


def test_a_job_id_redraws_nothing() -> None:
    result = details(kind_result())
    others = replace(result, sources=tuple(replace(each, job="main-1") for each in result.sources))
    assert keys(report_content(result)) == keys(report_content(others))


def test_another_score_of_one_cell_redraws_its_figures() -> None:
    result = details(kind_result())
    assert result.generalization is not None
    scores = result.generalization.scores.copy()
    scores[0, 0, 0] = np.nextafter(scores[0, 0, 0], 100)
    other = replace(result, generalization=replace(result.generalization, scores=scores))
    before, after = keys(report_content(result)), keys(report_content(other))
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"amplitude_participants", "amplitude_null_distribution"}
