"""What a run of a panel found, as numbers: against pandas on its tables."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortloop.panel.analysis import panel_findings
from shortloop.panel.report.content import ALPHA, coefficient_numbers
from shortloop.sweep.findings import Finding

NUMBERS = st.floats(-1e6, 1e6) | st.just(float("nan"))
GROUPS = st.lists(st.tuples(st.booleans(), NUMBERS, NUMBERS, st.floats(0, 1), st.floats(0, 1)), max_size=9)


def shown(groups: list[tuple[bool, float, float, float, float]], corrected: bool) -> Any:
    fitted, params, bse, pvalues, both = zip(*groups, strict=True) if groups else ((),) * 5
    column = {name: np.array(each, float)[:, None] for name, each in zip(
        ("params", "bse", "pvalues", "corrected"), (params, bse, pvalues, both), strict=True
    )}  # fmt: skip
    return SimpleNamespace(
        names=("x",),
        arrays=column,
        fitted=np.array(fitted, bool),
        corrected=column["corrected"] if corrected else None,
    )


@given(GROUPS, st.booleans())
def test_numbers_of_a_coefficient(
    groups: list[tuple[bool, float, float, float, float]], corrected: bool
) -> None:
    (found,) = coefficient_numbers(shown(groups, corrected))
    frame = pd.DataFrame(groups, columns=["fitted", "params", "bse", "pvalues", "corrected"], dtype=object)
    kept = frame[frame["fitted"].astype(bool)].drop(columns="fitted").astype(float)
    quartiles = kept["params"].quantile([0.25, 0.5, 0.75]).tolist()
    for mine, theirs in zip(
        (found["lower"], found["median"], found["upper"], found["error"]),
        (*quartiles, kept["bse"].median()),
        strict=True,
    ):
        assert (mine is None and np.isnan(theirs)) or mine == pytest.approx(theirs, rel=1e-12, abs=1e-9)
    assert (found["small"], found["tested"]) == ((kept["pvalues"] < ALPHA).sum(), kept["pvalues"].count())
    if corrected:
        assert found["small_corrected"] == (kept["corrected"] < ALPHA).sum()
        assert found["tested_corrected"] == len(kept)
    else:
        assert found["small_corrected"] is found["tested_corrected"] is None
    json.dumps(found, allow_nan=False)


def test_findings_have_names_and_units() -> None:
    one = (True, 1.0, 0.5, 0.01, 0.2)
    two = (True, 3.0, 0.7, 0.5, 0.5)
    lost = (False, 99.0, 99.0, 0.0, 0.0)
    of = {"name": "plain y", "fitted": 2, "alpha": 0.05}
    summary: Any = {
        "panel": "firms",
        "findings": [{**of, "coefficients": coefficient_numbers(shown([one, two, lost], True))}],
    }
    found = panel_findings(json.loads(json.dumps(summary)))
    assert found == {
        "plain y: groups fitted": Finding(2),
        "plain y, x: median": Finding(2.0, "", 1.5, 2.5, "quartiles over groups"),
        "plain y, x: median standard error": Finding(0.6),
        "plain y, x: groups with p < 0.05": Finding(50.0, "%"),
        "plain y, x: groups with corrected p < 0.05": Finding(0.0, "%"),
    }
    assert panel_findings({"study": "x", "findings": []}) is None
    assert panel_findings({"panel": "x"}) is None
