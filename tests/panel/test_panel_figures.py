"""Figures of a panel can be read: nothing is cut off, and nothing stands on other words."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from figure_texts import check_texts, texts

from shortloop.panel.report.content import Content, Shown
from shortloop.panel.report.figures import coefficients_figure, pvalues_figure
from shortloop.panel.report.page import _estimates, drawings
from shortloop.panel.status import FITTED


@pytest.mark.parametrize("groups", [1, 11, 5000])
def test_all_words_are_there(groups: int) -> None:
    rng = np.random.default_rng(groups)
    pvalues = rng.random((groups, 3)) ** 4
    pvalues[:10, 0] = 0.01  # a bar of a height that asks for wide labels
    params = rng.standard_normal((groups, 3)) * [1, 1e4, 1e-3]
    shown = Shown(
        name="plain",
        formula="y ~ x + k",
        model="ols",
        names=("Intercept", "x", "C(industry)[T.manufacturing]:x"),
        arrays={
            "status": np.full(groups, FITTED),
            "params": params,
            "lower": params - 0.5,
            "upper": params + 0.5,
            "pvalues": pvalues,
        },
        corrected=None,
        counts=Counter(fitted=groups),
        batched=groups,
        seconds=1.0,
        sources=(),
        pages=None,
        level=0.9,
    )
    for figure in (coefficients_figure(shown), pvalues_figure(shown)):
        drawn = texts(figure)
        assert len(drawn) > 3 * 5
        check_texts(figure, drawn)
        said = figure.get_suptitle()
        assert said.endswith({1: "of 1 group", 11: "of 11 groups", 5000: "of 5,000 groups"}[groups])
    (first, *_) = drawings(Content({}, (shown,), (), {}, ""))
    assert first.title == "Coefficients over groups, plain"
    assert "its 90 % confidence interval" in first.caption


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
