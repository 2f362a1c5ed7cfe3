"""Figures, sentences and tables name the score, in its own unit, and its own level of chance."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from report_synthetic import CHANCE, kind_result, report_content

from shortloop.eeg.group.maps import MapStatistics
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.labels import SCORES, chance_text, score_label, score_text
from shortloop.eeg.report.page import findings
from shortloop.eeg.report.sections.decoding_over_time import decoding_over_time
from shortloop.eeg.report.sections.generalization import generalization_map
from shortloop.eeg.report.sections.participants import participant_maps
from shortloop.eeg.report.sections.tables import best_scores
from shortloop.eeg.report.sentences import limits, overview
from shortloop.eeg.report.summary import group_findings


def rescored(result: KindResult, **changes: Any) -> KindResult:
    """The same result in another score; of AUC from 0 to 1, about 0.5."""

    def of(stats: MapStatistics) -> MapStatistics:
        if changes.get("score") != "auc":
            return dataclasses.replace(stats, **changes)
        scores, mean = (each / 100 - CHANCE / 100 + 0.5 for each in (stats.scores, stats.mean))
        return dataclasses.replace(stats, scores=scores, mean=mean, chance=0.5, **changes)

    assert result.generalization is not None or result.test_times is None
    plane = None if result.generalization is None else of(result.generalization)
    return dataclasses.replace(result, curve=of(result.curve), generalization=plane)


AUC = rescored(kind_result(), score="auc")
UNEQUAL = rescored(
    kind_result(test_bins=None), score="accuracy", expected=np.linspace(40, 60, 12), chance=50.0
)


def test_names_and_units() -> None:
    plain = kind_result().curve
    assert SCORES[plain.score] == "Balanced accuracy (%)"
    assert score_label(plain) == "Balanced accuracy (%), chance 33.3"
    assert score_label(AUC.curve) == "AUC, chance 0.500"
    assert score_label(UNEQUAL.curve) == "Accuracy (%), mean chance 50.0"
    assert chance_text(plain) == "33.3 %"
    assert chance_text(UNEQUAL.curve) == "50.0 % on average"
    assert [score_text("auc", 0.7254), score_text("accuracy", 72.54), score_text("auc", None)] == [
        "0.725",
        "72.5 %",
        "–",
    ]


def texts(figure: Any) -> str:
    import matplotlib.text

    return " | ".join(text.get_text() for text in figure.findobj(matplotlib.text.Text))


@pytest.mark.parametrize("draw", [decoding_over_time, generalization_map, participant_maps])
def test_figures_of_auc(draw: Any) -> None:
    said = texts(draw(AUC))
    assert "AUC" in said
    assert "%" not in said.replace("95 %", "")


def test_chance_is_drawn_where_it_is() -> None:
    times = UNEQUAL.train_times * 1000
    lines = decoding_over_time(UNEQUAL).axes[0].lines
    dashed = [line for line in lines if line.get_linestyle() == "--"]
    assert len(dashed) == 1
    np.testing.assert_allclose(np.asarray(dashed[0].get_xdata()), times)
    assert UNEQUAL.curve.expected is not None
    np.testing.assert_allclose(np.asarray(dashed[0].get_ydata()), UNEQUAL.curve.expected)
    assert "chance, 50.0 % on average" in texts(decoding_over_time(UNEQUAL))
    (level,) = {
        float(np.asarray(line.get_ydata())[0])
        for line in decoding_over_time(AUC).axes[0].lines
        if line.get_linestyle() == "--"
    }
    assert level == 0.5


def test_the_confidence_band_is_about_the_mean_whatever_the_level() -> None:
    from shortloop.eeg.report.summary import confidence_half_width

    level = UNEQUAL.curve.expected
    assert level is not None
    shifted = dataclasses.replace(
        UNEQUAL.curve, mean=UNEQUAL.curve.mean - CHANCE + level, scores=UNEQUAL.curve.scores - CHANCE + level
    )
    np.testing.assert_allclose(confidence_half_width(shifted), confidence_half_width(kind_result().curve))


def test_sentences() -> None:
    text = overview(report_content(AUC))
    assert "chance is 0.500. Scores are the area under the ROC curve (AUC)" in text
    assert "balanced accuracy, the mean over classes of recall" in overview(report_content(kind_result()))
    for sentence in findings(AUC):
        assert " %" not in sentence.replace("95 % CI", "")
        assert ", 0.5" in sentence
    assert any("Classes differ in size" in note for note in limits(report_content(UNEQUAL)))
    assert not any("Classes differ in size" in note for note in limits(report_content(AUC)))
    assert group_findings(AUC)["score"] == "auc"


def test_tables() -> None:
    table = best_scores(AUC)
    assert table.columns[0] == "Decoding in study (AUC)"
    assert all(0 < float(row.cells[0]) < 1 for row in table.rows)
    assert best_scores(kind_result()).columns[0] == "Decoding in study (%)"
