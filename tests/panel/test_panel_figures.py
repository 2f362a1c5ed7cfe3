"""Figures of a panel can be read: nothing is cut off, and nothing stands on other words."""

from __future__ import annotations

from collections import Counter
from io import StringIO
from typing import cast

import numpy as np
import pandas as pd
import pytest
from figure_texts import check_texts, texts
from matplotlib.patches import Rectangle

from shortloop.panel.report.content import Content, Shown
from shortloop.panel.report.page import _estimates, coefficients_figure, drawings, pvalues_figure
from shortloop.panel.statistics import Status


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
    for figure in (coefficients_figure(shown), pvalues_figure(shown)):
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
    curves = [panel.lines[0].get_ydata() for panel in coefficients_figure(shown).axes]
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


@pytest.mark.parametrize(
    ("quartiles", "expected"),
    [
        ((-0.0000431, -0.02758, 0.0264), ("0.000", "−0.028 to 0.026")),
        ((0.9942, 0.86, 1.141), ("0.99", "0.86 to 1.14")),
        ((-123456.0, -223456.0, -23456.0), ("−123,456", "−223,456 to −23,456")),
        ((3.0e-9, 1.0e-9, 5.0e-9), ("3e−09", "1e−09 to 5e−09")),
        ((2.5, 2.5, 2.5), ("2.5", "2.5 to 2.5")),
        ((0.0, 0.0, 0.0), ("0.0", "0.0 to 0.0")),
        ((1.0e9, -3.0e9, 2.0e9), ("1e+09", "−3e+09 to 2e+09")),
    ],
)
def test_estimates_have_the_digits_that_tell_groups_apart(
    quartiles: tuple[float, float, float], expected: tuple[str, str]
) -> None:
    assert _estimates(*quartiles) == expected
