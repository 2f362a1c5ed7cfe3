"""Group columns that have the name of a column of our tables keep their values, and so do these."""

from __future__ import annotations

import csv
from dataclasses import replace
from io import StringIO

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from test_panel_figures import some

from shortloop.base.errors import InputError
from shortloop.panel.frame import fit_frame
from shortloop.panel.report.content import coefficients_csv
from shortloop.panel.results import OURS, Results, group_columns

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
    _, usual, usual_fits = fitted("firm", correction=correction)
    for table, other in ((coefficients, usual), (fits, usual_fits)):
        assert list(table.columns) == [f"group_{name}", *other.columns[1:]]
        pd.testing.assert_frame_equal(table.iloc[:, 1:], other.iloc[:, 1:])
    assert list(fits[f"group_{name}"]) == SEASONS
    by_hand = [smf.ols("yy ~ xx", part).fit().params["xx"] for _, part in frame.groupby(name)]
    assert np.allclose(coefficients.query("term == 'xx'")["params"], by_hand)


@pytest.mark.parametrize("by", [("status", "group_status"), ("group_status", "status")])
def test_names_with_the_prefix_already(by: tuple[str, str]) -> None:
    _, coefficients, fits = fitted(*by)
    named = {"status": "group_group_status", "group_status": "group_status"}
    assert list(fits.columns[:2]) == list(coefficients.columns[:2]) == [named[each] for each in by]
    assert list(fits["status"]) == ["fitted", "fitted"]


def test_numbers_beside_figures() -> None:
    text = coefficients_csv(replace(some(3), by=("estimate",)))
    row = next(csv.DictReader(StringIO(text)))
    assert row["group_estimate"].startswith("firm ")
    assert float(row["low"]) < float(row["estimate"]) < float(row["high"])


def test_other_names_are_kept() -> None:
    assert group_columns(("firm", "Status", "year")) == ("firm", "Status", "year")


def test_a_column_that_is_named_twice_is_refused() -> None:
    with pytest.raises(InputError, match="duplicate column"):
        fitted("firm", "firm")
