"""What a run of a study found, as numbers: from findings as the report writes them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from report_synthetic import kind_result
from scipy import stats

from shortloop.eeg.findings import study_findings
from shortloop.eeg.report.summary import group_findings, participant_table


def summary_of(result: Any) -> Any:
    findings = [
        {"kind": result.kind, "participants": participant_table(result), "group": group_findings(result)}
    ]
    return json.loads(json.dumps({"study": "x", "findings": findings}))


def test_numbers_of_a_study() -> None:
    result = kind_result()
    found = study_findings(summary_of(result))
    assert found is not None
    mean = result.curve.mean
    peak = found["amplitude over time: peak"]
    assert (peak.value, peak.unit) == (pytest.approx(float(mean.max())), "%")
    at = found["amplitude over time: peak at"]
    assert (at.value, at.unit) == (pytest.approx(1000 * result.train_times[int(mean.argmax())]), "ms")
    best = found["amplitude over time: best of each participant"]
    scores = result.curve.scores.max(axis=1)
    interval = stats.t.interval(0.95, len(scores) - 1, loc=scores.mean(), scale=stats.sem(scores))
    assert best.value == pytest.approx(scores.mean(), rel=1e-12)
    assert (best.lower, best.upper) == pytest.approx(interval, rel=1e-12)
    assert "95 %" in best.interval
    assert found["amplitude over time: smallest p of clusters"].value == 0.002
    plane = result.generalization
    assert plane is not None
    assert found["amplitude generalization: peak"].value == pytest.approx(float(plane.mean.max()))
    test, train = np.unravel_index(int(plane.mean.argmax()), plane.mean.shape)
    assert result.test_times is not None
    tested, trained = (
        found[f"amplitude generalization: peak {how} at"].value for how in ("tested", "trained")
    )
    assert tested == pytest.approx(1000 * result.test_times[test])
    assert trained == pytest.approx(1000 * result.train_times[train])


def test_one_participant_has_no_interval() -> None:
    found = study_findings(summary_of(kind_result(participants=1)))
    assert found is not None
    best = found["amplitude over time: best of each participant"]
    assert (best.lower, best.upper, best.interval) == (None, None, "")


def test_what_is_of_something_else() -> None:
    assert study_findings({"panel": "x", "findings": []}) is None
    assert study_findings({"study": "x"}) is None
