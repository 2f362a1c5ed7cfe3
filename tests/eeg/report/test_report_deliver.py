"""The end of a run says how many folds are without a classifier, of how many."""

from __future__ import annotations

from shortloop.eeg.report.deliver import left_out


def found(kind: str, missing: int) -> dict[str, object]:
    return {"kind": kind, "group": {"left_out": missing}}


def test_folds_without_a_classifier_are_counted() -> None:
    scores = [{"kind": "amplitude", "curve": [50.0] * 29} for _ in range(3)]
    scores += [{"kind": "power", "curve": [50.0] * 20} for _ in range(3)]
    (line,) = left_out([found("amplitude", 522), found("power", 0)], scores, 10)
    assert line.startswith("amplitude: 522 of 870 folds kept no feature and gave no model")
