"""A report says with which null each map was tested, and what is known of its level."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from report_synthetic import kind_result, report_content

from shortloop.eeg.group.settings import NULLS, SHARED_TRAINING, NullName, error_rate
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.deliver import _print_tables, left_out
from shortloop.eeg.report.page import SECTIONS, findings, limits
from shortloop.eeg.report.summary import group_findings

SETTINGS: dict[str, Any] = {"permutations": {"null": "test-labels"}, "group": {"null": "permutations"}}


def result_with(curve: NullName, plane: NullName) -> KindResult:
    plain = kind_result()
    assert plain.generalization is not None
    return replace(
        plain,
        curve=replace(plain.curve, null=curve, error_rate=error_rate(curve, True)),
        generalization=replace(plain.generalization, null=plane, error_rate=error_rate(plane, False)),
    )


def captions(result: KindResult) -> dict[str, str]:
    return {each.name: each.caption(result, SETTINGS) for each in SECTIONS if each.applies(result)}


def test_each_map_has_the_words_of_its_own_null() -> None:
    said = captions(result_with("retrained", "test-labels"))
    assert f"with 499 {NULLS['retrained']} (" in said["decoding_over_time"]
    assert f"with 499 {NULLS['test-labels']} (" in said["generalization"]
    both = f"over 499 {NULLS['retrained']} (left) and 499 {NULLS['test-labels']} (right); "
    assert both in said["null_distribution"]


@pytest.mark.parametrize("null", [null for null in NULLS if null])
def test_one_null_of_both_is_said_once(null: NullName) -> None:
    said = captions(result_with(null, null))
    assert f"over 499 {NULLS[null]}; " in said["null_distribution"]
    assert f"with 499 {NULLS[null]} (" in said["generalization"]


def test_what_is_known_of_its_level_is_said_once() -> None:
    kind = result_with("test-labels", "test-labels")
    both = report_content(kind, replace(kind, kind="power"))
    assert limits(both).count(error_rate("test-labels", True)) == 1
    for exact in ("", "retrained", "training-labels"):
        assert not any("noise" in each for each in limits(report_content(result_with(exact, exact))))


def test_the_headline_of_one_participant_says_that_p_is_too_small(capsys: pytest.CaptureFixture[str]) -> None:
    plain = kind_result(participants=1)
    mild = replace(plain, curve=replace(plain.curve, note=f"One. {SHARED_TRAINING}"))
    for result, warned in ((plain, False), (mild, True)):
        found = group_findings(result)
        curve, *others = findings(result)
        assert found["curve"]["significant"]
        assert ("p is too small" in curve) == warned
        assert not any("p is too small" in each for each in others)
        _print_tables([{"kind": result.kind, "group": found, "participants": []}])
        said = " ".join(capsys.readouterr().out.split())
        assert ("p is too small" in said) == warned
        both = (found["curve"][name] for name in ("p", "p_max"))
        p, p_max = (f"{each:.3g}" for each in both)
        assert f"smallest corrected p = {p} by clusters, {p_max} by the maximum statistic" in said


def test_significant_single_bins_are_told_in_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plain = kind_result(participants=1)
    none = np.zeros_like(plain.curve.significant)
    found = group_findings(replace(plain, curve=replace(plain.curve, significant=none)))
    assert found["curve"]["p_max"] <= found["alpha"]
    _print_tables([{"kind": plain.kind, "group": found, "participants": []}])
    assert "over time: significant in single bins, in no cluster (" in capsys.readouterr().out


def found(kind: str, missing: int) -> dict[str, object]:
    return {"kind": kind, "group": {"left_out": missing}}


def test_folds_without_a_classifier_are_counted() -> None:
    scores = [{"kind": "amplitude", "curve": [50.0] * 29} for _ in range(3)]
    scores += [{"kind": "power", "curve": [50.0] * 20} for _ in range(3)]
    (line,) = left_out([found("amplitude", 522), found("power", 0)], scores, 10)
    assert line.startswith("amplitude: 522 of 870 folds kept no feature and gave no model")
