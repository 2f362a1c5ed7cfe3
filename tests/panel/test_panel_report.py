"""Figures, tables and findings of a panel: nothing is cut off, no name or number is lost."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import replace
from io import StringIO
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from figure_texts import check_texts, texts
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.patches import Rectangle
from refusal import refusal

from shortloop.panel.analysis import panel_findings
from shortloop.panel.frame import fit_frame
from shortloop.panel.report.content import ALPHA, Content, Shown, coefficient_numbers, coefficients_csv
from shortloop.panel.report.panel_page import (
    _coefficients,
    drawings,
    estimates_figure,
    page_of,
    pvalues_figure,
)
from shortloop.panel.results import OURS, Results
from shortloop.panel.statistics import Status
from shortloop.sweep.findings import Finding


def some(groups: int) -> Shown:
    """Three coefficients of some groups."""
    rng = np.random.default_rng(groups)
    pvalues = rng.random((groups, 3)) ** 4
    pvalues[:10, 0] = 0.01  # a bar of a height that asks for wide labels
    params = rng.standard_normal((groups, 3)) * [1, 1e4, 1e-3]
    return Shown(
        name="plain",
        formula="y ~ x + k",
        model="ols",
        names=("Intercept", "x", "C(industry)[T.manufacturing]:x"),
        by=("firm",),
        keys=[[f"firm {place}"] for place in range(groups)],
        arrays={
            "status": np.full(groups, Status.FITTED),
            "params": params,
            "lower": params - 0.5,
            "upper": params + 0.5,
            "pvalues": pvalues,
        },
        corrected=None,
        correction="none",
        counts=Counter(fitted=groups),
        batched=groups,
        seconds=1.0,
        sources=(),
        pages=None,
        level=0.9,
    )


@pytest.mark.parametrize("groups", [1, 11, 5000])
def test_all_words_are_there(groups: int) -> None:
    shown = some(groups)
    for figure in (estimates_figure(shown), pvalues_figure(shown)):
        drawn = texts(figure)
        assert len(drawn) > 3 * 5
        check_texts(figure, drawn)
        said = figure.get_suptitle()
        assert said.endswith({1: "of 1 group", 11: "of 11 groups", 5000: "of 5,000 groups"}[groups])
    (first, *_) = drawings(Content({}, (shown,), (), {}, ""))
    assert first.title == "Coefficients over groups, plain"
    assert "its 90 % confidence interval" in first.caption


def test_numbers_beside_the_figures_are_those_that_are_drawn() -> None:
    shown = some(40)
    shown.arrays["status"][7] = Status.SINGULAR  # what is not to be relied on is not drawn
    shown.arrays["params"][3, 1] = np.nan
    shown.arrays["pvalues"][3, 1] = np.nan
    shown.arrays["pvalues"][:3, 2] = (0.0, 1.0, 0.25)  # at the ends, and between two bars
    coefficients, pvalues = (
        pd.read_csv(StringIO(each.numbers(shown))) for each in drawings(Content({}, (shown,), (), {}, ""))
    )
    assert list(coefficients) == ["coefficient", "firm", "estimate", "low", "high"]
    assert Counter(coefficients["coefficient"]) == dict(zip(shown.names, (39, 38, 39), strict=True))
    assert "firm 7" not in set(coefficients["firm"])
    table = pd.DataFrame(shown.arrays["params"], columns=shown.names).drop(7)
    table.index = [f"firm {place}" for place in table.index]
    curves = [panel.lines[0].get_ydata() for panel in estimates_figure(shown).axes]
    bars = [
        [cast(Rectangle, bar).get_height() for bar in panel.patches] for panel in pvalues_figure(shown).axes
    ]
    for j, name in enumerate(shown.names):
        rows = coefficients[coefficients["coefficient"] == name].set_index("firm")
        pd.testing.assert_series_equal(
            rows["estimate"], table[name].dropna().sort_values(), check_names=False, check_exact=True
        )
        np.testing.assert_array_equal(rows["estimate"], curves[j])
        np.testing.assert_allclose(rows["high"] - rows["low"], 1.0)
        p = pd.Series(shown.arrays["pvalues"][:, j]).drop(7).dropna()
        edges = pd.interval_range(0, 1, 20, closed="left")
        counts = pd.cut(p.replace(1.0, 0.99), edges).value_counts(sort=False)
        assert list(pvalues[pvalues["coefficient"] == name]["groups"]) == list(counts) == bars[j]
    np.testing.assert_allclose(pvalues["p to"] - pvalues["p from"], 0.05)
    shown.arrays["status"][:] = Status.SINGULAR  # none is to be relied on
    shown = replace(shown, arrays={**shown.arrays, "bse": shown.arrays["pvalues"]})
    assert {cell for row in _coefficients(shown).rows for cell in row.cells} == {"–"}


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
def test_coefficient_numbers(groups: list[tuple[bool, float, float, float, float]], corrected: bool) -> None:
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


SEASONS = ["autumn", "spring"]


def fitted(*by: str, correction: str = "fdr_bh") -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: np.repeat(SEASONS, 20) for name in by})
    frame = frame.assign(xx=rng.standard_normal(40), yy=rng.standard_normal(40))
    found: Results = fit_frame(frame, by, model="ols", formula="yy ~ xx")
    return frame, found.coefficients(correction), found.fits()


@pytest.mark.parametrize("name", sorted(OURS))
@pytest.mark.parametrize("correction", ["none", "fdr_bh"])
def test_no_table_loses_a_column(name: str, correction: str) -> None:
    frame, coefficients, fits = fitted(name, correction=correction)
    _, usual, usual_fits = fitted("Firm", correction=correction)
    for table, other in ((coefficients, usual), (fits, usual_fits)):
        assert list(table.columns) == [f"group_{name}", *other.columns[1:]]
        assert other.columns[0] == "Firm"
        pd.testing.assert_frame_equal(table.iloc[:, 1:], other.iloc[:, 1:])
    assert list(fits[f"group_{name}"]) == SEASONS
    by_hand = [smf.ols("yy ~ xx", part).fit().params["xx"] for _, part in frame.groupby(name)]
    assert np.allclose(coefficients.query("term == 'xx'")["params"], by_hand)


def test_names_of_groups_that_our_columns_have() -> None:
    named = {"status": "group_group_status", "group_status": "group_status"}
    for by in ([*named], [*named][::-1]):
        _, coefficients, fits = fitted(*by)
        assert list(fits.columns[:2]) == list(coefficients.columns[:2]) == [named[each] for each in by]
        assert list(fits["status"]) == ["fitted", "fitted"]
    row = next(csv.DictReader(StringIO(coefficients_csv(replace(some(3), by=("estimate",))))))
    assert row["group_estimate"].startswith("firm ")
    assert float(row["low"]) < float(row["estimate"]) < float(row["high"])
    with refusal("duplicate column"):
        fitted("firm", "firm")


def test_groups_are_named_and_one_huge_interval_flattens_nobody() -> None:
    few, many = some(11), replace(some(60), chosen=(7,))
    few.arrays["lower"][4, 0], few.arrays["upper"][4, 0] = -1e6, 1e6
    panels = estimates_figure(few).axes
    order = np.argsort(few.arrays["params"][:, 0], kind="stable")
    assert [each.get_text() for each in panels[0].get_xticklabels()] == [f"firm {g}" for g in order]
    for panel, j in zip(panels, range(3), strict=True):
        low, high = panel.get_ylim()
        assert high - low < 4 * np.ptp(few.arrays["params"][:, j]) + 4
    (tick,) = estimates_figure(many).axes[0].get_xticks()
    assert tick == np.flatnonzero(np.argsort(many.arrays["params"][:, 0], kind="stable") == 7)[0]


def test_nothing_is_drawn_where_nothing_fitted() -> None:
    shown = replace(some(5), left=Counter({"a row nearly alone decides its own fit": 2}))
    shown = replace(shown, arrays={**shown.arrays, "bse": shown.arrays["pvalues"]})
    (section,) = page_of(Content({"name": "p"}, (shown,), (), {}, "")).sections
    (left,) = [table for table in section.tables if table.title == "Fitted by statsmodels"]
    assert left.rows[0].cells == ("2",)
    shown.arrays["status"][:] = Status.SINGULAR
    assert [*drawings(Content({}, (shown,), (), {}, ""))] == []
